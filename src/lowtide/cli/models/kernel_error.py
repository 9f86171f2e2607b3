"""How far a kernel value read from codes may be off, in closed form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq

__all__ = ["KERNEL_VALUES", "ErrorCurve", "expected_errors"]

KERNEL_VALUES = (1.0, 0.75, 0.5, 0.25, 0.0)

_PAIRS = {"codes x full": ("codes", "full"), "codes x codes": ("codes", "codes"), "full x full": ("full", "full")}
_FAR = 1e-4  # a kernel value that counts as 0
_STEPS = 64


@dataclass(frozen=True)
class ErrorCurve:
    """Standard errors of one pair of sides.

    Attributes
    ----------
    sides : str
    at : dict of float
        The standard error at `KERNEL_VALUES`.
    worst : float
        The largest over all distances.
    """

    sides: str
    at: dict[float, float]
    worst: float


def expected_errors(encoder: Any) -> list[ErrorCurve]:
    """Return the standard error of a kernel value for each pair of sides that an encoder has.

    Codes against codes are divided by their value at equal rows, so that all are on the scale of the kernel.

    Parameters
    ----------
    encoder : RandomFeatures, fitted
    """
    reach = _distance(encoder, _FAR)
    wanted = [0.0 if value == 1.0 else reach if value == 0.0 else _distance(encoder, value) for value in KERNEL_VALUES]
    distances = np.array([*wanted, *np.linspace(0.0, reach, _STEPS)])
    # A step along one axis has the same length in every norm.
    rows = np.zeros((len(distances), encoder.n_features_in_))
    rows[:, 0] = distances
    curves = []
    for name, sides in _PAIRS.items():
        if "codes" in sides and encoder.quantizer_ is None:
            continue
        _, std = encoder.kernel_estimate(rows[:1] * 0.0, rows, sides=sides, return_std=True, normalize=True)
        errors = dict(zip(KERNEL_VALUES, std[0].tolist()))
        curves.append(ErrorCurve(name, errors, float(std.max())))
    return curves


def _distance(encoder: Any, value: float) -> float:
    """Return a distance at which the kernel has this value."""
    d = encoder.n_features_in_

    def gap(distance: float) -> float:
        return float(encoder.kernel_.radial(np.array(distance), d)) - value

    far = 1e-6
    while gap(far) > 0:
        far *= 2
    return float(brentq(gap, 0.0, far))
