"""Closed forms and bounds: expected kernels, variances, feature counts.

Start with `features_needed`. Distances are in X's units and the kernel's norm, unless `z` or `s` in bandwidths.
"""

# One line a topic, so that the whole surface is seen at once.
# fmt: off
# isort: off
from lowtide.theory.planner import FeaturePlan, features_needed, plan_features
from lowtide.theory.pair import PairMoments
from lowtide.theory.harmonics import HarmonicSeries, kernel_reach
from lowtide.theory.curve import Curve
from lowtide.theory.layout_variance import covariance, layout_variance
from lowtide.theory.asymmetric.square_wave import (
    kappa_qq, kappa_qq_gaussian, kappa_qq_laplace, triangle_wave, universal_Qk,
)
from lowtide.theory.asymmetric.tables import LloydMaxTable, lloyd_max_table, phase_F1, stochastic_coefficients
from lowtide.theory.asymmetric.variance import (
    UnbiasedVariance, gap_variance, stochastic_codes_variance, unbiased_variance,
)
from lowtide.theory.asymmetric.lipschitz import (
    lipschitz_cosine, lipschitz_exponential, lipschitz_lloyd_max, lipschitz_steps, lipschitz_square_wave_gap,
)
from lowtide.theory.asymmetric.distance import (
    distance_map, gamma_cos_cos, gamma_q_cos, gamma_q_cos_inverse_gaussian, gamma_q_cos_inverse_slope, gamma_q_q,
)
from lowtide.theory.asymmetric.counts import (
    corollary3_features_printed, pair_features, uniform_failure_corrected, uniform_failure_printed,
    uniform_features_corrected, uniform_features_printed, unit_ball_entropy,
)
from lowtide.kernels import normalized_bessel
from lowtide.theory.measures import (
    Masses, MeasureBound, block_variance, fit_masses, gauss_trig_segment, mean_abs_cos, mean_abs_sin, measure_beta,
    measure_blocks, measure_bound, measure_variance, shift_masses, sinh_masses,
)
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
    "FeaturePlan", "features_needed", "plan_features", "PairMoments", "HarmonicSeries", "kernel_reach", "Curve",
    "covariance", "layout_variance", "kappa_qq", "kappa_qq_gaussian", "kappa_qq_laplace", "triangle_wave",
    "universal_Qk", "LloydMaxTable", "lloyd_max_table", "phase_F1", "stochastic_coefficients", "UnbiasedVariance",
    "gap_variance", "stochastic_codes_variance", "unbiased_variance", "lipschitz_cosine", "lipschitz_exponential",
    "lipschitz_lloyd_max", "lipschitz_steps", "lipschitz_square_wave_gap", "distance_map", "gamma_cos_cos",
    "gamma_q_cos", "gamma_q_cos_inverse_gaussian", "gamma_q_cos_inverse_slope", "gamma_q_q",
    "corollary3_features_printed", "pair_features", "uniform_failure_corrected", "uniform_failure_printed",
    "uniform_features_corrected", "uniform_features_printed", "unit_ball_entropy", "bessel_zeros",
    "normalized_bessel", "chi_covariance", "mixture_covariance", "block_sizes", "haar_covariance",
    "orf_chi_variance", "orf_variance", "rff_variance", "OrfRanges", "kernel_bounds", "orf_ranges",
    "true_lower_range", "true_upper_range", "true_variance_range", "variance_bounds", "Masses", "fit_masses",
    "gauss_trig_segment", "mean_abs_cos", "mean_abs_sin", "shift_masses", "sinh_masses", "MeasureBound",
    "block_variance", "measure_beta", "measure_blocks", "measure_bound", "measure_variance",
]
