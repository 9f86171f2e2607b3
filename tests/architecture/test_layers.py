"""Direction: the contracts of pyproject.toml hold, and stages know each other by package only."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from architecture.surface import ROOT, SOURCE

MODULES = sorted(SOURCE.rglob("*.py"))


def _imports(path: Path) -> list[ast.ImportFrom | ast.Import]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]


def _imported_modules(path: Path) -> list[str]:
    """Return the dotted names after `from` and `import`, of lowtide only."""
    names = []
    for node in _imports(path):
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
    return [name for name in names if name.split(".")[0] == "lowtide"]


def test_import_contracts_hold():
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as run; run()"]
    run = subprocess.run([*command, "--no-logo", "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_module_imports_absolutely_and_other_stages_from_their_package(path):
    relative = [node for node in _imports(path) if isinstance(node, ast.ImportFrom) and node.level > 0]
    own_stage = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    reached_into = [name for name in _imported_modules(path) if name.count(".") > 1 and name.split(".")[1] != own_stage]
    assert not relative, "imports must be absolute"
    assert not reached_into, "import from the stage's package, never from a module inside it"


def test_no_module_has_a_name_that_says_nothing():
    empty = {"utils", "util", "helpers", "helper", "common", "misc", "manager", "tools"}
    found = [path.relative_to(SOURCE) for path in SOURCE.rglob("*") if path.stem.lstrip("_") in empty]
    assert not found
