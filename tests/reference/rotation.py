"""Rotations of any number of columns in float32, in the one order that every level follows."""

import numpy as np
from reference.hadamard import stage


def rotated(X, drawn):
    """Return rows after all rounds; drawn (2 n_rounds - 1, d) has factors, between two of them cosines and sines."""
    v, d = X.astype(np.float32), X.shape[1]
    size, half = 1 << (d.bit_length() - 1), d // 2
    for step, row in enumerate(drawn):
        if step % 2 == 1:
            a, b, c, s = v[:, :half], v[:, half : 2 * half], row[:half], row[half : 2 * half]
            v = np.hstack([a * c - b * s, a * s + b * c, v[:, 2 * half :]])
            continue
        v = v * row
        start = 0 if step % 4 == 0 else d - size
        block, stride = v[:, start : start + size], size // 2
        while stride >= 1:
            block, stride = stage(block, stride), stride // 2
        v = np.hstack([v[:, :start], block, v[:, start + size :]])
    assert v.dtype == np.float32
    return v


def draw(rng, n_blocks, n_rounds, d):
    """Random rotations as the ops take them, (n_blocks, 2 n_rounds - 1, d)."""
    size, half = 1 << (d.bit_length() - 1), d // 2
    drawn = np.where(rng.random((n_blocks, 2 * n_rounds - 1, d)) < 0.5, -1.0, 1.0)
    drawn[:, ::4, :size] /= np.sqrt(size)
    drawn[:, 2::4, d - size :] /= np.sqrt(size)
    turn = rng.uniform(0, 2 * np.pi, (n_blocks, n_rounds - 1, half))
    drawn[:, 1::2, :half], drawn[:, 1::2, half : 2 * half] = np.cos(turn), np.sin(turn)
    return drawn.astype(np.float32)
