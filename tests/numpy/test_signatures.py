"""Names and signatures of the standard, against array-api-strict."""

import functools
import inspect
import re
import types
from collections.abc import Iterable
from typing import Any

import array_api_strict
import jax.numpy
import numpy as np
import pytest

import jask.numpy as jnp

KINDS = (types.FunctionType, jnp.ufunc)

OWN = {"Device", "ArrayAPIStrictFlags"}


def standard_functions() -> list[tuple[str, Any, Any]]:
    found = []
    for prefix, theirs, ours in (
        ("", array_api_strict, jnp),
        ("linalg.", array_api_strict.linalg, jnp.linalg),
        ("fft.", array_api_strict.fft, jnp.fft),
    ):
        for name in theirs.__all__:
            model = getattr(theirs, name)
            if isinstance(model, types.FunctionType) and "strict" not in name:
                found.append((prefix + name, model, getattr(ours, name)))
    return found


FUNCTIONS = standard_functions()


def test_the_standard_has_its_full_number_of_functions():
    assert len(FUNCTIONS) > 150


def test_every_name_of_the_standard_is_exported():
    names = {n for n in array_api_strict.__all__ if "strict" not in n}
    assert names - OWN - set(jnp.__all__) == {"__version__"}


def parameters(function: Any) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(function).parameters)


def named(namespace: Any, name: str) -> Any:
    """The function of that name, such as `linalg.inv`."""
    return functools.reduce(getattr, name.split("."), namespace)


def peer(name: str) -> Any:
    """The function of jax.numpy; what has two names here goes by the shorter."""
    short = name.removeprefix("linalg.")
    same = getattr(jnp, short, None) is named(jnp, name)
    return named(jax.numpy, short if same else name)


def kinds(found: dict[str, inspect.Parameter], names: Iterable[str]) -> list[Any]:
    return [(name, found[name].kind.name) for name in names]


def rows(table: dict[str, str]) -> dict[str, set[str]]:
    """A table `parameters: functions` turned round."""
    turned: dict[str, set[str]] = {}
    for names, functions in table.items():
        for function in functions.split():
            turned.setdefault(function, set()).update(names.split())
    return turned


BY_POSITION = rows(
    {
        "axes": "tensordot linalg.tensordot fft.fftshift fft.ifftshift",
        "invert": "isin",
        "axis": "all any argmax argmin argsort count_nonzero diff flip max mean min "
        "prod repeat roll sort stack std sum take take_along_axis var",
        "d": "fft.fftfreq fft.rfftfreq",
        "dtype": "arange asarray empty empty_like eye full full_like linspace ones "
        "ones_like prod sum zeros zeros_like",
        "endpoint": "linspace",
        "full_matrices": "linalg.svd",
        "k": "eye tril triu",
        "mode": "linalg.qr",
        "n axis norm": "fft.fft fft.hfft fft.ifft fft.ihfft fft.irfft fft.rfft",
        "n prepend append": "diff",
        "rtol": "linalg.matrix_rank linalg.pinv",
        "s axes norm": "fft.fftn fft.ifftn fft.irfftn fft.rfftn",
        "side sorter": "searchsorted",
    }
)
"""By keyword only in the standard, also by position here: programs written for
jax.numpy give them so."""

BEYOND = rows(
    {
        "assume_unique method": "isin",
        "casting": "can_cast",
        "UPLO symmetrize_input": "linalg.eigh linalg.eigvalsh",
        "compute_uv hermitian subset_by_index": "linalg.svd",
        "ddof mean": "std var",
        "decimals": "round",
        "dtype": "argsort mean stack std var",
        "hermitian rcond": "linalg.pinv",
        "hermitian tol": "linalg.matrix_rank",
        "initial": "max min prod sum",
        "kind order": "argsort sort",
        "method": "linalg.slogdet searchsorted",
        "mode fill_value": "take take_along_axis",
        "wrap_negative_indices": "take_along_axis",
        "unique_indices indices_are_sorted": "take",
        "total_repeat_length": "repeat",
        "promote_integers": "prod sum",
        "order": "asarray reshape",
        "out": "all any argmax argmin cumulative_prod cumulative_sum max mean min prod "
        "round stack std sum take var",
        "precision preferred_element_type": "matmul tensordot vecdot linalg.matmul "
        "linalg.tensordot linalg.vecdot",
        "retstep axis": "linspace",
        "shape": "empty_like full_like ones_like zeros_like",
        "size fill_value": "nonzero where unique_all unique_counts unique_inverse "
        "unique_values",
        "sparse copy": "meshgrid",
        "symmetrize_input": "linalg.cholesky",
        "where": "all any max mean min prod std sum var",
    }
)
"""Not in the standard, optional here: jax.numpy has them."""

OPTIONAL = {"linspace": {"num"}, "squeeze": {"axis"}, "where": {"x1", "x2"}}
"""Without a default in the standard, with one here: jax.numpy has it."""


def test_by_position_only_is_what_the_standard_takes_so():
    for name, model, ours in FUNCTIONS:
        found, own = parameters(model), parameters(ours)
        only = [n for n, p in found.items() if p.kind is p.POSITIONAL_ONLY]
        mine = [n for n, p in own.items() if p.kind is p.POSITIONAL_ONLY]
        assert mine == only, name


def test_what_the_standard_takes_by_position_has_the_same_name_and_place():
    for name, model, ours in FUNCTIONS:
        found, own = parameters(model), parameters(ours)
        plain = [n for n, p in found.items() if p.kind is not p.KEYWORD_ONLY]
        first = list(own)[: len(plain)]
        assert kinds(own, first) == kinds(found, plain), name


def test_what_the_standard_takes_by_keyword_only_is_so_but_for_the_listed():
    wider: dict[str, set[str]] = {}
    for name, model, ours in FUNCTIONS:
        own = parameters(ours)
        for key, p in parameters(model).items():
            if p.kind is p.KEYWORD_ONLY and own[key].kind is not p.KEYWORD_ONLY:
                assert own[key].kind is p.POSITIONAL_OR_KEYWORD, name
                wider.setdefault(name, set()).add(key)
    assert wider == BY_POSITION


def test_nothing_is_beyond_the_standard_but_the_listed_and_that_is_optional():
    beyond: dict[str, set[str]] = {}
    for name, model, ours in FUNCTIONS:
        known = parameters(model)
        for key, p in parameters(ours).items():
            if key not in known:
                assert p.default is not p.empty, name
                beyond.setdefault(name, set()).add(key)
    assert beyond == BEYOND


def test_defaults_are_those_of_the_standard_but_for_the_listed():
    other: dict[str, set[str]] = {}
    for name, model, ours in FUNCTIONS:
        own = parameters(ours)
        for key, p in parameters(model).items():
            default = None if "UNDEF" in repr(p.default) else p.default
            if own[key].default != default:
                assert p.default is p.empty, name
                other.setdefault(name, set()).add(key)
    assert other == OPTIONAL


def test_what_may_also_be_given_by_position_has_its_place_in_jax_numpy():
    for name, keys in BY_POSITION.items():
        own, model = parameters(named(jnp, name)), parameters(peer(name))
        assert {list(own).index(k) - list(model).index(k) for k in keys} <= {0}, name
        assert {model[k].kind.name for k in keys} == {"POSITIONAL_OR_KEYWORD"}, name


def test_what_is_beyond_the_standard_is_in_jax_numpy_with_the_same_default():
    for name, keys in BEYOND.items():
        running = name.startswith("cumulative_")  # out: NumPy has it, jax.numpy not
        model = parameters(named(np, name) if running else peer(name))
        own = parameters(named(jnp, name))
        assert {k for k in keys if own[k].default == model[k].default} == keys, name


def test_what_may_be_left_out_may_be_left_out_in_jax_numpy():
    for name, keys in OPTIONAL.items():
        own, model = parameters(named(jnp, name)), parameters(peer(name))
        for place in map(list(own).index, keys):
            same = list(own.values())[place], list(model.values())[place]
            assert same[0].default == same[1].default, name


def test_every_function_has_a_docstring_and_a_home():
    values = {n: getattr(jnp, n) for n in jnp.__all__}
    own = {n: v for n, v in values.items() if isinstance(v, KINDS)}
    foreign = {"issubdtype", "promote_types", "isscalar", "iterable"}
    printing = {"get_printoptions", "set_printoptions", "printoptions"}
    for name in own.keys() - foreign - printing:
        assert own[name].__doc__, name
        assert own[name].__module__.startswith("jask.numpy"), name


def all_functions() -> dict[str, Any]:
    """Every function of ours; what is handed on from JAX as it is is not."""
    found = {}
    for prefix, module in (("", jnp), ("linalg.", jnp.linalg), ("fft.", jnp.fft)):
        for name in module.__all__:
            value = getattr(module, name)
            ours = str(getattr(value, "__module__", "")).startswith("jask")
            if isinstance(value, KINDS) and ours:
                found[prefix + name] = value
    return found


def listed(function: Any) -> list[str] | None:
    """The names in the Parameters section of a docstring."""
    doc = inspect.getdoc(function) or ""
    section = re.search(r"Parameters\n-+\n(.*?)\n\n\w+\n-+\n", doc, re.DOTALL)
    if section is None:
        return None
    heads = [n for n in section[1].splitlines() if not n.startswith(" ")]
    names = ", ".join(n.split(" : ")[0] for n in heads)
    return [n.strip().lstrip("*") for n in names.split(",")]


def test_a_docstring_lists_the_parameters_that_there_are_in_their_order():
    functions = all_functions()
    found = {n: (listed(f), list(parameters(f))) for n, f in functions.items()}
    documented = {n: pair for n, pair in found.items() if pair[0] is not None}
    assert len(documented) > 350
    assert {n: p for n, p in documented.items() if p[0] != p[1]} == {}


def test_nothing_that_jax_keeps_for_itself_is_a_parameter():
    assert "_dot_general" in parameters(jax.numpy.einsum)
    own = all_functions().items()
    assert [n for n, f in own if any(p.startswith("_") for p in parameters(f))] == []
    with pytest.raises(TypeError, match="_dot_general"):
        jnp.einsum("ij->i", jnp.ones((2, 2)), _dot_general=None)


def test_an_axis_is_documented_as_it_is_taken():
    assert "axis : int or None\n" in str(inspect.getdoc(jnp.argmax))
    assert "axis : int, tuple of ints or None\n" in str(inspect.getdoc(jnp.sum))
    with pytest.raises(TypeError):
        jnp.argmax(jnp.ones((2, 2)), axis=(0, 1))


NAMED = {
    "percentile": "jax.numpy.percentile",
    "dot": "jax.numpy.dot",
    "linalg.norm": "jax.numpy.linalg.norm",
    "linalg.svd": "jax.numpy.linalg.svd",
    "fft.fft": "jax.numpy.fft.fft",
    "fft.rfftfreq": "jax.numpy.fft.rfftfreq",
}


@pytest.mark.parametrize("name", sorted(NAMED))
def test_a_docstring_names_the_model_as_a_user_writes_it(name: str):
    doc = inspect.getdoc(named(jnp, name)) or ""
    assert f"As in `{NAMED[name]}`" in doc
    assert named(jax, NAMED[name].removeprefix("jax."))


def test_a_summary_says_what_a_function_does():
    docs = {n: inspect.getdoc(f) or "" for n, f in all_functions().items()}
    assert docs["percentile"].startswith("Compute the percentile of ")
    norm = str(inspect.getdoc(jnp.linalg.norm))
    assert norm.startswith("Norm of vectors or matrices.")
    assert [n for n, doc in docs.items() if ":func:" in doc] == []


def test_a_first_parameter_is_not_taken_by_name():
    with pytest.raises(TypeError, match="unexpected keyword"):
        jnp.sum(a=jnp.ones(3))


def test_out_is_none_wherever_jax_numpy_takes_it():
    functions = {
        name: f
        for name, f in all_functions().items()
        if not isinstance(named(jax.numpy, name), jax.numpy.ufunc)
    }
    with_out = {n for n, f in functions.items() if "out" in parameters(f)}
    model = {n for n in functions if "out" in parameters(named(jax.numpy, n))}
    assert model - with_out == set()
    assert with_out - model == {"cumulative_prod", "cumulative_sum"}
    defaults = {parameters(functions[n])["out"].default for n in with_out}
    assert defaults == {None}


UFUNCS = [n for n in dir(jnp) if isinstance(getattr(jnp, n), jnp.ufunc)]


@pytest.mark.parametrize("name", UFUNCS)
def test_a_ufunc_takes_out_none_and_nothing_else(name: str):
    function = getattr(jnp, name)
    operands = [jnp.asarray([3, 1], dtype="int32")] * function.nin
    found, same = function(*operands, out=None), function(*operands)
    for x, y in zip(jax.tree.leaves(found), jax.tree.leaves(same), strict=True):
        np.testing.assert_array_equal(x, y)
    with pytest.raises(NotImplementedError, match="out must be None"):
        function(*operands, out=operands[0])


REDUCTIONS = (
    "all any amax amin argmax argmin cumprod cumsum cumulative_prod cumulative_sum "
    "max mean median min nanargmax nanargmin nancumprod nancumsum nanmax nanmean "
    "nanmedian nanmin nanprod nanstd nansum nanvar prod ptp std sum trace var"
)


@pytest.mark.parametrize("name", REDUCTIONS.split())
def test_a_reduction_takes_out_none_and_nothing_else(name: str):
    model = np.arange(6, dtype=np.float32).reshape(2, 3) - 2
    axis = {} if name == "trace" else {"axis": 1}
    call, x = getattr(jnp, name), jnp.asarray(model)
    expected = getattr(np, name)(model, **axis)
    # float32 sums in another order
    np.testing.assert_allclose(
        np.asarray(call(x, out=None, **axis)), expected, rtol=1e-6
    )
    for out in (np.empty_like(expected), call(x, **axis)):
        with pytest.raises(TypeError, match=rf"^{call.__name__}: .*out must be None"):
            call(x, out=out, **axis)


@pytest.mark.parametrize(
    ("name", "rest"),
    [("round", ()), ("around", (1,)), ("take", ([2, 0], 1)), ("stack", ())],
)
def test_other_functions_take_out_none_and_nothing_else(name: str, rest: Any):
    model = np.asarray([[0.25, 1.5, 2.0], [3.0, 4.5, 5.0]], np.float32)
    rest = tuple(np.asarray(r) if isinstance(r, list) else r for r in rest)
    call, x = getattr(jnp, name), jnp.asarray(model)
    expected = getattr(np, name)(model, *rest)
    np.testing.assert_array_equal(np.asarray(call(x, *rest, out=None)), expected)
    for out in (np.empty_like(expected), x):
        with pytest.raises(TypeError, match="out must be None"):
            call(x, *rest, out=out)


def lacking(model: Any, own: Any) -> set[str]:
    """The parameters of a model that ours has neither by name nor by place."""
    theirs, ours = parameters(model), parameters(own)
    kinds = [p.kind.name for p in ours.values()]
    by_place = {"POSITIONAL_ONLY", "VAR_POSITIONAL"}
    return {
        name
        for i, (name, p) in enumerate(theirs.items())
        if not p.kind.name.startswith("VAR_")
        and name not in ours
        and not (i < len(kinds) and kinds[i] in by_place)
    }


def test_what_jax_numpy_takes_is_taken_but_for_the_rows_of_the_table():
    found = {}
    for prefix, module in (("", jax.numpy), ("linalg.", jax.numpy.linalg)):
        for name in dir(module):
            model = getattr(module, name)
            function = isinstance(model, types.FunctionType | jax.numpy.ufunc)
            if function and name in named(jnp, prefix + "__dict__"):
                own = named(jnp, prefix + name)
                found[prefix + name] = lacking(model, own)
    assert len(found) > 100
    allowed = {"out", "out_sharding", "_dot_general"}
    masked = {n for n, names in found.items() if names - allowed}
    assert {n for n in masked if not isinstance(named(jnp, n), jnp.ufunc)} == set()
    assert set().union(*found.values()) == {*allowed, "where"}


def test_what_methods_of_jax_arrays_take_is_taken_but_for_the_rows_of_the_table():
    model, own = jax.numpy.ones((2, 2)), jnp.ones((2, 2))
    names = [n for n in dir(model) if not n.startswith("_") and hasattr(own, n)]
    methods = [n for n in names if callable(getattr(model, n))]
    assert len(methods) > 30
    found = {n: lacking(getattr(model, n), getattr(own, n)) for n in methods}
    assert set().union(*found.values()) == {"out", "out_sharding"}


OF_DEVICES = {
    "addressable_data", "addressable_shards", "aval", "clone", "committed",
    "copy_to_host_async", "delete", "device_buffer", "device_buffers", "devices",
    "flat", "format", "global_shards", "is_deleted", "is_fully_addressable",
    "is_fully_replicated", "is_ready", "on_device_size_in_bytes", "platform",
    "sharding", "traceback", "unsafe_buffer_pointer", "unsafe_raw_buffer",
}  # fmt: skip
"""Attributes of JAX arrays that tell of buffers in the memory of devices."""


def test_every_attribute_of_a_jax_array_is_there_but_those_of_its_buffers():
    public = {n for n in dir(jax.numpy.ones((2, 2))) if not n.startswith("_")}
    assert {n for n in public if not hasattr(jnp.ones((2, 2)), n)} <= OF_DEVICES
