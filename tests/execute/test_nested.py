"""An evaluation that a callback starts is bounded by what its caller leaves."""

from pathlib import Path

import pytest

from tests.execute.children import run_script, slow

NESTED = """
from jask.execute.ledger import LEDGER

inner = jask.from_numpy(np.arange(1 << 19, dtype="f4"))
total = lambda x: jnp.real(jnp.fft.fft(x))[0]  # it needs some 10 MB: x is one line
compiled = jax.jit(lambda x: jask.materialize(total(x)))


def apart():
    made = []
    thread = threading.Thread(target=lambda: made.append(float(total(inner))))
    thread.start()
    thread.join(20)
    return made[0]


def called(a):
    held.append(LEDGER.held)
    return np.asarray(a) + np.float32(HOW)


held = []
f = jask.lift(lambda a: jax.pure_callback(called, jax.typeof(a), a))
jask.set_memory_budget(BUDGET)
outer = jask.from_numpy(np.zeros(1 << 20, "f4"))
try:
    print(float(jnp.max(f(outer))))
except Exception as error:
    print(error)
assert held[0] >= 2 * outer.nbytes
assert LEDGER.held == 0
"""

HOWS = ["float(total(inner))", *slow("compiled(inner)", "apart()")]


@pytest.mark.parametrize("how", HOWS)
def test_it_runs_where_there_is_room(how: str, tmp_path: Path):
    code = NESTED.replace("HOW", how).replace("BUDGET", "'50MB'")
    done = run_script(tmp_path, code)
    assert done.returncode == 0, done.stderr[-800:]
    right = float((1 << 19) * ((1 << 19) - 1) // 2)
    assert float(done.stdout) == pytest.approx(right, rel=1e-6)


@pytest.mark.parametrize("how", HOWS)
def test_it_gets_a_clear_error_where_there_is_none(how: str, tmp_path: Path):
    code = NESTED.replace("HOW", how).replace("BUDGET", "9_000_000")
    done = run_script(tmp_path, code)
    assert done.returncode == 0, done.stderr[-800:]
    assert "the memory budget leaves" in done.stdout + done.stderr
