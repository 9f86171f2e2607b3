"""Features of kernels with two different sides."""

from lowtide.encoders.asymmetric.features import AsymmetricFeatures

__all__ = ["AsymmetricFeatures"]
