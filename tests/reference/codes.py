"""Packed codes the slow way: bit strings, a codebook look-up, and dense products in extended precision."""

import numpy as np

STORED = (1, 2, 3, 4, 8)


def row_bytes(n_levels, bits):
    return 8 * -(-n_levels * bits // 64)


def packed(levels, bits):
    """Each level's bits, lowest first, one after the other, filled up with zeros to whole 64-bit words."""
    n, n_levels = levels.shape
    string = np.zeros((n, 8 * row_bytes(n_levels, bits)), np.uint8)
    string[:, : n_levels * bits] = (levels[:, :, None] >> np.arange(bits) & 1).reshape(n, n_levels * bits)
    return np.packbits(string, axis=1, bitorder="little")


def decoded(levels, book):
    """(n, L) levels and (2^b, w) codebook to (n, L w) values."""
    return book[levels].reshape(len(levels), levels.shape[1] * book.shape[1])


def product(A, B):
    """A B in extended precision."""
    return A.astype(np.longdouble) @ B.astype(np.longdouble)


def product_bound(A, B, n_sums):
    """Largest rounding error of A B in B's type when every value passes through at most n_sums roundings."""
    unit = np.finfo(B.dtype).eps / 2
    return n_sums * unit * (np.abs(A).astype(np.float64) @ np.abs(B).astype(np.float64))


def trits(levels):
    """Five base-3 digits a byte, lowest first."""
    n, n_levels = levels.shape
    out = np.zeros((n, -(-n_levels // 5)), np.uint8)
    for j in range(n_levels):
        out[:, j // 5] += levels[:, j] * np.uint8(3 ** (j % 5))
    return out


def best_rows(products, k, largest=True):
    """Indices and scores (q, k) of the best rows of (n, q) products rounded to float32; equal ones by lower index."""
    scores = np.asarray(products, np.float64).astype(np.float32).T
    indices = np.argsort(-scores if largest else scores, axis=1, kind="stable")[:, :k]
    return indices, np.take_along_axis(scores, indices, axis=1)
