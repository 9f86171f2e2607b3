"""Trits of pixels, against full-precision random features and against the same sparse product in scipy."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import numpy as np
from scipy import sparse
from sklearn.kernel_approximation import RBFSampler

import lowtide as lt
from benchmarks.peers.duel import Duel

__all__ = ["DUELS"]

ROWS, COLUMNS, COMPONENTS, SPARSITY = 20_000, 784, 4096, 0.9
GRAM_ROWS = 60_000
Side = Callable[[], object]


@cache
def _pixels() -> tuple[np.ndarray, lt.TernaryFeatures]:
    X = np.random.default_rng(0).integers(0, 256, (ROWS, COLUMNS), dtype=np.uint8)
    encoder = lt.TernaryFeatures("rbf", n_components=COMPONENTS, sparsity=SPARSITY, random_state=0)
    return X, encoder.fit(X)


def _against_sampler() -> tuple[Side, Side]:
    X, ours = _pixels()
    theirs = RBFSampler(gamma=ours.gamma_, n_components=COMPONENTS, random_state=0).fit(X)
    return partial(ours.encode, X), partial(theirs.transform, X)


def _against_sparse_product() -> tuple[Side, Side]:
    """What the public code of ternary features does: a sparse float32 product, two comparisons, a byte a trit."""
    X, ours = _pixels()
    W = sparse.csr_matrix(ours.projection_.signs().astype(np.float32))
    upper, lower = (row.astype(np.float32)[:, None] for row in (ours.thresholds_.upper, ours.thresholds_.lower))

    def product() -> np.ndarray:
        sums = W @ X.T.astype(np.float32)
        return (sums > upper).astype(np.int8) - (sums < lower).astype(np.int8)

    return partial(ours.encode, X), product


def _single_rows() -> tuple[Side, Side]:
    """A hundred rows, one call a row."""
    X, ours = _pixels()
    theirs = RBFSampler(gamma=ours.gamma_, n_components=COMPONENTS, random_state=0).fit(X)
    rows = [X[i : i + 1] for i in range(100)]
    return lambda: [ours.encode(row) for row in rows], lambda: [theirs.transform(row) for row in rows]


@cache
def _trits() -> tuple[lt.Codes, np.ndarray]:
    _, encoder = _pixels()
    codes = encoder.encode(np.random.default_rng(1).integers(0, 256, (GRAM_ROWS, COLUMNS), dtype=np.uint8))
    return codes, np.asarray(codes)


def _gram() -> tuple[Side, Side]:
    codes, Z = _trits()
    return codes.gram, lambda: Z.T @ Z


def _dot() -> tuple[Side, Side]:
    codes, Z = _trits()
    left, right = slice(0, 4000), slice(4000, 8000)
    first, second = codes[left], codes[right]
    return lambda: first.dot(second), lambda: Z[left] @ Z[right].T


ENCODED = f"trits, uint8 d={COLUMNS}, m={COMPONENTS}, sparsity {SPARSITY}"

DUELS = [
    Duel("trits", ENCODED, "RBFSampler", _against_sampler, must=8, goal=13, repeats=3),
    Duel(
        "trits-sparse",
        ENCODED,
        "scipy CSR float32, thresholds",
        _against_sparse_product,
        must=10,
        goal=16,
        repeats=3,
    ),
    Duel("trits-single", f"{ENCODED}, 100 single rows", "RBFSampler", _single_rows, must=1),
    Duel("trits-gram", "C.gram(), trits, 60,000 x 4096", "float32 Z.T @ Z", _gram, must=3, goal=5, repeats=2),
    Duel("trits-dot", "C.dot(O), trits, 4000 x 4096 each", "float32 Z @ Y.T", _dot, must=3),
]
