"""Symmetric indefinite kernels: sums of positive ones with weights of either sign."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lowtide._checks import fail
from lowtide.kernels.base import Kernel
from lowtide.kernels.gaussian import Gaussian
from lowtide.kernels.measure import MeasureBlock, MeasureKernel
from lowtide.spec import registry_of

__all__ = ["SignedMeasureKernel"]

Floats = NDArray[np.float64]


@dataclass(eq=False, repr=False)
class SignedMeasureKernel(MeasureKernel):
    """Kernel sum_i weight_i kappa_i(x - y) with weights of either sign: symmetric, not positive definite in general.

    Its signed measure has one block a term, so each keeps a law that orthogonal layouts can carry.

    Parameters
    ----------
    terms : sequence of (weight, Kernel), default=None
        Weights that are not 0; None stands for the delta-Gaussian exp(-|x-y|^2/2) - exp(-|x-y|^2/200).

    Examples
    --------
    >>> kernel = SignedMeasureKernel.delta_gaussian(bandwidths=(1.0, 10.0), weights=(1.0, 0.5))
    >>> kernel.at([0.0, 0.0]).item(), [(block.mass, block.turn) for block in kernel.measures(2)]
    (0.5, [(1.0, 0.0), (0.5, 0.5)])
    """

    terms: Any = None

    @classmethod
    def delta_gaussian(cls, bandwidths: tuple[float, float], weights: tuple[float, float] = (1.0, 1.0)) -> Self:
        """Return the difference of two Gaussians, weights[0] times the first less weights[1] times the second."""
        return cls(((weights[0], Gaussian(bandwidths[0])), (-weights[1], Gaussian(bandwidths[1]))))

    def check(self) -> None:
        """Refuse terms that are not pairs of a number and a kernel."""
        self._pairs()

    def _pairs(self) -> list[tuple[float, Kernel]]:
        """Return the terms; configurations of kernels, as a file has them, become kernels."""
        if self.terms is None:
            return [(1.0, Gaussian(1.0)), (-1.0, Gaussian(10.0))]
        try:
            given = [(float(weight), kernel) for weight, kernel in self.terms]
        except (TypeError, ValueError):
            given = []
        known = registry_of(Kernel).of(Kernel)
        pairs = [(weight, known.from_config(k) if isinstance(k, dict) else k) for weight, k in given]
        if not pairs or not all(w and np.isfinite(w) and isinstance(kernel, Kernel) for w, kernel in pairs):
            need = "terms must be pairs of a finite weight that is not 0 and a Kernel"
            raise fail("SignedMeasureKernel", need, self.terms)
        return pairs

    def to_config(self) -> dict[str, Any]:
        """Return a JSON-ready dictionary, terms as pairs of a weight and a configuration."""
        terms = [[weight, kernel.to_config()] for weight, kernel in self._pairs()]
        return {"type": "SignedMeasureKernel", "terms": terms}

    def at(self, difference: ArrayLike) -> Floats:
        """Return kappa of differences x - y along the last axis."""
        return np.asarray(sum(weight * kernel.at(difference) for weight, kernel in self._pairs()))

    def gram(self, X: Any, Y: Any = None) -> Floats:
        """Return the exact kernel matrix of rows of X against rows of Y (X itself when None), (n, n_y)."""
        return np.asarray(sum(weight * kernel.gram(X, Y) for weight, kernel in self._pairs()))

    def measures(self, n_features: int) -> tuple[MeasureBlock, ...]:
        """Return a block a term, of half a turn where the weight is negative."""
        return tuple(MeasureBlock(abs(w), kernel, turn=0.0 if w > 0 else 0.5) for w, kernel in self._pairs())

    def phase_measure(self, n_features: int) -> None:
        """Return None: terms of different laws are no one block."""
        return None
