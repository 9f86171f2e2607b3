"""Seeded codes of any width, for the tests of this folder."""

import numpy as np

from lowtide.codes import Codes, pack_levels

MARK = bytes(range(16))


def draw_codes(n, n_levels, bits, width=1, *, seed=0, fingerprint=MARK, side=bytes(16)):
    rng = np.random.default_rng([seed, n, n_levels, bits, width])
    levels = rng.integers(0, 1 << bits, (n, n_levels))
    book = rng.normal(size=(1 << bits) if width == 1 else (1 << bits, width))
    packed = pack_levels(levels, bits)
    return Codes(packed, bits=bits, n_levels=n_levels, codebook=book, fingerprint=fingerprint, side=side)
