"""Every public object has a docstring with an example that runs, and typed returns."""

import ast
import doctest
import importlib.util
import inspect
import tomllib
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import pytest

import jask
import jask.errors
from jask.numpy._lift import REFUSED

ROOT = Path(jask.__file__).parent
PUBLIC_MODULES = ["jask", "jask.numpy", "jask.random", "jask.testing"]
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def public_objects() -> Iterator[tuple[str, Any]]:
    """Yield the qualified name and value of every public function and class.

    What is handed on from JAX as it is (dtypes, `issubdtype`) is documented there.
    """
    for module_name in PUBLIC_MODULES:
        if importlib.util.find_spec(module_name) is None:
            continue
        module = importlib.import_module(module_name)
        for name in module.__all__:
            value = getattr(module, name)
            documented = inspect.isfunction(value) or inspect.isclass(value)
            if documented and str(value.__module__).startswith("jask"):
                yield f"{module_name}.{name}", value


OBJECTS = dict(public_objects())


def has_own_example(value: Any) -> bool:
    return ">>>" in (inspect.getdoc(value) or "")


def seen_by_collection(value: Any) -> bool:
    """Return whether --doctest-modules runs the object's examples already."""
    try:
        module = inspect.getmodule(value)
        found = getattr(module, value.__name__, None) is value
    except AttributeError:
        return False
    owner = getattr(inspect.unwrap(value), "__globals__", vars(module))
    return found and owner is vars(module)


LIFTED = [n for n, value in OBJECTS.items() if "jax_names" in value.__module__]
"""Functions made from the one of the same name in jax.numpy by one generic rule."""


@pytest.mark.parametrize("name", [n for n in OBJECTS if n not in LIFTED])
def test_every_public_object_has_an_example(name: str):
    assert has_own_example(OBJECTS[name]), f"{name} has no example in its docstring"


@pytest.mark.parametrize("name", LIFTED)
def test_a_function_taken_from_jax_says_where_it_is_documented(name: str):
    own_name = name.removeprefix("jask.numpy.")
    assert f"`jax.numpy.{own_name}`" in (inspect.getdoc(OBJECTS[name]) or "")


@pytest.mark.parametrize(
    "name", [n for n, value in OBJECTS.items() if not seen_by_collection(value)]
)
def test_examples_of_generated_functions_run(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    value = OBJECTS[name]
    test = doctest.DocTestParser().get_doctest(
        inspect.getdoc(value) or "", {"jask": jask}, name, None, 0
    )
    report: list[str] = []
    with jax.enable_x64(False), jax.numpy_dtype_promotion("standard"):
        doctest.DocTestRunner(verbose=False, optionflags=OPTIONS).run(
            test, out=report.append
        )
    assert not report, "".join(report)


def test_the_version_is_that_of_the_package():
    project = tomllib.loads((ROOT.parent / "pyproject.toml").read_text())["project"]
    assert jask.__version__ == project["version"]


def test_every_error_is_in_the_main_namespace():
    own = {n for n, v in vars(jask.errors).items() if inspect.isclass(v)}
    assert "MemoryBudgetError" in own
    assert own <= set(jask.__all__)
    assert all(getattr(jask, n) is getattr(jask.errors, n) for n in own)


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_a_name_of_jax_numpy_that_is_not_here_says_why(name: str):
    with pytest.raises(AttributeError) as caught:
        getattr(jask.numpy, name)
    assert REFUSED[name] in str(caught.value)
    assert not hasattr(jask.numpy, name)


@pytest.mark.parametrize(
    ("name", "instead"),
    [("load", "jask.open"), ("savez", "jask.save"), ("compute", "jask.materialize")],
)
def test_a_name_of_other_libraries_says_what_to_use(name: str, instead: str):
    with pytest.raises(AttributeError, match=instead):
        getattr(jask, name)
    with pytest.raises(AttributeError, match="no attribute 'xyz'"):
        getattr(jask, "xyz")  # noqa: B009 - no type checker knows it
    with pytest.raises(ImportError):
        exec("from jask import xyz")


@pytest.mark.parametrize(
    ("module", "wrong", "meant"),
    [(jask, "materialise", "materialize"), (jask.numpy, "men", "mean")],
)
def test_python_says_which_name_was_meant(module: Any, wrong: str, meant: str):
    with pytest.raises(AttributeError) as caught:
        getattr(module, wrong)
    shown = "".join(traceback.format_exception(caught.value))
    assert f"has no attribute '{wrong}'. Did you mean: '{meant}'?" in shown


@pytest.mark.parametrize(
    "name", [*PUBLIC_MODULES, "jask.numpy.linalg", "jask.numpy.fft"]
)
def test_dir_of_a_module_shows_its_public_names_only(name: str):
    module = importlib.import_module(name)
    shown = {n for n in dir(module) if not n.startswith("__")}
    assert shown == {n for n in module.__all__ if not n.startswith("__")}
    assert "__doc__" in dir(module)


def test_every_name_in_all_exists_once():
    for module_name in PUBLIC_MODULES:
        if importlib.util.find_spec(module_name) is None:
            continue
        module = importlib.import_module(module_name)
        names = list(module.__all__)
        assert len(names) == len(set(names))
        assert not [n for n in names if not hasattr(module, n)]


@pytest.mark.parametrize(
    "path", sorted(ROOT.rglob("*.py")), ids=lambda p: str(p.relative_to(ROOT))
)
def test_every_function_says_what_it_returns(path: Path):
    functions = [
        n
        for n in ast.walk(ast.parse(path.read_text()))
        if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    assert not [f.name for f in functions if f.returns is None]
