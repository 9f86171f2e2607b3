"""Rows and labels on a cluster, ready for a learner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from dask import delayed
from numpy.typing import NDArray
from sklearn.utils.validation import _check_sample_weight, _check_y

from lowtide._checks import fail
from lowtide.codes import Codes, CodeSource, concatenate
from lowtide.distributed.collection import CodeCollection
from lowtide.distributed.partitions import HeldCodes, RowRange, ranges_of, split_like, values_a_row
from lowtide.distributed.problem import RemoteProblem
from lowtide.learners import Problem, source_problem

__all__ = ["RemoteRows"]

Array = NDArray[Any]


@dataclass(frozen=True)
class _Part:
    """Some rows with their labels, on a worker."""

    codes: CodeSource
    labels: Any
    weight: Array | None


@dataclass(frozen=True)
class RemoteRows:
    """Rows on the workers of a cluster, as futures that can be made again: a `ProblemSource`."""

    client: Any
    parts: tuple[Any, ...]
    no_codes: Codes
    encoder: Any

    @classmethod
    def of_collection(cls, client: Any, codes: CodeCollection, y: Any, sample_weight: Any) -> RemoteRows:
        """Return codes that are made on the workers and stay there, with labels that may be a Dask collection."""
        if y is None:
            raise fail("fit", "y must be passed, a value a row", y)
        n = len(codes.parts)
        labels = split_like("fit: y", y, codes.rows, n)
        weights = split_like("fit: sample_weight", sample_weight, codes.rows, n)
        groups = np.array_split(np.arange(n), min(n, _n_parts(client)))
        gather = delayed(_held, pure=False)
        parts = [gather(*([each[i] for i in group] for each in (codes.parts, labels, weights))) for group in groups]
        return cls(client, tuple(client.compute(parts)), codes.no_codes, codes.encoder)

    @classmethod
    def of_source(cls, client: Any, source: Any, y: Any, sample_weight: Any) -> RemoteRows:
        """Return ranges of a source that workers open for themselves; texts name columns of it."""
        if source.n_rows == 0:
            raise fail("fit", "codes to fit on must have at least one row", "0 rows")
        y = "y" if y is None and hasattr(source, "column") else y
        if y is not None and not isinstance(y, str):
            y = values_a_row("fit: y", y, source.n_rows)
        if sample_weight is not None and not isinstance(sample_weight, str):
            sample_weight = values_a_row("fit: sample_weight", sample_weight, source.n_rows)
        parts = [
            client.submit(_ranged, source, low, high, _cut(y, low, high), _cut(sample_weight, low, high), pure=False)
            for low, high in ranges_of(source, _n_parts(client))
        ]
        return cls(client, tuple(parts), source[:0], getattr(source, "encoder", None))

    def problem(self, fit_intercept: bool, **checks: Any) -> RemoteProblem:
        """Return the rows with labels checked on the workers."""
        parts = [self.client.submit(_problem, part, fit_intercept, checks, pure=False) for part in self.parts]
        return RemoteProblem(self.client, tuple(parts), fit_intercept)

    def all_labels(self) -> Array:
        """Return the labels of all rows."""
        return np.concatenate(self.client.gather([self.client.submit(_labels, p, pure=False) for p in self.parts]))


def _n_parts(client: Any) -> int:
    """Return a part a thread: every further one is another sum to be sent and added."""
    return max(1, sum(client.nthreads().values()))


def _cut(values: Any, begin: int, end: int) -> Any:
    return values if values is None or isinstance(values, str) else values[begin:end]


def _held(codes: list[Codes], labels: list[Any], weights: list[Any]) -> _Part:
    """Return one part of several partitions."""
    for name, each in (("y", labels), ("sample_weight", weights)):
        for block, values in zip(codes, each):
            if values is not None and len(block) != len(values):
                raise fail("fit", f"{name} must have a value a row of each partition, {len(block)}", len(values))
    weight = None if weights[0] is None else np.concatenate([np.asarray(each) for each in weights])
    return _Part(HeldCodes(concatenate(codes)), np.concatenate([np.asarray(each) for each in labels]), weight)


def _ranged(source: Any, begin: int, end: int, y: Any, weight: Any) -> _Part:
    """Return rows of a source, and what its columns or the caller say of them."""
    y, weight = (source.column(each)[begin:end] if isinstance(each, str) else each for each in (y, weight))
    return _Part(RowRange(source, begin, end), y, weight)


def _problem(part: _Part, fit_intercept: bool, checks: dict[str, Any]) -> Problem:
    """Return a part with validated labels and weights."""
    n = part.codes.n_rows
    if part.labels is None:
        raise fail("fit", "y must be passed, a value a row of the codes", None)
    labels = np.asarray(_check_y(part.labels, **checks)) if n else np.asarray(part.labels)
    weight = part.weight
    if weight is not None and n:
        weight = _check_sample_weight(weight, np.empty((n, 1)), dtype=np.float64, ensure_non_negative=True)
    return source_problem(part.codes, labels, weight, fit_intercept)


def _labels(part: _Part) -> Array:
    return np.asarray(part.labels)
