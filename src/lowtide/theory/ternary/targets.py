"""The targets of ternary features by the names a user may write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lowtide._checks import check_positive, fail
from lowtide.spec import Registry
from lowtide.theory.ternary.activation import Activation, CallableActivation, GivenMoments
from lowtide.theory.ternary.moments import GaussianMoments
from lowtide.theory.ternary.table import (
    Absolute,
    Bump,
    Cosine,
    Exponential,
    FourierPair,
    LeakyReLU,
    Linear,
    Quadratic,
    ReLU,
    Sign,
    Sine,
    Step,
)

Target = str | Activation | Callable[..., Any] | tuple[float, float]

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
        The object with `moments`.

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
    """Generalized Gaussian moments d0, d1, d2 of an activation at t ~ N(0, tau).

    Parameters
    ----------
    activation : str, Activation, callable or (float, float)
        As in `resolve_target`; closed forms for every name, quadrature for a callable.
    tau : float
        Variance of t, above 0.

    Returns
    -------
    GaussianMoments
        The moments.

    References
    ----------
    TRF (Tiomoko Ali, Liao and Couillet), Table 1, whose row "exp(t)" is exp(-t^2/2).

    Examples
    --------
    >>> import numpy as np
    >>> from lowtide.theory import gaussian_moments
    >>> exact, numeric = gaussian_moments("exp", 0.5), gaussian_moments(np.exp, 0.5)
    >>> abs(exact.d2 - numeric.d2) < 1e-10
    True
    """
    return resolve_target(activation).moments(check_positive("gaussian_moments", "tau", tau))
