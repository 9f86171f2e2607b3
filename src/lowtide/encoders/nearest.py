"""Search coded rows, in memory or block by block, and score the best again by something finer."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import check_integer, fail
from lowtide.codes import Codes, CodeSource, concatenate, row_mask
from lowtide.encoders.drawn.base import check_identity
from lowtide.encoders.partition import BEST, Partition, decoded, measured, split
from lowtide.encoders.rows import float32_blocks

if TYPE_CHECKING:
    from lowtide.encoders.vectors import DrawnVectorCodes

_OWNER = "VectorCodes"
# Bytes of codes that are read from a source at a time, of which two blocks are there.
_BLOCK_BYTES = 32 << 20
# Rows that a search for all within a radius asks for first.
_FIRST = 64
# Values of candidates that are scored again at a time.
_RESCORED = 1 << 22
# What is wanted of a partition where nothing is said, queries that measure it, and the least part of its rows that a
# filter may leave for a recall that was measured without one.
_RECALL, _MEASURED, _LEAST_LEFT = 0.95, 500, 0.25


class Found(NamedTuple):
    """The rows that a search found, best first, with their scores and errors."""

    indices: NDArray[Any]  # numbers of rows, or the caller's names of them
    scores: NDArray[np.float32]
    std: NDArray[np.float32] | None = None
    recall: float | None = None  # of a partition: what was measured of reading as many cells; None after a full scan


@dataclass(frozen=True)
class Nearest:
    """A search for the rows of codes, a source or a partition of them that score best under an encoder of vectors."""

    drawn: DrawnVectorCodes
    codes: Any
    where: Any = None
    recall: float | None = None

    def __post_init__(self) -> None:
        if isinstance(self.codes, Partition):
            recall = self.recall
            if recall is not None and not (isinstance(recall, int | float) and 0 < recall <= 1):
                raise fail(_OWNER, "recall must be a number above 0 and at most 1", recall, "1 reads all cells.")
            return
        if self.recall is not None:
            remedy = "Make one: cells = vectors.partition(codes), then vectors.top_k(cells, X, recall=0.95)."
            raise fail(_OWNER, "recall must come with a partition", type(self.codes).__name__, remedy)
        if not isinstance(self.codes, CodeSource):
            remedy = "Encode the rows first: vectors.encode(X)."
            raise fail(_OWNER, "codes must be Codes, or a source of them", type(self.codes).__name__, remedy)

    def top_k(self, queries: Any, k: int, *, rescore: int | None, finer: Any, ids: Any, return_std: bool) -> Found:
        """Return the best k rows of validated queries."""
        k = check_integer(_OWNER, "k", k, 1)
        names = self._names(ids)
        many = check_integer(_OWNER, "rescore", rescore, 1) if rescore is not None else 1
        if (rescore is None) is not (finer is None):
            got = f"rescore={rescore}, finer={type(finer).__name__}"
            remedy = "Give finer codes or rows with rescore: top_k(codes, X, rescore=4, finer=rows)."
            raise fail(_OWNER, "rescore must come with finer", got, remedy)
        full = self.drawn.transform(queries)
        found, values, recall = self._best(full, k * many)
        scores, source = self.drawn.finish(values, full), self.codes
        if finer is not None:
            scores = self._rescored(finer, queries, full, found)
            order = np.argsort(-scores if self.drawn.largest else scores, axis=1, kind="stable")[:, :k]
            found, scores = np.take_along_axis(found, order, axis=1), np.take_along_axis(scores, order, axis=1)
            source = finer
        std = None
        if return_std:
            is_coded = finer is None or isinstance(source, CodeSource)
            std = np.zeros(scores.shape, np.float32)
            if is_coded and scores.size:
                std = self.drawn.spread(_rows_of(source, found), full, scores).astype(np.float32)
        return Found(found if names is None else names[found], scores.astype(np.float32), std, recall)

    def within(self, queries: Any, radius: float, *, ids: Any) -> list[Found]:
        """Return the rows that score at least, or at most, the radius: ever more of the best, until one does not."""
        names, sign = self._names(ids), 1.0 if self.drawn.largest else -1.0
        if not np.isfinite(radius):
            raise fail(_OWNER, "radius must be a finite number", radius)
        full = self.drawn.transform(queries)
        if isinstance(self.codes, Partition):
            self = replace(self, recall=1.0)
        results: list[Found | None] = [None] * len(full)
        left, k = np.arange(len(full)), _FIRST
        while len(left):
            found, values, _ = self._best(full[left], k)
            scores = self.drawn.finish(values, full[left]).astype(np.float32)
            counts = np.sum(sign * scores >= sign * radius, axis=1)
            is_whole = (counts < scores.shape[1]) | (scores.shape[1] < k)
            for place in np.flatnonzero(is_whole):
                rows = found[place, : counts[place]]
                results[left[place]] = Found(rows if names is None else names[rows], scores[place, : counts[place]])
            left, k = left[~is_whole], 4 * k
        return [found for found in results if found is not None]

    def _names(self, ids: Any) -> NDArray[Any] | None:
        if ids is None:
            return None
        names = np.asarray(ids)
        if names.shape != (self.codes.n_rows,):
            raise fail(_OWNER, f"ids must have an entry a row, {self.codes.n_rows}", f"shape {names.shape}")
        return names

    def _best(self, full: NDArray[np.float32], k: int) -> tuple[NDArray[np.int64], NDArray[np.float32], float | None]:
        """Return the rows with the largest values, and these: scores without what belongs to queries."""
        allowed = None if self.where is None else row_mask(self.where, self.codes.n_rows)
        if isinstance(self.codes, Partition):
            return self._best_of_cells(self.codes, full, k, allowed)
        best_rows: NDArray[np.int64] = np.empty((len(full), 0), np.int64)
        best: NDArray[np.float32] = np.empty((len(full), 0), np.float32)
        for begin, codes in _blocks(self.codes):
            check_identity("this encoder", (self.drawn.fingerprint, self.drawn.side), codes, "Encode rows with it.")
            self.drawn.lengths(codes)  # refuses codes without them
            some = None if allowed is None else allowed[begin : begin + len(codes)]
            codes = codes.with_codebook(self.drawn.template.codebook)
            rows, values = codes.top_k(full, min(k, len(codes)), where=some, square=self.drawn.square)
            if best.shape[1] == 0:
                best_rows, best = rows + begin, values
                continue
            best_rows, best = np.hstack([best_rows, rows + begin]), np.hstack([best, values])
            # Rows of earlier blocks come first, so that equal values stay in the order of rows.
            order = np.argsort(-best, axis=1, kind="stable")[:, :k]
            best_rows, best = np.take_along_axis(best_rows, order, axis=1), np.take_along_axis(best, order, axis=1)
        return best_rows, best, None

    def _best_of_cells(
        self, parts: Partition, full: NDArray[np.float32], k: int, allowed: NDArray[np.bool_] | None
    ) -> tuple[NDArray[np.int64], NDArray[np.float32], float]:
        """Return the same of the cells that are nearest, and the recall that was measured of so many.

        Of the rows that a filter leaves at random, the best k are among the best k / (their share) of all. Where they
        are few all cells are read, and more cells where those that were read have fewer than k rows.
        """
        drawn = self.drawn
        check_identity("this encoder", (drawn.fingerprint, drawn.side), parts.codes, "Encode rows with it.")
        codes = parts.codes.with_codebook(drawn.template.codebook)
        n_left = len(codes) if allowed is None else int(np.count_nonzero(allowed))
        k, share = min(k, n_left), n_left / len(codes)
        if k == 0:
            return np.empty((len(full), 0), np.int64), np.empty((len(full), 0), np.float32), 1.0
        wanted = _RECALL if self.recall is None else self.recall
        count, recall = parts.cells_for(1 if share < _LEAST_LEFT else wanted, int(np.ceil(k / share)))
        rows = np.full((len(full), k), -1, np.int64)
        values = np.empty(rows.shape, np.float32)
        left = np.arange(len(full))
        while len(left):
            read = parts.nearest(full[left], count, drawn.metric == "inner_product")
            rows[left], values[left] = parts.cells.top_k(codes, read, full[left], k, where=allowed, square=drawn.square)
            left, count = left[rows[left, -1] < 0], min(2 * count, parts.n_cells)
        return rows, values, recall

    def partition(self, n_cells: int | None, queries: Any, rng: np.random.Generator) -> Partition:
        """Return the codes in cells, with recalls that queries measured: those given, or rows less themselves."""
        if isinstance(self.codes, Partition):
            raise fail(_OWNER, "codes must not be in cells already", "a Partition", "Give the codes it was made of.")
        drawn = self.drawn
        whole = (
            self.codes if isinstance(self.codes, Codes) else concatenate([codes for _, codes in _blocks(self.codes)])
        )
        check_identity("this encoder", (drawn.fingerprint, drawn.side), whole, "Encode rows with it.")
        drawn.lengths(whole)
        parts = split(whole, n_cells, rng)
        n, own = parts.n_rows, np.full(0, -1, np.int64)
        if queries is not None:
            full = drawn.transform(queries)
        else:
            own = np.sort(rng.choice(n, min(n, _MEASURED), replace=False))
            full = drawn.as_queries(decoded(parts[own]))
        k = min(max(BEST) + (queries is None), n)
        found, _, _ = replace(self, codes=parts, recall=1.0)._best(full, k)
        if queries is None:  # a row is not its own result; the last one goes where it is not among its best
            is_self = found == own[:, None]
            is_self[~is_self.any(axis=1), -1] = True
            found = found[~is_self].reshape(len(found), k - 1)
        return measured(parts, found, parts.nearest(full, parts.n_cells, drawn.metric == "inner_product"))

    def _rescored(
        self, finer: Any, queries: Any, full: NDArray[np.float32], found: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the scores (q, m) of candidates by finer codes or by rows."""
        drawn, n = self.drawn, self.codes.n_rows
        if not isinstance(finer, CodeSource):
            finer = np.asarray(finer)
        if finer.shape != (n, drawn.n_features):
            raise fail(_OWNER, f"finer must have shape ({n}, {drawn.n_features}), the same rows", finer.shape)
        scores = np.empty(found.shape)
        step = max(1, _RESCORED // (drawn.n_features * max(1, found.shape[1])))
        for begin in range(0, len(full), step):
            part = slice(begin, begin + step)
            if isinstance(finer, CodeSource):
                codes = _rows_of(finer, found[part])
                if codes.fingerprint != drawn.fingerprint:
                    remedy = "Fit with the same rows and random_state, and more bits."
                    must = f"finer codes must have this encoder's fingerprint, {drawn.fingerprint.hex()}"
                    raise fail(_OWNER, must, codes.fingerprint.hex(), remedy)
                factors, offsets = drawn.row_terms(codes)
                rows = np.asarray(codes, dtype=np.float64) * factors[:, None]
                values = np.einsum("qmf,qf->qm", rows.reshape(*found[part].shape, -1), full[part].astype(np.float64))
                scores[part] = drawn.finish(values + offsets.reshape(values.shape), full[part])
            else:
                scores[part] = self._exact(finer, queries[part], found[part])
        return scores

    def _exact(self, rows: NDArray[Any], queries: Any, found: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the scores of candidates by the rows themselves."""
        some = np.concatenate([block for _, block in float32_blocks(queries, queries.shape[1])])
        return np.array([self.drawn.exact(row[None], rows[places])[0] for row, places in zip(some, found)])


def _blocks(source: Any) -> Iterator[tuple[int, Codes]]:
    """Yield (first row, codes): all at once from memory; else a block is read while the one before it is used."""
    if isinstance(source, Codes):
        yield 0, source
        return
    size = max(1, _BLOCK_BYTES // max(1, source.nbytes // max(1, source.n_rows)))
    blocks, begin = source.blocks(size), 0
    with ThreadPoolExecutor(1) as reader:
        coming = reader.submit(next, blocks, None)
        while (codes := coming.result()) is not None:
            coming = reader.submit(next, blocks, None)
            yield begin, codes
            begin += len(codes)


def _rows_of(source: Any, found: NDArray[np.int64]) -> Codes:
    """Return the codes of rows, those of each query one after the other."""
    codes: Codes = source[found.ravel()]
    return codes
