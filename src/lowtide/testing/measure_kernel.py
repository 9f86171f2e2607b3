"""The contract of a kernel of differences."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lowtide.kernels import MeasureBlock, MeasureKernel
from lowtide.testing.claim import SEED, claim, claim_mean
from lowtide.testing.spec import check_spec

__all__ = ["check_measure_kernel"]

_N_DRAWS = 20_000


def check_measure_kernel(kernel: MeasureKernel, n_features: int = 3, scale: float = 1.0) -> None:
    """Check that a kernel's exact values and its blocks of frequencies belong together.

    Parameters
    ----------
    kernel : MeasureKernel
        One that must learn its masses of rows is given normal rows.
    n_features : int, default=3
    scale : float, default=1.0
        Size of the differences to look at, in X's units: about a bandwidth.

    Raises
    ------
    AssertionError
        With a sentence that names what failed.

    Notes
    -----
    Gram matrix against `at`; kappa(0) against the masses; the mean over sampled frequencies with their phases against
    the exact kernel, block by block against the characteristic function where there is one, in both forms.

    Examples
    --------
    >>> from lowtide.kernels import SinhGaussian
    >>> check_measure_kernel(SinhGaussian(beta=0.4))
    """
    claim(isinstance(kernel, MeasureKernel), kernel, "must derive from lowtide.kernels.MeasureKernel")
    check_spec(kernel)
    rng = np.random.default_rng(SEED)
    X, Y = (scale * rng.standard_normal((size, n_features)) for size in (6, 5))
    expected = kernel.at(X[:, None] - Y[None])
    near = np.allclose(kernel.gram(X, Y), expected, rtol=0, atol=1e-9 * (1 + np.abs(expected).max()))
    claim(near, kernel, "gram must be `at` of the differences")
    resolved = kernel.resolve(scale * rng.standard_normal((300, n_features)), rng)
    blocks = resolved.measures(n_features)
    claim(len(blocks) > 0 and all(block.mass > 0 for block in blocks), kernel, "blocks must have a mass above 0")
    zero = sum(block.mass * np.cos(2 * np.pi * block.turn) for block in blocks)
    at_zero = float(kernel.at(np.zeros((1, n_features)))[0])
    total = sum(block.mass for block in blocks)
    claim(abs(zero - at_zero) <= 1e-9 * total, kernel, "the masses of the real part must differ by kappa(0)")
    differences = np.concatenate([np.zeros((1, n_features)), X[:5] - Y, X[:5]])
    # Masses fitted to sampled frequencies are known to a percent.
    slack = 0.0 if resolved.closed_form else 0.03 * total
    _check_blocks(resolved, blocks, differences, slack)
    phase = resolved.phase_measure(n_features)
    if phase is not None:
        _check_blocks(resolved, (phase,), differences, slack)


def _check_blocks(
    kernel: MeasureKernel, blocks: tuple[MeasureBlock, ...], differences: NDArray[np.float64], slack: float
) -> None:
    """Compare sampled frequencies of blocks, with their phases, with the kernel and with characteristic functions."""
    n_features = differences.shape[1]
    estimate = np.zeros((_N_DRAWS, len(differences)))
    for i, block in enumerate(blocks):
        W = block.frequencies.sample(np.random.default_rng([SEED, i]), n_features, _N_DRAWS)
        claim(W.shape == (n_features, _N_DRAWS), kernel, "sample must give frequencies in columns")
        claim(np.isfinite(W.astype(np.float32)), kernel, "frequencies must be finite in float32")
        again = block.frequencies.sample(np.random.default_rng([SEED, i]), n_features, _N_DRAWS)
        claim(np.array_equal(W, again), kernel, "sample must take all its randomness from the generator")
        phase = W.T @ differences.T + 2 * np.pi * block.phases(W)[:, None]
        estimate += block.mass * np.cos(phase)
        if kernel.closed_form:
            for order in (1, 2):
                exact = block.characteristic(differences, order)
                words = f"characteristic must be the mean over sampled frequencies, order {order}"
                claim_mean(np.cos(order * phase), exact.real, kernel, words)
                claim_mean(np.sin(order * phase), exact.imag, kernel, words)
    value = kernel.at(differences)
    if slack == 0.0:
        claim_mean(estimate, value, kernel, "the mean over blocks must be the kernel")
    else:
        gap = np.abs(estimate.mean(axis=0) - value)
        claim(gap <= slack + 6 * estimate.std(axis=0) / np.sqrt(_N_DRAWS), kernel, "blocks must add up to the kernel")
