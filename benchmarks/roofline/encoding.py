"""Rows to codes and features, with the work of each."""

from __future__ import annotations

from functools import partial

import numpy as np

import lowtide as lt
from benchmarks.roofline.counts import Counts
from benchmarks.roofline.op import Op, together

__all__ = ["build_encoders", "components", "rows"]


def rows(n: int, d: int) -> np.ndarray:
    """Return n normal rows."""
    return np.random.default_rng(0).standard_normal((n, d), dtype=np.float32)


def components(shrink: int) -> int:
    """Return the features out, fewer for a quick look: Grams grow with their square."""
    return 4096 if shrink == 1 else 512


def build_encoders(counts: Counts, shrink: int = 1) -> list[Op]:
    """Return the encoders; `shrink` divides the number of rows of each."""
    m = components(shrink)
    return [
        *(_bits(counts, n // shrink, d, m) for n, d in ((10_000, 64), (10_000, 784), (5_000, 4096))),
        _sketch(counts, 5_000 // shrink, 784, m),
        _transform(counts, 5_000 // shrink, 784, m),
        _dense(2_000 // shrink, 784, m),
        _trits(counts, 3_200 // shrink, 784, m),
    ]


def _dimension(d: int) -> int:
    return max(64, 1 << (d - 1).bit_length())


def _bits(counts: Counts, n: int, d: int, m: int) -> Op:
    X = rows(n, d)
    encoder = lt.RandomFeatures(gamma=1.0 / d, n_components=m, random_state=0).fit(X)
    return Op(
        f"encode, 1 bit, d = {d}",
        f"{n:,} x {d} to {m}, Hadamard, cos_sin",
        "a feature",
        "reads 4 d bytes a row, writes a bit a feature. D is d rounded up to a power of two; a frequency of a whole "
        "block costs 3 log2 D - 1 additions, a shuffle less than 3 a lane bit, 2 products and a sign, and gives two "
        "features, "
        f"{counts.bit * 32:.0f} instructions for 32 of them",
        n * m,
        X.nbytes,
        n * m / 8,
        together(counts.hadamard(_dimension(d), m // 2), {"vector": m * counts.bit}, times=n),
        partial(encoder.encode, X),
    )


def _sketch(counts: Counts, n: int, d: int, m: int) -> Op:
    X = rows(n, d)
    sketch = lt.Sketch(m, bits=4, random_state=0).fit(X)
    return Op(
        "encode, 4-bit sketch",
        f"{n:,} x {d} to {m}, Hadamard",
        "a level",
        "as above with one level a frequency, half a byte, "
        f"{counts.level * 16:.0f} instructions for the borders of 16 of them",
        n * m,
        X.nbytes,
        n * m / 2,
        together(counts.hadamard(_dimension(d), m), {"vector": m * counts.level}, times=n),
        partial(sketch.encode, X),
    )


def _transform(counts: Counts, n: int, d: int, m: int) -> Op:
    X = rows(n, d)
    encoder = lt.RandomFeatures(gamma=1.0 / d, n_components=m, random_state=0).fit(X)
    return Op(
        "transform",
        f"{n:,} x {d} to {m}, Hadamard, cos_sin",
        "a feature",
        f"as the first, but 4 bytes a feature are written and {counts.cosine * 16:.0f} instructions give 16 cosines",
        n * m,
        X.nbytes,
        4.0 * n * m,
        together(counts.hadamard(_dimension(d), m // 2), {"vector": m * counts.cosine}, times=n),
        partial(encoder.transform, X),
        pages="write",
    )


def _dense(n: int, d: int, m: int) -> Op:
    X = rows(n, d)
    encoder = lt.RandomFeatures(
        gamma=1.0 / d, n_components=m, projection="iid", feature_map="cosine", random_state=0
    ).fit(X)
    return Op(
        "encode, 1 bit, dense",
        f"{n:,} x {d} to {m}, iid, cosine",
        "a feature",
        "2 d float operations of the product; rows and the matrix read once, a bit a feature written",
        n * m,
        X.nbytes + 4 * d * m,
        n * m / 8,
        {"sgemm": 2.0 * n * d * m},
        partial(encoder.encode, X),
    )


def _trits(counts: Counts, n: int, d: int, m: int) -> Op:
    X = np.random.default_rng(0).integers(0, 256, (n, d), dtype=np.uint8)
    encoder = lt.TernaryFeatures("rbf", n_components=m, sparsity=0.9, random_state=0).fit(X)
    terms = int(encoder.projection_.signs().count_nonzero())
    return Op(
        "encode, trits",
        f"{n:,} x {d} uint8 to {m}, sparsity 0.9",
        "a trit",
        "an entry of the projection that is not zero reads and adds 2 bytes a row, out of a tile of 64 rows in "
        "the second-level cache; "
        "d bytes a row read, 2 bits a trit written",
        n * m,
        X.nbytes,
        n * m / 4,
        {"L2": 2.0 * n * terms, "vector": n * terms / (2 * counts.lanes)},
        partial(encoder.encode, X),
    )
