"""Estimators on one side of an encoder: what replaces a kernel machine."""

from lowtide.learners.asymmetric_lssvc import AsymmetricLSSVC
from lowtide.learners.classifier import KernelClassifier
from lowtide.learners.compress import compress
from lowtide.learners.compress_error import DecisionReport
from lowtide.learners.compressed import CompressedClassifier, CompressedDetector, CompressedRegressor
from lowtide.learners.regressor import KernelRegressor

__all__ = [
    "AsymmetricLSSVC",
    "CompressedClassifier",
    "CompressedDetector",
    "CompressedRegressor",
    "DecisionReport",
    "KernelClassifier",
    "KernelRegressor",
    "compress",
]
