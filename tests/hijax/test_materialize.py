"""Materialize and Dematerialize, eagerly and inside compiled programs."""

import threading
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jask
import jask.numpy as dnp
from jask import materialize
from jask.config import current
from jask.errors import MemoryBudgetError
from jask.execute import run
from jask.hijax import callbacks
from jask.hijax.materialize import dematerialize
from jask.trace.counters import COUNTERS

F32 = np.float32


def disk(values, dtype=F32):
    return jask.from_numpy(np.asarray(values, dtype))


def test_several_arrays_are_one_evaluation():
    x = disk([1, 2])
    before = COUNTERS.evaluations
    total, twice = materialize(dnp.sum(x), x * F32(2))
    assert COUNTERS.evaluations == before + 1
    assert float(total) == 3
    assert twice.tolist() == [2, 4]


def test_trees_keep_their_structure_and_what_is_in_memory_stays():
    w = jnp.ones(2)
    got = materialize({"x": disk([1, 2]), "w": w, "none": None})
    assert got["w"] is w
    assert got["none"] is None
    assert isinstance(got["x"], jax.Array)


def test_dematerialize_and_materialize_are_inverse():
    w = jnp.arange(4, dtype=F32)
    np.testing.assert_array_equal(materialize(dematerialize(w)), w)
    back = jax.jit(lambda w: materialize(dematerialize(w)))(w)
    np.testing.assert_array_equal(back, w)


@pytest.mark.filterwarnings("ignore:float64 is cut")
def test_with_64_bit_types_off_floats_are_cut_and_integers_checked():
    x, big = disk([1 / 3], "float64"), disk([2**40], "int64")
    with jax.enable_x64(False):
        assert materialize(x).dtype == F32
        assert materialize(disk([7], "int64")).dtype == np.int32
        with pytest.raises(OverflowError, match="1099511627776"):
            materialize(big)
        g = jax.grad(lambda x: materialize(dnp.sum(x * x)))(x)
    assert g.dtype == np.float64
    assert np.asarray(g).tolist() == [2 / 3]


def test_cutting_warns_at_the_line_of_the_user():
    with jax.enable_x64(False), pytest.warns(UserWarning, match="is cut to") as caught:
        materialize(disk([1.0], "float64"))
    assert caught[0].filename == __file__


def test_64_bit_operands_reach_a_callback_unharmed():
    f = jax.jit(lambda x, n: materialize(dnp.sum(x) + n))
    assert int(f(disk([2**40], "int64"), jnp.asarray(2**41))) == 2**40 + 2**41


def test_a_later_materialize_of_the_same_leaves_joins_the_evaluation():
    @jax.jit
    def f(x):
        total = materialize(dnp.sum(x))
        peak = materialize(dnp.max(x * F32(2)))
        return total, peak

    x = disk([1, 5])
    jax.block_until_ready(f(x))
    before = COUNTERS.evaluations
    total, peak = jax.block_until_ready(f(x))
    assert COUNTERS.evaluations == before + 1
    assert (float(total), float(peak)) == (6, 10)


def test_a_materialize_that_needs_the_first_value_is_another_evaluation():
    @jax.jit
    def f(x):
        total = materialize(dnp.sum(x))
        return materialize(dnp.sum(x / total))

    x = disk([1, 3])
    f(x).block_until_ready()
    before = COUNTERS.evaluations
    assert float(f(x)) == 1
    assert COUNTERS.evaluations == before + 2


def test_the_settings_of_the_call_reach_the_callback(monkeypatch):
    seen = []
    real = run.evaluate

    def spy(*args):
        seen.append((current().memory_budget, threading.current_thread()))
        return real(*args)

    monkeypatch.setattr(run, "evaluate", spy)
    monkeypatch.setattr(run, "evaluate_small", lambda _: None)
    f = jax.jit(lambda x: materialize(dnp.sum(x)))
    with jask.config(memory_budget="123MB"):
        assert float(f(disk([1, 2]))) == 3
    assert seen[0][0] == 123_000_000


def test_a_program_without_operands_evaluates_when_it_runs(tmp_path):
    np.save(tmp_path / "x.npy", np.asarray([1, 2], F32))
    x = jask.open(tmp_path / "x.npy")
    f = jax.jit(lambda: materialize(dnp.sum(x)))
    assert float(f()) == 3
    before = COUNTERS.evaluations
    assert float(f()) == 3
    assert COUNTERS.evaluations == before + 1


def test_parked_values_without_an_owner_go_in_time(monkeypatch):
    callbacks._parked.clear()
    callbacks._park([1], [])
    monkeypatch.setattr(callbacks, "GRACE", -1.0)
    time.sleep(0.001)
    ticket = int(callbacks._park([2], []))
    callbacks._park([3], [])
    assert ticket not in callbacks._parked or len(callbacks._parked) < 3
    callbacks._parked.clear()


def test_too_large_a_value_is_refused_while_lowering_or_running():
    x = disk(np.zeros((1000, 100)))
    with jask.config(memory_budget="100kB"):
        with pytest.raises(MemoryBudgetError):
            materialize(x)
        with pytest.raises(MemoryBudgetError) as caught:
            jax.jit(materialize)(x)
    with jask.config(memory_budget=caught.value.budget):
        np.testing.assert_array_equal(jax.jit(materialize)(x), 0)


def test_a_program_that_does_not_fit_is_refused_while_lowering():
    x = disk(np.eye(200), "float64")
    f = jax.jit(lambda x: materialize(dnp.sum(dnp.linalg.inv(x))))
    before = COUNTERS.snapshot()
    with (
        jask.config(memory_budget="100kB"),
        pytest.raises(MemoryBudgetError, match=r"memory budget.*A budget of \d+ bytes"),
    ):
        f.lower(x)
    after = COUNTERS.snapshot()
    assert after["evaluations"] == before["evaluations"]
    np.testing.assert_allclose(f(x), 200)
