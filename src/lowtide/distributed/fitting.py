"""Learners are fitted on a cluster by sums over rows that stay on its workers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from operator import itemgetter
from typing import Any, TypeVar

import dask
import numpy as np
from dask import delayed
from numpy.typing import NDArray
from sklearn.base import is_regressor
from sklearn.frozen import FrozenEstimator
from sklearn.utils import check_array
from sklearn.utils.validation import _check_sample_weight, _check_y

from lowtide._checks import fail
from lowtide.codes import Codes, CodeSource, concatenate
from lowtide.distributed.cluster import connected, merged
from lowtide.distributed.collection import (
    CodeCollection,
    RowRange,
    check_partition,
    encode,
    joined,
    ranges_of,
    row_partitions,
    split_like,
    values_a_row,
)
from lowtide.learners import Choice, KernelClassifier, KernelRegressor, Problem, SketchSearchCV, source_problem

Array = NDArray[Any]
Model = TypeVar("Model", bound=Any)
# Some rows on a worker: their codes, labels and weights.
Part = tuple[CodeSource, Any, Array | None]
# Dask is typed in parts only.
Client = Any
Future = Any

# Enough for a scale or a median, from partitions all over the data and not from all of them.
_SAMPLE_ROWS, _SAMPLE_PARTITIONS = 16_384, 16
# What the rows are that chose settings of features.
_SAMPLED = "rows of a sample"
# Bytes above which one more hop through the cluster costs less than sending or adding them all in one place.
_LARGE = 1 << 21
# Where each kind of model keeps its encoder.
_ENCODER_OF = {KernelClassifier: "features", KernelRegressor: "features", SketchSearchCV: "sketch"}


def fit(model: Model, X: Any, y: Any = None, sample_weight: Any = None, *, client: Any = None) -> Model:
    """Fit a model on a Dask cluster, and return the same object as if `model.fit` had seen all rows.

    Parameters
    ----------
    model : KernelClassifier, KernelRegressor or SketchSearchCV
    X : dask array (n, n_features) or data frame, CodeCollection, or CodeStore
        Rows of a Dask collection are encoded by the workers, which keep the codes; the encoder is fitted on some
        16,000 rows from all over them, which also choose its "auto" settings. A store is opened by each worker under
        the path it has here.
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
    Sums travel, not rows: "squared" adds Gram matrices in pairs on the workers, 8 m^2 bytes each; the other losses send
    m k weights to every part and one gradient back, under the same L-BFGS as in one process. At most 20,000 packed rows
    come here, for a classifier to calibrate its probabilities on. Parts and the order of their sums are fixed when the
    fit starts, so a worker that dies in between changes nothing in the model. A search brings the labels of all rows
    here, to draw its folds.

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
    name = _ENCODER_OF[type(model)]
    given = getattr(model, name)
    with connected(client) as opened:
        rows = _rows(opened, model, X, y, sample_weight)
        try:
            if given is not None and rows.encoder is not None and not isinstance(given, FrozenEstimator):
                setattr(model, name, rows.encoder)  # the fitted one, for as long as the rows are its codes
            model.fit(rows)
        finally:
            setattr(model, name, given)
    return model


def _rows(client: Any, model: Any, X: Any, y: Any, sample_weight: Any) -> RemoteRows:
    """Return the rows on the cluster, coded."""
    if isinstance(X, CodeCollection):
        return RemoteRows.of_collection(client, X, y, sample_weight)
    if dask.is_dask_collection(X):
        if y is None:
            raise fail("fit", "y must be passed, a value a row", y)
        sample, labels, weight = _sample(client, X, y, sample_weight)
        if isinstance(model, SketchSearchCV):
            return RemoteRows.of_collection(client, encode(model.fit_sketch(sample), X), y, sample_weight)
        check_array(sample, dtype="numeric")
        if weight is not None and not np.any(weight):  # others may count
            return RemoteRows.of_collection(client, encode(model.fit_features(sample), X), y, sample_weight)
        labels = _check_y(labels, **({"multi_output": True, "y_numeric": True} if is_regressor(model) else {}))
        model.choice_ = Choice({})
        encoder = model.fit_features(sample, weight, labels=labels)
        choice = replace(model.choice_, source=_SAMPLED) if model.choice_.settings else None
        return RemoteRows.of_collection(client, encode(encoder, X), y, sample_weight, choice)
    if isinstance(X, CodeSource) and hasattr(X, "__getitem__"):
        return RemoteRows.of_source(client, X, y, sample_weight)
    need = "X must be a Dask array or data frame, a CodeCollection or a CodeStore"
    raise fail("fit", need, type(X).__name__, "Rows in memory are fitted by model.fit.")


def _sample(client: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Array, Array | None]:
    """Return rows from partitions all over the data, in one piece, with their labels and weights."""
    parts = row_partitions("fit: X", X)
    labels, weights = split_like("fit: y", y, X), split_like("fit: sample_weight", sample_weight, X)
    chosen = range(0, len(parts), -(-len(parts) // _SAMPLE_PARTITIONS))
    some, n_rows = delayed(_some, pure=False), -(-_SAMPLE_ROWS // len(chosen))
    tasks = [some(n_rows, parts[i], labels[i], weights[i]) for i in chosen]
    rows, values, shares = zip(*client.gather(client.compute(tasks)))
    weight = None if shares[0] is None else np.concatenate(shares)
    if weight is not None and np.any(weight):
        weight = _check_sample_weight(weight, np.empty((len(weight), 1)), dtype=np.float64, ensure_non_negative=True)
    if hasattr(rows[0], "iloc"):
        from pandas import concat

        return concat(rows), np.concatenate(values), weight
    return np.concatenate(rows), np.concatenate(values), weight


def _some(n_rows: int, rows: Any, labels: Any, weight: Any) -> tuple[Any, Array, Array | None]:
    """Return at most n_rows of a partition, evenly spaced, with their labels and weights."""
    every = slice(None, None, max(1, -(-len(rows) // n_rows)))
    for name, values in (("y", labels), ("sample_weight", weight)):
        if values is not None:
            check_partition(name, values, len(rows))
    own = rows.iloc[every] if hasattr(rows, "iloc") else rows[every]
    return own, np.asarray(labels)[every], None if weight is None else np.asarray(weight)[every]


@dataclass(frozen=True)
class RemoteRows:
    """Rows on the workers of a cluster, as futures that can be made again: a `ProblemSource`."""

    client: Any
    parts: tuple[Any, ...]
    template: Codes
    encoder: Any
    choice: Choice | None = None

    @classmethod
    def of_collection(
        cls, client: Any, codes: CodeCollection, y: Any, sample_weight: Any, choice: Choice | None = None
    ) -> RemoteRows:
        """Return codes that are made on the workers and stay there, with labels that may be a Dask collection."""
        if y is None:
            raise fail("fit", "y must be passed, a value a row", y)
        labels = split_like("fit: y", y, codes.rows)
        weights = split_like("fit: sample_weight", sample_weight, codes.rows)
        n = len(codes.parts)
        groups = np.array_split(np.arange(n), min(n, _n_parts(client)))
        gather = delayed(_held, pure=False)
        parts = [gather(*([each[i] for i in group] for each in (codes.parts, labels, weights))) for group in groups]
        return cls(client, tuple(client.compute(parts)), codes.template, codes.encoder, choice)

    @classmethod
    def of_source(cls, client: Any, source: Any, y: Any, sample_weight: Any) -> RemoteRows:
        """Return ranges of a source that workers open for themselves; texts name columns of it."""
        if source.n_rows == 0:
            raise fail("fit", "codes to fit on must have at least one row", "0 rows")
        y = "y" if y is None and hasattr(source, "column") else y
        values = [
            each if each is None or isinstance(each, str) else values_a_row(f"fit: {name}", each, source.n_rows)
            for name, each in (("y", y), ("sample_weight", sample_weight))
        ]
        parts = []
        for low, high in ranges_of(source, _n_parts(client)):
            own = [each[low:high] if isinstance(each, np.ndarray) else each for each in values]
            parts.append(client.submit(_ranged, source, low, high, *own, pure=False))
        return cls(client, tuple(parts), source[:0], getattr(source, "encoder", None))

    def problem(self, fit_intercept: bool, **checks: Any) -> RemoteProblem:
        """Return the rows with labels checked on the workers."""
        parts = self.client.map(_problem, self.parts, fit_intercept=fit_intercept, checks=checks, pure=False)
        made = RemoteProblem(self.client, tuple(parts), fit_intercept)
        if not made.total_weight > 0.0:
            raise fail("fit", "sample_weight must have a value above 0", "0 for every row")
        return made

    def all_labels(self) -> Array:
        """Return the labels of all rows."""
        return np.concatenate(self.client.gather(self.client.map(itemgetter(1), self.parts, pure=False)))


def _n_parts(client: Any) -> int:
    """Return a part a thread: every further one is another sum to be sent and added."""
    return max(1, sum(client.nthreads().values()))


def _held(codes: list[Codes], labels: list[Any], weights: list[Any]) -> Part:
    """Return one part of several partitions."""
    held = concatenate(codes)
    weight = None if weights[0] is None else joined("sample_weight", codes, weights)
    return RowRange(held, 0, len(held)), joined("y", codes, labels), weight


def _ranged(source: Any, begin: int, end: int, y: Any, weight: Any) -> Part:
    """Return rows of a source, and what its columns or the caller say of them."""
    y, weight = (source.column(each)[begin:end] if isinstance(each, str) else each for each in (y, weight))
    return RowRange(source, begin, end), y, weight


def _problem(part: Part, fit_intercept: bool, checks: dict[str, Any]) -> Problem:
    """Return a part with validated labels and weights."""
    codes, labels, weight = part
    if labels is None:
        raise fail("fit", "y must be passed, a value a row of the codes", None)
    if codes.n_rows:
        labels = _check_y(labels, **checks)
        # Of a part alone all weights may be zero.
        if weight is not None and np.any(weight):
            rows = np.empty((codes.n_rows, 1))
            weight = _check_sample_weight(weight, rows, dtype=np.float64, ensure_non_negative=True)
    return source_problem(codes, np.asarray(labels), weight, fit_intercept)


@dataclass(frozen=True)
class _Extent:
    """What is known here of a part: rows and features, axes of its labels, columns of its targets, weight and cost."""

    shape: tuple[int, int]
    n_label_axes: int
    n_targets: int
    weight: float
    is_weighted: bool
    pair_cost: float


@dataclass(frozen=True)
class RemoteProblem:
    """Parts of the rows as futures of `Problem`, in row order; sums are made where the rows are.

    Every task is a function of what can be made again, so a worker that dies costs its parts' time and nothing else.
    """

    client: Client
    parts: tuple[Future, ...]
    fit_intercept: bool
    is_whole: bool = False
    is_packed: bool = True

    @cached_property
    def _extents(self) -> list[_Extent]:
        return list(self.client.gather(self._each(_extent)))

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return sum(extent.shape[0] for extent in self._extents), self._extents[0].shape[1]

    @property
    def n_targets(self) -> int:
        """Columns of the targets."""
        return self._extents[0].n_targets

    @property
    def n_label_axes(self) -> int:
        """1 for a label a row, 2 for several."""
        return self._extents[0].n_label_axes

    @property
    def total_weight(self) -> float:
        """Sum of the weights."""
        return float(sum(extent.weight for extent in self._extents))

    @property
    def pair_cost(self) -> float:
        """What two entries cost in a Gram matrix, in multiplications."""
        return min(extent.pair_cost for extent in self._extents)

    @property
    def codes(self) -> CodeSource:
        """Raise: the rows are not here."""
        remedy = "Use one of scikit-learn's scorers by name."
        raise fail("distributed", "scoring must ask for decision values or predictions on a cluster", "rows", remedy)

    def sum(self, task: Callable[..., Any], *arguments: Any, at_least: int = 0) -> Any:
        """Return the sum of what the task returns for each part, added on the workers."""
        sums = self._each(_sum, task, self._shared(arguments), at_least)
        return merged(self.client, sums, large=at_least > _LARGE)

    def tally(self, task: Callable[..., Any]) -> Any:
        """Return the sum of task(labels, weight)."""
        return merged(self.client, self._each(Problem.tally, task))

    def relabel(self, change: Callable[..., Any], reading: Any = None) -> RemoteProblem:
        """Return the same rows with labels and weights changed on the workers."""
        return self._with(self._each(Problem.relabel, change, reading))

    def recode(self, change: Callable[[Codes], Codes]) -> RemoteProblem:
        """Return the same rows with their codes changed on the workers, nothing copied."""
        return self._with(self._each(Problem.recode, change))

    def scores(self, coef: Array, intercept: Array) -> Array:
        """Return D w + b of all rows, brought here."""
        return np.concatenate(self.client.gather(self._each(_scores, self._shared((coef, intercept)))))

    def take(self, rows: Array | slice) -> RemoteProblem:
        """Return some of the rows, in rising order, each part's on its worker."""
        borders = np.cumsum([0, *(extent.shape[0] for extent in self._extents)])
        positions = np.arange(borders[-1])[rows] if isinstance(rows, slice) else np.asarray(rows)
        cuts = np.searchsorted(positions, borders)
        taken = [
            self.client.submit(Problem.take, part, positions[low:high] - first, pure=False)
            for part, first, low, high in zip(self.parts, borders, cuts, cuts[1:])
        ]
        return self._with(taken)

    def weighted_rows(self) -> RemoteProblem:
        """Return the rows whose weight is not zero."""
        if not any(extent.is_weighted for extent in self._extents):
            return self
        return self._with(self._each(Problem.weighted_rows))

    def _each(self, task: Callable[..., Any], *arguments: Any) -> list[Future]:
        """Submit task(part, *arguments) for every part."""
        repeated = ([argument] * len(self.parts) for argument in arguments)
        return list(self.client.map(task, self.parts, *repeated, pure=False))

    def _shared(self, arguments: tuple[Any, ...]) -> Any:
        """Return arguments for every part: with each task if little, else as one object; no worker takes them along."""
        n_bytes = sum(argument.nbytes for argument in arguments if isinstance(argument, np.ndarray))
        if n_bytes * len(self.parts) <= _LARGE:
            return arguments
        return self.client.submit(tuple, list(arguments), pure=False)

    def _with(self, parts: list[Future]) -> RemoteProblem:
        return replace(self, parts=tuple(parts))


def _extent(part: Problem) -> _Extent:
    n_targets = part.n_targets if part.reading is not None or part.labels.ndim > 1 else 1
    about = part.n_label_axes, n_targets, part.total_weight, part.weight is not None
    return _Extent(part.shape, *about, part.pair_cost if part.shape[0] else 1.0)


def _sum(part: Problem, task: Callable[..., Any], arguments: tuple[Any, ...], at_least: int) -> Any:
    return part.sum(task, *arguments, at_least=at_least)


def _scores(part: Problem, arguments: tuple[Any, ...]) -> Array:
    return part.scores(*arguments)
