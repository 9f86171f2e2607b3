"""Activations whose Gaussian moments have closed forms, by the names that a user may write."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from lowtide._checks import check_interval, check_positive, fail
from lowtide.kernels import arc_cosine
from lowtide.spec import Registry
from lowtide.theory.moments import Activation, CallableActivation, GaussianMoments, GivenMoments

Floats = NDArray[np.float64]
Function = Callable[..., Any]


@dataclass(eq=False, repr=False)
class _Plain(Activation):
    """An activation without parameters: a function of numbers, whose moments are in closed form."""

    _function: ClassVar[Function]

    def __call__(self, t: ArrayLike) -> Floats:
        """Return the function's values."""
        return np.asarray(self._function(np.asarray(t, dtype=np.float64)), dtype=np.float64)


def _check_coefficients(spec: Activation, need: str, *not_all_zero: float) -> None:
    """Refuse coefficients that are not finite numbers, and some that are all 0."""
    for name, value in spec.get_params().items():
        check_interval(type(spec).__name__, name, value, -1e150, 1e150)
    if not any(not_all_zero):
        raise fail(type(spec).__name__, need, not_all_zero)


def _excess(tau: float) -> float:
    """Return 1 - e^-tau (1 + tau) without cancellation."""
    return float(scipy.special.gammainc(2.0, tau))


class FourierPair(_Plain):
    """Apply [cos t, sin t], the random Fourier features of the Gaussian kernel, in a new last axis.

    Moments are those of cos plus those of sin.

    Examples
    --------
    >>> from lowtide.theory import FourierPair
    >>> round(FourierPair().moments(1.0).d0, 6)
    0.264241
    """

    _function = staticmethod(lambda t: np.stack([np.cos(t), np.sin(t)], axis=-1))

    def moments(self, tau: float) -> GaussianMoments:
        """Return 1 - e^-tau (1 + tau), e^-tau, e^-tau/4."""
        decay = math.exp(-tau)
        return GaussianMoments(_excess(tau), decay, decay / 4)

    def kernel(self, square_x: Floats, square_y: Floats, product: Floats) -> Floats:
        """Return exp(-|x - y|^2/2)."""
        return np.asarray(np.exp(product - (square_x + square_y) / 2))


class Cosine(_Plain):
    """Apply cos t.

    Examples
    --------
    >>> from lowtide.theory import Cosine
    >>> Cosine().moments(1.0).d1
    0.0
    """

    _function = np.cos

    def moments(self, tau: float) -> GaussianMoments:
        """Return (1 - e^-tau)^2 / 2, 0, e^-tau/4."""
        return GaussianMoments(math.expm1(-tau) ** 2 / 2, 0.0, math.exp(-tau) / 4)

    def kernel(self, square_x: Floats, square_y: Floats, product: Floats) -> Floats:
        """Return (exp(-|x - y|^2/2) + exp(-|x + y|^2/2))/2."""
        near, far = (FourierPair().kernel(square_x, square_y, sign * product) for sign in (1, -1))
        return (near + far) / 2


class Sine(_Plain):
    """Apply sin t.

    Examples
    --------
    >>> from lowtide.theory import Sine
    >>> Sine().moments(1.0).d2
    0.0
    """

    _function = np.sin

    def moments(self, tau: float) -> GaussianMoments:
        """Return (1 - e^-2tau)/2 - tau e^-tau, e^-tau, 0."""
        decay = math.exp(-tau)
        # The difference cancels to e^-tau (sinh tau - tau) = tau^3/6 at small tau; there its series has 15 digits.
        x = tau * tau
        series = tau**3 / 6 * (1 + x / 20 * (1 + x / 42 * (1 + x / 72 * (1 + x / 110))))
        return GaussianMoments(decay * series if tau < 0.3 else -math.expm1(-2 * tau) / 2 - tau * decay, decay, 0.0)

    def kernel(self, square_x: Floats, square_y: Floats, product: Floats) -> Floats:
        """Return (exp(-|x - y|^2/2) - exp(-|x + y|^2/2))/2."""
        near, far = (FourierPair().kernel(square_x, square_y, sign * product) for sign in (1, -1))
        return (near - far) / 2


class Linear(_Plain):
    """Apply t: the linear kernel.

    Examples
    --------
    >>> from lowtide.theory import Linear
    >>> Linear().moments(0.5)
    GaussianMoments(d0=0.0, d1=1.0, d2=0.0)
    """

    _function = np.positive

    def moments(self, tau: float) -> GaussianMoments:
        """Return 0, 1, 0."""
        return GaussianMoments(0.0, 1.0, 0.0)

    def kernel(self, square_x: Floats, square_y: Floats, product: Floats) -> Floats:
        """Return x.y."""
        return np.asarray(product, dtype=np.float64)


class Bump(_Plain):
    """Apply exp(-t^2/2).

    Examples
    --------
    >>> from lowtide.theory import Bump
    >>> round(Bump().moments(0.5).d2, 6)
    0.074074
    """

    _function = staticmethod(lambda t: np.exp(-(t**2) / 2))

    def moments(self, tau: float) -> GaussianMoments:
        """Return (2 tau + 1)^(-1/2) - 1/(tau + 1), 0, 1/(4 (tau + 1)^3)."""
        root = math.sqrt(2 * tau + 1)
        # (tau + 1 - root) = tau^2/(tau + 1 + root) keeps its digits for small tau.
        return GaussianMoments(tau**2 / (root * (tau + 1) * (tau + 1 + root)), 0.0, 0.25 / (tau + 1) ** 3)

    def kernel(self, square_x: Floats, square_y: Floats, product: Floats) -> Floats:
        """Return ((1 + |x|^2)(1 + |y|^2) - (x.y)^2)^(-1/2)."""
        return np.asarray(((1 + square_x) * (1 + square_y) - product**2) ** -0.5)


class Exponential(_Plain):
    """Apply exp t.

    Examples
    --------
    >>> from lowtide.theory import Exponential
    >>> round(Exponential().moments(0.5).d0, 6)
    0.2452
    """

    _function = np.exp

    def moments(self, tau: float) -> GaussianMoments:
        """Return e^2tau - e^tau (1 + tau), e^tau, e^tau/4."""
        if tau > 350:
            raise fail("Exponential", "tau must be at most 350", tau, "Scale the data down.")
        growth = math.exp(tau)
        return GaussianMoments(growth**2 * _excess(tau), growth, growth / 4)

    def kernel(self, square_x: Floats, square_y: Floats, product: Floats) -> Floats:
        """Return exp(|x + y|^2/2)."""
        return np.asarray(np.exp(product + (square_x + square_y) / 2))


class Sign(_Plain):
    """Apply the sign: -1, 0 or 1 as t is below, at or above 0.

    Examples
    --------
    >>> from lowtide.theory import Sign
    >>> round(Sign().moments(0.5).d1, 6)
    1.27324
    """

    _function = np.sign

    def moments(self, tau: float) -> GaussianMoments:
        """Return 1 - 2/pi, 2/(pi tau), 0."""
        return GaussianMoments(1 - 2 / math.pi, 2 / (math.pi * tau), 0.0)

    def kernel(self, square_x: Floats, square_y: Floats, product: Floats) -> Floats:
        """Return 1 - 2 theta/pi, theta the angle of x and y; 0 for rows of zeros."""
        value = arc_cosine(0, square_x, square_y, product)
        return np.where(np.asarray(square_x) * square_y > 0, 2 * value - 1, 0.0)


class Step(_Plain):
    """Apply the step, 1 for t > 0, else 0: half the arc-cosine kernel of order 0.

    Examples
    --------
    >>> from lowtide.theory import Step
    >>> round(Step().moments(0.5).d1, 6)
    0.31831
    """

    _function = staticmethod(lambda t: t > 0)

    def moments(self, tau: float) -> GaussianMoments:
        """Return 1/4 - 1/(2 pi), 1/(2 pi tau), 0."""
        return GaussianMoments(0.25 - 1 / (2 * math.pi), 1 / (2 * math.pi * tau), 0.0)

    def kernel(self, square_x: Floats, square_y: Floats, product: Floats) -> Floats:
        """Return (1 - theta/pi)/2, theta the angle of x and y; 0 for rows of zeros."""
        return arc_cosine(0, square_x, square_y, product) / 2


@dataclass(eq=False, repr=False)
class LeakyReLU(Activation):
    """Apply positive max(t, 0) + negative max(-t, 0); the usual leaky unit of slope s has negative = -s.

    Parameters
    ----------
    positive, negative : float, default 1 and -0.01
        The two coefficients, not both 0.

    Examples
    --------
    >>> from lowtide.theory import LeakyReLU
    >>> round(LeakyReLU(1.5, 0.3).moments(0.8).d1, 6)
    0.36
    """

    positive: float = 1.0
    negative: float = -0.01

    def check(self) -> None:
        """Refuse coefficients that are not finite, and a function that is 0."""
        _check_coefficients(self, "positive or negative must not be 0", self.positive, self.negative)

    def moments(self, tau: float) -> GaussianMoments:
        """Return tau (a+b)^2 (pi-2)/(4 pi), (a-b)^2/4, (a+b)^2/(8 pi tau)."""
        even, odd = (self.positive + self.negative) ** 2, (self.positive - self.negative) ** 2
        return GaussianMoments(tau * even * (math.pi - 2) / (4 * math.pi), odd / 4, even / (8 * math.pi * tau))

    def __call__(self, t: ArrayLike) -> Floats:
        """Return the two half lines."""
        values = np.asarray(t, dtype=np.float64)
        return np.asarray(self.positive * np.maximum(values, 0) + self.negative * np.maximum(-values, 0))

    def kernel(self, square_x: Floats, square_y: Floats, product: Floats) -> Floats:
        """Return (a^2 + b^2) A(x.y) + 2 a b A(-x.y), A half the arc-cosine kernel of order 1."""
        same, mixed = (arc_cosine(1, square_x, square_y, sign * product) / 2 for sign in (1, -1))
        return (self.positive**2 + self.negative**2) * same + 2 * self.positive * self.negative * mixed


class ReLU(_Plain):
    """Apply max(t, 0): half the arc-cosine kernel of order 1.

    Examples
    --------
    >>> from lowtide.theory import ReLU
    >>> ReLU().moments(1.0).d1
    0.25
    """

    _function = staticmethod(lambda t: np.maximum(t, 0))

    def moments(self, tau: float) -> GaussianMoments:
        """Return (tau/2)(1/2 - 1/pi), 1/4, 1/(8 pi tau)."""
        return LeakyReLU(1.0, 0.0).moments(tau)

    def kernel(self, square_x: Floats, square_y: Floats, product: Floats) -> Floats:
        """Return half the arc-cosine kernel of order 1."""
        return LeakyReLU(1.0, 0.0).kernel(square_x, square_y, product)


class Absolute(_Plain):
    """Apply |t|.

    Examples
    --------
    >>> from lowtide.theory import Absolute
    >>> round(Absolute().moments(0.5).d2, 6)
    0.31831
    """

    _function = np.abs

    def moments(self, tau: float) -> GaussianMoments:
        """Return tau (1 - 2/pi), 0, 1/(2 pi tau)."""
        return LeakyReLU(1.0, 1.0).moments(tau)

    def kernel(self, square_x: Floats, square_y: Floats, product: Floats) -> Floats:
        """Return A(x.y) + A(-x.y), A the arc-cosine kernel of order 1."""
        return LeakyReLU(1.0, 1.0).kernel(square_x, square_y, product)


@dataclass(eq=False, repr=False)
class Quadratic(Activation):
    """Apply a2 t^2 + a1 t + a0.

    Parameters
    ----------
    a2, a1, a0 : float, default 1, 0, 0
        Coefficients; a2 and a1 not both 0.

    Examples
    --------
    >>> from lowtide.theory import Quadratic
    >>> round(Quadratic(0.7, -0.4, 0.2).moments(0.8).d0, 6)
    0.6272
    """

    a2: float = 1.0
    a1: float = 0.0
    a0: float = 0.0

    def check(self) -> None:
        """Refuse coefficients that are not finite, and a constant."""
        _check_coefficients(self, "a2 or a1 must not be 0", self.a2, self.a1)

    def moments(self, tau: float) -> GaussianMoments:
        """Return 2 tau^2 a2^2, a1^2, a2^2."""
        return GaussianMoments(2 * tau**2 * self.a2**2, float(self.a1) ** 2, float(self.a2) ** 2)

    def __call__(self, t: ArrayLike) -> Floats:
        """Return the polynomial."""
        return np.asarray(np.polyval([self.a2, self.a1, self.a0], np.asarray(t, dtype=np.float64)), dtype=np.float64)

    def kernel(self, square_x: Floats, square_y: Floats, product: Floats) -> Floats:
        """Return a2^2 (|x|^2 |y|^2 + 2 (x.y)^2) + a1^2 x.y + a0 a2 (|x|^2 + |y|^2) + a0^2."""
        square = self.a2**2 * (square_x * square_y + 2 * product**2)
        return np.asarray(square + self.a1**2 * product + self.a0 * self.a2 * (square_x + square_y) + self.a0**2)


Target = str | Activation | Function | tuple[float, float]

TARGETS: Registry[Activation] = Registry(
    "target",
    Activation,
    {
        "rbf": FourierPair,
        "relu": ReLU,
        "leaky_relu": LeakyReLU,
        "abs": Absolute,
        "quadratic": Quadratic,
        "linear": Linear,
        "bump": Bump,
        "exp": Exponential,
        "cos": Cosine,
        "sin": Sine,
        "sign": Sign,
        "step": Step,
    },
    unnamed=(GivenMoments,),
)


def resolve_target(target: Target) -> Activation:
    """Return a target as an `Activation`: a name, an object, a callable or (d1, d2).

    Parameters
    ----------
    target : str, Activation, callable or (float, float)
        Names are those of `TARGETS`; a tuple is (d1, d2) or (d1, d2, d0).

    Returns
    -------
    Activation

    Examples
    --------
    >>> from lowtide.theory import resolve_target
    >>> resolve_target("relu"), resolve_target((0.25, 0.04))
    (ReLU(), GivenMoments(d1=0.25, d2=0.04, d0=None))
    """
    if isinstance(target, (str, Activation)):
        return TARGETS.resolve(target)
    if callable(target):
        return CallableActivation(target)
    if isinstance(target, (tuple, list)) and len(target) in (2, 3):
        return GivenMoments(*target)
    listed = ", ".join(repr(name) for name in TARGETS)
    raise fail("target", f"must be one of {listed}, an activation, a callable or (d1, d2)", target)


def gaussian_moments(activation: Target, tau: float) -> GaussianMoments:
    """Return the generalized Gaussian moments d0, d1, d2 of an activation at t ~ N(0, tau).

    Parameters
    ----------
    activation : str, Activation, callable or (float, float)
        As in `resolve_target`; closed forms for every name, quadrature for a callable.
    tau : float
        Variance of t, above 0.

    Returns
    -------
    GaussianMoments

    References
    ----------
    TRF (Tiomoko Ali, Liao and Couillet), Table 1, whose row "exp(t)" is exp(-t^2/2).

    Examples
    --------
    >>> import numpy as np
    >>> from lowtide.theory import ReLU, gaussian_moments
    >>> [round(gaussian_moments(name, 0.5).d1, 6) for name in ("rbf", "sin", "linear", ReLU(), "sign", "step")]
    [0.606531, 0.606531, 1.0, 0.25, 1.27324, 0.31831]
    >>> exact, numeric = gaussian_moments("exp", 0.5), gaussian_moments(np.exp, 0.5)
    >>> abs(exact.d2 - numeric.d2) < 1e-10
    True
    """
    return resolve_target(activation).moments(check_positive("gaussian_moments", "tau", tau))
