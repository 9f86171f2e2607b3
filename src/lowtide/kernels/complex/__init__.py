"""Kernels whose measure is complex or signed: asymmetric and indefinite ones."""

from lowtide.kernels.complex.cosh_gaussian import CoshGaussian
from lowtide.kernels.complex.custom import ComplexMeasureKernel
from lowtide.kernels.complex.mass_fit import fit_masses
from lowtide.kernels.complex.masses import (
    Masses,
    gauss_trig_segment,
    mean_abs_cos,
    mean_abs_sin,
    shift_masses,
    sinh_masses,
)
from lowtide.kernels.complex.shift_gaussian import ShiftGaussian
from lowtide.kernels.complex.signed import SignedMeasureKernel
from lowtide.kernels.complex.sinh_gaussian import SinhGaussian
from lowtide.kernels.complex.symmetric_part import SymmetricPart

__all__ = [
    "ComplexMeasureKernel",
    "CoshGaussian",
    "Masses",
    "ShiftGaussian",
    "SignedMeasureKernel",
    "SinhGaussian",
    "SymmetricPart",
    "fit_masses",
    "gauss_trig_segment",
    "mean_abs_cos",
    "mean_abs_sin",
    "shift_masses",
    "sinh_masses",
]
