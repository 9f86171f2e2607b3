"""Mean and variance of the product of two sides, per frequency, from the Fourier moments of each side.

With phase t = w.x + xi on the left, t' = w.y + xi on the right and xi uniform, only the difference of phases is left:

    E sum_i f_i(t) g_i(t')            = sum_k (sum_i  F_ik conj(G_ik)) kappa(k s)
    E (sum_i f_i(t) g_i(t'))^2        = sum_k (sum_ij P_ijk conj(R_ijk)) kappa(k s)

F, G are the Fourier coefficients of E f_i, E g_i and P, R those of E f_i f_j, E g_i g_j (expectations over the
rounding of a stochastic quantizer, which is independent on the two sides).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lowtide._checks import fail
from lowtide.kernels import Kernel
from lowtide.maps import Moments
from lowtide.theory.harmonics import HarmonicSeries

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class PairMoments:
    """Mean, second moment and variance of sum_i f_i(x) g_i(y) over one random frequency and dither.

    Parameters
    ----------
    left, right : Moments
        The two sides, of equal width, in units where the full side is plain cos t (and sin t). The product then has
        mean kappa/2 for width 1 and kappa for width 2 when it is unbiased; see `scale`.

    Attributes
    ----------
    mean_series, second_series : HarmonicSeries
        The two sums above, as functions of (kernel, distance, n_features); in units of the product.

    References
    ----------
    Asymmetric RPF (Schellekens and Jacques), Proposition 3, for the mean; the second moment is derived.

    Examples
    --------
    >>> from lowtide.kernels import Gaussian
    >>> from lowtide.maps import CosSin
    >>> from lowtide.theory import PairMoments
    >>> full = CosSin().moments()
    >>> float(PairMoments(full, full).variance(Gaussian(), 1.0, n_features=3).round(6))
    0.199788
    """

    left: Moments
    right: Moments
    mean_series: HarmonicSeries = field(init=False, repr=False, compare=False)
    second_series: HarmonicSeries = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Contract the two sides' coefficients once."""
        widths = self.left.width, self.right.width
        if widths[0] != widths[1]:
            raise fail("PairMoments", "left and right must have the same width", widths, "Use one feature map.")
        n = min(self.left.mean.shape[-1], self.right.mean.shape[-1])
        mean = np.einsum("ik,ik->k", self.left.mean[:, :n], self.right.mean[:, :n].conj())
        n = min(self.left.product.shape[-1], self.right.product.shape[-1])
        second = np.einsum("ijk,ijk->k", self.left.product[..., :n], self.right.product[..., :n].conj())
        object.__setattr__(self, "mean_series", HarmonicSeries(mean))
        object.__setattr__(self, "second_series", HarmonicSeries(second))

    @property
    def scale(self) -> float:
        """Factor 2/width that turns the product into the kernel estimate of one frequency."""
        return 2 / self.left.width

    @property
    def amplitudes(self) -> Floats:
        """a_1, a_2, ...: given the frequency, the kernel estimate has mean a_0 + sum_k a_k cos(k w.(x-y)).

        1, 0, 0, ... when a side is full.
        """
        return 2 * self.scale * self.mean_series.coefficients[1:]

    def mean(self, kernel: Kernel, distance: ArrayLike, n_features: int) -> Floats:
        """Mean of the product at the distances (X's units), elementwise."""
        return self.mean_series(kernel, distance, n_features)

    def second(self, kernel: Kernel, distance: ArrayLike, n_features: int) -> Floats:
        """Second moment of the product at the distances, elementwise."""
        return self.second_series(kernel, distance, n_features)

    def variance(self, kernel: Kernel, distance: ArrayLike, n_features: int) -> Floats:
        """Variance of the product at the distances, elementwise, never negative."""
        mean = self.mean(kernel, distance, n_features)
        return np.maximum(self.second(kernel, distance, n_features) - mean**2, 0.0)
