"""The Laplace kernel in the l1 norm."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lowtide._checks import check_positive
from lowtide.kernels.base import Kernel
from lowtide.kernels.measure import FrequencyLaw

__all__ = ["Laplace"]


@dataclass(eq=False, repr=False)
class Laplace(Kernel):
    """Laplace kernel exp(-|x - y|_1 / bandwidth); each frequency coordinate is Cauchy with scale 1/bandwidth.

    Parameters
    ----------
    bandwidth : float, default=1.0
        tau > 0; scikit-learn's gamma is 1 / tau.

    Notes
    -----
    The frequencies have no mean, so no uniform bound on the kernel error applies (`theory.uniform_features_*`).

    Examples
    --------
    >>> Laplace(bandwidth=2.0).gram([[0.0, 0.0]], [[1.0, 1.0]]).round(4)
    array([[0.3679]])
    """

    bandwidth: float = 1.0
    law: ClassVar[FrequencyLaw] = "independent"

    @property
    def norm(self) -> float:
        """The l1 norm."""
        return 1.0

    def check(self) -> None:
        """Refuse a bandwidth that is not a positive number."""
        check_positive("Laplace", "bandwidth", self.bandwidth)

    def radial(self, distance: ArrayLike, n_features: int) -> NDArray[np.float64]:
        """Return exp(-distance / bandwidth)."""
        return np.exp(-np.asarray(distance, dtype=np.float64) / self.bandwidth)

    def sample(self, rng: np.random.Generator, n_features: int, size: int) -> NDArray[np.float64]:
        """Draw Cauchy coordinates, shape (n_features, size)."""
        return rng.standard_cauchy((n_features, size)) / self.bandwidth

    def mean_frequency_norm(self, n_features: int) -> float:
        """Return infinity: a Cauchy variable has no mean."""
        return math.inf

    def second_moment(self, n_features: int) -> float:
        """Return infinity."""
        return math.inf

    def density(self, W: ArrayLike) -> NDArray[np.float64]:
        """Return the product of Cauchy densities at rows of W."""
        z = np.asarray(W, dtype=np.float64) * self.bandwidth
        return np.asarray(np.prod(self.bandwidth / (math.pi * (1.0 + z * z)), axis=-1))

    def mean_projection(self, n_features: int) -> float:
        """Return infinity: a Cauchy variable has no mean."""
        return math.inf

    @classmethod
    def from_gamma(cls, gamma: float) -> Self:
        """Return the kernel exp(-gamma |x - y|_1)."""
        return cls(bandwidth=1.0 / gamma)
