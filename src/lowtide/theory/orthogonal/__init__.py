"""Orthogonal frequencies: the Bessel kernel, exact variances, and where the paper's inequalities hold."""

from lowtide.theory.orthogonal.bessel import bessel_zeros, normalized_bessel
from lowtide.theory.orthogonal.chi import chi_covariance
from lowtide.theory.orthogonal.mixture import mixture_covariance
from lowtide.theory.orthogonal.ranges import (
    OrfRanges,
    kernel_bounds,
    orf_ranges,
    true_lower_range,
    true_upper_range,
    true_variance_range,
    variance_bounds,
)
from lowtide.theory.orthogonal.variance import (
    block_sizes,
    haar_covariance,
    orf_chi_variance,
    orf_variance,
    rff_variance,
)

__all__ = [
    "OrfRanges",
    "bessel_zeros",
    "block_sizes",
    "chi_covariance",
    "haar_covariance",
    "kernel_bounds",
    "mixture_covariance",
    "normalized_bessel",
    "orf_chi_variance",
    "orf_ranges",
    "orf_variance",
    "rff_variance",
    "true_lower_range",
    "true_upper_range",
    "true_variance_range",
    "variance_bounds",
]
