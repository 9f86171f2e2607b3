"""Losses of a linear score: what a classifier minimizes, with derivatives, targets and what its scores stand for."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp

from lowtide.learners.classes import ClassTargets
from lowtide.spec import Registry, Spec

Array = NDArray[Any]

# Step of a difference of first derivatives: the cube root of a rounding, as central differences want.
_STEP = float(np.finfo(np.float64).eps) ** (1 / 3)
# Width of the corner of a hinge, around the margin, in which rows count as free support vectors when they are left out.
_CORNER = 0.1


class Loss(Spec):
    """A convex, smooth loss of scores F (n, k) against targets Y (n, k): the contract of `KernelClassifier(loss=...)`.

    Targets are -1 and 1: one column for two classes, else a column a class against the rest. A subclass is a dataclass
    with `value_and_gradient`, which is all that fitting needs; `lowtide.register` lets files name it.

    Attributes
    ----------
    has_normal_equations : bool
        Whether this is (y - f)^2, so that the solution follows from sums that are gathered once.
    is_multinomial : bool
        Whether targets of more than two classes are one-hot rows, and the loss of a row is one of all its scores.
    is_calibrated : bool
        Whether softmax(f), of 0 and f for two classes, are probabilities; otherwise a curve is fitted on scores that
        rows would have had without having been learned from.
    keeps_border : bool
        Whether scores of two classes are divided at 0 whatever left-out rows say.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from lowtide.learners import Loss
    >>> @dataclass
    ... class Exponential(Loss):
    ...     def value_and_gradient(self, F, Y, weight):
    ...         value = np.exp(-Y * F)
    ...         return float(np.sum(weight @ value)), -Y * value * weight[:, None]
    >>> Exponential().curvature(np.array([[0.0]]), np.array([[1.0]])).round(6)
    array([[1.]])
    """

    has_normal_equations: ClassVar[bool] = False
    is_multinomial: ClassVar[bool] = False
    is_calibrated: ClassVar[bool] = False
    keeps_border: ClassVar[bool] = False

    @abstractmethod
    def value_and_gradient(self, F: Array, Y: Array, weight: Array) -> tuple[float, Array]:
        """Return sum_i weight_i loss_i and its gradient in F.

        Parameters
        ----------
        F, Y : ndarray of float64 (n, k)
        weight : ndarray of float64 (n,)

        Returns
        -------
        float, ndarray (n, k)
        """

    def curvature(self, F: Array, Y: Array) -> Array:
        """Return each row's second derivative in each of its scores, (n, k); by differences unless overridden."""
        ones = np.ones(len(F))
        ahead, behind = (self.value_and_gradient(F + step, Y, ones)[1] for step in (_STEP, -_STEP))
        return np.asarray(np.maximum(ahead - behind, 0.0) / (2.0 * _STEP))

    def as_squares(self, F: Array, Y: Array) -> tuple[Array, Array]:
        """Return the curvature, and the residual -loss'/loss'', of the least squares that stand for the loss near F.

        A row whose loss is straight has no residual.
        """
        curvature = self.curvature(F, Y)
        slope = self.value_and_gradient(F, Y, np.ones(len(F)))[1]
        return curvature, np.divide(-slope, curvature, out=np.zeros_like(F), where=curvature > 0)

    def targets(self, n_classes: int) -> ClassTargets:
        """Return how positions among the classes are read as targets."""
        return ClassTargets(n_classes, one_hot=self.is_multinomial)


@dataclass(eq=False, repr=False)
class Squared(Loss):
    """The squared loss (y - f)^2, y = -1 or 1: solved in closed form, or by conjugate gradients."""

    has_normal_equations = True

    def value_and_gradient(self, F: Array, Y: Array, weight: Array) -> tuple[float, Array]:
        """Return the weighted sum and -2 (y - f)."""
        residual = Y - F
        return float(np.sum(weight @ residual**2)), -2.0 * residual * weight[:, None]

    def curvature(self, F: Array, Y: Array) -> Array:
        """Return 2."""
        return np.full_like(F, 2.0)


@dataclass(eq=False, repr=False)
class Logistic(Loss):
    """The logistic loss: log(1 + e^{-y f}), y = -1 or 1, for two classes; log sum_c e^{f_c} - f_y for more."""

    is_multinomial = True
    is_calibrated = True

    def value_and_gradient(self, F: Array, Y: Array, weight: Array) -> tuple[float, Array]:
        """Return the weighted sum and -y / (1 + e^{y f}), or softmax(f) - y of one-hot rows."""
        if F.shape[1] == 1:
            margin = Y * F
            value = np.logaddexp(0.0, -margin)
            return float(np.sum(weight @ value)), -Y * expit(-margin) * weight[:, None]
        # One exponential for value and gradient, in one array. Without a row's largest score none overflows.
        peak = np.maximum.reduce(F.T)
        gradient = F - peak[:, None]
        value = -np.einsum("ij,ij->i", gradient, Y)
        np.exp(gradient, out=gradient)
        total = gradient @ np.ones(F.shape[1])
        value += np.log(total)
        gradient /= total[:, None]
        gradient -= Y
        gradient *= weight[:, None]
        return float(weight @ value), gradient

    def curvature(self, F: Array, Y: Array) -> Array:
        """Return p (1 - p) of the probabilities p."""
        p = expit(F) if F.shape[1] == 1 else np.exp(F - logsumexp(F, axis=1)[:, None])
        return np.asarray(p * (1.0 - p))


@dataclass(eq=False, repr=False)
class SquaredHinge(Loss):
    """The squared hinge loss max(0, 1 - y f)^2, y = -1 or 1."""

    def value_and_gradient(self, F: Array, Y: Array, weight: Array) -> tuple[float, Array]:
        """Return the weighted sum and -2 y max(0, 1 - y f)."""
        slack = Y * F
        np.subtract(1.0, slack, out=slack)
        np.maximum(slack, 0.0, out=slack)
        value = np.einsum("ij,ij->i", slack, slack)
        slack *= Y
        slack *= -2.0 * weight[:, None]
        return float(weight @ value), slack

    def curvature(self, F: Array, Y: Array) -> Array:
        """Return 2 within the margin, 0 beyond."""
        return np.where(Y * F < 1.0, 2.0, 0.0)


@dataclass(eq=False, repr=False)
class Hinge(Loss):
    """The hinge loss max(0, 1 - y f), y = -1 or 1, of a support vector machine: by Newton's method, corner rounded."""

    keeps_border = True

    def value_and_gradient(self, F: Array, Y: Array, weight: Array) -> tuple[float, Array]:
        """Return the weighted sum and -y where y f < 1, which is a subgradient in the corner."""
        short = 1.0 - Y * F
        return float(np.sum(weight @ np.maximum(short, 0.0))), np.where(short > 0.0, -Y, 0.0) * weight[:, None]

    def as_squares(self, F: Array, Y: Array) -> tuple[Array, Array]:
        """Return those of a rounded corner, where free support vectors are; rows at their bound have a residual too.

        Left out, either kind takes the same pull from its own score: the part of the row that no free support vector
        has in common with it.
        """
        slope = RoundedHinge.slope(1.0 - Y * F, _CORNER)
        return RoundedHinge(_CORNER).curvature(F, Y), Y * slope * _CORNER


@dataclass(eq=False, repr=False)
class RoundedHinge(Loss):
    """The hinge with a parabola for its corner, where |1 - y f| < width / 2: the smooth loss nearest to it.

    With u = 1 - y f it is the largest a u + width a (1 - a) / 2 of a from 0 to 1.
    """

    width: float = 1.0

    @staticmethod
    def slope(short: Array, width: Any) -> Array:
        """Return by how much the loss grows with u = 1 - y f: from 0 to 1 over the corner."""
        return np.clip(0.5 + short / width, 0.0, 1.0)

    @classmethod
    def value(cls, short: Array, width: Any) -> Array:
        """Return the loss of u = 1 - y f: at most width / 8 above the hinge, and equal to it outside of the corner."""
        a = cls.slope(short, width)
        return np.asarray(a * short + 0.5 * width * a * (1.0 - a))

    def value_and_gradient(self, F: Array, Y: Array, weight: Array) -> tuple[float, Array]:
        """Return the weighted sum and -y times the slope."""
        short = 1.0 - Y * F
        slope = self.slope(short, self.width)
        return float(np.sum(weight @ self.value(short, self.width))), -Y * slope * weight[:, None]

    def curvature(self, F: Array, Y: Array) -> Array:
        """Return 1 / width in the corner, 0 beyond."""
        return np.where(np.abs(1.0 - Y * F) < 0.5 * self.width, 1.0 / self.width, 0.0)


LOSSES: Registry[Loss] = Registry(
    "loss", Loss, {"squared": Squared, "logistic": Logistic, "squared_hinge": SquaredHinge, "hinge": Hinge}
)
