"""Equations from lax functions, random boxes, and the property every rule must have."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from typing import Any
from unittest.mock import patch

import jax
import numpy as np
from hypothesis import strategies as st

import jask.rules as _rules  # noqa: F401 - fills the tables
from jask.geometry.box import Box
from jask.rules import windows
from jask.rules._table import RULES, Need, Reduction, Rule, Scan
from jask.testing.same import assert_same
from jask.trace.ir import Equation, Literal, Var

type Array = np.ndarray[Any, Any]

SIDES = st.sampled_from([1, 2, 3, 4, 5, 7])
DTYPES = st.sampled_from([np.float32, np.float64, np.float16, np.int32])
SEEDS = st.integers(0, 99)


def equation(fn: Callable[..., Any], *arrays: Array) -> Equation:
    """Return the one equation of `fn`; Python scalars in it become Literals."""
    with jax.enable_x64(True):
        jaxpr = jax.make_jaxpr(fn)(*arrays).jaxpr
    while len(jaxpr.eqns) == 1 and jaxpr.eqns[0].primitive.name == "jit":
        inner = jaxpr.eqns[0].params["jaxpr"]
        jaxpr = getattr(inner, "jaxpr", inner)
    assert len(jaxpr.eqns) == 1, jaxpr
    (eqn,) = jaxpr.eqns
    return from_jax(eqn, jaxpr.invars)


def from_jax(eqn: Any, invars: Sequence[Any]) -> Equation:
    """Return a JAX equation as one of ours; operand `i` is argument `i`."""
    known: dict[Any, Var] = {}
    inputs: list[Var | Literal] = []
    for atom in eqn.invars:
        if hasattr(atom, "val"):
            value = np.asarray(atom.val, atom.aval.dtype)
            inputs.append(Literal(value))
            continue
        number = next(i for i, v in enumerate(invars) if v is atom)
        shape, dtype = tuple(atom.aval.shape), np.dtype(atom.aval.dtype)
        inputs.append(known.setdefault(atom, Var(shape, dtype, index=number)))
    result = Equation(
        eqn.primitive, eqn.primitive.name, dict(eqn.params), tuple(inputs)
    )
    result.outputs = tuple(
        Var(tuple(v.aval.shape), np.dtype(v.aval.dtype), result, i)
        for i, v in enumerate(eqn.outvars)
    )
    return result


def operands(eqn: Equation, arrays: Sequence[Array]) -> list[Array]:
    """Return the value of each operand."""
    return [
        a.value if isinstance(a, Literal) else np.asarray(arrays[a.index])
        for a in eqn.inputs
    ]


def whole(eqn: Equation, arrays: Sequence[Array]) -> list[Array]:
    """Return the results of the primitive itself on whole arrays."""
    with jax.enable_x64(True):
        got = jax.jit(lambda *a: eqn.primitive.bind(*a, **eqn.params))(
            *operands(eqn, arrays)
        )
    return sequence(got)


def sequence(got: Any) -> list[Array]:
    """Return one array or several as a list of NumPy arrays."""
    return [np.asarray(g) for g in (got if isinstance(got, list | tuple) else [got])]


def rule_of(eqn: Equation) -> Rule:
    """Return the rule of an equation."""
    return RULES[eqn.name]


def check_need(eqn: Equation, need: Need) -> None:
    """Boxes lie inside the operands' shapes and are never empty."""
    assert len(need.boxes) == len(eqn.inputs)
    hash(need.key)
    assert all(type(k) is int for k in need.offsets)
    for atom, box in zip(eqn.inputs, need.boxes, strict=True):
        if box is None:
            continue
        assert len(box.start) == atom.ndim
        assert box in Box.whole(atom.shape)
        assert 0 not in box.shape
        assert all(type(k) is int for k in (*box.start, *box.stop))


def cut(eqn: Equation, need: Need, values: Sequence[Array]) -> list[Array | None]:
    """Return the block of each operand."""
    check_need(eqn, need)
    return [
        None if box is None else np.asarray(v[box.slices])
        for box, v in zip(need.boxes, values, strict=True)
    ]


def emit(eqn: Equation, out: Box, values: Sequence[Array]) -> list[Array]:
    """Return the blocks that the rule makes for a box of the results."""
    rule = rule_of(eqn)
    need = rule.need(eqn, out)
    blocks = cut(eqn, need, values)
    # positions are those of some other tile: only shapes and key may be used
    shapes = tuple(None if b is None else Box.whole(b.shape) for b in need.boxes)
    other = Need(shapes, need.key, tuple(0 for _ in need.offsets))

    def kernel(offsets: Any, blocks: Any) -> Any:
        return rule.emit(eqn, out.shape, other, list(offsets), blocks)

    with jax.enable_x64(True):
        offsets = np.asarray(need.offsets, np.int64)
        return sequence(jax.jit(kernel)(offsets, blocks))


def same(
    got: Array, want: Array, *, rtol: float | None = None, atol: float = 0.0
) -> None:
    """Compare shape, dtype and values: exactly, or to a tolerance."""
    if rtol is None:
        assert_same(got, want)
        return
    assert got.shape == want.shape
    assert got.dtype == want.dtype
    kind = np.complex128 if np.iscomplexobj(want) else np.float64
    np.testing.assert_allclose(
        got.astype(kind), want.astype(kind), rtol=rtol, atol=atol
    )


def check_map(
    eqn: Equation,
    out: Box,
    *arrays: Array,
    rtol: float | None = None,
    atol: float = 0.0,
) -> None:
    """What the rule emits for a box is that box of the whole result."""
    values = operands(eqn, arrays)
    wanted = whole(eqn, arrays)
    got = emit(eqn, out, values)
    assert len(got) == len(wanted)
    for g, w in zip(got, wanted, strict=True):
        same(g, np.asarray(w[out.slices]), rtol=rtol, atol=atol)
    check_links(eqn)


def check_links(eqn: Equation) -> None:
    """Linked axes exist and have one length."""
    for link in rule_of(eqn).links(eqn):
        n = eqn.inputs[link.operand].shape[link.axis]
        assert all(out.shape[link.out] == n for out in eqn.outputs)


def fold(
    eqn: Equation, kept: Box, cuts: Sequence[Sequence[int]], *arrays: Array
) -> list[Array]:
    """Reduce a kept box part by part: `cuts` are the inner bounds per reduced axis."""
    rule = rule_of(eqn)
    assert isinstance(rule, Reduction)
    domain, axes = rule.domain(eqn), rule.kept(eqn)
    assert tuple(domain[d] for d in axes) == eqn.outputs[0].shape
    values = operands(eqn, arrays)
    for i, d in rule.sources(eqn):
        assert d < values[i].ndim
    assert len(rule.sources(eqn)) == len(domain)
    with jax.enable_x64(True):
        acc = list(rule.init(eqn, kept.shape))
        kinds = rule.accumulators(eqn)

        @partial(jax.jit, static_argnums=(0, 1))
        def kernel(shape: Any, key: Any, offsets: Any, blocks: Any, acc: Any) -> Any:
            part = rule.contribution(eqn, shape, key, list(offsets), blocks)
            return rule.combine(eqn, acc, part)

        for part in _parts(domain, axes, kept, cuts):
            need = rule.need_part(eqn, part)
            blocks = cut(eqn, need, values)
            offsets = np.asarray(need.offsets, np.int64)
            acc = list(kernel(part.shape, need.key, offsets, blocks, acc))
            assert [a.dtype for a in acc] == list(kinds)
            assert all(a.shape == kept.shape for a in acc)
        return sequence(list(rule.finish(eqn, acc)))


def _parts(
    domain: Sequence[int],
    axes: Sequence[int],
    kept: Box,
    cuts: Sequence[Sequence[int]],
) -> list[Box]:
    grids: list[list[tuple[int, int]]] = []
    bounds = iter(cuts)
    for d, n in enumerate(domain):
        if d in axes:
            grids.append([kept.intervals[axes.index(d)]])
        else:
            edges = sorted({0, n, *next(bounds)})
            grids.append(list(pairwise(edges)))
    parts: list[list[tuple[int, int]]] = [[]]
    for grid in grids:
        parts = [[*p, span] for p in parts for span in grid]
    return [Box.of(p) for p in parts]


def check_fold(
    eqn: Equation,
    kept: Box,
    cuts: Sequence[Sequence[int]],
    *arrays: Array,
    rtol: float | None = None,
    atol: float = 0.0,
) -> None:
    """A result folded part by part is the box of the whole result."""
    got = fold(eqn, kept, cuts, *arrays)
    for g, w in zip(got, whole(eqn, arrays), strict=True):
        same(g, np.asarray(w[kept.slices]), rtol=rtol, atol=atol)


def scan(eqn: Equation, out: Box, cuts: Sequence[int], *arrays: Array) -> Array:
    """Walk the scan axis of a box (whole along it) block by block."""
    rule = rule_of(eqn)
    assert isinstance(rule, Scan)
    axis = rule.axis(eqn)
    n = eqn.outputs[0].shape[axis]
    edges = sorted({0, n, *cuts})
    spans = list(pairwise(edges))
    if rule.reverse(eqn):
        spans.reverse()
    given = operands(eqn, arrays)
    pieces: list[Array] = []
    with jax.enable_x64(True):
        one = tuple(1 if d == axis else k for d, k in enumerate(out.shape))
        carry = rule.init_carry(eqn, one)
        for span in spans:
            part = Box.of(span if d == axis else s for d, s in enumerate(out.intervals))
            blocks = [np.asarray(x[part.slices]) for x in given]
            step = jax.jit(lambda c, b: rule.step(eqn, c, b))
            result, carry = step(carry, blocks)
            assert all(c.shape == one for c in carry)
            pieces.append(np.asarray(result))
    if rule.reverse(eqn):
        pieces.reverse()
    return np.concatenate(pieces, axis)


@st.composite
def shapes(draw: st.DrawFn, low: int = 0, high: int = 3) -> tuple[int, ...]:
    """Draw a shape without empty axes."""
    return tuple(draw(st.lists(SIDES, min_size=low, max_size=high)))


@st.composite
def boxes(draw: st.DrawFn, shape: tuple[int, ...]) -> Box:
    """Draw a non-empty box inside a shape."""
    spans: list[tuple[int, int]] = []
    for n in shape:
        a = draw(st.integers(0, n - 1))
        spans.append((a, draw(st.integers(a + 1, n))))
    return Box.of(spans)


@st.composite
def bounds(draw: st.DrawFn, lengths: Sequence[int]) -> list[list[int]]:
    """Draw inner bounds of parts, per axis."""
    return [draw(st.lists(st.integers(0, n), max_size=2)) for n in lengths]


@contextmanager
def short_sums_cut() -> Iterator[None]:
    """Let windows of any size be walked, as large ones are."""
    with patch.multiple(windows, FEW=0, SHORT=0):
        windows.walked.cache_clear()
        yield
    windows.walked.cache_clear()


def numbers(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> Array:
    """Return repeatable values: small whole numbers for ints, normals for floats."""
    rng = np.random.default_rng(seed)
    kind = np.dtype(dtype)
    if kind == np.bool_:
        return np.asarray(rng.integers(0, 2, shape).astype(bool))
    if kind.kind in "iu":
        return np.asarray(rng.integers(0, 7, shape).astype(kind))
    x = rng.standard_normal(shape)
    if kind.kind == "c":
        return np.asarray((x + 1j * rng.standard_normal(shape)).astype(kind))
    return np.asarray(x.astype(kind))
