"""What is imported later is there when it is asked for."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import lowtide.learners
from lowtide._later import ByName, later, names_in_stub, put_off


def test_names_come_from_their_modules_and_others_are_refused(monkeypatch):
    get = later(__name__, {"json": ("dumps",), "xml": ()})
    assert get("dumps")([1]) == "[1]"
    assert sys.modules[__name__].__dict__["dumps"] is get("dumps")
    with pytest.raises(AttributeError, match="'xml'"):
        get("xml")


def test_names_of_a_package_are_those_of_its_stub(tmp_path):
    (tmp_path / "__init__.pyi").write_text(
        "from json import dumps as dumps\nfrom math import pi as pi\nfrom json import loads as loads\n"
    )
    names, get = names_in_stub(__name__, str(tmp_path / "__init__.py"))
    assert names == ["dumps", "loads", "pi"]
    assert get("loads")(get("dumps")([1])) == [1]


@pytest.mark.parametrize("package", ["encoders", "learners", "tables", "theory"])
def test_no_name_of_a_package_is_that_of_a_module_which_would_hide_it(package):
    found = importlib.import_module(f"lowtide.{package}")
    modules = {path.stem for path in Path(found.__file__).parent.glob("*.py")}
    assert not modules & set(found.__all__)


def test_one_encoder_does_not_load_the_others():
    code = """
import sys
import lowtide
lowtide.RandomFeatures
assert not {"lowtide.encoders.sketch", "lowtide.encoders.ternary", "lowtide.theory.planner"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_learner_loads_what_it_fits_with_when_a_fit_begins():
    code = """
import sys
from lowtide import KernelClassifier
model = KernelClassifier(n_components=8)
loaded = {"lowtide.learners.class_fit", "lowtide.learners.decision", "lowtide.encoders.encoder", "lowtide.kernels"}
assert not loaded & set(sys.modules)
model.fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
assert loaded <= set(sys.modules)
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True)


@pytest.mark.parametrize("package", ["lowtide.encoders", "lowtide.learners.fitting", "lowtide.theory"])
def test_each_name_of_a_stub_is_there(package):
    found = importlib.import_module(package)
    assert all(getattr(found, name) is not None for name in found.__all__)


def test_classes_by_name_are_a_mapping_that_imports_what_is_taken():
    classes = ByName("lowtide.learners", {name: name for name in ("KernelRegressor", "CodePCA")})
    assert (list(classes), len(classes), "CodePCA" in classes, "Decision" in classes) == (
        ["KernelRegressor", "CodePCA"], 2, True, False,
    )  # fmt: skip
    assert classes["CodePCA"] is lowtide.learners.CodePCA
    assert classes.get("Decision") is None


def test_a_module_that_is_put_off_is_loaded_by_its_first_use():
    code = """
import sys
from lowtide._later import put_off
put_off("colorsys")
put_off("xml.dom")
put_off("sys")
import colorsys
import xml.dom
assert not hasattr(colorsys, "__file__")
from colorsys import rgb_to_hsv
import xml.dom.minidom
assert rgb_to_hsv(0, 0, 1)[2] == 1 == colorsys.rgb_to_hsv(0, 0, 1)[2]
assert sys.modules["colorsys"].__file__ and xml.dom.minidom.Document
import colorsys
assert colorsys.__file__ and sys.modules["xml.dom"].__file__
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_module_that_is_there_is_not_put_off():
    put_off("subprocess")
    assert sys.modules["subprocess"] is subprocess
