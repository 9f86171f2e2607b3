"""Learners are fitted on a cluster by sums over rows that stay on its workers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import dask
import numpy as np
from dask import delayed
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import _check_sample_weight, _check_y

from lowtide._checks import fail
from lowtide.codes import Codes, CodeSource, concatenate
from lowtide.distributed.cluster import connected
from lowtide.distributed.collection import (
    CodeCollection,
    RowRange,
    encode,
    ranges_of,
    row_partitions,
    split_like,
    values_a_row,
)
from lowtide.distributed.problem import RemoteProblem
from lowtide.learners import KernelClassifier, KernelRegressor, Problem, SketchSearchCV, source_problem

__all__ = ["RemoteRows", "fit"]

Array = NDArray[Any]
Model = TypeVar("Model", bound=Any)

# Enough for a scale or a median, from partitions all over the data and not from all of them.
_SAMPLE_ROWS, _SAMPLE_PARTITIONS = 16_384, 16
# Where each kind of model keeps its encoder.
_ENCODER_OF = {KernelClassifier: "features", KernelRegressor: "features", SketchSearchCV: "sketch"}


def fit(model: Model, X: Any, y: Any = None, sample_weight: Any = None, *, client: Any = None) -> Model:
    """Fit a model on a cluster and return it: the same object, as if `model.fit` had seen all rows.

    Parameters
    ----------
    model : KernelClassifier, KernelRegressor or SketchSearchCV
    X : dask array (n, n_features) or data frame, CodeCollection, or CodeStore
        Rows of a Dask collection are encoded by the workers, which keep the codes; the encoder is fitted on some
        16,000 rows from all over them. A store is opened by each worker under the path it has here.
    y : dask array or series, or array (n,) or (n, n_targets)
        In the partitions of X. Of a store also the name of a column; None is its column "y".
    sample_weight : as y, optional
        Of a store also the name of a column.
    client : distributed.Client, str or None, default=None
        A client, or the address of a scheduler. None is Dask's current client if there is one, else a cluster of one
        process a core on this machine, which is closed again at the end.

    Returns
    -------
    model, fitted

    Notes
    -----
    Only sums travel: "squared" adds Gram matrices in pairs on the workers, 8 m^2 bytes each; the other losses send m k
    weights to every part and one gradient back, under the same L-BFGS as in one process. Parts and the order of their
    sums are fixed when the fit starts, so a worker that dies in between changes nothing in the model. A search brings
    the labels of all rows here, to draw its folds.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import load_digits
    >>> import lowtide as lt
    >>> from lowtide.distributed import fit
    >>> X, y = load_digits(return_X_y=True)
    >>> rows, labels = da.from_array(X, chunks=(600, 64)), da.from_array(y, chunks=600)
    >>> model = fit(lt.KernelClassifier(n_components=512, random_state=0), rows, labels)  # doctest: +SKIP
    >>> model.score(X, y) > 0.95  # doctest: +SKIP
    True
    """
    if type(model) not in _ENCODER_OF:
        names = ", ".join(kind.__name__ for kind in _ENCODER_OF)
        raise fail("fit", f"model must be one of {names}", type(model).__name__)
    if getattr(model, "train_on", None) == "full":
        raise fail("fit", "train_on must be 'codes' on a cluster", "full", "Fit in one process, or leave it out.")
    with connected(client) as opened:
        rows = _rows(opened, model, X, y, sample_weight)
        with _encoding_with(model, rows.encoder):
            model.fit(rows)
    return model


def _rows(client: Any, model: Any, X: Any, y: Any, sample_weight: Any) -> RemoteRows:
    """Return the rows on the cluster, coded."""
    if isinstance(X, CodeCollection):
        return RemoteRows.of_collection(client, X, y, sample_weight)
    if dask.is_dask_collection(X):
        encoder = _fitted_encoder(model, _sample(client, X))
        return RemoteRows.of_collection(client, encode(encoder, X), y, sample_weight)
    if isinstance(X, CodeSource) and hasattr(X, "__getitem__"):
        return RemoteRows.of_source(client, X, y, sample_weight)
    need = "X must be a Dask array or data frame, a CodeCollection or a CodeStore"
    raise fail("fit", need, type(X).__name__, "Rows in memory are fitted by model.fit.")


def _sample(client: Any, X: Any) -> Any:
    """Return rows from partitions all over the data, in one piece."""
    parts = row_partitions("fit: X", X)
    chosen = parts[:: -(-len(parts) // _SAMPLE_PARTITIONS)]
    some = delayed(_some, pure=False)
    found = client.gather(client.compute([some(part, -(-_SAMPLE_ROWS // len(chosen))) for part in chosen]))
    if hasattr(found[0], "iloc"):
        from pandas import concat

        return concat(found)
    return np.concatenate(found)


def _some(rows: Any, n_rows: int) -> Any:
    """Return at most n_rows of a partition, evenly spaced."""
    step = max(1, -(-len(rows) // n_rows))
    return rows.iloc[::step] if hasattr(rows, "iloc") else rows[::step]


def _fitted_encoder(model: Any, sample: Any) -> Any:
    """Return the encoder that the model would fit, fitted on a sample of the rows."""
    return model.fit_sketch(sample) if isinstance(model, SketchSearchCV) else model.fit_features(sample)


@contextmanager
def _encoding_with(model: Any, encoder: Any) -> Iterator[None]:
    """Let the model take a fitted encoder for the one that it was given."""
    name = _ENCODER_OF[type(model)]
    given = getattr(model, name)
    if given is not None and encoder is not None and not isinstance(given, FrozenEstimator):
        setattr(model, name, encoder)
    try:
        yield
    finally:
        setattr(model, name, given)


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
    template: Codes
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
        return cls(client, tuple(client.compute(parts)), codes.template, codes.encoder)

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
    held = concatenate(codes)
    weight = None if weights[0] is None else np.concatenate([np.asarray(each) for each in weights])
    return _Part(RowRange(held, 0, len(held)), np.concatenate([np.asarray(each) for each in labels]), weight)


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
