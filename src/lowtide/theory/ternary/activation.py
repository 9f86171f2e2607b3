"""Activation: what a target of ternary features must state, and targets that are not in the table."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lowtide._checks import check_interval, fail
from lowtide.spec import Spec
from lowtide.theory.ternary.moments import GaussianMoments, moments_of_callable


class Activation(Spec):
    """Contract of an activation: a spec that knows its Gaussian moments at every tau > 0."""

    @abstractmethod
    def moments(self, tau: float) -> GaussianMoments:
        """Return d0, d1, d2 at t ~ N(0, tau)."""

    @abstractmethod
    def __call__(self, t: ArrayLike) -> NDArray[np.float64]:
        """Return sigma(t); an activation of several outputs puts them in a new last axis."""


@dataclass(eq=False, repr=False)
class GivenMoments(Activation):
    """A target that is only its moments, the same at every tau; it has no values.

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

    def __call__(self, t: ArrayLike) -> NDArray[np.float64]:
        """Refuse: moments have no values."""
        raise fail("GivenMoments", "values need an activation, a name or a callable", self)


class CallableActivation(Activation):
    """A user's function as a target; its moments come from quadrature.

    Parameters
    ----------
    function : callable
        float64 array in, array of the same shape out.

    Examples
    --------
    >>> import numpy as np
    >>> from lowtide.theory import CallableActivation
    >>> round(CallableActivation(np.tanh).moments(1.0).d1, 6)
    0.366879
    """

    def __init__(self, function: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> None:
        if not callable(function):
            raise fail("CallableActivation", "function must be callable", function)
        self.function = function

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the function by name."""
        return {"function": self.function}

    def to_config(self) -> dict[str, Any]:
        """Refuse: code has no JSON form."""
        raise fail("CallableActivation", "a target that is saved must be a name, an activation or (d1, d2)", self)

    def moments(self, tau: float) -> GaussianMoments:
        """Return the moments by quadrature."""
        return moments_of_callable(self.function, tau)

    def __call__(self, t: ArrayLike) -> NDArray[np.float64]:
        """Return the function's values as float64."""
        return np.asarray(self.function(np.asarray(t, dtype=np.float64)), dtype=np.float64)

    def __eq__(self, other: object) -> bool:
        """Compare by the function itself."""
        return isinstance(other, CallableActivation) and self.function is other.function

    def __hash__(self) -> int:
        """Return the function's hash."""
        return hash(self.function)
