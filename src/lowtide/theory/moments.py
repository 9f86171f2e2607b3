"""The generalized Gaussian moments of an activation: all that a kernel of many random features keeps of it.

Quadrature finds those of any function; activations with closed forms are in `activations`.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from lowtide._checks import check_interval, check_positive, fail
from lowtide.spec import Spec

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

    def kernel(self, square_x: Floats, square_y: Floats, product: Floats) -> Floats:
        """Return E[sigma(w.x) sigma(w.y)] for normal w from |x|^2, |y|^2 and x.y, arrays of one broadcast shape."""
        remedy = "Estimate it: kernel_estimate of ActivationFeatures has its error beside it."
        raise fail(type(self).__name__, "the activation's kernel must be known in closed form", self, remedy)


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

        found, _ = scipy.integrate.quad_vec(
            integrand, -_END, _END, epsabs=1e-13, epsrel=1e-12, limit=20000, points=_POINTS
        )
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
