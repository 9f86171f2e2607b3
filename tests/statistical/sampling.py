"""Many independent kernel estimates from one encoder: one a block of dependent frequencies.

An encoder of B full blocks estimates the kernel by the mean of B independent estimates, one a block, each of the law of
an encoder of one block. So one fit gives a sample of size B of the estimate, its mean and its variance.
"""

from functools import cache

import numpy as np

from lowtide import RandomFeatures
from lowtide.kernels import Bessel, Gaussian, Laplace, Matern, Stable
from lowtide.maps import FEATURE_MAPS
from lowtide.quantizers import LloydMax, PeriodicMap, Phase, Stochastic, Uniform

SHORT = 8
KERNEL_VALUES = (0.95, 0.7, 0.35, 0.1)
# Columns of a row, frequencies of a block, and blocks that give every test its power in well under a second.
N_FEATURES = {"iid": SHORT, "orthogonal": SHORT, "haar": SHORT, "hadamard": 60}
BLOCK = {"iid": 1, "orthogonal": SHORT, "haar": SHORT, "hadamard": 64}
N_BLOCKS = {"iid": 32768, "orthogonal": 2500, "haar": 2500, "hadamard": 800}

LAYOUTS = [
    *[(kernel, "iid") for kernel in (Gaussian(2.0), Laplace(4.0), Matern(2.0, nu=0.3), Stable(4.0), Bessel(0.7))],
    *[(kernel, layout) for kernel in (Gaussian(2.0), Matern(2.0, nu=1.5)) for layout in ("orthogonal", "hadamard")],
    (Bessel(0.7), "haar"),
]


def dead_zone(t):
    """Return -1, 0 or 1, with no first cosine harmonic."""
    return np.sign(np.sin(t)) * (np.abs(np.sin(t)) > 0.4)


def bent(t):
    """Return a smooth sensor's answer."""
    return np.tanh(1.5 * np.cos(t - 0.8) + 0.4)


QUANTIZERS = [
    *[(LloydMax(bits), "cos_sin") for bits in (1, 2, 3, 4, 8)],
    *[(LloydMax(bits), "cosine") for bits in (1, 2, 4)],
    *[(Phase(bits), "cos_sin") for bits in (1, 2, 3, 6)],
    *[(Uniform(bits), feature_map) for bits, feature_map in ((2, "cos_sin"), (5, "cosine"))],
    *[(Stochastic(bits), feature_map) for bits, feature_map in ((1, "cos_sin"), (2, "cosine"), (4, "cos_sin"))],
    (PeriodicMap(dead_zone), "cosine"),
    (PeriodicMap(bent), "cosine"),
]


def label(value):
    """Name a part in a test's id, without addresses."""
    return value.f.__name__ if isinstance(value, PeriodicMap) else repr(value)


def draw(kernel, layout, feature_map, quantizer, seed=0, n_features=None):
    """Return an encoder of N_BLOCKS full blocks."""
    width = FEATURE_MAPS[feature_map]().width
    encoder = RandomFeatures(
        kernel,
        projection=layout,
        feature_map=feature_map,
        quantizer=quantizer,
        n_components=N_BLOCKS[layout] * BLOCK[layout] * width,
        random_state=seed,
    )
    return encoder.fit(np.zeros((1, n_features or N_FEATURES[layout])))


@cache
def rows_at(kernel, n_features):
    """Return a row, and rows at the first distances where the kernel is at most KERNEL_VALUES, in any directions."""
    rng = np.random.default_rng(77)
    s = np.linspace(0, 40, 4001)
    distance = [s[np.argmax(kernel.radial(s, n_features) <= value)] for value in KERNEL_VALUES]
    x = rng.standard_normal((1, n_features))
    u = rng.standard_normal((len(KERNEL_VALUES), n_features))
    u /= np.linalg.norm(u, ord=kernel.norm, axis=1, keepdims=True)
    return x, x + u * np.array(distance)[:, None]


def block_estimates(encoder, X, Y, sides):
    """Return each block's estimate of the kernel of X's one row against the rows of Y, (blocks, rows of Y)."""
    side = {"full": encoder.transform, "codes": lambda rows: np.asarray(encoder.encode(rows))}
    left, right = (side[name](rows).astype(np.float64) for name, rows in zip(sides, (X, Y)))
    n_blocks = N_BLOCKS[encoder.projection]
    return n_blocks * (left * right).reshape(len(Y), n_blocks, -1).sum(axis=2).T


def standard_error(sample):
    """Return the standard error of the mean of independent draws along the first axis."""
    return sample.std(axis=0, ddof=1) / np.sqrt(len(sample))


def variance_and_its_error(sample):
    """Return the variance of draws along the first axis, and its standard error from the measured fourth moment."""
    centered = sample - sample.mean(axis=0)
    variance = (centered**2).mean(axis=0)
    return variance, np.sqrt(np.maximum((centered**4).mean(axis=0) - variance**2, 0) / len(sample))
