"""Products with packed codes against the same products of float32 features in numpy."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial

import numpy as np

import lowtide as lt
from benchmarks.peers.duel import Duel

__all__ = ["DUELS"]

ROWS, COMPONENTS = 60_000, 4096
Side = Callable[[], object]


# Wider codes on fewer rows: the float32 side stays at about a gigabyte.
WIDE = {16_384: 16_000, 65_536: 4_000}


@lru_cache(maxsize=1)
def _codes_and_features(n_components: int = COMPONENTS) -> tuple[lt.Codes, np.ndarray]:
    n_rows = WIDE.get(n_components, ROWS)
    X = np.random.default_rng(0).standard_normal((n_rows, 64), dtype=np.float32)
    codes = lt.RandomFeatures(gamma=1 / 64, n_components=n_components, random_state=0).fit(X[:100]).encode(X)
    return codes, np.asarray(codes)


def _gram() -> tuple[Side, Side]:
    codes, Z = _codes_and_features()
    return codes.gram, lambda: Z.T @ Z


def _product(n_columns: int, n_components: int = COMPONENTS) -> tuple[Side, Side]:
    codes, Z = _codes_and_features(n_components)
    W = np.random.default_rng(1).standard_normal((n_components, n_columns), dtype=np.float32)
    return lambda: codes @ W, lambda: Z @ W


def _transposed(n_columns: int, n_components: int = COMPONENTS) -> tuple[Side, Side]:
    codes, Z = _codes_and_features(n_components)
    R = np.random.default_rng(1).standard_normal((len(Z), n_columns), dtype=np.float32)
    return lambda: codes.T @ R, lambda: Z.T @ R


def _wide_rows(n_components: int) -> list[Duel]:
    """Return the rows of products with wider codes: no slower a bit than narrow ones."""
    rows = (
        ("product-1-wide", "C @ W", "Z @ W", "one column", partial(_product, 1, n_components), 2.5, 4),
        ("product-10-wide", "C @ W", "Z @ W", "ten columns", partial(_product, 10, n_components), 4, 6),
        ("transposed-10-wide", "C.T @ R", "Z.T @ R", "ten columns", partial(_transposed, 10, n_components), 3, 5),
    )
    return [
        Duel(
            f"{name}-{n_components}",
            f"{ours}, 1 bit, {columns}, {WIDE[n_components]:,} x {n_components:,}",
            f"float32 {theirs}",
            build,
            must=must,
            goal=goal,
        )
        for name, ours, theirs, columns, build, must, goal in rows
    ]


def _gram_of_4_bits() -> tuple[Side, Side]:
    X = np.random.default_rng(0).standard_normal((ROWS, 64), dtype=np.float32)
    codes = lt.Sketch(COMPONENTS, bits=4, random_state=0).fit(X[:100]).encode(X)
    Z = np.asarray(codes)
    return codes.gram, lambda: Z.T @ Z


def _dot(bits: int, n_components: int, n_rows: int) -> tuple[Side, Side]:
    """Rows with other rows, and for the peer the same rows decoded."""
    X = np.random.default_rng(0).standard_normal((2 * n_rows, 64), dtype=np.float32)
    encoder = lt.RandomFeatures(gamma=1 / 64, n_components=n_components, bits=bits, random_state=0).fit(X[:100])
    left, right = encoder.encode(X[:n_rows]), encoder.encode(X[n_rows:])
    Z, Y = np.asarray(left), np.asarray(right)
    return lambda: left.dot(right), lambda: Z @ Y.T


def _two_sides(bits: int, n_components: int, n_queries: int, n_rows: int) -> tuple[lt.Codes, lt.Codes]:
    """Return one-bit queries, and rows of more bits on the same frequencies."""
    X = np.random.default_rng(0).standard_normal((n_queries + n_rows, 64), dtype=np.float32)
    encoder = partial(lt.RandomFeatures, gamma=1 / 64, n_components=n_components, random_state=0)
    queries = encoder(bits=1).fit(X[:100]).encode(X[:n_queries])
    return queries, encoder(bits=bits).fit(X[:100]).encode(X[n_queries:])


def _mixed_dot(bits: int, n_components: int, n_rows: int) -> tuple[Side, Side]:
    left, right = _two_sides(bits, n_components, n_rows, n_rows)
    Z, Y = np.asarray(left), np.asarray(right)
    return lambda: left.dot(right), lambda: Z @ Y.T


def _mixed_top_k(bits: int, n_components: int, n_queries: int, n_rows: int) -> tuple[Side, Side]:
    """The ten best rows, exact on our side; for the peer the float32 products and a partition of them."""
    queries, store = _two_sides(bits, n_components, n_queries, n_rows)
    Z, Y = np.asarray(queries), np.asarray(store)
    return lambda: store.top_k(queries, 10), lambda: np.argpartition(Z @ Y.T, -10, axis=1)[:, -10:]


def _own_dot(n_components: int, n_rows: int) -> tuple[Side, Side]:
    """Rows with themselves, which both sides make from one triangle."""
    X = np.random.default_rng(0).standard_normal((n_rows, 64), dtype=np.float32)
    codes = lt.RandomFeatures(gamma=1 / 64, n_components=n_components, random_state=0).fit(X[:100]).encode(X)
    Z = np.asarray(codes)
    return lambda: codes.dot(codes), lambda: Z @ Z.T


DUELS = [
    Duel("gram", "C.gram(), 1 bit, 60,000 x 4096", "float32 Z.T @ Z", _gram, must=6, goal=10, repeats=2),
    Duel(
        "gram-4-bits",
        "C.gram(), 4 bits, 60,000 x 4096",
        "float32 Z.T @ Z",
        _gram_of_4_bits,
        must=1.3,
        goal=1.5,
        repeats=3,
    ),
    Duel("dot-1-bit", "C.dot(O), 1 bit, 4000 x 4096 each", "float32 Z @ Y.T", partial(_dot, 1, 4096, 4000), must=4),
    Duel(
        "dot-1-bit-wide",
        "C.dot(C), 1 bit, 3000 x 65,536",
        "float32 Z @ Z.T",
        partial(_own_dot, 65_536, 3000),
        must=4,
        repeats=3,
    ),
    Duel(
        "dot-4-bits",
        "C.dot(O), 4 bits, 4000 x 4096 each",
        "float32 Z @ Y.T",
        partial(_dot, 4, 4096, 4000),
        must=1,
        goal=1.5,
        repeats=3,
    ),
    Duel(
        "dot-1x4",
        "C.dot(O), 1 bit with 4 bits, 4000 x 4096 each",
        "float32 Z @ Y.T",
        partial(_mixed_dot, 4, 4096, 4000),
        must=1,
        goal=3,
        repeats=3,
    ),
    Duel(
        "top-k-1x4",
        "top 10 of 20,000 x 4096, 4 bits, 1000 queries of 1 bit",
        "float32 Z @ Y.T, argpartition",
        partial(_mixed_top_k, 4, 4096, 1000, 20_000),
        must=1,
        repeats=3,
    ),
    Duel("product-1", "C @ W, 1 bit, one column", "float32 Z @ W", partial(_product, 1), must=3.5, goal=5),
    Duel("product-10", "C @ W, 1 bit, ten columns", "float32 Z @ W", partial(_product, 10), must=5, goal=7),
    Duel("transposed-10", "C.T @ R, 1 bit, ten columns", "float32 Z.T @ R", partial(_transposed, 10), must=4, goal=6),
    *(row for n_components in WIDE for row in _wide_rows(n_components)),
]
