"""The contract of a stationary kernel with one positive measure."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lowtide._checks import fail
from lowtide.kernels.distance import distances
from lowtide.kernels.measure import FrequencyLaw, MeasureBlock, MeasureKernel


class Kernel(MeasureKernel):
    """A stationary kernel k(x, y) = kappa(|x - y|_p), kappa(0) = 1.

    `law` says how its frequencies omega are distributed, which is all a projection may ask: `gaussian_mixture` (a
    normal vector times an independent scalar: invariant to rotation and closed under padding with zeros), `sphere`
    (uniform on a sphere of the input's dimension), or `independent` (coordinates drawn one by one).
    """

    law: ClassVar[FrequencyLaw]

    @property
    def norm(self) -> float:
        """The p of the l_p norm that the kernel is a function of."""
        return 2.0

    @abstractmethod
    def radial(self, distance: ArrayLike, n_features: int) -> NDArray[np.float64]:
        """Return kappa(distance), elementwise, for inputs of n_features dimensions."""

    @abstractmethod
    def sample(self, rng: np.random.Generator, n_features: int, size: int) -> NDArray[np.float64]:
        """Draw independent frequencies, shape (n_features, size)."""

    @abstractmethod
    def mean_frequency_norm(self, n_features: int) -> float:
        """Return E|omega|_2, infinite for heavy tails."""

    @abstractmethod
    def mean_projection(self, n_features: int) -> float:
        """Return C_Lambda, the largest E|omega . u| over unit vectors u, infinite for heavy tails."""

    def length_quantile(self, q: ArrayLike, dimension: int) -> NDArray[np.float64]:
        """Return quantiles of |omega|_2 in a space of `dimension` dimensions; not for `independent` laws."""
        raise fail(type(self).__name__, "lengths exist only for rotation-invariant frequencies", self.law)

    def second_moment(self, n_features: int) -> float:
        """Return E|omega|_2^2, infinite for heavy tails."""
        raise fail(type(self).__name__, "the second moment of the frequencies must be known", "no second_moment")

    def density(self, W: ArrayLike) -> NDArray[np.float64]:
        """Return the density of the frequencies at rows of W, (n, n_features); only some kernels know it."""
        raise fail(type(self).__name__, "the density of the frequencies must be known", "no density", "Use Gaussian.")

    def gram(self, X: Any, Y: Any = None) -> NDArray[np.float64]:
        """Return the exact kernel matrix of rows of X against rows of Y (X itself when None), (n, n_y)."""
        return self.radial(distances(X, X if Y is None else Y, self.norm), np.shape(X)[1])

    def at(self, difference: ArrayLike) -> NDArray[np.float64]:
        """Return kappa of differences x - y along the last axis."""
        delta = np.asarray(difference, dtype=np.float64)
        return self.radial(np.linalg.norm(delta, ord=self.norm, axis=-1), delta.shape[-1])

    def characteristic(self, difference: ArrayLike) -> NDArray[np.float64]:
        """Return E exp(i omega.difference): the kernel itself."""
        return self.at(difference)

    def measures(self, n_features: int) -> tuple[MeasureBlock, ...]:
        """Return the one block: mass 1, no phase."""
        return (MeasureBlock(1.0, self),)

    def phase_measure(self, n_features: int) -> MeasureBlock:
        """Return the one block."""
        return MeasureBlock(1.0, self)
