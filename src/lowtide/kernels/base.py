"""The contract of a kernel."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lowtide._checks import fail
from lowtide.kernels.distance import distances
from lowtide.spec import Spec

FrequencyLaw = Literal["gaussian_mixture", "sphere", "independent"]


class Kernel(Spec):
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

    def gram(self, X: Any, Y: Any = None) -> NDArray[np.float64]:
        """Return the exact kernel matrix of rows of X against rows of Y (X itself when None), (n, n_y)."""
        return self.radial(distances(X, X if Y is None else Y, self.norm), np.shape(X)[1])

    @classmethod
    def from_gamma(cls, gamma: float) -> Self:
        """Return the kernel of scikit-learn's gamma."""
        raise fail(
            cls.__name__,
            "a kernel given by name must have a gamma",
            cls.__name__,
            "Pass the kernel as an object.",
        )
