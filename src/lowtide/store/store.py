"""A code store keeps packed codes in a folder, with columns beside them."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import check_option, fail
from lowtide.codes import Codes, StoredRows, concatenate, row_mask
from lowtide.encoders import Encoder, VectorCodes
from lowtide.errors import FileFormatError, LowtideError
from lowtide.persist import PathLike, check_metadata, refusing
from lowtide.store.columns import BESIDE, decode_column, encode_columns
from lowtide.store.layout import CODES
from lowtide.store.manifest import Manifest
from lowtide.store.reading import ArrayReader, damage_of, load_encoder, read_manifest, readers_of
from lowtide.store.source import ConcatenatedStores, StoredTable
from lowtide.store.writing import (
    ShardRecord,
    ShardWriter,
    WriterLock,
    append_rows,
    as_folder,
    commit,
    create_store,
    discard_uncommitted,
    make_folder,
    with_shards,
    write_documents,
)

_LOG = logging.getLogger("lowtide.store")
_MOST_NAMED = 20


class CodeStore(StoredTable):
    """Keep packed codes of one encoder in a folder on disk, with labels and other columns, and read them in blocks.

    The folder is a Zarr v3 group that other tools read as it is; lowtide reads a chunk into memory of its own and
    verifies its checksum there, so that a file that is changed, cut short or removed meanwhile is an error or goes
    unnoticed. Made by `create` and `open`, not by calling the class.

    Attributes
    ----------
    path : Path
    mode : {"r", "a"}
    n_rows : int
        Committed rows, as of `open` or the last `append` of this object.
    shape : tuple of int
        Decoded shape, (n_rows, n_features).
    bits, n_levels, codebook, fingerprint, side, scale : as in `Codes`
    template : Codes
        Zero rows, with the bits, codebook and identity of all.
    encoder : the fitted encoder, or None
    columns : tuple of str
        Names of the columns.
    column_types : dict of str
        What each holds: numpy's name of its type, or "texts".
    y : array (n_rows,)
        The column of that name.
    metadata : dict
        What was given to `create`, or to `annotate` since.
    discarded : tuple of str
        What opening for writing found of a writer that stopped in between, and removed.

    Notes
    -----
    Rows are appended all or not at all: shards are written beside their place, synced and renamed, and then one
    manifest is replaced. A crash at any moment loses no committed row. One process writes at a time; readers never
    wait, and see the rows that were committed when they opened. Memory of a writer is three shards of 32 MB, of a
    reader the block that was asked for and four chunks of 1 MB; an array of up to 64 MB is kept once it was read.

    See Also
    --------
    lowtide.Codes : the same in memory
    lowtide.save : codes in one file, written at once

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> import lowtide as lt
    >>> X = np.random.default_rng(0).standard_normal((100, 20))
    >>> encoder = lt.RandomFeatures(n_components=256, random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "codes.zarr")
    ...     with lt.CodeStore.create(path, encoder) as store:
    ...         store.append(X[:60], y=np.arange(60))
    ...         store.append(encoder.encode(X[60:]), y=np.arange(60, 100))
    ...     store = lt.CodeStore.open(path)
    ...     store.verify()
    ...     store.shape, store[:] == encoder.encode(X), store.y[:3].tolist()
    ((100, 256), True, [0, 1, 2])
    """

    path: Path
    mode: str
    discarded: tuple[str, ...]
    _manifest: Manifest
    _readers: dict[str, ArrayReader]
    _lock: WriterLock | None
    _one_thread: threading.Lock

    def __init__(self) -> None:
        raise fail("CodeStore", "stores are made by CodeStore.create or CodeStore.open", "a call", "Use one of them.")

    @classmethod
    def create(
        cls,
        path: PathLike,
        encoder: Any,
        *,
        columns: Mapping[str, str] | None = None,
        chunk_rows: int | None = None,
        shard_chunks: int | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> Self:
        """Make an empty store, open for writing.

        Parameters
        ----------
        path : str or path-like
            A folder that is not there yet, or is empty. The customary ending is ".zarr".
        encoder : a fitted encoder with a coded side, or Codes
            What the rows are coded with; it is kept in the store. Of Codes only what goes for all rows is kept, and the
            store then has no encoder and takes codes alone.
        columns : dict of str, optional
            Names and types (bool, int8 to uint64, float32, float64) of columns; by default those of the first `append`.
        chunk_rows : int, optional
            Rows under one checksum; by default a power of two that makes a megabyte.
        shard_chunks : int, optional
            Chunks in one file, 32 by default.
        metadata : dict, optional
            What else to keep, as JSON has it.
        """
        root = as_folder(path)
        lock, manifest = create_store(root, encoder, columns or {}, metadata, chunk_rows, shard_chunks)
        return cls._of(root, "a", manifest, lock)

    @classmethod
    def open(cls, path: PathLike, mode: Literal["r", "a"] = "r") -> Self:
        """Open a store, for reading or for appending too.

        Parameters
        ----------
        path : str or path-like
        mode : {"r", "a"}, default="r"
            "a" takes the writer's lock and removes what an interrupted writer has left; `discarded` and a line in the
            log of "lowtide.store" say what that was.
        """
        check_option("CodeStore.open", "mode", mode, ("r", "a"))
        root = as_folder(path)
        if mode == "r":
            return cls._of(root, mode, read_manifest(root), None)
        read_manifest(root)  # the folder of something else gets no lock file
        lock = WriterLock(root)
        try:
            with refusing(f"{str(root)!r} must be a folder that can be written to"):
                manifest = read_manifest(root)
                store = cls._of(root, mode, manifest, lock)
                store.discarded = discard_uncommitted(root, manifest)
                write_documents(root, manifest)
        except BaseException:
            lock.release()
            raise
        if store.discarded:
            _LOG.warning("%s: discarded what an interrupted writer has left: %s", root, ", ".join(store.discarded))
        return store

    @classmethod
    def _of(cls, root: Path, mode: str, manifest: Manifest, lock: WriterLock | None) -> Self:
        store = object.__new__(cls)
        store.path, store.mode, store.discarded = root, mode, ()
        store._lock, store._one_thread = lock, threading.Lock()
        store.use_template(manifest.template)
        store._use(manifest)
        return store

    def _use(self, manifest: Manifest) -> None:
        """Take a manifest for the rows that there are."""
        self._manifest, self._readers = manifest, readers_of(self.path, manifest)

    @cached_property
    def encoder(self) -> Encoder | None:
        """The fitted encoder, or None when the store was made of codes."""
        return load_encoder(self.path, self._manifest)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self._manifest.own_columns)

    @property
    def column_types(self) -> dict[str, str]:
        """What each column holds: numpy's name of its type, or "texts". Nothing is read."""
        columns = self._manifest.own_columns
        return {name: "texts" if column.categories is not None else column.dtype for name, column in columns.items()}

    @property
    def metadata(self) -> dict[str, Any]:
        """What was given to `create`, or to `annotate` since."""
        return check_metadata(self._manifest.metadata)

    @property
    def n_rows(self) -> int:
        """Committed rows."""
        return self._manifest.n_rows

    @property
    def chunk_rows(self) -> int:
        """Rows under one checksum: what is read and verified at a time."""
        return self._manifest.chunk_rows

    @property
    def shard_rows(self) -> int:
        """Rows in one file."""
        return self._manifest.shard_rows

    @contextmanager
    def _writing(self) -> Iterator[Manifest]:
        """Give the manifest to go on from, to one thread at a time."""
        with self._one_thread:
            if self._lock is None:
                raise fail("CodeStore", "a store must be open for writing", self.mode, 'Open it with mode="a".')
            try:
                yield self._manifest
            except BaseException:
                # An interrupt may come after the commit, whose rows then count.
                with suppress(LowtideError):
                    self._use(read_manifest(self.path))
                raise

    def append(self, X: Any, y: Any = None, **columns: Any) -> None:
        """Add rows after the last: all of them, or none when anything goes wrong.

        Parameters
        ----------
        X : array, CSR matrix or data frame (n, n_features), or Codes, or another store
            Rows to encode, or codes of the same encoder and codebook.
        y : array (n,), optional
            The column "y".
        **columns : array (n,)
            Other columns. All rows of a store have the same; texts are kept as places in a list of them.

        Notes
        -----
        Returns when the rows are on the disk. A last shard that is not full is written again, so many small appends
        cost more than a few large ones.
        """
        given = columns if y is None else {"y": y, **columns}
        with self._writing() as manifest:
            n_new, codes_of = self._coded(X)
            known = manifest.own_columns
            new, stored = encode_columns(given, known if manifest.n_rows or known else None, n_new)
            if n_new == 0:
                return
            beside = {name: column for name, column in manifest.columns.items() if name in BESIDE}
            manifest = replace(manifest, columns={**beside, **new})
            self._use(append_rows(self.path, manifest, n_new, codes_of, stored))

    def _coded(self, X: Any) -> tuple[int, Callable[[int, int], Codes]]:
        """Return how many rows X has and what gives codes of some, whether they are codes or must be encoded."""
        if isinstance(X, (Codes, StoredRows)):
            concatenate([self.template, X[:0]])  # one encoder, codebook, scale, and norms or none
            return X.n_rows, lambda begin, end: X[begin:end]
        encoder: Any = self.encoder
        if encoder is None:
            must = "rows must come as Codes, since the store was made without an encoder"
            raise fail("CodeStore", must, type(X).__name__, "Encode them first.")
        rows, drawn = encoder.check_rows(X), encoder.drawn_
        return int(rows.shape[0]), lambda begin, end: drawn.encode(rows[begin:end])

    def shard_writer(self) -> ShardWriter:
        """Return what writes whole shards after the last one, from any process; `commit` then makes them count.

        The rows so far must fill their shards, and columns must have been given to `create`.
        """
        with self._writing() as manifest:
            if manifest.n_rows % manifest.shard_rows:
                must = f"the rows of a store must fill its shards of {manifest.shard_rows} before others add to it"
                raise fail("CodeStore", must, manifest.n_rows, "Append what is missing first.")
            texts = [name for name, column in manifest.columns.items() if column.categories is not None]
            if texts:  # they would need a list that all writers share
                raise fail("CodeStore", "columns that others add to must hold numbers", texts, "Use append for texts.")
            for name in manifest.arrays:
                make_folder(self.path / name)
            return ShardWriter(self.path, manifest)

    def commit(self, records: Sequence[ShardRecord]) -> None:
        """Take shards that a `shard_writer` has written, all at once.

        Parameters
        ----------
        records : sequence of ShardRecord
            In any order; shards without a gap, all full but the last.
        """
        with self._writing() as manifest:
            if records:
                self._commit(with_shards(manifest, records))

    def annotate(self, metadata: dict[str, Any]) -> None:
        """Replace the metadata, in a commit of their own.

        Parameters
        ----------
        metadata : dict
        """
        with self._writing() as manifest:
            self._commit(replace(manifest, metadata=check_metadata(metadata), n_rows_before=manifest.n_rows))

    def _commit(self, manifest: Manifest) -> None:
        commit(self.path, manifest)
        self._use(manifest)

    def column(self, name: str) -> NDArray[Any]:
        """Return a column, array (n_rows,).

        Parameters
        ----------
        name : str
        """
        if name not in self.columns:
            raise fail("CodeStore", f"column must be one of {', '.join(self.columns) or 'none'}", name)
        stored = self._readers[name].rows(0, self.n_rows)
        return decode_column(repr(str(self.path)), name, self._manifest.columns[name], stored)

    def matching(self, name: str, value: str) -> NDArray[np.bool_]:
        """Return which rows have a value in a column, mask (n_rows,).

        Parameters
        ----------
        name : str
        value : str
            A text, or a number or truth value as it is printed.
        """
        values = self.column(name)
        if values.dtype.kind != "f":
            return np.asarray(values.astype(str) == value)
        try:
            return np.asarray(values == float(value))
        except ValueError:
            raise fail("CodeStore", f"a value of the column {name!r} must be a number", value) from None

    def rows_between(self, begin: int, end: int) -> Codes:
        """Return rows [begin, end), which must be there.

        Parameters
        ----------
        begin, end : int
        """
        beside = [self._readers[name].rows(begin, end) for name in BESIDE if name in self._readers]
        return self.template.with_rows(self._readers[CODES].rows(begin, end), *beside)

    def rows_at(self, index: NDArray[np.intp]) -> Codes:
        """Return rows by number, in any order, each of which must be there.

        Parameters
        ----------
        index : array of int (k,)
        """
        beside = [self._readers[name].take(index) for name in BESIDE if name in self._readers]
        return self.template.with_rows(self._readers[CODES].take(index), *beside)

    def top_k(self, X: Any, k: int = 10, **options: Any) -> Any:
        """Return the k best rows of the store for each query, without reading it into memory.

        Parameters
        ----------
        X : array (q, n_features)
        k : int, default=10
        **options
            As in `VectorCodes.top_k`; `ids` may also be the name of a column, and `where` "column=value".

        Returns
        -------
        Found
        """
        if not isinstance(self.encoder, VectorCodes):
            remedy = "Make the store with one, or search codes of it: store[:].top_k(...)."
            raise fail("CodeStore", "a store must have VectorCodes to be searched", self.encoder, remedy)
        options |= {"ids": self.names_of(options.get("ids")), "where": self.mask_of(options.get("where"))}
        return self.encoder.top_k(self, X, k, **options)

    def names_of(self, ids: Any) -> NDArray[Any] | None:
        """Return names of the rows: values of a column, or those given.

        Parameters
        ----------
        ids : str, array (n_rows,) or None
            A column's name, or the names; None for none.
        """
        if ids is None:
            return None
        names = self.column(ids) if isinstance(ids, str) else np.asarray(ids)
        if names.shape != (self.n_rows,):
            raise fail("CodeStore", f"ids must have an entry a row, {self.n_rows}", f"shape {names.shape}")
        return names

    def mask_of(self, where: Any) -> NDArray[np.bool_] | None:
        """Return which rows may be found, mask (n_rows,); None for all.

        Parameters
        ----------
        where : str, array or None
            "column=value", a mask (n_rows,), or row numbers.
        """
        if isinstance(where, str):
            name, _, value = where.partition("=")
            return self.matching(name, value)
        return None if where is None else row_mask(where, self.n_rows)

    def verify(self) -> None:
        """Read everything that is committed now and compare it with its checksums.

        Raises
        ------
        FileFormatError
            Naming every shard and chunk that is not what was written.
        """
        manifest = read_manifest(self.path)
        found = [str(error) for error in damage_of(self.path, manifest)]
        # What a writer commits in the meantime looks like damage to the manifest before: look again with its own.
        while found and manifest != (newer := read_manifest(self.path)):
            manifest, found = newer, [str(error) for error in damage_of(self.path, newer)]
        load_encoder(self.path, manifest)
        if found:
            more = f" And {len(found) - _MOST_NAMED} more." if len(found) > _MOST_NAMED else ""
            raise FileFormatError(" ".join(found[:_MOST_NAMED]) + more)

    @staticmethod
    def concatenate(stores: Sequence[CodeStore | ConcatenatedStores]) -> ConcatenatedStores:
        """Return the rows of several stores of one encoder as one source; nothing is copied.

        Parameters
        ----------
        stores : sequence of CodeStore
            At least one; of one encoder, one codebook, and the same columns.
        """
        return ConcatenatedStores(stores)

    def close(self) -> None:
        """Give up the writer's lock; the rows stay readable."""
        if self._lock is not None:
            self._lock.release()
        self._lock, self.mode = None, "r"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Callable[..., CodeStore], tuple[Any, ...]]:
        return CodeStore.open, (str(self.path),)

    def __repr__(self) -> str:
        n, n_features = self.shape
        return f"CodeStore({str(self.path)!r}, {n} x {n_features}, bits={self.bits}, mode={self.mode!r})"
