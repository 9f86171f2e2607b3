"""The contracts of a kernel of distances and of a kernel of differences."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide.kernels import Kernel, MeasureBlock, MeasureKernel, distances
from lowtide.testing.claims import SEED, STANDARD_ERRORS, check_spec, claim, claim_mean

_LAWS = ("gaussian_mixture", "sphere", "independent", "joint")
_N_DRAWS = 20_000
_DIMENSIONS = (1, 3, 10)


def check_kernel(kernel: Kernel) -> None:
    """Check that a kernel's exact values and the law of its frequencies belong together.

    An AssertionError names what failed.

    Parameters
    ----------
    kernel : Kernel

    Notes
    -----
    Values at 0, bounds and shapes; the Gram matrix against `radial`, positive semidefinite; the mean cosine over
    sampled frequencies against `radial`; quantiles of the lengths against sampled lengths; the two means. About 0.2 s.

    Examples
    --------
    >>> from lowtide.kernels import Matern
    >>> check_kernel(Matern(length_scale=2.0, nu=0.7))
    """
    claim(isinstance(kernel, Kernel), kernel, "must derive from lowtide.kernels.Kernel")
    check_spec(kernel)
    claim(kernel.law in _LAWS, kernel, f"law must be one of {', '.join(_LAWS)}")
    claim(1.0 <= kernel.norm <= 2.0, kernel, "norm must be the p of an l_p norm, 1 to 2")
    for n_features in _DIMENSIONS:
        _check_values(kernel, n_features)
        _check_frequencies(kernel, n_features)
        if kernel.law in ("gaussian_mixture", "sphere"):
            _check_lengths(kernel, n_features)
        _check_means(kernel, n_features)


def _check_values(kernel: Kernel, n_features: int) -> None:
    s = np.concatenate([[0.0], np.geomspace(1e-8, 1e8, 65)]).reshape(2, 33)
    value = kernel.radial(s, n_features)
    claim(isinstance(value, np.ndarray) and value.shape == (2, 33), kernel, "radial must keep the shape of distances")
    claim(value.dtype == np.float64, kernel, "radial must give float64")
    claim(value[0, 0] == 1.0, kernel, f"radial(0) must be 1, got {value[0, 0]:.6g}")
    claim(np.isfinite(value) & (np.abs(value) <= 1 + 1e-12), kernel, "radial must stay within -1 and 1")
    if kernel.law == "gaussian_mixture":
        same = np.allclose(value, kernel.radial(s, 7 * n_features), rtol=0, atol=1e-12)
        claim(same, kernel, "radial of a Gaussian mixture, closed under padding, must not depend on n_features")
    rng = np.random.default_rng(SEED)
    X, Y = rng.standard_normal((8, n_features)), rng.standard_normal((5, n_features))
    expected = kernel.radial(distances(X, Y, kernel.norm), n_features)
    claim(np.allclose(kernel.gram(X, Y), expected, rtol=0, atol=1e-10), kernel, "gram must be radial of the distances")
    smallest = float(np.linalg.eigvalsh(kernel.gram(X)).min())
    claim(smallest > -1e-10, kernel, f"gram must be positive semidefinite, got an eigenvalue of {smallest:.3g}")


def half_distance(kernel: Kernel, n_features: int) -> float:
    """Return a distance at which the kernel has fallen to about 1/2."""
    s = np.geomspace(1e-6, 1e6, 1201)
    below = kernel.radial(s, n_features) <= 0.5
    claim(below.any(), kernel, "the kernel must fall to 1/2 at some distance from 1e-6 to 1e6")
    return float(s[int(np.argmax(below))])


def _sampled(part: object, law: Any, seed: Any, n_features: int) -> NDArray[np.float64]:
    """Return frequencies of a law, (n_features, _N_DRAWS), that a part is answerable for."""
    W, again = (law.sample(np.random.default_rng(seed), n_features, _N_DRAWS) for _ in range(2))
    claim(np.shape(W) == (n_features, _N_DRAWS), part, "sample must give frequencies in columns, (n_features, size)")
    claim(np.isfinite(np.asarray(W, dtype=np.float32)), part, "frequencies must be finite in float32")
    claim(np.array_equal(W, again), part, "sample must take all its randomness from the generator")
    return np.asarray(W)


def _check_frequencies(kernel: Kernel, n_features: int) -> None:
    W, unit = _sampled(kernel, kernel, SEED + 2, n_features), half_distance(kernel, n_features)
    random = np.random.default_rng(SEED + 1).standard_normal(n_features)
    directions = np.stack([np.eye(n_features)[0], np.ones(n_features), random], axis=1)
    directions /= np.linalg.norm(directions, ord=kernel.norm, axis=0)
    for factor in (0.3, 1.0, 2.5):
        phase = W.T @ (directions * (factor * unit))
        expected = kernel.radial(np.full(3, factor * unit), n_features)
        where = f"at {factor:g} half-distances in {n_features} dimensions (axis, diagonal, random direction)"
        claim_mean(np.cos(phase), expected, kernel, f"the mean cosine over frequencies must be the kernel {where}")
        claim_mean(np.sin(phase), np.zeros(3), kernel, f"the mean sine over frequencies must be 0 {where}")


def _check_lengths(kernel: Kernel, dimension: int) -> None:
    lengths = np.linalg.norm(kernel.sample(np.random.default_rng(SEED + 3), dimension, _N_DRAWS), axis=0)
    q = np.array([0.02, 0.25, 0.5, 0.75, 0.98])
    quantile = kernel.length_quantile(q, dimension)
    claim(np.shape(quantile) == q.shape, kernel, "length_quantile must keep the shape of q")
    claim(np.diff(quantile) >= 0, kernel, "length_quantile must not fall")
    # One part in 1e9 on either side: a law may have all its mass in one point.
    below = (lengths[:, None] < quantile * (1 - 1e-9)).mean(axis=0)
    upto = (lengths[:, None] <= quantile * (1 + 1e-9)).mean(axis=0)
    slack = STANDARD_ERRORS * np.sqrt(q * (1 - q) / _N_DRAWS)
    holds = (below <= q + slack) & (upto >= q - slack)
    claim(holds, kernel, f"length_quantile must be the law of sampled lengths in {dimension} dimensions")


def _check_means(kernel: Kernel, n_features: int) -> None:
    norm, projection = kernel.mean_frequency_norm(n_features), kernel.mean_projection(n_features)
    claim(0 < projection <= norm * (1 + 1e-9), kernel, "0 < mean_projection <= mean_frequency_norm must hold")
    claim(math.isinf(norm) == math.isinf(projection), kernel, "both means must be infinite or neither")
    if math.isinf(norm):
        return
    lengths = np.linalg.norm(kernel.sample(np.random.default_rng(SEED + 4), n_features, _N_DRAWS), axis=0)
    # Cut at the 99% point, where heavy tails have a variance too: a lower bound of the mean.
    cut = np.minimum(lengths, np.quantile(lengths, 0.99))
    slack = STANDARD_ERRORS * cut.std() / math.sqrt(_N_DRAWS) + 1e-9 * norm
    sentence = "mean_frequency_norm must be the mean of sampled lengths"
    claim(cut.mean() <= norm + slack, kernel, f"{sentence}, it is too small")
    light = lengths.max() < 20 * np.median(lengths)
    claim(not light or norm < 1.2 * lengths.mean(), kernel, sentence)


def check_measure_kernel(kernel: MeasureKernel, n_features: int = 3, scale: float = 1.0) -> None:
    """Check that a kernel's exact values and its blocks of frequencies belong together.

    An AssertionError names what failed.

    Parameters
    ----------
    kernel : MeasureKernel
        One that must learn its masses of rows is given normal rows.
    n_features : int, default=3
    scale : float, default=1.0
        Size of the differences to look at, in X's units: about a bandwidth.

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
        W = _sampled(kernel, block.frequencies, [SEED, i], n_features)
        phase = W.T @ differences.T + 2 * np.pi * block.phases(W)[:, None]
        estimate += block.mass * np.cos(phase)
        if kernel.closed_form:
            for order in (1, 2):
                exact = block.characteristic(differences, order)
                words = f"characteristic must be the mean over sampled frequencies, order {order}"
                claim_mean(np.cos(order * phase), exact.real, kernel, words)
                claim_mean(np.sin(order * phase), exact.imag, kernel, words)
    claim_mean(estimate, kernel.at(differences), kernel, "the mean over blocks must be the kernel", slack)
