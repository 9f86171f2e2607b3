"""Orthogonal frequencies (ORF).

`bessel`: zeros of the kernel of unit-norm rows. `chi`, `mixture`: covariance within a block for Gaussian and for mixed
lengths. `variance`: exact variances. `ranges`: where the paper's inequalities hold.
"""

# One line a topic, as in `lowtide.theory`, which shows all of these names.
# fmt: off
# isort: off
from lowtide.theory.orthogonal.bessel import bessel_zeros
from lowtide.theory.orthogonal.chi import chi_covariance
from lowtide.theory.orthogonal.mixture import mixture_covariance
from lowtide.theory.orthogonal.variance import (
    block_sizes, haar_covariance, orf_chi_variance, orf_variance, rff_variance,
)
from lowtide.theory.orthogonal.ranges import (
    OrfRanges, kernel_bounds, orf_ranges, true_lower_range, true_upper_range, true_variance_range, variance_bounds,
)

__all__ = [  # noqa: RUF022
    "bessel_zeros", "chi_covariance", "mixture_covariance", "block_sizes", "haar_covariance", "orf_chi_variance",
    "orf_variance", "rff_variance", "OrfRanges", "kernel_bounds", "orf_ranges", "true_lower_range",
    "true_upper_range", "true_variance_range", "variance_bounds",
]
