"""Gaussian process kernels of scikit-learn as one stationary kernel and a constant."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, PairwiseKernel, Product, Sum, WhiteKernel
from sklearn.gaussian_process.kernels import Kernel as GPKernel
from sklearn.gaussian_process.kernels import Matern as GPMatern

from lowtide._checks import fail
from lowtide.kernels import KERNELS, Gaussian, Kernel, Matern

__all__ = ["GPKernel", "StationaryPart", "stationary_part"]

_WAY_OUT = (
    "Constants times, and plus, one RBF, Matern or PairwiseKernel term can be compressed, WhiteKernel beside it; for "
    "other kernels train lowtide.KernelRegressor."
)


@dataclass(frozen=True)
class StationaryPart:
    """k(x, y) = amplitude kernel(x / scale, y / scale) + constant between different rows; scale None is ones."""

    amplitude: float
    kernel: Kernel
    scale: NDArray[np.float64] | None
    constant: float


@dataclass(frozen=True)
class _Terms:
    """amplitude * base + constant, base None where there is none."""

    constant: float = 0.0
    amplitude: float = 0.0
    base: GPKernel | None = None


def stationary_part(kernel: GPKernel) -> StationaryPart:
    """Take a kernel apart; refuse one that is not a single stationary term with constants.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF, WhiteKernel
    >>> stationary_part(2.0 * RBF(3.0) + WhiteKernel(0.1))
    StationaryPart(amplitude=2.0, kernel=Gaussian(bandwidth=3.0), scale=None, constant=0.0)
    """
    terms = _terms(kernel)
    if terms.base is None:
        raise fail("compress", "the kernel must have an RBF, Matern or PairwiseKernel term", str(kernel), _WAY_OUT)
    if isinstance(terms.base, PairwiseKernel):
        return StationaryPart(terms.amplitude, _pairwise(terms.base), None, terms.constant)
    length, scale = _length_and_scale(terms.base.length_scale)
    return StationaryPart(terms.amplitude, _radial(terms.base, length), scale, terms.constant)


def _terms(kernel: Any) -> _Terms:
    """Expand sums and products; between different rows white noise is 0."""
    if isinstance(kernel, ConstantKernel):
        return _Terms(constant=float(kernel.constant_value))
    if isinstance(kernel, WhiteKernel):
        return _Terms()
    if isinstance(kernel, (RBF, PairwiseKernel)):  # GPMatern is an RBF
        return _Terms(amplitude=1.0, base=kernel)
    if not isinstance(kernel, (Sum, Product)):
        raise fail("compress", "the kernel must be stationary", str(kernel), _WAY_OUT)
    left, right = _terms(kernel.k1), _terms(kernel.k2)
    if left.base is not None and right.base is not None:
        raise fail("compress", "the kernel must have one stationary term", str(kernel), _WAY_OUT)
    base = right.base if left.base is None else left.base
    if isinstance(kernel, Sum):
        return _Terms(left.constant + right.constant, left.amplitude + right.amplitude, base)
    amplitude = left.constant * right.amplitude + left.amplitude * right.constant
    return _Terms(left.constant * right.constant, amplitude, base)


def _length_and_scale(length_scale: Any) -> tuple[float, NDArray[np.float64] | None]:
    """Return one length, or 1 and a divisor for each column where they differ."""
    lengths = np.atleast_1d(np.asarray(length_scale, dtype=np.float64))
    return (float(lengths[0]), None) if np.all(lengths == lengths[0]) else (1.0, lengths)


def _radial(base: Any, length: float) -> Kernel:
    """Return the lowtide kernel of RBF or Matern; Matern without limit is RBF."""
    if isinstance(base, GPMatern) and math.isfinite(base.nu):
        return Matern(length_scale=length, nu=float(base.nu))
    return Gaussian(bandwidth=length)


def _pairwise(base: Any) -> Kernel:
    if base.metric not in ("rbf", "laplacian"):
        raise fail("compress", "metric of PairwiseKernel must be 'rbf' or 'laplacian'", base.metric, _WAY_OUT)
    return KERNELS[base.metric].from_gamma(float(base.gamma))
