"""The house: packages know each other by public names, no class is spread over a base, and a call crosses few files."""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from architecture.surface import SOURCE, public_classes_and_functions

import lowtide as lt

TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(SOURCE.rglob("*.py"))}
# Packages whose own name begins with an underscore; what they list is public within lowtide.
INNER_PACKAGES = {"_core", "_checks", "_later", "_system"}
# Contracts that users derive from, and estimators, may have one implementation here.
OPEN_CONTRACTS = {"Spec", "Encoder"}


def _package(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def _is_private(name: object) -> bool:
    return isinstance(name, str) and name.startswith("_") and not name.startswith("__") and name != "_"


def _defined(tree: ast.Module) -> Iterator[str]:
    """Yield every private name that a module makes: functions, classes, variables, attributes, arguments."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


OWNED: dict[str, set[str]] = defaultdict(set)
for _path, _tree in TREES.items():
    OWNED[_package(_path)] |= {name for name in _defined(_tree) if _is_private(name)}


def _private_reads(tree: ast.Module, package: str) -> Iterator[tuple[int, str]]:
    """Yield (line, name) of private names that only another package of lowtide makes, under every spelling."""
    others = set().union(*(names for other, names in OWNED.items() if other != package)) - OWNED[package]
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in others:
            yield node.lineno, node.attr
        elif isinstance(node, ast.Call):
            called = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if called in ("getattr", "hasattr", "setattr", "delattr", "attrgetter", "methodcaller", "pop", "get"):
                names = [argument.value for argument in node.args if isinstance(argument, ast.Constant)]
                yield from ((node.lineno, name) for name in names if name in others)
        elif isinstance(node, ast.Subscript) and getattr(node.slice, "value", None) in others:
            yield node.lineno, ast.unparse(node.slice)  # a key of __dict__
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("lowtide"):
            home = (*(node.module or "").split("."), "")[1]
            for alias in node.names:
                if _is_private(alias.name) and alias.name not in INNER_PACKAGES and home != package:
                    yield node.lineno, alias.name


@pytest.mark.parametrize("path", TREES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_module_reads_no_private_name_of_another_package(path):
    found = [f"line {line}: {name}" for line, name in _private_reads(TREES[path], _package(path))]
    assert not found, "make the name public where it lives, or ask for something else"


@pytest.mark.parametrize(
    "line",
    [
        "x = model._weights_of_another",
        "getattr(model, '_weights_of_another')",
        "hasattr(model, '_weights_of_another')",
        "model.__dict__['_weights_of_another']",
        "model.__dict__.pop('_weights_of_another', None)",
        "self._weights_of_another",
        "from lowtide.learners import _weights_of_another",
    ],
)
def test_a_private_read_is_found_under_every_spelling(line, monkeypatch):
    monkeypatch.setitem(OWNED, "elsewhere", {"_weights_of_another"})
    assert list(_private_reads(ast.parse(line), "serve"))


def _stage(cls: type) -> str:
    """Return the package of lowtide that defines a class, empty for others."""
    parts = cls.__module__.split(".")
    return parts[1] if parts[0] == "lowtide" and len(parts) > 1 else ""


def test_no_class_overrides_a_private_name_of_another_package():
    classes = {name.value for name in public_classes_and_functions() if isinstance(name.value, type)}
    found = [
        f"{cls.__name__}.{name} of {base.__module__}"
        for cls in classes
        for base in cls.__mro__[1:]
        if _stage(base) and _stage(base) != _stage(cls)
        for name, member in vars(cls).items()
        if _is_private(name) and name in vars(base) and callable(member) and not name.startswith("_abc")
    ]
    assert not found, "make the hook public where it is called"


def test_no_class_has_exactly_one_subclass():
    subclasses = defaultdict(list)
    for tree in TREES.values():
        for node in ast.walk(tree):
            for base in node.bases if isinstance(node, ast.ClassDef) else []:
                subclasses[getattr(base, "id", getattr(base, "attr", ""))].append(node.name)
    own = {node.name for tree in TREES.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    single = {
        name: subclasses[name]
        for name in own - OPEN_CONTRACTS
        if len(subclasses[name]) == 1 and not name.endswith(("Error", "Warning"))
    }
    assert not single, "join the two: a base is for several"


@pytest.mark.parametrize("path", TREES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_method_hides_its_own_type(path):
    functions = (node for node in ast.walk(TREES[path]) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))
    first = (node.args.args[0] for node in functions if node.args.args)
    hidden = [argument.lineno for argument in first if argument.arg in ("self", "cls") and argument.annotation]
    assert not hidden, "a method's self needs no annotation: move what it reads to where it is known"


def _files_crossed(call: Callable[[], object]) -> set[str]:
    """Return the files of lowtide that run while something is called."""
    files = set()

    def note(frame, event, _):
        if event == "call" and frame.f_code.co_filename.startswith(str(SOURCE)):
            files.add(frame.f_code.co_filename)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
    return files


def test_a_call_crosses_few_files():
    X = np.random.default_rng(0).standard_normal((400, 20)).astype(np.float32)
    y = (X[:, 0] > 0).astype(int)
    given = {"gamma": 0.05, "n_components": 256, "metric": None, "loss": "squared", "C": 1.0}
    learner = lt.KernelClassifier(**given, random_state=0)
    model = learner.fit(X, y)
    model.predict(X[:1])
    encoder, few = model.features_, X[:4]
    crossed = _files_crossed(lambda: learner.fit(X, y))
    # Among them how classes are fitted, where they meet, and the table of what was given: an idea a file. What an
    # encoder draws, and how scores become answers, are apart from the estimators, so that they know no scikit-learn.
    assert len(crossed) <= 32
    # Nothing is left to the data.
    assert not any(file.endswith("automatic.py") for file in crossed)
    assert len(_files_crossed(lambda: model.predict(X[:1]))) <= 10
    estimate = lambda: encoder.kernel_estimate(few, few, sides=("codes", "full"), return_std=True)  # noqa: E731
    assert len(_files_crossed(estimate)) <= 16  # one for the metric that rows may go through
