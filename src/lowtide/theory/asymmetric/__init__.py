"""Periodic features with two different sides (Asymmetric RPF).

`square_wave`: the one-bit map and its expected kernel. `tables`: constants of the b-bit quantizers. `variance`:
variances per frequency. `lipschitz`, `counts`: smoothness and the feature counts that follow. `distance`: distances
from products.
"""

# One line a topic, as in `lowtide.theory`, which shows all of these names.
# fmt: off
# isort: off
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

__all__ = [  # noqa: RUF022
    "kappa_qq", "kappa_qq_gaussian", "kappa_qq_laplace", "triangle_wave", "universal_Qk", "LloydMaxTable",
    "lloyd_max_table", "phase_F1", "stochastic_coefficients", "UnbiasedVariance", "gap_variance",
    "stochastic_codes_variance", "unbiased_variance", "lipschitz_cosine", "lipschitz_exponential",
    "lipschitz_lloyd_max", "lipschitz_steps", "lipschitz_square_wave_gap", "distance_map", "gamma_cos_cos",
    "gamma_q_cos", "gamma_q_cos_inverse_gaussian", "gamma_q_cos_inverse_slope", "gamma_q_q",
    "corollary3_features_printed", "pair_features", "uniform_failure_corrected", "uniform_failure_printed",
    "uniform_features_corrected", "uniform_features_printed", "unit_ball_entropy",
]
