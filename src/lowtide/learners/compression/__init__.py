"""Exact kernel machines of scikit-learn as low-bit ones, without training."""

from lowtide.learners.compression.compress import compress
from lowtide.learners.compression.compressed import CompressedClassifier, CompressedDetector, CompressedRegressor
from lowtide.learners.compression.error import DecisionReport

__all__ = ["CompressedClassifier", "CompressedDetector", "CompressedRegressor", "DecisionReport", "compress"]
