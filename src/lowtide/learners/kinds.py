"""The learners that a file may name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lowtide._later import ByName

if TYPE_CHECKING:
    from lowtide.learners.learner import Learner

_NAMES = (
    "KernelClassifier",
    "KernelRegressor",
    "AsymmetricLSSVC",
    "CompressedClassifier",
    "CompressedRegressor",
    "CompressedDetector",
    "CodePCA",
)

LEARNERS: ByName[type[Learner]] = ByName("lowtide.learners", {name: name for name in _NAMES})
