"""Estimators on one side of an encoder: what replaces a kernel machine."""

from lowtide.learners.classifier import KernelClassifier
from lowtide.learners.code_pca import CodePCA
from lowtide.learners.compress import compress
from lowtide.learners.compress_error import DecisionReport
from lowtide.learners.compressed import CompressedClassifier, CompressedDetector, CompressedRegressor
from lowtide.learners.regressor import KernelRegressor

__all__ = [
    "CodePCA",
    "CompressedClassifier",
    "CompressedDetector",
    "CompressedRegressor",
    "DecisionReport",
    "KernelClassifier",
    "KernelRegressor",
    "compress",
]
