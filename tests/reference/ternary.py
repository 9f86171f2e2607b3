"""Slow truths of the ternary projection: entries one by one, sums term by term."""

import numpy as np


def signs(n_features, n_outputs, sparsity, seed):
    """Entries -1, 0, 1 (n_outputs, n_features) from halves of raw PCG64 words, as the projection documents it."""
    words = np.random.PCG64(seed)
    half = round((1 - sparsity) * 2**31)
    T = np.zeros((n_outputs, n_features), dtype=np.int64)
    for j in range(n_outputs):
        raw = [int(word) for word in words.random_raw(-(-n_features // 2))]
        for k in range(n_features):
            u = raw[k // 2] >> (32 * (k % 2)) & 0xFFFFFFFF
            T[j, k] = 1 if u < half else -1 if u < 2 * half else 0
    return T


def lists(T, chunk):
    """Features of the pluses, then of the minuses, of each output, chunk by chunk; and where each list starts."""
    found, starts = [], [0]
    for begin in range(0, T.shape[1], chunk):
        for row in T[:, begin : begin + chunk]:
            for sign in (1, -1):
                found += np.flatnonzero(row == sign).tolist()
                starts.append(len(found))
    return np.array(found, dtype=np.uint16), np.array(starts, dtype=np.uint32)


def sums(X, T, chunk):
    """Sums (n, n_outputs): exact for integers; for float32 term by term, pluses before minuses, chunk after chunk."""
    if X.dtype.kind in "iu":
        return X.astype(np.int64) @ T.T
    out = np.zeros((len(X), len(T)), dtype=np.float32)
    for j, row in enumerate(T):
        for begin in range(0, T.shape[1], chunk):
            part = row[begin : begin + chunk]
            for k in np.flatnonzero(part == 1):
                out[:, j] += X[:, begin + k]
            for k in np.flatnonzero(part == -1):
                out[:, j] -= X[:, begin + k]
    return out


def trits(sums, upper, lower, even):
    """Levels 0, 1, 2 of sums."""
    return np.where(sums > upper, 1, np.where(sums < lower, 1 if even else 2, 0)).astype(np.uint8)


def inside(sums, upper, lower):
    """Levels of windows: 1 between the thresholds, else 0."""
    return ((sums >= lower) & (sums <= upper)).astype(np.uint8)
