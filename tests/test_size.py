"""A file or function that outgrows these limits is asking to be split."""

import ast
from pathlib import Path

import pytest

import jask

ROOT = Path(jask.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
MAX_FILE_LINES = 600
MAX_FUNCTION_LINES = 60


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function without its docstring."""
    first = function.body[1:] if ast.get_docstring(function) else function.body
    return (function.end_lineno or 0) - first[0].lineno + 1 if first else 0


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_files_and_functions_stay_small(path: Path):
    source = path.read_text()
    assert len(source.splitlines()) <= MAX_FILE_LINES
    functions = [
        n
        for n in ast.walk(ast.parse(source))
        if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    long = {f.name: body_lines(f) for f in functions}
    assert not {k: v for k, v in long.items() if v > MAX_FUNCTION_LINES}


def test_the_count_of_lines_leaves_out_the_docstring():
    [function] = ast.parse(
        'def f():\n    """Doc.\n\n    More.\n    """\n    return 1\n'
    ).body
    assert isinstance(function, ast.FunctionDef)
    assert body_lines(function) == 1
