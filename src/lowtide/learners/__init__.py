"""Estimators on one side of an encoder: what replaces a kernel machine."""

from lowtide.learners.classifier import KernelClassifier
from lowtide.learners.regressor import KernelRegressor

__all__ = ["KernelClassifier", "KernelRegressor"]
