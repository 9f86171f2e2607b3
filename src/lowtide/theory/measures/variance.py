"""Variance of kernel estimates from blocks of frequencies with phases.

A block estimates M E cos(w.Delta + theta(w)) by the mean over its frequencies. With chi_k = E e^{ik(w.Delta + theta)},
one frequency has the variance

    V(Delta) = M^2 (1 + Re chi_2)/2 - (M Re chi_1)^2,

and independent blocks of p_b frequencies the variance sum_b V_b / p_b.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lowtide._checks import check_option, fail
from lowtide.kernels import MeasureBlock, MeasureKernel

__all__ = ["block_variance", "measure_blocks", "measure_variance"]

Floats = NDArray[np.float64]


def block_variance(block: MeasureBlock, difference: ArrayLike) -> Floats:
    """Variance of one frequency's estimate of a block, cosine and sine used, at differences along the last axis.

    Parameters
    ----------
    block : MeasureBlock
        Of a kernel in closed form.
    difference : array-like (..., n_features)
        x - y.

    Returns
    -------
    ndarray of float64, shape (...)

    Examples
    --------
    >>> from lowtide.kernels import Gaussian, MeasureBlock
    >>> block_variance(MeasureBlock(1.0, Gaussian()), [[1.0, 0.0]]).round(6)
    array([0.199788])
    """
    first = block.characteristic(difference).real
    second = block.characteristic(difference, order=2).real
    return np.asarray(block.mass**2 * np.maximum((1.0 + second) / 2 - first**2, 0.0))


def measure_variance(kernel: MeasureKernel, difference: ArrayLike, form: str = "blocks") -> Floats:
    """M times the variance of an estimate with M independent frequencies a block.

    Three blocks have no variance at x = y, the phase form none where the shift-Gaussian kernel peaks; far away they
    have (m_+^2 + m_-^2 + 4 m_I^2)/2 and |mu|^2/2.

    Parameters
    ----------
    kernel : MeasureKernel
        In closed form.
    difference : array-like (..., n_features)
        x - y.
    form : {"blocks", "phase"}, default="blocks"
        One block a part of the measure, or one block that carries its phase.

    Returns
    -------
    ndarray of float64, shape (...)

    References
    ----------
    Derived, for the estimator (7) of AsK-RFF (He, He, Liu and Huang) and for its alternative with one block.

    Examples
    --------
    >>> from lowtide.kernels import ShiftGaussian
    >>> kernel = ShiftGaussian(shift=[1.0, 0.0])
    >>> [float(measure_variance(kernel, [2.0, 1.0], form).round(6)) for form in ("blocks", "phase")]
    [0.316923, 0.499955]
    """
    n_features = np.shape(difference)[-1]
    return np.asarray(sum(block_variance(block, difference) for block in measure_blocks(kernel, n_features, form)))


def measure_blocks(kernel: MeasureKernel, n_features: int, form: str) -> tuple[MeasureBlock, ...]:
    """Return the blocks of one form of a kernel.

    Parameters
    ----------
    kernel : MeasureKernel
    n_features : int
    form : {"blocks", "phase"}

    Returns
    -------
    tuple of MeasureBlock

    Examples
    --------
    >>> from lowtide.kernels import ShiftGaussian
    >>> [len(measure_blocks(ShiftGaussian(0.5), 4, form)) for form in ("blocks", "phase")]
    [3, 1]
    """
    check_option("form", "form", form, ("blocks", "phase"))
    if form == "blocks":
        return kernel.measures(n_features)
    block = kernel.phase_measure(n_features)
    if block is None:
        raise fail(type(kernel).__name__, "a kernel must have a phase form for form='phase'", form, "Use 'blocks'.")
    return (block,)
