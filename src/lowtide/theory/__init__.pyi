# The public names and their modules: what type checkers read, and what `lowtide._later.names_in_stub` imports from.
from lowtide.theory.activations import (
    TARGETS as TARGETS,
    Absolute as Absolute,
    Bump as Bump,
    Cosine as Cosine,
    Exponential as Exponential,
    FourierPair as FourierPair,
    LeakyReLU as LeakyReLU,
    Linear as Linear,
    Quadratic as Quadratic,
    ReLU as ReLU,
    Sign as Sign,
    Sine as Sine,
    Step as Step,
    gaussian_moments as gaussian_moments,
    resolve_target as resolve_target,
)
from lowtide.theory.bounds import (
    Side as Side,
    mean_lipschitz as mean_lipschitz,
    measure_beta as measure_beta,
    measure_bound as measure_bound,
)
from lowtide.theory.layouts import (
    covariance as covariance,
    layout_variance as layout_variance,
)
from lowtide.theory.matching import (
    TernaryMatch as TernaryMatch,
    equation_constants as equation_constants,
    match_moments as match_moments,
    tau_limit as tau_limit,
    ternary_solutions as ternary_solutions,
)
from lowtide.theory.moments import (
    Activation as Activation,
    CallableActivation as CallableActivation,
    GaussianMoments as GaussianMoments,
    GivenMoments as GivenMoments,
)
from lowtide.theory.orthogonal import (
    kernel_bounds as kernel_bounds,
    orf_chi_variance as orf_chi_variance,
    orf_ranges as orf_ranges,
    orf_variance as orf_variance,
    rff_variance as rff_variance,
    true_ranges as true_ranges,
    variance_bounds as variance_bounds,
)
from lowtide.theory.pairs import (
    Curve as Curve,
    HarmonicSeries as HarmonicSeries,
    PairMoments as PairMoments,
    kernel_reach as kernel_reach,
)
from lowtide.theory.planner import (
    Guarantee as Guarantee,
    features_needed as features_needed,
    plan_features as plan_features,
)
from lowtide.theory.signals import (
    Ball as Ball,
    Box as Box,
    Entropy as Entropy,
    FiniteSet as FiniteSet,
    LowRank as LowRank,
    SignalSet as SignalSet,
    SparseSet as SparseSet,
    UnionOfSubspaces as UnionOfSubspaces,
)
from lowtide.theory.sketch import (
    SketchMoments as SketchMoments,
    cosine_moments as cosine_moments,
    sketch_kernel_one_bit as sketch_kernel_one_bit,
)
from lowtide.theory.sketch_limits import (
    sketch_bias as sketch_bias,
    sketch_bits_needed as sketch_bits_needed,
    sketch_bounds as sketch_bounds,
    sketch_failure_printed as sketch_failure_printed,
    sketch_features_printed as sketch_features_printed,
    sketch_lipschitz as sketch_lipschitz,
)
from lowtide.theory.sketch_sides import (
    fourier_moments as fourier_moments,
    scaled_covariance as scaled_covariance,
    scaled_mean as scaled_mean,
)
from lowtide.theory.square_wave import (
    DistanceMap as DistanceMap,
    gamma_q_cos_inverse_gaussian as gamma_q_cos_inverse_gaussian,
    gamma_q_cos_inverse_slope as gamma_q_cos_inverse_slope,
    kappa_qq as kappa_qq,
    triangle_wave as triangle_wave,
    universal_Qk as universal_Qk,
)
from lowtide.theory.ternary import (
    TernaryMap as TernaryMap,
    center_kernel as center_kernel,
    kernel_equivalent as kernel_equivalent,
    ternary_kernel as ternary_kernel,
)
from lowtide.theory.variances import (
    block_variance as block_variance,
    gap_variance as gap_variance,
    lloyd_max_table as lloyd_max_table,
    measure_blocks as measure_blocks,
    measure_variance as measure_variance,
    phase_F1 as phase_F1,
    stochastic_codes_variance as stochastic_codes_variance,
    unbiased_variance as unbiased_variance,
)
