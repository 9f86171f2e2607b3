"""The largest error of kernel estimates over all pairs of a set of points, as features are added.

The points are so far apart, in bandwidths, that every kernel value is 0 or, at x = y, 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import ndtr

import lowtide as lt

__all__ = ["ESTIMATES", "NORMAL", "ROUGHLY", "VARIANCE_RATIO", "predicted_cost", "spread_points", "uniform_errors"]

Floats = NDArray[np.float64]

ESTIMATES = ("full", "1 bit", "1 bit, pairs once", "1 bit - full", "codes")
# Variance of 1 bit against full over full against full as the kernel goes to 0.
VARIANCE_RATIO = np.pi**2 / 8
# Correlation, over distant points, of the two estimates that swap which point is coded.
_SWAP_CORRELATION = 8 / np.pi**2

# Why a claim has slack.
ROUGHLY = "the paper says 'roughly', of a line read off a plot"
NORMAL = "a sum of m bounded terms is only nearly normal in its tails"

KERNEL = lt.kernels.Gaussian(bandwidth=0.25)


def spread_points(rng: np.random.Generator, n: int, dimension: int) -> Floats:
    """Return n points of N(0, 100 I): 40 bandwidths of standard deviation."""
    return 10 * rng.standard_normal((n, dimension))


def uniform_errors(X: Floats, sizes: NDArray[np.intp], seed: int) -> tuple[dict[str, Floats], tuple[float, float]]:
    """Return the largest error at each number of features, and the mean squares of two off the diagonal at the last.

    The first m columns of one encoder are an encoder of m features, so one draw serves every size. The errors are those
    of full against full, 1 bit against full over ordered pairs and over pairs taken once, of the difference of these
    estimates, and of codes against codes from their own expected kernel.
    """
    enc = lt.RandomFeatures(
        KERNEL, n_components=int(sizes[-1]), projection="iid", feature_map="cosine", bits=1, random_state=seed
    ).fit(X)
    features, codes = enc.transform(X), np.asarray(enc.encode(X))
    kernel, coded_kernel = KERNEL.gram(X), enc.expected_kernel(X, sides=("codes", "codes"))
    shape = (len(X), len(X))
    full, semi, coded = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    largest = {name: np.empty(len(sizes)) for name in ESTIMATES}
    for i, (start, stop) in enumerate(zip([0, *sizes[:-1]], sizes)):
        F, C, scale = features[:, start:stop], codes[:, start:stop], sizes[-1] / stop
        full += F @ F.T
        semi += C @ F.T
        coded += C @ C.T
        error = np.abs(semi * scale - kernel)
        largest["full"][i] = np.abs(full * scale - kernel).max()
        largest["1 bit"][i] = error.max()
        largest["1 bit, pairs once"][i] = np.triu(error).max()
        largest["1 bit - full"][i] = np.abs(semi - full).max() * scale
        # Codes decode to +-pi/4; pi^2/8 brings their product back to 1 at x = y.
        largest["codes"][i] = np.abs(coded * scale - coded_kernel).max() / VARIANCE_RATIO
    distant = ~np.eye(len(X), dtype=bool)
    return largest, (float(np.mean(full[distant] ** 2)), float(np.mean(semi[distant] ** 2)))


def predicted_cost(n: int) -> float:
    """Return how many more features 1 bit needs for the same chance over all ordered pairs of n distant points.

    Gaussian errors: with N pairs of points the largest stays below z standard errors half of the time when
    N P(|Z| > z) = log 2. Full against full has one estimate a pair, 1 bit against full two, of correlation 8/pi^2.
    """
    pairs = n * (n - 1) / 2
    once = brentq(lambda z: pairs * 2 * ndtr(-z) - np.log(2), 0.1, 10)
    twice = brentq(lambda z: pairs * _either_outside(z) - np.log(2), 0.1, 10)
    return float(VARIANCE_RATIO * (twice / once) ** 2 - 1)


def _either_outside(z: float) -> float:
    """Return the chance that one of two correlated normal variables leaves [-z, z]."""
    rest = np.sqrt(1 - _SWAP_CORRELATION**2)

    def outside(t: float) -> float:
        stays = ndtr((z - _SWAP_CORRELATION * t) / rest) - ndtr((-z - _SWAP_CORRELATION * t) / rest)
        return float(np.exp(-t * t / 2) / np.sqrt(2 * np.pi) * (1 - stays))

    return float(2 * ndtr(-z) + quad(outside, -z, z, epsabs=1e-12)[0])
