"""Rows to codes: lowtide's encoders against scikit-learn's RBFSampler and the bare matrix product."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from sklearn.kernel_approximation import Nystroem, RBFSampler

import lowtide as lt
from benchmarks.peers.duel import Duel

__all__ = ["DUELS"]

COMPONENTS = 4096
Side = Callable[[], object]


def _rows(n: int, d: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((n, d), dtype=np.float32)


def _against_sampler(n: int, d: int, feature_map: str = "cos_sin") -> tuple[Side, Side]:
    X = _rows(n, d)
    gamma = 1.0 / d
    ours = lt.RandomFeatures(gamma=gamma, n_components=COMPONENTS, feature_map=feature_map, random_state=0).fit(X)
    theirs = RBFSampler(gamma=gamma, n_components=COMPONENTS, random_state=0).fit(X)
    return partial(ours.encode, X), partial(theirs.transform, X)


def _sketch(n: int, d: int) -> tuple[Side, Side]:
    X = _rows(n, d)
    ours = lt.Sketch(COMPONENTS, bits=4, random_state=0).fit(X)
    theirs = RBFSampler(gamma=1.0 / d, n_components=COMPONENTS, random_state=0).fit(X)
    return partial(ours.encode, X), partial(theirs.transform, X)


def _full_side(n: int, d: int) -> tuple[Side, Side]:
    X = _rows(n, d)
    ours = lt.RandomFeatures(gamma=1.0 / d, n_components=COMPONENTS, random_state=0).fit(X)
    theirs = RBFSampler(gamma=1.0 / d, n_components=COMPONENTS, random_state=0).fit(X)
    return partial(ours.transform, X), partial(theirs.transform, X)


def _dense(n: int, d: int) -> tuple[Side, Side]:
    X = _rows(n, d)
    ours = lt.RandomFeatures(
        gamma=1.0 / d, n_components=COMPONENTS, projection="iid", feature_map="cosine", random_state=0
    ).fit(X)
    W = np.ascontiguousarray(ours.random_weights_)
    return partial(ours.encode, X), partial(np.matmul, X, W)


def _nystroem(n: int, d: int) -> tuple[Side, Side]:
    """As many landmarks as fit in a few seconds of fitting; four bits of ours for each."""
    X = _rows(n, d)
    ours = lt.RandomFeatures(gamma=1.0 / d, n_components=COMPONENTS, random_state=0).fit(X)
    theirs = Nystroem(gamma=1.0 / d, n_components=COMPONENTS // 4, random_state=0).fit(X)
    return partial(ours.encode, X), partial(theirs.transform, X)


DUELS = [
    Duel(
        "encode",
        "1 bit, d=784, m=4096, Hadamard, cos_sin",
        "RBFSampler",
        partial(_against_sampler, 20_000, 784),
        must=25,
        goal=40,
    ),
    Duel(
        "encode-cosine",
        "1 bit, d=784, m=4096, Hadamard, cosine",
        "RBFSampler",
        partial(_against_sampler, 20_000, 784, "cosine"),
        must=13,
        goal=20,
    ),
    Duel(
        "encode-wide",
        "1 bit, d=4096, m=4096, Hadamard",
        "RBFSampler",
        partial(_against_sampler, 5_000, 4096),
        must=60,
        goal=120,
    ),
    Duel(
        "encode-narrow",
        "1 bit, d=64, m=4096, Hadamard",
        "RBFSampler",
        partial(_against_sampler, 20_000, 64),
        must=10,
        goal=20,
    ),
    Duel(
        "encode-sketch",
        "4-bit sketch, d=784, m=4096, Hadamard",
        "RBFSampler",
        partial(_sketch, 20_000, 784),
        must=12,
        goal=20,
    ),
    Duel(
        "transform",
        "float32, d=784, m=4096, Hadamard",
        "RBFSampler",
        partial(_full_side, 20_000, 784),
        must=10,
        goal=18,
    ),
    Duel("encode-dense", "1 bit, d=784, m=4096, iid", "X @ W", partial(_dense, 20_000, 784), must=0.9, goal=1.05),
    Duel(
        "encode-nystroem",
        "1 bit, d=784, m=4096, Hadamard",
        "Nystroem, 1024 landmarks",
        partial(_nystroem, 5_000, 784),
        repeats=3,
    ),
]
