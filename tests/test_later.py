"""What is imported later is there when it is asked for."""

from __future__ import annotations

import sys

import pytest

import lowtide.learners
from lowtide._later import ByName, later


def test_names_come_from_their_modules_and_others_are_refused(monkeypatch):
    get = later(__name__, {"json": ("dumps",), "xml": ()})
    assert get("dumps")([1]) == "[1]"
    assert sys.modules[__name__].__dict__["dumps"] is get("dumps")
    with pytest.raises(AttributeError, match="'xml'"):
        get("xml")


def test_classes_by_name_are_a_mapping_that_imports_what_is_taken():
    classes = ByName("lowtide.learners", ("KernelRegressor", "CodePCA"))
    assert (list(classes), len(classes), "CodePCA" in classes, "Decision" in classes) == (
        ["KernelRegressor", "CodePCA"], 2, True, False,
    )  # fmt: skip
    assert classes["CodePCA"] is lowtide.learners.CodePCA
    assert classes.get("Decision") is None
