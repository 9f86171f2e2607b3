"""WHICH similarity: the exact kernel, and the law of its frequencies."""

# fmt: off
# isort: off
from lowtide.kernels.measure import Frequencies, MeasureBlock, MeasureKernel
from lowtide.kernels.base import Kernel
from lowtide.kernels.gaussian import Gaussian
from lowtide.kernels.laplace import Laplace
from lowtide.kernels.matern import Matern
from lowtide.kernels.stable import Stable
from lowtide.kernels.bessel import Bessel
from lowtide.kernels.complex import (
    ComplexMeasureKernel, CoshGaussian, ShiftGaussian, SignedMeasureKernel, SinhGaussian, SymmetricPart,
    Masses, fit_masses, gauss_trig_segment, mean_abs_cos, mean_abs_sin, shift_masses, sinh_masses,
)
from lowtide.kernels.distance import distances
from lowtide.kernels.gamma import resolve_gamma
from lowtide.kernels.sphere import normalized_bessel
from lowtide.spec import Registry

__all__ = [  # noqa: RUF022
    "Kernel", "Gaussian", "Laplace", "Matern", "Stable", "Bessel", "KERNELS",
    "MeasureKernel", "ShiftGaussian", "SinhGaussian", "CoshGaussian", "SignedMeasureKernel", "ComplexMeasureKernel",
    "SymmetricPart", "Frequencies", "MeasureBlock",
    "Masses", "fit_masses", "gauss_trig_segment", "mean_abs_cos", "mean_abs_sin", "shift_masses", "sinh_masses",
    "distances", "normalized_bessel", "resolve_gamma",
]
# fmt: on
# isort: on

# All kernels of differences, symmetric or not; `KERNELS.of(Kernel)` are the symmetric ones.
KERNELS: Registry[MeasureKernel] = Registry(
    "kernel",
    MeasureKernel,
    {
        "rbf": Gaussian,
        "laplacian": Laplace,
        "matern": Matern,
        "stable": Stable,
        "bessel": Bessel,
        "shift": ShiftGaussian,
        "sinh": SinhGaussian,
        "cosh": CoshGaussian,
        "signed": SignedMeasureKernel,
    },
    unnamed=(SymmetricPart,),
)
