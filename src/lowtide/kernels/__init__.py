"""WHICH similarity: the exact kernel, and the law of its frequencies."""

from lowtide.kernels.base import Kernel
from lowtide.kernels.bessel import Bessel
from lowtide.kernels.distance import distances
from lowtide.kernels.gamma import resolve_gamma
from lowtide.kernels.gaussian import Gaussian
from lowtide.kernels.laplace import Laplace
from lowtide.kernels.matern import Matern
from lowtide.kernels.sphere import normalized_bessel
from lowtide.kernels.stable import Stable
from lowtide.spec import Registry

__all__ = [
    "KERNELS",
    "Bessel",
    "Gaussian",
    "Kernel",
    "Laplace",
    "Matern",
    "Stable",
    "distances",
    "normalized_bessel",
    "resolve_gamma",
]

KERNELS: Registry[Kernel] = Registry(
    "kernel", Kernel, {"rbf": Gaussian, "laplacian": Laplace, "matern": Matern, "stable": Stable, "bessel": Bessel}
)
