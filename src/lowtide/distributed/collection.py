"""Rows of a Dask collection as codes, as a store, as predictions and as what a search finds, a partition at a time."""

from __future__ import annotations

import shutil
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from operator import attrgetter
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask import delayed
from dask.delayed import Delayed
from numpy.typing import NDArray

from lowtide._checks import check_option, fail
from lowtide.codes import Codes, CodeSource, concatenate
from lowtide.distributed.cluster import connected, ship, unship
from lowtide.encoders import Encoder, Found, VectorCodes
from lowtide.persist import PathLike
from lowtide.store import CodeStore, ShardRecord, ShardWriter, template_of

_METHODS = ("predict", "decision_function", "predict_proba", "transform")
# Rows of a store that make one chunk of predictions, at least.
_CHUNK_ROWS = 1 << 16

Array = NDArray[Any]


@dataclass(frozen=True)
class RowRange:
    """Rows [begin, end) of codes in memory or on disk, read block by block; a store travels as its path."""

    source: Any
    begin: int
    end: int

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.end - self.begin

    @property
    def shape(self) -> tuple[int, int]:
        """Decoded shape."""
        return self.n_rows, int(self.source.shape[1])

    @property
    def nbytes(self) -> int:
        """Bytes of the rows, as a share of the source's."""
        return int(self.source.nbytes) * self.n_rows // max(1, int(self.source.n_rows))

    def __getitem__(self, rows: Array) -> Codes:
        """Return the codes of some rows, by their numbers in this range."""
        codes: Codes = self.source[self.begin + rows]
        return codes

    def blocks(self, size: int) -> Iterator[Codes]:
        """Yield the rows in order, at most `size` of them at a time."""
        for begin in range(self.begin, self.end, size):
            yield self.source[begin : min(begin + size, self.end)]


def partitions_of(owner: str, X: Any) -> list[Delayed]:
    """Return the partitions of a Dask array, whole rows each, or of a Dask data frame or series."""
    if not dask.is_dask_collection(X) or not hasattr(X, "to_delayed"):
        raise fail(owner, "must be a Dask array, data frame or series", type(X).__name__)
    whole = X.rechunk(dict.fromkeys(range(1, X.ndim), -1)) if isinstance(X, da.Array) else X
    return list(np.ravel(whole.to_delayed()))


def row_partitions(owner: str, X: Any) -> list[Delayed]:
    """Return the partitions of rows by columns, a Dask array or data frame."""
    parts = partitions_of(owner, X)
    if X.ndim != 2:
        raise fail(owner, "must be 2-D, rows by columns", f"{X.ndim}-D", "Make one column X[:, None] or X[[name]].")
    return parts


def _sizes(X: Any) -> list[float]:
    """Return the rows of each partition, NaN where a collection does not know them."""
    return list(X.chunks[0]) if isinstance(X, da.Array) else [np.nan] * X.npartitions


def split_like(owner: str, values: Any, X: Any) -> Sequence[Any]:
    """Return values, one per row, in the partitions that the rows have; None for none at all."""
    sizes = _sizes(X)
    known = not np.isnan(sizes).any()
    if values is None:
        return [None] * len(sizes)
    if not dask.is_dask_collection(values):
        if not known:
            raise fail(owner, "must be a Dask collection where the sizes of partitions are not known", "an array")
        return np.split(values_a_row(owner, values, X.shape[0]), np.cumsum(sizes)[:-1])
    if known and isinstance(values, da.Array) and not np.isnan(values.chunks[0]).any():
        if values.shape[0] != X.shape[0]:
            raise fail(owner, f"must have a value a row, {X.shape[0]}", values.shape[0])
        values = values.rechunk({0: X.chunks[0]})
    parts = partitions_of(owner, values)
    if len(parts) != len(sizes):
        raise fail(owner, f"must have the partitions of X, {len(sizes)}", len(parts), "Repartition one of them.")
    return parts


def joined(name: str, codes: list[Codes], parts: list[Any], cuts: Iterable[slice] = repeat(slice(None))) -> Array:
    """Return the values of partitions, or of cuts of them, in one piece; there is one value per row of codes."""
    for block, values in zip(codes, parts):
        check_partition(name, values, len(block))
    return np.concatenate([np.asarray(values)[cut] for values, cut in zip(parts, cuts)])


def check_partition(name: str, values: Any, n_rows: int) -> None:
    """Refuse a partition of values that has not one per row."""
    if len(values) != n_rows:
        must = f"{name} must have a value a row of each partition, {n_rows}"
        raise fail("distributed", must, len(values), "Repartition one of them.")


def values_a_row(owner: str, values: Any, n_rows: int) -> Array:
    """Return values as an array, one per row."""
    array = np.asarray(values)
    if array.ndim == 0 or len(array) != n_rows:
        got = array.item() if array.ndim == 0 else len(array)
        raise fail(owner, f"must have a value a row, {n_rows}", got)
    return array


def ranges_of(source: CodeSource, n_parts: int) -> list[tuple[int, int]]:
    """Return at most n_parts ranges of about equal size, of no rows one; of a store, whole shards each."""
    unit = int(getattr(source, "shard_rows", 1))
    n_units = max(1, -(-source.n_rows // unit))
    borders = np.linspace(0, n_units, min(n_parts, n_units) + 1).astype(int) * unit
    borders[-1] = source.n_rows
    return list(zip(borders[:-1].tolist(), borders[1:].tolist()))


def encode(encoder: Encoder, X: Any) -> CodeCollection:
    """Encode a Dask array or data frame lazily, one partition at a time.

    Parameters
    ----------
    encoder : a fitted encoder with a coded side
        Travels to the workers as its specification, some kilobytes for a Hadamard projection.
    X : dask.array.Array (n, n_features) or dask.dataframe.DataFrame

    Returns
    -------
    CodeCollection

    Notes
    -----
    The same bits as `encoder.encode` gives in one process, on the Hadamard path, whatever the partitions. Codes take
    1/32 of the bytes of as many float32 features, so `persist` keeps in memory what the rows would not fit.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> import lowtide as lt
    >>> from lowtide.distributed import encode
    >>> X = np.random.default_rng(0).standard_normal((1000, 20))
    >>> encoder = lt.RandomFeatures(n_components=256, random_state=0).fit(X)
    >>> codes = encode(encoder, da.from_array(X, chunks=(250, 20)))
    >>> codes.compute(scheduler="synchronous") == encoder.encode(X)
    True
    """
    template = template_of("encode", encoder)
    # The bytes are one node of the graph that all partitions share.
    shipped = delayed(ship(encoder), pure=False, traverse=False)
    made = delayed(_made, pure=False)
    parts = tuple(made(part, shipped, "encode") for part in row_partitions("encode: X", X))
    return CodeCollection(parts, template, encoder, X)


def _made(rows: Any, shipped: bytes, method: str) -> Any:
    """Return what a method of the object that travelled gives for one partition."""
    return getattr(unship(shipped), method)(rows)


@dataclass(frozen=True)
class CodeCollection:
    """The codes of a Dask collection, computed when they are needed; `encode` returns one.

    Attributes
    ----------
    parts : tuple of Delayed
        Codes of each partition, in row order.
    template : Codes
        Zero rows: bits, codebook and identity of all.
    encoder : the fitted encoder
    rows : the Dask collection that is encoded
    """

    parts: tuple[Delayed, ...]
    template: Codes
    encoder: Any
    rows: Any

    def compute(self, **options: Any) -> Codes:
        """Return all codes in this process; options as of `dask.compute`."""
        return concatenate([self.template, *dask.compute(*self.parts, **options)])

    def persist(self, **options: Any) -> CodeCollection:
        """Return the same codes, made now and kept by the workers; options as of `dask.persist`."""
        return replace(self, parts=tuple(dask.persist(*self.parts, **options)))

    def to_store(
        self,
        path: PathLike,
        y: Any = None,
        *,
        client: Any = None,
        chunk_rows: int | None = None,
        shard_chunks: int | None = None,
        metadata: dict[str, Any] | None = None,
        **columns: Any,
    ) -> CodeStore:
        """Encode straight into a new store; every task writes whole shards, and all rows are committed at once.

        Parameters
        ----------
        path : str or path-like
            A folder that is not there yet, on a file system that all workers share.
        y : Dask collection or array (n,), optional
            The column "y".
        client : distributed.Client, str or None, default=None
            As of `fit`.
        chunk_rows, shard_chunks, metadata
            As of `CodeStore.create`.
        **columns : Dask collection or array (n,)
            Other columns, numbers all.

        Returns
        -------
        CodeStore, open for reading
        """
        given = columns if y is None else {"y": y, **columns}
        layout: dict[str, Any] = {"chunk_rows": chunk_rows, "shard_chunks": shard_chunks, "metadata": metadata}
        types = {name: _type_of(name, values) for name, values in given.items()}
        split = {name: split_like(f"to_store: {name}", values, self.rows) for name, values in given.items()}
        with connected(client) as opened:
            sizes = _sizes(self.rows)
            if np.isnan(sizes).any():
                count = delayed(len, pure=False)
                parts = partitions_of("to_store: X", self.rows)
                sizes = opened.gather(opened.compute([count(part) for part in parts]))
            if not sum(sizes):
                raise fail("to_store", "rows must be at least one", "0 rows")
            with CodeStore.create(path, self.encoder, columns=types, **layout) as store:
                futures = opened.compute(_tasks(store.shard_writer(), self.parts, split, sizes))
                try:
                    store.commit(opened.gather(futures))
                except BaseException:
                    # The folder was made here: what is in it has no rows, and would be in the way of another try.
                    opened.cancel(futures)
                    shutil.rmtree(store.path, ignore_errors=True)
                    raise
        return CodeStore.open(path)

    def to_dask_array(self) -> da.Array:
        """Return the packed rows as a Dask array of uint8, (n, row bytes)."""
        width = self.template.packed.shape[1]
        packed, parts = delayed(attrgetter("packed")), zip(self.parts, _sizes(self.rows))
        arrays = [da.from_delayed(packed(part), (size, width), np.uint8) for part, size in parts]
        return da.concatenate(arrays, allow_unknown_chunksizes=True)


def _type_of(name: str, values: Any) -> str:
    dtype = values.dtype if hasattr(values, "dtype") else np.asarray(values).dtype
    # A data frame has types of its own beside those of numpy, for texts and for numbers that may be missing.
    if not isinstance(dtype, np.dtype) or dtype.kind not in "biuf":
        remedy = "Give numbers for texts, and astype('int64') or the like for types of a data frame."
        raise fail("to_store", f"{name} must hold numbers or truth values", str(dtype), remedy)
    return str(dtype.name)


def _tasks(writer: ShardWriter, parts: tuple[Any, ...], columns: dict[str, Any], sizes: list[Any]) -> list[Any]:
    """Return a task a shard, of the partitions that have its rows."""
    write = delayed(_written, pure=False)
    shared = delayed(writer, pure=False, traverse=False)
    borders = np.cumsum([0, *sizes]).tolist()
    tasks = []
    for index, begin in enumerate(range(0, borders[-1], writer.shard_rows)):
        end = min(begin + writer.shard_rows, borders[-1])
        used = range(bisect_right(borders, begin) - 1, bisect_left(borders, end))
        cuts = [slice(max(0, begin - borders[i]), end - borders[i]) for i in used]
        values = {name: [column[i] for i in used] for name, column in columns.items()}
        tasks.append(write(shared, index, [parts[i] for i in used], values, cuts))
    return tasks


def _written(
    writer: ShardWriter, index: int, codes: list[Codes], columns: dict[str, list[Any]], cuts: list[slice]
) -> ShardRecord:
    """Write one shard; a task that is repeated writes the same bytes."""
    values = {name: joined(name, codes, each, cuts) for name, each in columns.items()}
    return writer.write(index, concatenate([part[cut] for part, cut in zip(codes, cuts)]), **values)


def predict(model: Any, X: Any, *, method: str = "predict") -> da.Array:
    """Predict lazily on Dask: the result is an array with one chunk per partition.

    Parameters
    ----------
    model : a fitted learner of lowtide
        Travels as the bytes of its file, weights in float64.
    X : dask array (n, n_features) or data frame, CodeCollection, or CodeStore
    method : {"predict", "decision_function", "predict_proba", "transform"}, default="predict"

    Returns
    -------
    dask.array.Array, (n,) or (n, k)

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import load_digits
    >>> import lowtide as lt
    >>> from lowtide.distributed import predict
    >>> X, y = load_digits(return_X_y=True)
    >>> model = lt.KernelClassifier(n_components=256, random_state=0).fit(X, y)
    >>> labels = predict(model, da.from_array(X, chunks=(600, 64)))
    >>> labels.chunks
    ((600, 600, 597),)
    >>> bool((labels.compute(scheduler="synchronous") == model.predict(X)).all())
    True
    """
    check_option("predict", "method", method, _METHODS)
    if not hasattr(model, method):
        raise fail("predict", f"model must have the method {method}", type(model).__name__)
    parts, sizes, one_row = _parts(X)
    like = getattr(model, method)(one_row)
    shipped = delayed(ship(model), pure=False, traverse=False)
    made, k = delayed(_made, pure=False), like.shape[1:]
    arrays = [da.from_delayed(made(part, shipped, method), (n, *k), like.dtype) for part, n in zip(parts, sizes)]
    return da.concatenate(arrays, allow_unknown_chunksizes=True)


def top_k(
    store: CodeStore,
    X: Any,
    k: int = 10,
    *,
    where: Any = None,
    ids: Any = None,
    return_std: bool = False,
    client: Any = None,
) -> Found:
    """Search a store of `VectorCodes` on a cluster: every worker scans shards of its own.

    Parameters
    ----------
    store : CodeStore
        On a file system that all workers share.
    X : array (q, n_features)
        Queries in full precision, which travel to every worker.
    k : int, default=10
    where, ids, return_std
        As in `CodeStore.top_k`.
    client : distributed.Client, str or None, default=None
        As of `fit`.

    Returns
    -------
    Found
        What `store.top_k` returns in one process, row by row.

    Examples
    --------
    >>> from lowtide.distributed import top_k
    >>> found = top_k(store, queries, 10, client=client)  # doctest: +SKIP
    """
    if not isinstance(store, CodeStore) or not isinstance(store.encoder, VectorCodes):
        raise fail("top_k", "store must be a CodeStore of VectorCodes", store, "Codes in memory have a top_k.")
    where, names = store.mask_of(where), store.names_of(ids)
    with connected(client) as opened:
        ranges = [each for each in ranges_of(store, len(opened.ncores())) if each[0] < each[1]]
        encoder, queries = opened.scatter([ship(store.encoder), np.asarray(X)], broadcast=True, hash=False)
        tasks = [
            opened.submit(
                _found, RowRange(store, *each), encoder, queries, k, _cut(where, each), return_std, pure=False
            )
            for each in ranges
        ]
        parts = opened.gather(tasks)
    return _best_of(parts, k, names, largest=store.encoder.drawn_.largest)


def _cut(where: Array | None, rows: tuple[int, int]) -> Array | None:
    return None if where is None else where[slice(*rows)]


def _found(rows: RowRange, shipped: bytes, X: Array, k: int, where: Array | None, return_std: bool) -> Found:
    """Return what a search of some rows finds, by their numbers in the whole store."""
    found = unship(shipped).top_k(rows, X, k, where=where, return_std=return_std)
    return Found(found.indices + rows.begin, found.scores, found.std)


def _best_of(parts: Sequence[Found], k: int, names: Array | None, *, largest: bool) -> Found:
    """Return the best k rows of what parts of the rows found, equal scores by lower number."""
    scores = np.hstack([part.scores for part in parts])
    order = np.argsort(-scores if largest else scores, axis=1, kind="stable")[:, :k]
    indices, scores = (
        np.take_along_axis(each, order, axis=1) for each in (np.hstack([part.indices for part in parts]), scores)
    )
    errors = [part.std for part in parts if part.std is not None]
    std = np.take_along_axis(np.hstack(errors), order, axis=1) if errors else None
    return Found(indices if names is None else names[indices], scores, std)


def _parts(X: Any) -> tuple[list[Any], list[float], Any]:
    """Return the parts of the rows, the size of each (NaN when not known), and one row or codes of none."""
    if isinstance(X, CodeCollection):
        return list(X.parts), _sizes(X.rows), X.template
    if dask.is_dask_collection(X):
        parts = row_partitions("predict: X", X)
        return parts, _sizes(X), np.zeros((1, X.shape[1]), X.dtype) if isinstance(X, da.Array) else X._meta_nonempty
    if isinstance(X, CodeSource) and hasattr(X, "__getitem__"):
        ranges = ranges_of(X, max(1, X.n_rows // _CHUNK_ROWS))
        return [RowRange(X, *each) for each in ranges], [high - low for low, high in ranges], X[:0]
    need = "X must be a Dask array or data frame, a CodeCollection or a CodeStore"
    raise fail("predict", need, type(X).__name__, "Rows in memory are predicted by the model itself.")
