"""Settings: sizes, scopes, threads and the budget of a fresh process."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, strategies as st

from jask._jax import io_callback
from jask._memory import available_memory
from jask.config import (
    Settings,
    config,
    current,
    parse_size,
    set_memory_budget,
    using,
)
from jask.errors import ConfigError

GIB = 2**30


@pytest.mark.parametrize(
    ("text", "nbytes"),
    [
        ("512", 512),
        ("512B", 512),
        ("1kB", 1000),
        ("1KB", 1000),
        ("3 MB", 3_000_000),
        ("1GB", 10**9),
        ("1gb", 10**9),
        ("2TB", 2 * 10**12),
        ("1KiB", 1024),
        ("1kib", 1024),
        ("1GiB", GIB),
        ("1.5GB", 1_500_000_000),
        (".5 MiB", 2**19),
        ("0.1GB", 100_000_000),
        (" 7 ", 7),
        (4096, 4096),
        (np.int64(5), 5),
        (1e9, 10**9),
    ],
    ids=repr,
)
def test_a_size_is_read(text: Any, nbytes: int):
    assert parse_size(text) == nbytes
    assert type(parse_size(text)) is int


@pytest.mark.parametrize(
    "size",
    [
        "1GBB", "GB", "", "-1GB", "0", "0GB", "1,5GB", "1G", "1e3GB", "nan", "inf",
        "1 GB 2", "\u0661GB", "9" * 5000, "0.1B", 0, -5, True, False, float("nan"),
        float("inf"), 1.5, None, [1], b"1GB",
    ],
    ids=repr,
)  # fmt: skip
def test_an_impossible_size_is_refused_by_name(size: Any):
    with pytest.raises(ConfigError, match="positive number of bytes") as caught:
        parse_size(size)
    assert repr(size) in str(caught.value)
    assert "'1GiB'" in str(caught.value)


@given(st.integers(1, 2**60))
def test_a_whole_number_of_bytes_is_itself(nbytes: int):
    assert parse_size(nbytes) == parse_size(str(nbytes)) == nbytes


def test_settings_are_overridden_within_a_block_and_restored_after():
    before = current()
    with config(memory_budget="2GB", workers=3):
        with config(block_bytes="4MiB", workers=None):
            assert current().memory_budget == 2 * 10**9
            assert current().block_bytes == 4 * 2**20
            assert current().workers is None
        assert current().workers == 3
        assert current().block_bytes == before.block_bytes
    assert current() == before


def test_settings_are_restored_after_an_exception():
    before = current()
    with pytest.raises(KeyError), config(block_bytes=8):
        raise KeyError
    assert current() == before


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"memory_budget": "1GBB"}, "memory_budget: A size must be.*'1GBB'"),
        ({"memory_budget": None}, "memory_budget: A size must be.*None"),
        ({"block_bytes": 0}, "block_bytes: A size must be.*0"),
        ({"scratch_limit": "-1"}, "scratch_limit: A size must be.*'-1'"),
        ({"workers": 0}, "workers: The number of workers must be.*0"),
        ({"workers": True}, "workers: The number of workers must be.*True"),
        ({"workers": 1.5}, "workers: The number of workers must be.*1.5"),
        ({"progress": 1}, "progress: It must be True, False or None; got 1"),
        ({"durable": None}, "durable: It must be True or False; got None"),
        ({"scratch_dir": 3}, "scratch_dir: A directory must be a path; got 3"),
        ({"scratch_dir": "/no/such"}, "must exist; there is none at '/no/such'"),
        ({"memory": 1}, "A setting must be one of memory_budget, .*'memory'"),
    ],
    ids=str,
)
def test_an_impossible_setting_is_refused_by_name(
    changes: dict[str, Any], message: str
):
    before = current()
    with pytest.raises(ConfigError, match=message), config(**changes):
        pass
    assert current() == before


def test_the_scratch_directory_does_not_depend_on_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "scratch").mkdir()
    monkeypatch.chdir(tmp_path)
    with config(scratch_dir="scratch"):
        monkeypatch.chdir("/")
        assert current().scratch_dir == tmp_path / "scratch"


def test_the_process_wide_budget_is_seen_by_other_threads():
    before = current().memory_budget
    seen = []
    set_memory_budget("123MB")
    try:
        thread = threading.Thread(target=lambda: seen.append(current().memory_budget))
        thread.start()
        thread.join()
        with config(block_bytes=8):
            set_memory_budget("124MB")
            seen.append(current().memory_budget)
        with config(memory_budget=5):
            set_memory_budget("125MB")
            seen.append(current().memory_budget)
        seen.append(current().memory_budget)
    finally:
        set_memory_budget(before)
    assert seen == [123_000_000, 124_000_000, 5, 125_000_000]


def test_a_bad_process_wide_budget_changes_nothing():
    before = current()
    with pytest.raises(ConfigError, match="1GBB"):
        set_memory_budget("1GBB")
    assert current() == before


def test_a_jitted_function_is_traced_once_for_each_different_settings():
    traced = []

    @jax.jit
    def f(x: jax.Array) -> jax.Array:
        traced.append(current().block_bytes)
        return x + 1

    x = jnp.ones(2)
    f(x)
    with config(block_bytes=8):
        f(x)
        f(x)
    with config(block_bytes="8B"):
        f(x)
    f(x)
    assert traced == [None, 8]


def test_a_callback_runs_under_the_settings_of_the_call():
    seen: list[int | None] = []

    @jax.jit
    def f(x: jax.Array) -> jax.Array:
        settings = current()

        def call(value: jax.Array) -> jax.Array:
            def elsewhere() -> None:
                with using(settings):
                    seen.append(current().block_bytes)

            thread = threading.Thread(target=elsewhere)
            thread.start()
            thread.join()
            return value

        result: jax.Array = jax.pure_callback(call, jax.typeof(x), x)
        return result

    x = jnp.ones(2)
    for block_bytes in (8, 16, 8):
        with config(block_bytes=block_bytes):
            f(x).block_until_ready()
    assert seen == [8, 16, 8]


@jax.jit
def slow(x: jax.Array) -> jax.Array:
    """Something to wait for, so that what follows does not run on this thread."""
    total: jax.Array = (x @ x @ x).sum()
    return total * 0


def waiting() -> jax.Array:
    zero: jax.Array = slow(jnp.ones((1200, 1200)))
    return zero


def pure(note: Callable[[], None], x: jax.Array) -> jax.Array:
    def call(value: Any) -> Any:
        note()
        return np.asarray(value)

    result: jax.Array = jax.pure_callback(call, jax.typeof(x), x)
    return result


def effect(note: Callable[[], None], x: jax.Array) -> jax.Array:
    io_callback(lambda _: note(), None, x)
    return x


def debug(note: Callable[[], None], x: jax.Array) -> jax.Array:
    jax.debug.callback(lambda _: note(), x)
    return x


@pytest.mark.parametrize("kind", [pure, effect, debug])
def test_a_callback_on_a_thread_of_xla_sees_the_settings_of_its_call(kind: Any):
    seen: list[tuple[int | None, int | None]] = []
    elsewhere: list[bool] = []

    def note() -> None:
        elsewhere.append(threading.current_thread() is not threading.main_thread())
        seen.append((current().block_bytes, current().workers))

    f = jax.jit(lambda x: kind(note, x))
    for size in (8, 16, 8):
        with config(block_bytes=size, workers=3), config(workers=2):
            f(waiting()).block_until_ready()
            jax.effects_barrier()
    f(waiting()).block_until_ready()
    jax.effects_barrier()
    assert seen == [(8, 2), (16, 2), (8, 2), (None, None)]
    assert any(elsewhere)


def test_calls_from_many_threads_have_the_settings_of_each():
    seen: list[tuple[float, int | None]] = []

    def note(x: Any) -> Any:
        seen.append((float(x), current().block_bytes))
        return np.asarray(x)

    f = jax.jit(lambda x: jax.pure_callback(note, jax.typeof(x), x))

    def call(number: int) -> None:
        with config(block_bytes=number):
            for _ in range(3):
                f(waiting() + number).block_until_ready()

    threads = [threading.Thread(target=call, args=(n,)) for n in (7, 8, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 9
    assert all(number == size for number, size in seen)


def test_using_replaces_every_setting():
    settings = Settings(memory_budget=7)
    with config(block_bytes=8, workers=2), using(settings):
        assert current() == settings


@pytest.mark.parametrize("value", [0, -1, True, 1.0, "1GB", None], ids=repr)
def test_settings_hold_only_positive_ints(value: Any):
    with pytest.raises(ConfigError, match="memory_budget must be a positive int"):
        Settings(memory_budget=value)


def test_a_fresh_process_may_use_a_quarter_of_what_is_available():
    quarter = available_memory() / 4
    assert 0.5 * quarter < current().memory_budget < 2 * quarter


def machine(root: Path, files: dict[str, str]) -> Path:
    files = {"proc/meminfo": "MemTotal: 9 kB\nMemAvailable: 8388608 kB\n"} | files
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_without_limits_the_kernel_says_what_is_available(tmp_path: Path):
    assert available_memory(machine(tmp_path, {})) == 8 * GIB


def test_a_limit_of_the_control_group_counts_less_what_is_used(tmp_path: Path):
    files = {
        "proc/self/cgroup": "0::/a/b\n",
        "sys/fs/cgroup/a/b/memory.max": "max\n",
        "sys/fs/cgroup/a/b/memory.current": f"{GIB}\n",
        "sys/fs/cgroup/a/memory.max": f"{4 * GIB}\n",
        "sys/fs/cgroup/a/memory.current": f"{3 * GIB}\n",
        "sys/fs/cgroup/a/memory.stat": f"anon 5\ninactive_file {GIB}\n",
    }
    assert available_memory(machine(tmp_path, files)) == 2 * GIB


def test_a_limit_of_a_version_1_group_counts(tmp_path: Path):
    files = {
        "proc/self/cgroup": "5:cpu,cpuacct:/x\n4:memory:/docker/1\n0::/\n",
        "sys/fs/cgroup/memory/memory.limit_in_bytes": f"{3 * GIB}\n",
        "sys/fs/cgroup/memory/memory.usage_in_bytes": f"{GIB}\n",
    }
    assert available_memory(machine(tmp_path, files)) == 2 * GIB


def test_a_limit_above_what_is_available_does_not_count(tmp_path: Path):
    files = {
        "proc/self/cgroup": "0::/\n",
        "sys/fs/cgroup/memory.max": f"{2**62}\n",
        "sys/fs/cgroup/memory.current": "0\n",
    }
    assert available_memory(machine(tmp_path, files)) == 8 * GIB


def test_a_group_over_its_limit_leaves_nothing(tmp_path: Path):
    files = {
        "proc/self/cgroup": "0::/\n",
        "sys/fs/cgroup/memory.max": f"{GIB}\n",
        "sys/fs/cgroup/memory.current": f"{2 * GIB}\n",
    }
    assert available_memory(machine(tmp_path, files)) == 0


def test_a_machine_without_such_files_has_its_physical_memory(tmp_path: Path):
    assert available_memory(tmp_path) > 2**20
