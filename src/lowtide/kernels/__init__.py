"""WHICH similarity: the exact kernel, and the law of its frequencies."""

# fmt: off
# isort: off
from lowtide.kernels.asymmetric import CoshGaussian, ShiftGaussian, SinhGaussian
from lowtide.kernels.base import Frequencies, Kernel, MeasureBlock, MeasureKernel, distances, resolve_gamma
from lowtide.kernels.custom import ComplexMeasureKernel, Density, SignedMeasureKernel, SymmetricPart
from lowtide.kernels.masses import (
    Masses, fit_masses, gauss_trig_segment, mean_abs_cos, mean_abs_sin, shift_masses, sinh_masses,
)
from lowtide.kernels.sphere import ArcCosine, Bessel, arc_cosine, log_normalized_bessel, normalized_bessel
from lowtide.kernels.symmetric import Gaussian, Laplace, Matern, Stable
from lowtide.spec import Registry

__all__ = [  # noqa: RUF022
    "Kernel", "Gaussian", "Laplace", "Matern", "Stable", "Bessel", "ArcCosine", "KERNELS",
    "MeasureKernel", "ShiftGaussian", "SinhGaussian", "CoshGaussian", "SignedMeasureKernel", "ComplexMeasureKernel",
    "Density", "DENSITIES", "SymmetricPart", "Frequencies", "MeasureBlock",
    "Masses", "fit_masses", "gauss_trig_segment", "mean_abs_cos", "mean_abs_sin", "shift_masses", "sinh_masses",
    "arc_cosine", "distances", "log_normalized_bessel", "normalized_bessel", "resolve_gamma",
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
    unnamed=(SymmetricPart, ComplexMeasureKernel),
)
# Complex densities; all of them are a user's.
DENSITIES: Registry[Density] = Registry("density", Density, {})
