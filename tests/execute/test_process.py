"""Forked children and the end of the process: clear errors, nothing left, no hang."""

import threading
from pathlib import Path

import pytest

from jask.errors import ProcessStateError
from jask.execute.process import Process
from tests.execute.children import left, run_script

# ------------------------------------------------------------------ forked children

WORKS = {
    "eagerly": "lambda: float(jnp.sum(x))",
    "a compiled call": "lambda: f(x)",
    "a new jit": "lambda: jax.jit(lambda x: jnp.cos(x))(x)",
    "a plan": "lambda: jask.explain(jnp.sum(x))",
}


def test_a_child_forked_after_jax_had_started_gets_a_clear_error(tmp_path: Path):
    lines = "".join(f"in_a_child({work})\n" for work in WORKS.values())
    code = "f = jax.jit(lambda x: jask.materialize(jnp.max(x)))\nf(x)\n" + lines
    done = run_script(tmp_path, code)
    assert done.returncode == 0, done.stderr[-800:]
    for name, printed in zip(WORKS, done.stdout.splitlines(), strict=True):
        assert printed.startswith("ProcessStateError"), name
        assert "spawn" in printed, name


def test_a_child_forked_during_an_evaluation_gets_a_clear_error(tmp_path: Path):
    code = """
thread = threading.Thread(target=slowly, args=(lambda: sin_saved(200_000),))
thread.start()
while len(os.listdir()) < 3:  # until a temporary file is there
    time.sleep(0.01)
in_a_child(lambda: float(jnp.sum(x)))
in_a_child(lambda: float(x.to_memmap()[3]))
thread.join()
print(float(np.load("out.npy")[5]) == np.sin(1))
"""
    done = run_script(tmp_path, code)
    assert done.returncode == 0, done.stderr[-800:]
    error, value, saved = done.stdout.splitlines()
    assert error.startswith("ProcessStateError")
    assert (value, saved) == ("1.0", "True")
    assert left(tmp_path) == ["out.npy"]


def test_a_child_forked_before_jax_has_started_can_evaluate(tmp_path: Path):
    done = run_script(tmp_path, "in_a_child(lambda: float(jnp.sum(x)))")
    assert done.stdout == f"{float(1 << 22)}\n", done.stderr[-800:]


@pytest.mark.slow
def test_file_locks_held_at_a_fork_do_not_stop_the_child(tmp_path: Path):
    code = """
def open_and_close():
    while not done:
        jask.open("x.npy")

done = False
threads = [threading.Thread(target=open_and_close) for _ in range(3)]
for thread in threads:
    thread.start()
for _ in range(100):
    in_a_child(lambda: jask.open("x.npy").shape)
done = True
"""
    done = run_script(tmp_path, code)
    assert done.returncode == 0, done.stderr[-800:]
    assert done.stdout == "(4194304,)\n" * 100


# --------------------------------------------------------------- end of the process


MOMENTS = {
    "planning": """
from jask.execute.process import PROCESS
while not PROCESS._running:
    time.sleep(0.001)
""",
    "running": """
from jask.execute.ledger import LEDGER
while not LEDGER.held:
    time.sleep(0.01)
""",
}


@pytest.mark.parametrize(
    ("work", "moment"),
    [("sin_saved", "planning"), ("sin_saved", "running"), ("sin_summed", "running")],
)
def test_a_process_may_end_while_daemon_threads_evaluate(
    work: str, moment: str, tmp_path: Path
):
    code = f"""
for _ in range(3):
    threading.Thread(target=slowly, args=({work},), daemon=True).start()
{MOMENTS[moment]}
"""
    done = run_script(tmp_path, code)
    assert done.returncode == 0, done.stderr[-800:]
    assert set(done.stdout.split()) <= {"ProcessStateError", "JaxRuntimeError"}
    assert "the process ends" in done.stderr
    assert left(tmp_path) == []


def test_a_process_may_end_while_daemon_threads_evaluate_a_few_elements(
    tmp_path: Path,
):
    code = """
few = jask.from_numpy(np.arange(12.0))

def again_and_again():
    try:
        while True:
            np.asarray(jnp.sin(few) + 1)
    except Exception as error:
        os.write(1, f"{type(error).__name__}\\n".encode())

np.asarray(jnp.sin(few) + 1)
for _ in range(4):
    threading.Thread(target=again_and_again, daemon=True).start()
time.sleep(0.3)
"""
    done = run_script(tmp_path, code)
    assert done.returncode == 0, done.stderr[-800:]
    assert set(done.stdout.split()) == {"ProcessStateError"}


def test_threads_that_are_no_daemons_come_to_their_end(tmp_path: Path):
    code = """
threading.Thread(target=slowly, args=(lambda: sin_saved(50_000),)).start()
"""
    done = run_script(tmp_path, code)
    assert (done.returncode, done.stderr) == (0, "")
    assert left(tmp_path) == ["out.npy"]


def test_the_main_thread_can_evaluate_until_the_very_end(tmp_path: Path):
    """`atexit` runs last what was registered first."""
    before = "import atexit; atexit.register(lambda: print(float(jnp.max(x))))"
    done = run_script(tmp_path, "print(float(jnp.sum(x)))", before=before)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == [str(float(1 << 22)), "1.0"]


def refused(process: Process) -> bool:
    """Return whether another thread is refused an evaluation."""
    found: list[BaseException] = []

    def work() -> None:
        try:
            with process.evaluation():
                pass
        except ProcessStateError as error:
            found.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return bool(found)


def test_the_end_fails_what_runs_and_refuses_other_threads():
    process = Process()
    failed: list[BaseException] = []
    assert not refused(process)
    with process.stoppable(failed.append):
        process.end()
    assert [type(e) for e in failed] == [ProcessStateError]
    assert refused(process)
    with process.evaluation():  # the main thread may go on
        pass


def test_the_end_waits_for_evaluations():
    process = Process()
    begun, failed, ended = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        with process.evaluation(), process.stoppable(lambda _: failed.set()):
            begun.set()
            failed.wait(10)
            ended.set()

    thread = threading.Thread(target=work)
    thread.start()
    begun.wait(10)
    process.end()
    assert ended.is_set()
    thread.join()


@pytest.mark.parametrize("started", [True, False])
def test_a_fork_matters_once_jax_has_started(
    started: bool, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("jask.execute.process.backends_started", lambda: started)
    process = Process()
    process.before_fork()
    process.after_fork()
    assert refused(process) == started


# ------------------------------------------------------------------ XLA's own names

LIKE_NAMED = """
from jax import lax
jax.config.update("jax_enable_x64", False)
np.save("x.npy", np.asfortranarray(np.arange(12, dtype="f4").reshape(4, 3)))
x = jask.open("x.npy")
functions = [
    lambda x: jax.numpy.argmin(lax.cumsum(x, axis=1, reverse=True), axis=1),
    lambda x: x @ x.T,
    lambda x: lax.cummin(x, axis=0),
    lambda x: lax.cumsum(x, axis=0),
]
with jask.config(workers=1, block_bytes=12):
    got = jask.materialize(*[jask.lift(f)(x) for f in functions])
for a, f in zip(got, functions, strict=True):
    np.testing.assert_array_equal(a, f(jax.numpy.asarray(np.load("x.npy"))))
print("equal")
"""


def test_a_kernel_of_many_slices_does_not_call_itself_without_end(tmp_path: Path):
    done = run_script(tmp_path, LIKE_NAMED)
    assert (done.returncode, done.stdout) == (0, "equal\n"), done.stderr[-800:]
