"""Losses of a linear score and their derivatives."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp

__all__ = ["LOSSES", "Logistic", "Loss", "Multinomial", "SquaredHinge"]

Array = NDArray[Any]


class Loss(Protocol):
    """A convex loss of scores F (n, k) against targets Y (n, k)."""

    def value_and_gradient(self, F: Array, Y: Array, weight: Array) -> tuple[float, Array]:
        """Return sum_i weight_i loss_i and its gradient in F."""


class Logistic:
    """log(1 + e^{-y f}), y = -1 or 1, a column a problem."""

    def value_and_gradient(self, F: Array, Y: Array, weight: Array) -> tuple[float, Array]:
        """Return the weighted sum and -y / (1 + e^{y f})."""
        margin = Y * F
        value = np.logaddexp(0.0, -margin)
        return float(np.sum(weight @ value)), -Y * expit(-margin) * weight[:, None]


class Multinomial:
    """log sum_c e^{f_c} - f_y, Y one-hot."""

    def value_and_gradient(self, F: Array, Y: Array, weight: Array) -> tuple[float, Array]:
        """Return the weighted sum and softmax(f) - y."""
        normalizer = logsumexp(F, axis=1)
        value = normalizer - np.einsum("ij,ij->i", F, Y)
        gradient = np.exp(F - normalizer[:, None]) - Y
        return float(weight @ value), gradient * weight[:, None]


class SquaredHinge:
    """max(0, 1 - y f)^2, y = -1 or 1, a column a problem."""

    def value_and_gradient(self, F: Array, Y: Array, weight: Array) -> tuple[float, Array]:
        """Return the weighted sum and -2 y max(0, 1 - y f)."""
        slack = np.maximum(1.0 - Y * F, 0.0)
        return float(np.sum(weight @ slack**2)), -2.0 * Y * slack * weight[:, None]


# Loss by name, for two classes and for more; `squared` has a closed form instead.
LOSSES: dict[str, tuple[Loss, Loss]] = {
    "logistic": (Logistic(), Multinomial()),
    "squared_hinge": (SquaredHinge(), SquaredHinge()),
}
