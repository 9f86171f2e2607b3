"""Public names: each exists and says what it is; importing lowtide costs nothing that was not asked for."""

from __future__ import annotations

import inspect
import subprocess
import sys
from importlib import import_module

import pytest
from architecture.surface import module_names, public_classes_and_functions, public_methods, public_modules

import lowtide

PUBLIC = public_classes_and_functions()


def _modules_loaded_by(statement: str) -> set[str]:
    """Return the names in sys.modules of a fresh interpreter after the statement."""
    code = f"{statement}\nimport sys\nprint('\\n'.join(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


@pytest.mark.parametrize("module", public_modules(), ids=lambda module: module.__name__)
def test_every_listed_name_exists_once(module):
    missing = [name for name in module.__all__ if not hasattr(module, name)]
    assert not missing
    assert len(set(module.__all__)) == len(module.__all__)


@pytest.mark.parametrize("name", [name for name in module_names() if "._" not in name])
def test_every_package_lists_its_names(name):
    module = import_module(name)
    assert hasattr(module, "__all__") or not hasattr(module, "__path__"), "list the public names in __all__"


@pytest.mark.parametrize(("path", "value"), PUBLIC, ids=[name.path for name in PUBLIC])
def test_public_name_and_its_methods_have_docstrings(path, value):
    assert value.__doc__, f"{path} needs a docstring"
    methods = public_methods(value) if inspect.isclass(value) else {}
    silent = [name for name in methods if not inspect.getdoc(getattr(value, name))]
    assert not silent


def test_dir_of_lowtide_lists_the_public_names():
    assert set(dir(lowtide)) == set(lowtide.__all__)


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no_such_name"):
        lowtide.no_such_name  # noqa: B018


def test_import_of_lowtide_loads_neither_scipy_nor_sklearn():
    assert not _modules_loaded_by("import lowtide") & {"sklearn", "scipy"}


def test_import_of_the_command_line_loads_no_sklearn():
    loaded = _modules_loaded_by("import lowtide.cli.main")
    assert "click" in loaded
    assert "sklearn" not in loaded


def test_import_of_a_classifier_loads_no_part_of_scikit_learn_that_it_does_not_call():
    loaded = _modules_loaded_by("from lowtide import KernelClassifier")
    assert "sklearn.base" in loaded
    assert not loaded & {
        "sklearn.metrics",
        "sklearn.svm",
        "sklearn.linear_model",
        "sklearn.model_selection",
        "sklearn.pipeline",
    }
    assert not loaded & {"lowtide.learners.advice", "lowtide.learners.compression", "lowtide.learners.search"}
