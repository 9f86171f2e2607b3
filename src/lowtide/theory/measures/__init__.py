"""Random features of complex measures (AsK-RFF): masses, variances of both forms, and the uniform bound."""

from lowtide.kernels import (
    Masses,
    fit_masses,
    gauss_trig_segment,
    mean_abs_cos,
    mean_abs_sin,
    shift_masses,
    sinh_masses,
)
from lowtide.theory.measures.bound import MeasureBound, measure_beta, measure_bound
from lowtide.theory.measures.variance import block_variance, measure_blocks, measure_variance

__all__ = [
    "Masses",
    "MeasureBound",
    "block_variance",
    "fit_masses",
    "gauss_trig_segment",
    "mean_abs_cos",
    "mean_abs_sin",
    "measure_beta",
    "measure_blocks",
    "measure_bound",
    "measure_variance",
    "shift_masses",
    "sinh_masses",
]
