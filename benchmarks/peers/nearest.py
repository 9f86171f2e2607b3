"""The best rows of packed codes against faiss: its binary index on the same bits, RaBitQ, its scalar quantizers.

The binary index is exact, as `Codes.top_k` is. RaBitQ is not: it codes the decoded features to one bit each, which are
the same bits, and ranks by a quantized estimate of the product.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

import lowtide as lt
from benchmarks.peers.duel import Duel
from lowtide import _core

__all__ = ["DUELS"]

COMPONENTS, QUERIES, BEST, VECTORS = 1024, 64, 10, 60_000
Side = Callable[[], object]


def _rows(n: int, clustered: bool) -> np.ndarray:
    """Return normal rows, or rows close to a thousand normal centers."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 64), dtype=np.float32)
    if not clustered:
        return X
    centers = rng.standard_normal((1000, 64), dtype=np.float32)
    return centers[rng.integers(0, len(centers), n)] + np.float32(0.3) * X


@cache
def _encoded(n: int, clustered: bool) -> tuple[lt.Codes, lt.Codes, np.ndarray]:
    """Return codes to search, and queries on both sides."""
    X = _rows(n + QUERIES, clustered)
    encoder = lt.RandomFeatures(gamma=1 / 64, n_components=COMPONENTS, random_state=0).fit(X[:100])
    return encoder.encode(X[:n]), encoder.encode(X[n:]), encoder.transform(X[n:])


def _codes_by_codes(clustered: bool) -> tuple[Side, Side]:
    import faiss

    faiss.omp_set_num_threads(_core.thread_count())
    codes, queries, _ = _encoded(500_000, clustered)
    index = faiss.IndexBinaryFlat(COMPONENTS)
    index.add(codes.packed)
    distances = index.search(queries.packed, BEST)[0]
    scores = codes.top_k(queries, BEST)[1] / np.float32(codes.codebook[1] ** 2)
    if not np.allclose(scores, COMPONENTS - 2 * distances, rtol=1e-5):
        raise AssertionError("both sides are exact, so their distances must be equal")
    return partial(codes.top_k, queries, BEST), partial(index.search, queries.packed, BEST)


def _codes_by_floats(clustered: bool) -> tuple[Side, Side]:
    import faiss

    index = faiss.IndexRaBitQFastScan(COMPONENTS, faiss.METRIC_INNER_PRODUCT)
    return _against(index, *_encoded(200_000, clustered)[::2])


def _codes_by_floats_one_by_one() -> tuple[Side, Side]:
    import faiss

    return _against(faiss.IndexRaBitQ(COMPONENTS, faiss.METRIC_INNER_PRODUCT), *_encoded(200_000, False)[::2])


def _scalar_quantizer(bits: int) -> tuple[Side, Side]:
    """As many bits of a sketch on our side."""
    import faiss

    kinds = faiss.ScalarQuantizer
    kind = {1: kinds.QT_1bit_tqmse, 2: kinds.QT_2bit_tqmse, 4: kinds.QT_4bit}[bits]
    X = _rows(200_000 + QUERIES, False)
    sketch = lt.Sketch(COMPONENTS, bits=bits, random_state=0).fit(X[:100])
    index = faiss.IndexScalarQuantizer(COMPONENTS, kind, faiss.METRIC_INNER_PRODUCT)
    return _against(index, sketch.encode(X[:-QUERIES]), sketch.transform(X[-QUERIES:]))


def _vectors(bits: int, n_queries: int = QUERIES) -> tuple[Side, Side]:
    """Text embeddings' size, with clusters; both sides rotate the queries as part of the search."""
    import faiss

    faiss.omp_set_num_threads(_core.thread_count())
    rng, d = np.random.default_rng(0), 384
    centers = rng.standard_normal((1000, d), dtype=np.float32)
    X = centers[rng.integers(0, 1000, VECTORS + QUERIES)]
    X += np.float32(0.5) * rng.standard_normal(X.shape, dtype=np.float32)
    rows, queries = X[:VECTORS], X[VECTORS : VECTORS + n_queries]
    vectors = lt.VectorCodes(bits, metric="l2", random_state=0).fit(rows)
    turn = faiss.RandomRotationMatrix(d, d)
    kind = faiss.IndexRaBitQFastScan if bits <= 4 else faiss.IndexRaBitQ
    inner = kind(d, faiss.METRIC_L2, 32, bits) if bits <= 4 else kind(d, faiss.METRIC_L2, bits)
    index = faiss.IndexPreTransform(turn, inner)
    index.train(rows)
    index.add(rows)
    return partial(vectors.top_k, vectors.encode(rows), queries, BEST), partial(index.search, queries, BEST)


def _against(index: Any, codes: lt.Codes, queries: np.ndarray) -> tuple[Side, Side]:
    """Search codes by full queries on one side, on the other an index of what the codes decode to."""
    import faiss

    faiss.omp_set_num_threads(_core.thread_count())
    for begin in range(0, len(codes), 20_000):
        features = np.asarray(codes[begin : begin + 20_000])
        if not index.is_trained:
            index.train(features)
        index.add(features)
    return partial(codes.top_k, queries, BEST), partial(index.search, queries, BEST)


FLOATS = f"top {BEST} of 200,000 x {COMPONENTS}"

DUELS = [
    *(
        Duel(
            f"nearest-{kind}{'-clustered' if clustered else ''}",
            f"top {BEST} of {n:,} x {COMPONENTS} bits, {QUERIES} {what}{', clustered' if clustered else ''}",
            peer,
            partial(build, clustered),
            must,
            goal,
            needs="faiss",
        )
        for clustered in (False, True)
        for kind, n, what, peer, build, must, goal in (
            ("codes", 500_000, "codes", "faiss IndexBinaryFlat", _codes_by_codes, 1.5, 3),
            ("float", 200_000, "float queries, exact", "faiss RaBitQFastScan, approximate", _codes_by_floats, 1.2, 2),
        )
    ),
    Duel(
        "nearest-float-rabitq",
        f"{FLOATS} bits, {QUERIES} float queries, exact",
        "faiss RaBitQ",
        _codes_by_floats_one_by_one,
        needs="faiss",
        repeats=3,
    ),
    *(
        Duel(
            f"nearest-{bits}-bit",
            f"{FLOATS} of {bits} bit{'s' * (bits > 1)}, {QUERIES} float queries, exact",
            f"faiss scalar quantizer, {bits} bit{'s' * (bits > 1)}",
            partial(_scalar_quantizer, bits),
            needs="faiss",
            repeats=3,
        )
        for bits in (1, 2, 4)
    ),
    *(
        Duel(
            f"vectors-{bits}-bit",
            f"top {BEST} of {VECTORS:,} x 384 corrected vectors of {bits} bit{'s' * (bits > 1)}, {QUERIES} queries",
            f"faiss RaBitQ{'FastScan' * (bits <= 4)}, {bits} bit{'s' * (bits > 1)}",
            partial(_vectors, bits),
            1.0,
            needs="faiss",
        )
        for bits in (1, 2, 4, 8)
    ),
    Duel(
        "vectors-alone",
        f"top {BEST} of {VECTORS:,} x 384 corrected vectors of 2 bits, one query",
        "faiss RaBitQFastScan, 2 bits",
        partial(_vectors, 2, 1),
        needs="faiss",
    ),
]
