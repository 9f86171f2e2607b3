"""Closed forms and bounds: expected kernels, variances, feature counts.

Start with `features_needed`. Distances are in X's units and the kernel's norm, unless `z` or `s` in bandwidths.
"""

# One line a topic.
# fmt: off
# isort: off
from lowtide.theory.planner import Guarantee, features_needed, plan_features
from lowtide.theory.signals import Ball, Box, Entropy, FiniteSet, LowRank, SignalSet, SparseSet, UnionOfSubspaces
from lowtide.theory.pairs import Curve, HarmonicSeries, PairMoments, kernel_reach
from lowtide.theory.layouts import covariance, layout_variance
from lowtide.theory.square_wave import (
    DistanceMap, gamma_q_cos_inverse_gaussian, gamma_q_cos_inverse_slope, kappa_qq, triangle_wave, universal_Qk,
)
from lowtide.theory.variances import (
    block_variance, gap_variance, lloyd_max_table, measure_blocks, measure_variance, phase_F1,
    stochastic_codes_variance, unbiased_variance,
)
from lowtide.theory.bounds import Side, mean_lipschitz, measure_beta, measure_bound
from lowtide.theory.orthogonal import (
    kernel_bounds, orf_chi_variance, orf_ranges, orf_variance, rff_variance, true_ranges, variance_bounds,
)
from lowtide.theory.sketch import SketchMoments, cosine_moments, sketch_kernel_one_bit
from lowtide.theory.sketch_sides import fourier_moments, scaled_covariance, scaled_mean
from lowtide.theory.sketch_bounds import (
    sketch_bias, sketch_bits_needed, sketch_bounds, sketch_failure_printed, sketch_features_printed, sketch_lipschitz,
)
from lowtide.theory.moments import Activation, CallableActivation, GaussianMoments, GivenMoments
from lowtide.theory.activations import (
    TARGETS, Absolute, Bump, Cosine, Exponential, FourierPair, LeakyReLU, Linear, Quadratic, ReLU, Sign, Sine, Step,
    gaussian_moments, resolve_target,
)
from lowtide.theory.ternary import TernaryMap, center_kernel, kernel_equivalent, ternary_kernel
from lowtide.theory.matching import TernaryMatch, equation_constants, match_moments, tau_limit, ternary_solutions

__all__ = [  # noqa: RUF022
    "features_needed", "plan_features", "Guarantee", "Side", "SignalSet", "FiniteSet", "Ball", "Box", "SparseSet",
    "UnionOfSubspaces", "LowRank", "Entropy", "HarmonicSeries", "PairMoments", "kernel_reach", "Curve", "covariance",
    "layout_variance", "DistanceMap", "gamma_q_cos_inverse_gaussian", "gamma_q_cos_inverse_slope", "kappa_qq",
    "triangle_wave", "universal_Qk", "block_variance", "gap_variance", "lloyd_max_table", "measure_blocks",
    "measure_variance", "phase_F1", "stochastic_codes_variance", "unbiased_variance", "mean_lipschitz", "measure_beta",
    "measure_bound", "kernel_bounds", "orf_chi_variance",
    "orf_ranges", "orf_variance", "rff_variance", "true_ranges", "variance_bounds", "SketchMoments", "cosine_moments",
    "fourier_moments", "scaled_covariance", "scaled_mean", "sketch_kernel_one_bit",
    "sketch_bias", "sketch_bits_needed", "sketch_bounds", "sketch_failure_printed", "sketch_features_printed",
    "sketch_lipschitz", "Activation", "CallableActivation", "GaussianMoments", "GivenMoments",
    "TARGETS", "Absolute", "Bump", "Cosine", "Exponential", "FourierPair", "LeakyReLU", "Linear",
    "Quadratic", "ReLU", "Sign", "Sine", "Step", "gaussian_moments", "resolve_target", "TernaryMap", "center_kernel",
    "kernel_equivalent", "ternary_kernel", "TernaryMatch", "equation_constants", "match_moments", "tau_limit",
    "ternary_solutions",
]
