"""Products of packed codes, decoding, search and checksums, with the work of each."""

from __future__ import annotations

from functools import partial

import numpy as np

import lowtide as lt
from benchmarks.roofline.counts import Counts
from benchmarks.roofline.encoding import components, rows
from benchmarks.roofline.op import Op, together
from benchmarks.roofline.probes import on_threads
from lowtide import _core

__all__ = ["build_products"]

SEARCHED, QUERIES, BEST = 1024, 64, 10
FINE_RUN, COUNTS_RUN = 2, 16  # kScanFine and kScanCounts


def build_products(counts: Counts, shrink: int = 1) -> list[Op]:
    """Return the products; `shrink` divides the number of rows of each."""
    m = components(shrink)
    codes = _codes(32_768 // shrink, 64, m)
    return [
        _gram_bits(counts, codes),
        _gram_trits(counts, 16_384 // shrink, m),
        _gram_levels(counts, 2_048 // shrink, m),
        *(_product(counts, codes, n_columns) for n_columns in (1, 10)),
        _transposed(counts, codes, 10),
        _dot(counts, codes, 2_048 // shrink),
        *_searches(counts, 200_000 // shrink),
        _decode(codes[: 8_192 // shrink]),
        _checksum(67_108_864 // shrink),
    ]


def _codes(n: int, d: int, m: int) -> lt.Codes:
    X = rows(n, d)
    return lt.RandomFeatures(gamma=1.0 / d, n_components=m, random_state=0).fit(X[:100]).encode(X)


def _pairs(n: int, m: int) -> float:
    """Pairs of features, each of the two orders once, over all rows."""
    return n * m * (m + 1) / 2


def _gram_bits(counts: Counts, codes: lt.Codes) -> Op:
    n, m = codes.shape
    how = "and, count and add 512 bits" if counts.wide else "look four rows of 32 pairs up and add"
    return Op(
        "gram, 1 bit",
        f"{n:,} x {m}",
        "a feature of a row",
        f"(m + 1) / 2 pairs of bits, {how}; a bit read, 4 bytes a pair of features written",
        n * m,
        codes.nbytes,
        4.0 * m * m,
        counts.common_ones(_pairs(n, m)),
        codes.gram,
    )


def _gram_trits(counts: Counts, n: int, m: int) -> Op:
    X = rows(n, 64)
    codes = lt.TernaryFeatures("rbf", n_components=m, sparsity="auto", random_state=0).fit(X[:100]).encode(X)
    how = "six instructions for 512" if counts.wide else "two rows of 32 looked up and added at once"
    return Op(
        "gram, trits",
        f"{n:,} x {m}",
        "a trit of a row",
        f"(m + 1) / 2 pairs of trits, {how}; 2 bits read, 4 bytes a pair of features written",
        n * m,
        codes.nbytes,
        4.0 * m * m,
        counts.gram_trits(_pairs(n, m)),
        codes.gram,
    )


def _gram_levels(counts: Counts, n: int, m: int) -> Op:
    X = rows(n, 64)
    codes = lt.Sketch(m, bits=4, random_state=0).fit(X[:100]).encode(X)
    return Op(
        "gram, 4 bits",
        f"{n:,} x {m}",
        "a level of a row",
        "m + 1 float operations on decoded values, half of the square, or six products of bytes for a pair; "
        "half a byte read, 4 bytes a pair written",
        n * m,
        codes.nbytes,
        4.0 * m * m,
        counts.gram_levels(_pairs(n, m)),
        codes.gram,
    )


def _product(counts: Counts, codes: lt.Codes, n_columns: int) -> Op:
    n, m = codes.shape
    W = np.random.default_rng(1).standard_normal((m, n_columns), dtype=np.float32)
    return Op(
        f"C @ W, 1 bit, {n_columns} column{'s' if n_columns > 1 else ''}",
        f"{n:,} x {m}",
        "a feature of a row",
        "four features are one look-up and one addition a column, for a register of rows; a bit read",
        n * m,
        codes.nbytes + W.nbytes,
        4.0 * n * n_columns,
        counts.look_ups(n * m, n_columns),
        lambda: codes @ W,
    )


def _transposed(counts: Counts, codes: lt.Codes, n_columns: int) -> Op:
    n, m = codes.shape
    R = np.random.default_rng(1).standard_normal((n, n_columns), dtype=np.float32)
    return Op(
        f"C.T @ R, 1 bit, {n_columns} columns",
        f"{n:,} x {m}",
        "a feature of a row",
        "as C @ W after a transpose of the bits, 64 x 64 at a time",
        n * m,
        codes.nbytes + R.nbytes,
        4.0 * m * n_columns,
        together(counts.look_ups(n * m, n_columns), counts.transposed_bits(n * m)),
        lambda: codes.T @ R,
    )


def _dot(counts: Counts, codes: lt.Codes, n: int) -> Op:
    first, second, m = codes[:n], codes[n : 2 * n], codes.shape[1]
    return Op(
        "C.dot(O), 1 bit",
        f"{n:,} x {m} each",
        "an entry of the result",
        "m pairs of bits, counted 512 at a time (AVX2: 128, by a look-up); 4 bytes written",
        n * n,
        first.nbytes + second.nbytes,
        4.0 * n * n,
        counts.common_ones(n * n * m),
        partial(first.dot, second),
    )


def _searches(counts: Counts, n: int) -> list[Op]:
    X = rows(n + QUERIES, 64)
    encoder = lt.RandomFeatures(gamma=1 / 64, n_components=SEARCHED, random_state=0).fit(X[:100])
    codes, features, bits = encoder.encode(X[:n]), encoder.transform(X[n:]), encoder.encode(X[n:])
    return [
        Op(
            f"top_k, {kind}",
            f"{QUERIES} queries, {n:,} x {SEARCHED} bits, best {BEST}",
            "a row for a query",
            f"two byte look-ups and additions for 8 bits of a register of rows, widened every {run} bytes; "
            "rows read once for all queries",
            n * QUERIES,
            codes.nbytes,
            0.0,
            counts.scanned(float(n) * SEARCHED * QUERIES, run),
            partial(codes.top_k, queries, BEST),
        )
        for kind, queries, run in (("codes", bits, COUNTS_RUN), ("floats", features, FINE_RUN))
    ]


def _decode(codes: lt.Codes) -> Op:
    n, m = codes.shape
    return Op(
        "decode, 1 bit",
        f"{n:,} x {m}",
        "a feature of a row",
        "a bit read, 4 bytes written",
        n * m,
        codes.nbytes,
        4.0 * n * m,
        {},
        partial(np.asarray, codes),
        pages="write",
    )


def _checksum(n_bytes: int) -> Op:
    """Every thread sums bytes of its own, as those that read a store do."""
    parts = [np.full(n_bytes, 7, np.uint8) for _ in range(_core.thread_count())]
    return Op(
        "crc32c",
        f"{n_bytes:,} bytes a thread",
        "a byte",
        "a byte read; crc32 takes 8 bytes a cycle, which is not counted",
        len(parts) * n_bytes,
        float(len(parts) * n_bytes),
        0.0,
        {},
        lambda: on_threads(lambda thread: _core.crc32c(parts[thread], 0)),
    )
