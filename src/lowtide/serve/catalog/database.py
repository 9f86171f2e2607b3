"""Codes that are searched: the rows most similar to a query, with estimates of the kernel and their errors."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowtide.codes import Codes, CodeSource
from lowtide.encoders import Encoder, RandomFeatures, Sketch
from lowtide.errors import WireFormatError
from lowtide.serve.catalog.model import ServedModel
from lowtide.serve.catalog.query import Kind, Query, QueryReader

__all__ = ["Neighbors", "Search", "ServedDatabase"]

# Packed bytes that are scanned within about a millisecond: no more are on the event loop.
_SMALL_BYTES = 1 << 20
_BLOCK_ROWS = 1 << 18


class Search(NamedTuple):
    """A query and how many rows it asks for."""

    query: Query
    k: int


class Neighbors(NamedTuple):
    """Rows by similarity, best first: places, estimates, and their standard errors where theory has them."""

    indices: list[list[int]]
    estimates: list[list[float]]
    standard_errors: list[list[float]] | None


@dataclass(frozen=True)
class ServedDatabase:
    """Rows of codes under the name they are served by.

    Attributes
    ----------
    name : str
    model : str or None
        The model whose encoder made the codes.
    rows : CodeSource
    encoder : Encoder or None
        None when none of those served made the codes: then only codes are taken, and no errors are known.
    reader : QueryReader
    """

    name: str
    model: str | None
    rows: CodeSource
    encoder: Encoder | None
    reader: QueryReader
    # Two scans at once would only take the disk from each other, and a store maps one part of its files at a time.
    scanning: threading.Lock = field(default_factory=threading.Lock, compare=False, repr=False)

    @property
    def small_rows(self) -> int:
        """Queries that are answered on the event loop: few, and only of a small database."""
        nbytes = self.rows.nbytes if isinstance(self.rows, Codes) else _SMALL_BYTES + 1
        return _SMALL_BYTES // nbytes if 0 < nbytes <= _SMALL_BYTES else -1

    def made_by(self, models: Iterable[ServedModel]) -> list[ServedModel]:
        """Return the models whose encoder made the codes."""
        wanted = self.reader.fingerprint
        return [model for model in models if model.encoder is not None and model.encoder.fingerprint_ == wanted]

    def answer(self, kind: Kind, searches: Sequence[Search]) -> list[Neighbors]:
        """Return the neighbors of each search, from one scan for all of them."""
        query = self._side(kind, searches)
        most = max(search.k for search in searches)
        with self.scanning:
            indices, scores = top_k(self.rows, query, most)
            if not np.isfinite(scores).all():
                raise WireFormatError("features must be of a moderate size, got some whose products are not finite.")
            estimates, errors = self._estimates(kind, query, indices, scores)
        found, begin = [], 0
        for search in searches:
            part = slice(begin, begin + search.query.n_rows), slice(0, search.k)
            begin = part[0].stop
            error = None if errors is None else errors[part].tolist()
            found.append(Neighbors(indices[part].tolist(), estimates[part].tolist(), error))
        return found

    def _side(self, kind: Kind, searches: Sequence[Search]) -> Any:
        """Return the side of the queries that is multiplied with the codes."""
        contents: list[Any] = [search.query.content for search in searches]
        if kind == "codes" and self.reader.codes is not None:
            return self.reader.codes.codes(contents)
        rows = np.concatenate(contents)
        if kind == "features" or self.encoder is None:
            return rows
        return self.encoder._transform(np.ascontiguousarray(rows))

    def _estimates(
        self, kind: Kind, query: Any, indices: NDArray[np.int64], scores: NDArray[np.float32]
    ) -> tuple[NDArray[Any], NDArray[Any] | None]:
        """Return estimates of the kernel, and their standard errors where theory has them."""
        if isinstance(self.encoder, RandomFeatures):
            curves = self.encoder._curves(("codes", "codes" if kind == "codes" else "full"))
            distance = np.nan_to_num(curves.distance(scores), nan=np.inf)  # too far to tell
            return scores, curves.std(distance).astype(np.float32)
        if isinstance(self.encoder, Sketch) and kind == "codes":
            rows: Any = self.rows
            pairs = [self._of_sketch(query[j], rows[row]) for j, row in enumerate(indices)]
            values = np.concatenate([pair[0] for pair in pairs]) if pairs else scores
            return values, np.concatenate([pair[1] for pair in pairs]) if pairs else scores
        return scores, None

    def _of_sketch(self, query: Codes, found: Codes) -> Any:
        """Return estimates and errors of one query, each (1, k): of the kernel, or of the cosine."""
        sketch: Any = self.encoder
        if sketch.gamma_ is None:
            return sketch.cosine_similarity(query, found, return_std=True)
        return sketch.kernel_estimate(query, found, gamma=sketch.gamma_, return_std=True)


def top_k(rows: CodeSource, query: Any, k: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return places and scores of the best k rows of any source, equal scores by lower place."""
    if isinstance(rows, Codes):
        return rows.top_k(query, k)
    indices: NDArray[np.int64] = np.empty((len(query), 0), dtype=np.int64)
    scores: NDArray[np.float32] = np.empty((len(query), 0), dtype=np.float32)
    begin = 0
    for block in rows.blocks(_BLOCK_ROWS):
        places, values = block.top_k(query, min(k, len(block)))
        scores = np.hstack([scores, values])
        indices = np.hstack([indices, places + begin])
        # Stable, so that of equal scores the earlier row stays first.
        order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        scores, indices = np.take_along_axis(scores, order, 1), np.take_along_axis(indices, order, 1)
        begin += len(block)
    return indices, scores
