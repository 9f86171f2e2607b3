"""Ternary features matched to an activation (TRF).

`moments`: the three numbers of an activation that its kernel depends on. `activation`, `table`, `targets`: activations
and their moments. `ternary_map`: three-level maps. `thresholds`, `scaled`: maps that match. `match`: the choice among
them. `equivalent`: the kernel matrix of a Gaussian mixture from the moments.
"""

# One line a topic, as in `lowtide.theory`, which shows all of these names.
# fmt: off
# isort: off
from lowtide.theory.ternary.moments import GaussianMoments
from lowtide.theory.ternary.activation import Activation, CallableActivation, GivenMoments
from lowtide.theory.ternary.table import (
    Absolute, Bump, Cosine, Exponential, FourierPair, LeakyReLU, Linear, Quadratic, ReLU, Sign, Sine, Step,
)
from lowtide.theory.ternary.targets import TARGETS, gaussian_moments, resolve_target
from lowtide.theory.ternary.ternary_map import TernaryMap
from lowtide.theory.ternary.thresholds import equation_constants, ternary_solutions
from lowtide.theory.ternary.scaled import even_solution, scaled_solution
from lowtide.theory.ternary.match import TernaryMatch, match_moments, tau_limit
from lowtide.theory.ternary.equivalent import center_kernel, kernel_equivalent
from lowtide.theory.ternary.limit import ternary_kernel

__all__ = [  # noqa: RUF022
    "GaussianMoments", "gaussian_moments", "TARGETS", "resolve_target", "Activation", "CallableActivation",
    "GivenMoments", "Absolute", "Bump", "Cosine", "Exponential", "FourierPair", "LeakyReLU", "Linear", "Quadratic",
    "ReLU", "Sign", "Sine", "Step",
    "TernaryMap", "ternary_kernel", "TernaryMatch", "match_moments", "tau_limit",
    "equation_constants", "ternary_solutions", "scaled_solution", "even_solution",
    "center_kernel", "kernel_equivalent",
]
