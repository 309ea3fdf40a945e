"""Full disks, limits of the system and Ctrl-C: clear errors, nothing left behind."""

from pathlib import Path

import pytest

from tests.execute.children import left, run_script, slow

TRY = """
import itertools, resource
from jask.execute.ledger import LEDGER
from jask.stores.scratch import scratch_in_use

WORKS = {
    "save": lambda: jask.save("out.npy", jnp.sin(x)),
    "persist": lambda: jask.persist(jnp.sin(x)),
    "gradient": lambda: jask.value_and_grad(lambda x: jnp.sum(x * x))(x),
    "spill": lambda: jask.save("out.npy", jnp.sort(jnp.sin(x).reshape(4096, -1), 0)),
    "materialize": lambda: jask.materialize(jnp.sin(x)),
    "jit": lambda: jax.jit(lambda x: jask.materialize(jnp.sum(jnp.sin(x))))(x),
    "mask": lambda: jask.save("out.npy", jnp.sin(x)[x > 0]),
    "sort": lambda: jask.save("out.npy", jnp.sort(jnp.sin(x))),
}
"""

USABLE = """
held = LEDGER.held, scratch_in_use()
print(held, float(jnp.sum(x)), jax.jit(lambda x: jask.materialize(jnp.max(x)))(x))
"""
SAYS_USABLE = "(0, 0) 4194304.0 1.0"


@pytest.mark.parametrize("work", ["save", *slow("persist", "gradient", "spill")])
def test_a_limit_on_the_size_of_files_stops_work_before_it_begins(
    work: str, tmp_path: Path
):
    code = f"""
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
with jask.config(scratch_dir="scratch", memory_budget="20MB"):
    try:
        WORKS[{work!r}]()
    except OSError as error:
        print(error)
"""
    done = run_script(tmp_path, TRY + code + USABLE)
    assert done.returncode == 0, done.stderr[-800:]
    error, usable = done.stdout.splitlines()
    assert "ulimit -f" in error
    assert usable == SAYS_USABLE
    assert left(tmp_path) == []


def test_few_descriptors_are_enough(tmp_path: Path):
    code = """
float(jnp.sum(x))
few = max(map(int, os.listdir("/proc/self/fd"))) + 6
resource.setrlimit(resource.RLIMIT_NOFILE, (few, few))
arrays = [jask.open("x.npy") for _ in range(100)]
with jask.config(scratch_dir="scratch"):
    for work in ("save", "persist", "gradient", "jit"):
        WORKS[work]()
    print(float(jnp.sum(sum(a[:3] for a in arrays))))
"""
    done = run_script(tmp_path, TRY + code + USABLE)
    assert done.returncode == 0, done.stderr[-800:]
    assert done.stdout.splitlines() == ["300.0", SAYS_USABLE]
    assert left(tmp_path) == ["out.npy", "x.npy.grad"]


@pytest.mark.parametrize(
    "work",
    ["save", *slow("persist", "gradient", "materialize", "jit", "mask", "sort")],
)
def test_ctrl_c_leaves_nothing_and_the_process_usable(work: str, tmp_path: Path):
    code = f"""
from jask.stores.raw import RawStore

reads, read = itertools.count(), RawStore.read


def interrupted(self, box, buffer):
    here = threading.current_thread() is threading.main_thread()
    if here and next(reads) == 3:
        os.kill(os.getpid(), signal.SIGINT)
    read(self, box, buffer)


RawStore.read = interrupted
try:
    with jask.config(block_bytes=128, scratch_dir="scratch", memory_budget="40MB"):
        WORKS[{work!r}]()
except (KeyboardInterrupt, jax.errors.JaxRuntimeError) as error:
    print("KeyboardInterrupt" in repr(error))
"""
    done = run_script(tmp_path, TRY + code + USABLE)
    assert done.returncode == 0, done.stderr[-800:]
    assert done.stdout.splitlines() == ["True", SAYS_USABLE]
    assert left(tmp_path) == []
