"""What a file may hold: one line an object kind."""

from __future__ import annotations

from typing import Any

from lowtide._checks import fail
from lowtide.codes import Codes
from lowtide.encoders import ENCODERS
from lowtide.learners import (
    AsymmetricLSSVC,
    CodePCA,
    CompressedClassifier,
    CompressedDetector,
    CompressedRegressor,
    KernelClassifier,
    KernelRegressor,
)

__all__ = ["KINDS", "kind_of"]

KINDS: dict[str, Any] = {
    **ENCODERS,
    "KernelClassifier": KernelClassifier,
    "KernelRegressor": KernelRegressor,
    "AsymmetricLSSVC": AsymmetricLSSVC,
    "CompressedClassifier": CompressedClassifier,
    "CompressedRegressor": CompressedRegressor,
    "CompressedDetector": CompressedDetector,
    "CodePCA": CodePCA,
    "Codes": Codes,
}


def kind_of(thing: Any) -> str:
    """Return the name of an object's kind; a subclass may hold what no file does, so it has none."""
    for name, cls in KINDS.items():
        if type(thing) is cls:
            return name
    remedy = "Save the parts of a pipeline one by one, and other estimators with pickle or joblib."
    raise fail("save", f"object must be one of {', '.join(KINDS)}", type(thing).__name__, remedy)
