"""Activations with their generalized Gaussian moments: all that a kernel of many random features keeps of them.

Those with closed forms have names that a user may write; quadrature finds the moments of any other function.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.integrate import quad_vec
from scipy.special import gammainc

from lowtide._checks import check_interval, check_positive, fail
from lowtide.spec import Registry, Spec

Floats = NDArray[np.float64]
Function = Callable[..., Any]

# The normal density is below 1e-313 there: nothing of a function with finite moments is left outside.
_END = 38.0
# Where most functions with kinks have them, and where the density turns negligible for bounded functions.
_POINTS = (-9.0, -3.0, 0.0, 3.0, 9.0)
# A moment below this share of its Cauchy-Schwarz bound is rounding of the quadrature.
_ROUNDING = 1e-11


@dataclass(frozen=True)
class GaussianMoments:
    """Hold the moments d0, d1, d2 of an activation sigma at t ~ N(0, tau).

        d1 = (E sigma')^2,    d2 = (E sigma'')^2 / 4,    d0 = Var sigma - tau d1

    Derivatives are weak ones: E sigma' = E[t sigma]/tau, E sigma'' = E[(t^2/tau - 1) sigma]/tau. d1 weighs the means of
    a mixture, d2 its covariances, and d0 only adds to the diagonal of the kernel matrix.

    Parameters
    ----------
    d0, d1, d2 : float
        Not negative; d0 is NaN where a target leaves it open.

    References
    ----------
    TRF (Tiomoko Ali, Liao and Couillet), Theorem 1.

    Examples
    --------
    >>> from lowtide.theory import gaussian_moments
    >>> moments = gaussian_moments("relu", tau=1.0)
    >>> round(moments.d0, 4), moments.d1, round(moments.d2, 4)
    (0.0908, 0.25, 0.0398)
    """

    d0: float
    d1: float
    d2: float

    def variance(self, tau: float) -> float:
        """Return Var sigma = d0 + tau d1."""
        return self.d0 + tau * self.d1


class Activation(Spec):
    """State what a target of ternary features must know: its values, and its Gaussian moments at every tau > 0."""

    @abstractmethod
    def moments(self, tau: float) -> GaussianMoments:
        """Return d0, d1, d2 at t ~ N(0, tau)."""

    @abstractmethod
    def __call__(self, t: ArrayLike) -> Floats:
        """Return sigma(t); an activation of several outputs puts them in a new last axis."""


@dataclass(eq=False, repr=False)
class GivenMoments(Activation):
    """Take moments themselves as a target, the same at every tau; it has no values.

    Parameters
    ----------
    d1, d2 : float
        As in `GaussianMoments`, not negative, not both 0.
    d0 : float, optional
        Open by default: then the solver takes the least one.

    Examples
    --------
    >>> from lowtide.theory import GivenMoments
    >>> GivenMoments(0.25, 0.04).moments(1.0)
    GaussianMoments(d0=nan, d1=0.25, d2=0.04)
    """

    d1: float
    d2: float
    d0: float | None = None

    def check(self) -> None:
        """Refuse negative moments, and a target without any."""
        for name, value in self.get_params().items():
            if name != "d0" or value is not None:
                check_interval("GivenMoments", name, value, 0.0, 1e300)
        if self.d1 == 0 and self.d2 == 0:
            raise fail("GivenMoments", "d1 or d2 must be above 0", (self.d1, self.d2))

    def moments(self, tau: float) -> GaussianMoments:
        """Return the numbers as given."""
        return GaussianMoments(math.nan if self.d0 is None else float(self.d0), float(self.d1), float(self.d2))

    def __call__(self, t: ArrayLike) -> Floats:
        """Refuse: moments have no values."""
        raise fail("GivenMoments", "values need an activation, a name or a callable", self)


@dataclass(eq=False, repr=False)
class CallableActivation(Activation):
    """Take a function as a target; its moments come from quadrature.

    Parameters
    ----------
    function : callable
        float64 array in, array of the same shape out.

    Notes
    -----
    Jumps and kinks are found by bisection: the moments' relative error stays near 1e-10 wherever they are.

    Examples
    --------
    >>> import numpy as np
    >>> from lowtide.theory import CallableActivation
    >>> round(CallableActivation(np.tanh).moments(1.0).d1, 6)
    0.366879
    """

    function: Function

    def check(self) -> None:
        """Refuse what cannot be called."""
        if not callable(self.function):
            raise fail("CallableActivation", "function must be callable", self.function)

    def to_config(self) -> dict[str, Any]:
        """Refuse: code has no JSON form."""
        raise fail("CallableActivation", "a target that is saved must be a name, an activation or (d1, d2)", self)

    def moments(self, tau: float) -> GaussianMoments:
        """Return the moments by quadrature."""
        tau = check_positive("gaussian_moments", "tau", tau)
        name = getattr(self.function, "__name__", repr(self.function))
        with np.errstate(all="ignore"):
            offset, scale = self._rough_size(tau, name)
            found = self._integrals(tau, offset, scale)
        if not np.isfinite(found).all():
            raise fail("gaussian_moments", f"{name} must have finite Gaussian moments at tau = {tau:g}", found.tolist())
        mean, square, first, second = (float(value) for value in found)
        noise = _ROUNDING * math.sqrt(square)
        first, second = (value if abs(value) > noise else 0.0 for value in (first, second))
        d0 = max(0.0, square - mean**2 - first**2)
        return GaussianMoments(scale**2 * d0, scale**2 * first**2 / tau, scale**2 * second**2 / (4 * tau**2))

    def _rough_size(self, tau: float, name: str) -> tuple[float, float]:
        """Return mean and standard deviation on a coarse grid: without them, absolute tolerances mean something."""
        z = np.linspace(-6, 6, 121)
        weights = np.exp(-z * z / 2) / np.exp(-z * z / 2).sum()
        values = self(math.sqrt(tau) * z)
        if values.shape != z.shape or not np.isfinite(values).all():
            raise fail("gaussian_moments", f"{name} must return one finite number for each number", values.shape)
        mean = float(weights @ values)
        return mean, math.sqrt(float(weights @ (values - mean) ** 2)) or 1.0

    def _integrals(self, tau: float, offset: float, scale: float) -> Floats:
        """Return E f, E f^2, E z f and E (z^2 - 1) f of f = (sigma(sqrt(tau) z) - offset)/scale."""

        def integrand(z: float) -> Floats:
            value = (float(self([math.sqrt(tau) * z])[0]) - offset) / scale
            density = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
            return density * np.array([value, value * value, value * z, value * (z * z - 1)])

        found, _ = quad_vec(integrand, -_END, _END, epsabs=1e-13, epsrel=1e-12, limit=20000, points=_POINTS)
        return np.asarray(found)

    def __call__(self, t: ArrayLike) -> Floats:
        """Return the function's values as float64."""
        return np.asarray(self.function(np.asarray(t, dtype=np.float64)), dtype=np.float64)

    def __eq__(self, other: object) -> bool:
        """Compare by the function itself."""
        return isinstance(other, CallableActivation) and self.function is other.function

    def __hash__(self) -> int:
        """Return the function's hash."""
        return hash(self.function)


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
    return float(gammainc(2.0, tau))


class FourierPair(_Plain):
    """Apply [cos t, sin t], the random Fourier features of the Gaussian kernel, in a new last axis.

    Moments are those of cos plus those of sin.
    """

    _function = staticmethod(lambda t: np.stack([np.cos(t), np.sin(t)], axis=-1))

    def moments(self, tau: float) -> GaussianMoments:
        """Return 1 - e^-tau (1 + tau), e^-tau, e^-tau/4."""
        decay = math.exp(-tau)
        return GaussianMoments(_excess(tau), decay, decay / 4)


class Cosine(_Plain):
    """Apply cos t."""

    _function = np.cos

    def moments(self, tau: float) -> GaussianMoments:
        """Return (1 - e^-tau)^2 / 2, 0, e^-tau/4."""
        return GaussianMoments(math.expm1(-tau) ** 2 / 2, 0.0, math.exp(-tau) / 4)


class Sine(_Plain):
    """Apply sin t."""

    _function = np.sin

    def moments(self, tau: float) -> GaussianMoments:
        """Return (1 - e^-2tau)/2 - tau e^-tau, e^-tau, 0."""
        decay = math.exp(-tau)
        # The difference cancels to e^-tau (sinh tau - tau) = tau^3/6 at small tau; there its series has 15 digits.
        x = tau * tau
        series = tau**3 / 6 * (1 + x / 20 * (1 + x / 42 * (1 + x / 72 * (1 + x / 110))))
        return GaussianMoments(decay * series if tau < 0.3 else -math.expm1(-2 * tau) / 2 - tau * decay, decay, 0.0)


class Linear(_Plain):
    """Apply t: the linear kernel."""

    _function = np.positive

    def moments(self, tau: float) -> GaussianMoments:
        """Return 0, 1, 0."""
        return GaussianMoments(0.0, 1.0, 0.0)


class Bump(_Plain):
    """Apply exp(-t^2/2)."""

    _function = staticmethod(lambda t: np.exp(-(t**2) / 2))

    def moments(self, tau: float) -> GaussianMoments:
        """Return (2 tau + 1)^(-1/2) - 1/(tau + 1), 0, 1/(4 (tau + 1)^3)."""
        root = math.sqrt(2 * tau + 1)
        # (tau + 1 - root) = tau^2/(tau + 1 + root) keeps its digits for small tau.
        return GaussianMoments(tau**2 / (root * (tau + 1) * (tau + 1 + root)), 0.0, 0.25 / (tau + 1) ** 3)


class Exponential(_Plain):
    """Apply exp t."""

    _function = np.exp

    def moments(self, tau: float) -> GaussianMoments:
        """Return e^2tau - e^tau (1 + tau), e^tau, e^tau/4."""
        if tau > 350:
            raise fail("Exponential", "tau must be at most 350", tau, "Scale the data down.")
        growth = math.exp(tau)
        return GaussianMoments(growth**2 * _excess(tau), growth, growth / 4)


class Sign(_Plain):
    """Apply the sign: -1, 0 or 1 as t is below, at or above 0."""

    _function = np.sign

    def moments(self, tau: float) -> GaussianMoments:
        """Return 1 - 2/pi, 2/(pi tau), 0."""
        return GaussianMoments(1 - 2 / math.pi, 2 / (math.pi * tau), 0.0)


class Step(_Plain):
    """Apply the step, 1 for t > 0, else 0: the arc-cosine kernel of order 0."""

    _function = staticmethod(lambda t: t > 0)

    def moments(self, tau: float) -> GaussianMoments:
        """Return 1/4 - 1/(2 pi), 1/(2 pi tau), 0."""
        return GaussianMoments(0.25 - 1 / (2 * math.pi), 1 / (2 * math.pi * tau), 0.0)


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


class ReLU(_Plain):
    """Apply max(t, 0): the first-order arc-cosine kernel."""

    _function = staticmethod(lambda t: np.maximum(t, 0))

    def moments(self, tau: float) -> GaussianMoments:
        """Return (tau/2)(1/2 - 1/pi), 1/4, 1/(8 pi tau)."""
        return LeakyReLU(1.0, 0.0).moments(tau)


class Absolute(_Plain):
    """Apply |t|."""

    _function = np.abs

    def moments(self, tau: float) -> GaussianMoments:
        """Return tau (1 - 2/pi), 0, 1/(2 pi tau)."""
        return LeakyReLU(1.0, 1.0).moments(tau)


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
