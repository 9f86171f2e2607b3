"""The law of a feature value: what a quantizer may know of a map."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

Array = NDArray[np.float64]


class Density(ABC):
    """A symmetric law on an interval, as a Lloyd-Max quantizer needs it."""

    interval: tuple[float, float]
    second_moment: float

    @abstractmethod
    def pdf(self, x: Array) -> Array:
        """Return the density; 0 at the ends of the interval, where a border never lies."""

    @abstractmethod
    def cdf(self, x: Array) -> Array:
        """Return P(value <= x)."""

    @abstractmethod
    def partial_mean(self, x: Array) -> Array:
        """Return int_{-inf}^x v dP(v)."""

    @abstractmethod
    def quantile(self, q: Array) -> Array:
        """Return the inverse of `cdf`."""


class Arcsine(Density):
    """The law of cos(U), U uniform: cdf 1/2 + asin(x)/pi on [-1, 1], whatever the kernel and its bandwidth.

    Examples
    --------
    >>> float(Arcsine().cdf(np.array(0.0)))
    0.5
    """

    interval = (-1.0, 1.0)
    second_moment = 0.5

    def pdf(self, x: Array) -> Array:
        """Return 1 / (pi sqrt(1 - x^2)) inside the interval."""
        inside = np.abs(x) < 1.0
        return np.where(inside, 1.0 / (math.pi * np.sqrt(np.where(inside, 1.0 - x * x, 1.0))), 0.0)

    def cdf(self, x: Array) -> Array:
        """Return 1/2 + asin(x)/pi."""
        return 0.5 + np.arcsin(x) / math.pi

    def partial_mean(self, x: Array) -> Array:
        """Return -sqrt(1 - x^2) / pi."""
        return -np.sqrt(np.maximum(1.0 - x * x, 0.0)) / math.pi

    def quantile(self, q: Array) -> Array:
        """Return sin(pi (q - 1/2))."""
        return np.sin(math.pi * (q - 0.5))


class Normal(Density):
    """The law N(0, 1) of a Gaussian projection of a row of norm 1.

    Examples
    --------
    >>> float(Normal().cdf(np.array(0.0)))
    0.5
    """

    interval = (-math.inf, math.inf)
    second_moment = 1.0

    def pdf(self, x: Array) -> Array:
        """Return exp(-x^2/2) / sqrt(2 pi)."""
        return np.asarray(np.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi))

    def cdf(self, x: Array) -> Array:
        """Return Phi(x)."""
        return np.asarray(ndtr(x))

    def partial_mean(self, x: Array) -> Array:
        """Return -phi(x)."""
        return -self.pdf(x)

    def quantile(self, q: Array) -> Array:
        """Return the inverse of Phi."""
        return np.asarray(ndtri(q))
