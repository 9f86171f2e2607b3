"""Seeded packed codes with a codebook, for the tests of the ops on them."""

import numpy as np
from reference import codes as reference


def draw(n, n_levels, bits, width, seed=0):
    rng = np.random.default_rng([seed, n, n_levels, bits, width])
    levels = rng.integers(0, 1 << bits, (n, n_levels)).astype(np.uint8)
    book = rng.normal(size=(1 << bits, width)).astype(np.float32)
    return levels, aligned(reference.packed(levels, bits)), book, rng


def aligned(rows):
    return np.ascontiguousarray(rows).copy()


def frozen(array):
    array.flags.writeable = False
    return array
