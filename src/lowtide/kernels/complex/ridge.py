"""Frequencies that are normal but for one direction, along which they have a law of their own."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lowtide._checks import fail
from lowtide.kernels.complex.masses import amplitude, shift_masses
from lowtide.kernels.complex.sampling import sample_cos_minus, sample_cos_plus, sample_modulus, sample_sin_plus
from lowtide.kernels.complex.wave import HalfCosine, SmoothWave, Wave, gaussian_transform, normal_nodes, panels
from lowtide.kernels.measure import FrequencyLaw, MeasureBlock

__all__ = ["CarriedPhase", "LineLaw", "RidgeLaw", "cos_minus_law", "cos_plus_law", "modulus_law", "sin_plus_law"]

Floats = NDArray[np.float64]
# Up to this s the law of cos- is one lobe at each side, and its nodes are laid where it starts.
_LOBES_UPTO = 0.5


@dataclass(frozen=True)
class LineLaw:
    """The law of u with density wave(su) phi(u) / mass, s >= 0."""

    s: float
    wave: Wave
    mass: float
    draw: Callable[..., Floats]
    nodes: tuple[Floats, Floats] | None = None

    def characteristic(self, t: Floats) -> NDArray[np.complex128]:
        """Return E e^{itu}, elementwise."""
        if self.nodes is None:
            return gaussian_transform(self.wave, self.s, t) / self.mass
        u, probability = self.nodes
        return np.asarray(np.exp(1j * np.multiply.outer(t, u)) @ probability, dtype=np.complex128)

    def second_moment(self) -> float:
        """Return E u^2."""
        if self.nodes is None:
            u, weight = normal_nodes(self.wave, self.s)
            probability = weight * np.real(self.wave(self.s * u)) / self.mass
        else:
            u, probability = self.nodes
        return float(probability @ (u * u))


def cos_plus_law(s: float) -> LineLaw:
    """Return the law of cos+(su) phi(u)."""
    return LineLaw(s, HalfCosine(0), shift_masses(s).positive, partial(sample_cos_plus, s=s))


def cos_minus_law(s: float) -> LineLaw:
    """Return the law of cos-(su) phi(u), s > 0."""
    mass = shift_masses(s).negative
    nodes = _lobe_nodes(s) if s < _LOBES_UPTO else None
    return LineLaw(s, HalfCosine(2), mass, partial(sample_cos_minus, s=s), nodes)


def sin_plus_law(s: float) -> LineLaw:
    """Return the law of sin+(su) phi(u), s > 0."""
    return LineLaw(s, HalfCosine(1), shift_masses(s).imaginary, partial(sample_sin_plus, s=s))


def modulus_law(s: float) -> LineLaw:
    """Return the law of |1 + i e^{s^2/2} sin(su)| phi(u)."""
    height = amplitude(s)
    wave = SmoothWave(partial(_turned, height=height, order=0))
    mass = float(gaussian_transform(wave, s, np.zeros(1))[0].real)
    return LineLaw(s, wave, mass, partial(sample_modulus, s=s, amplitude=height))


def _turned(phi: Floats, height: float, order: int) -> NDArray[np.complex128]:
    """Return |z| (z/|z|)^order for z = 1 + i height sin(phi)."""
    sine = height * np.sin(phi)
    return np.asarray(np.hypot(1.0, sine) * np.exp(1j * order * np.arctan(sine)))


def _lobe_nodes(s: float) -> tuple[Floats, Floats]:
    """Return nodes and probabilities of cos-(su) phi(u) near +-c, c = pi/(2s), where it falls as exp(-c x)."""
    start = math.pi / (2 * s)
    x, weight = panels(np.array([0.0, 0.5, 1, 2, 3, 5, 7, 10, 14, 20, 30, 45]) / start)
    weight = weight * np.exp(-start * x - 0.5 * x * x) * np.maximum(np.sin(s * x), 0.0)
    probability = np.concatenate([weight, weight]) / (2 * weight.sum())
    return np.concatenate([start + x, -start - x]), probability


@dataclass(frozen=True)
class RidgeLaw:
    """w = (u e + (I - e e') g) / sigma, u of a law of its own, g normal.

    Attributes
    ----------
    direction : ndarray (d,)
        The unit vector e.
    bandwidth : float
        sigma.
    line : LineLaw
        The law of u.
    """

    direction: Floats
    bandwidth: float
    line: LineLaw
    law: ClassVar[FrequencyLaw] = "joint"

    def sample(self, rng: np.random.Generator, n_features: int, size: int) -> Floats:
        """Draw independent frequencies, shape (n_features, size)."""
        u = self.line.draw(rng, size=size)
        G = rng.standard_normal((n_features, size))
        change = u - self.direction @ G
        for row, component in zip(G, self.direction):  # in cache: half the time of an outer product
            row += component * change
            row /= self.bandwidth
        return G

    def length_quantile(self, q: ArrayLike, dimension: int) -> Floats:
        """Refuse: the law is not invariant to rotation."""
        raise fail("RidgeLaw", "lengths exist only for rotation-invariant frequencies", self.law)

    def characteristic(self, difference: ArrayLike) -> NDArray[np.complex128]:
        """Return E exp(i w.difference): that of u along e, times a Gaussian across."""
        along, across = self.split(difference)
        return np.asarray(self.line.characteristic(along) * np.exp(-0.5 * across))

    def split(self, difference: ArrayLike) -> tuple[Floats, Floats]:
        """Return the component along e and the squared length across, in bandwidths."""
        z = np.asarray(difference, dtype=np.float64) / self.bandwidth
        along = z @ self.direction
        return along, np.maximum(np.einsum("...i,...i->...", z, z) - along**2, 0.0)

    def second_moment(self, n_features: int) -> float:
        """Return (E u^2 + d - 1) / sigma^2."""
        return (self.line.second_moment() + n_features - 1) / self.bandwidth**2


@dataclass(frozen=True)
class CarriedPhase(MeasureBlock):
    """A block of modulus |1 + i A sin(r.w)| that carries the phase arctan(A sin(r.w)) with each frequency."""

    frequencies: RidgeLaw

    @property
    def is_skew(self) -> bool:
        """The two sides differ."""
        return True

    def phases(self, W: NDArray[Any]) -> Floats:
        """Return arctan(A sin(r.w)) in turns."""
        ridge = self.frequencies
        u = ridge.bandwidth * (ridge.direction @ np.asarray(W, dtype=np.float64))
        return np.asarray(np.arctan(amplitude(ridge.line.s) * np.sin(ridge.line.s * u)) / (2 * np.pi))

    def characteristic(self, difference: ArrayLike, order: int = 1) -> NDArray[np.complex128]:
        """Return E exp(i order (w.difference + theta(w)))."""
        ridge, height = self.frequencies, amplitude(self.frequencies.line.s)
        along, across = ridge.split(order * np.asarray(difference, dtype=np.float64))
        wave = SmoothWave(partial(_turned, height=height, order=order))
        value = gaussian_transform(wave, ridge.line.s, along) / self.mass
        return np.asarray(value * np.exp(-0.5 * across))
