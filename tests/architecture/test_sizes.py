"""Sizes: one idea a file, one thought a function. The aims are lower (CONTRIBUTING.md); these limits are hard."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from architecture.surface import ROOT, SOURCE

PYTHON = sorted(
    path for folder in ("src", "tests", "benchmarks", "examples", "release") for path in (ROOT / folder).rglob("*.py")
)
CPP = sorted(path for folder in ("cpp", "tests/cpp", "benchmarks") for path in (ROOT / folder).rglob("*.[ch]pp"))

MODULE_LINES = 500
INIT_LINES = 200  # names only
FUNCTION_LINES = 60
CPP_LINES = 400


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def _n_lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def _code_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return the lines from `def` to the end, without the docstring."""
    lines = (function.end_lineno or function.lineno) - function.lineno + 1
    if ast.get_docstring(function) is not None:
        docstring = function.body[0]
        lines -= (docstring.end_lineno or docstring.lineno) - docstring.lineno + 1
    return lines


@pytest.mark.parametrize("path", PYTHON, ids=_name)
def test_module_stays_within_its_size(path):
    limit = INIT_LINES if path.name == "__init__.py" else MODULE_LINES
    assert _n_lines(path) <= limit, f"split by idea: over {limit} lines"


@pytest.mark.parametrize("path", PYTHON, ids=_name)
def test_functions_stay_within_their_size(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    long = {node.name: lines for node in functions if (lines := _code_lines(node)) > FUNCTION_LINES}
    assert not long, f"over {FUNCTION_LINES} lines without docstring"


@pytest.mark.parametrize("path", CPP, ids=_name)
def test_cpp_file_stays_within_its_size(path):
    assert _n_lines(path) <= CPP_LINES, f"split by idea: over {CPP_LINES} lines"


def test_sizes_are_taken_of_the_whole_tree():
    assert SOURCE / "__init__.py" in PYTHON
    assert ROOT / "cpp" / "lowtide" / "layout.hpp" in CPP
