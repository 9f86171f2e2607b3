"""Rows of codes by number, read from one store or from several."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import check_integer, fail
from lowtide.codes import Codes, concatenate
from lowtide.errors import CodeLayoutError


class StoredRows(ABC):
    """Codes that are read when they are asked for: what `Codes` offers of rows, without their arithmetic.

    Attributes
    ----------
    template : Codes
        Zero rows: bits, codebook and identity of all rows.
    bits, n_levels, codebook, fingerprint, side, scale : as in `Codes`
    """

    def _describe(self, template: Codes) -> None:
        self.template = template
        self.bits, self.n_levels, self.codebook = template.bits, template.n_levels, template.codebook
        self.fingerprint, self.side, self.scale = template.fingerprint, template.side, template.scale

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Number of rows."""

    @abstractmethod
    def _block(self, begin: int, end: int) -> Codes:
        """Return rows [begin, end), which are there."""

    @abstractmethod
    def _take(self, index: NDArray[np.intp]) -> Codes:
        """Return rows by number, which are there."""

    @abstractmethod
    def column(self, name: str) -> NDArray[Any]:
        """Return a column, array (n_rows,)."""

    @property
    def shape(self) -> tuple[int, int]:
        """Decoded shape, (n_rows, n_features)."""
        return self.n_rows, self.template.shape[1]

    @property
    def nbytes(self) -> int:
        """Packed bytes of all rows."""
        return self.n_rows * int(self.template.packed.shape[1])

    @property
    def y(self) -> NDArray[Any]:
        """The column "y"."""
        return self.column("y")

    def blocks(self, size: int) -> Iterator[Codes]:
        """Yield the rows in order, `size` at a time, the last ones fewer.

        Parameters
        ----------
        size : int
            A block within one chunk stays in the file; others are copied together.
        """
        size = check_integer("blocks", "size", size, 1)
        for begin in range(0, self.n_rows, size):
            yield self._block(begin, min(begin + size, self.n_rows))

    def __len__(self) -> int:
        return self.n_rows

    def __getitem__(self, key: Any) -> Codes:
        """Return the rows of a slice, integer, integer array or mask as Codes."""
        if isinstance(key, tuple) and len(key) == 2 and key[1] is Ellipsis:
            key = key[0]  # how scikit-learn takes rows of anything with a shape
        if isinstance(key, slice):
            begin, end, step = key.indices(self.n_rows)
            return self._block(begin, max(begin, end)) if step == 1 else self._take(np.arange(begin, end, step))
        return self._take(_row_numbers(key, self.n_rows))


def _row_numbers(key: Any, n_rows: int) -> NDArray[np.intp]:
    """Return which rows a key means, from 0 to n_rows - 1."""
    index = np.asarray(key)
    if index.ndim == 1 and index.size == 0 and index.dtype.kind == "f":
        index = index.astype(np.intp)  # an empty list
    if index.ndim > 1 or index.dtype.kind not in "iub":
        raise CodeLayoutError(
            f"Stored codes are indexed by a slice, an integer, integers or a mask, got {index.ndim}-D of {index.dtype}."
        )
    if index.dtype.kind == "b":
        if index.shape != (n_rows,):
            raise CodeLayoutError(f"A mask must have an entry a row, {n_rows}, got shape {index.shape}.")
        return np.flatnonzero(index)
    numbers = index.reshape(-1).astype(np.intp)
    if len(numbers) and not -n_rows <= int(numbers.min()) <= int(numbers.max()) < n_rows:
        raise IndexError(f"rows must be from {-n_rows} to {n_rows - 1}, got {numbers.min()} to {numbers.max()}")
    return np.where(numbers < 0, numbers + n_rows, numbers)


class ConcatenatedStores(StoredRows):
    """The rows of several stores, one after the other, by reference: a `CodeSource` like each of them.

    Parameters
    ----------
    stores : sequence of CodeStore
        Of one encoder, one codebook and the same columns. Their rows are those that each has now.
    """

    def __init__(self, stores: Sequence[Any]) -> None:
        self.stores = tuple(stores)
        if not self.stores or not all(isinstance(store, StoredRows) for store in self.stores):
            kinds = sorted({type(store).__name__ for store in self.stores}) or "an empty sequence"
            raise fail("CodeStore.concatenate", "give one or more stores", kinds)
        concatenate([store[:0] for store in self.stores])
        columns = {tuple(sorted(store.columns)) for store in self.stores}
        if len(columns) > 1:
            raise fail("CodeStore.concatenate", "all stores must have the same columns", sorted(columns))
        for name in self.stores[0].columns:
            kinds = sorted({store.column_types[name] for store in self.stores})
            if "texts" in kinds and len(kinds) > 1:
                must = f"column {name} must hold texts in all stores, or numbers in all"
                raise fail("CodeStore.concatenate", must, kinds)
        self._describe(self.stores[0].template)
        self._starts = np.cumsum([0, *(store.n_rows for store in self.stores)])

    @property
    def n_rows(self) -> int:
        """Rows of all stores."""
        return int(self._starts[-1])

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self.stores[0].columns)

    @property
    def column_types(self) -> dict[str, str]:
        """What each column holds: numpy's name of its type, or "texts"."""
        kinds = [store.column_types for store in self.stores]
        return {
            name: "texts" if kinds[0][name] == "texts" else np.result_type(*(kind[name] for kind in kinds)).name
            for name in self.columns
        }

    @property
    def encoder(self) -> Any:
        """The fitted encoder, or None when no store has one."""
        return next((store.encoder for store in self.stores if store.encoder is not None), None)

    def column(self, name: str) -> NDArray[Any]:
        """Return a column, array (n_rows,).

        Parameters
        ----------
        name : str
        """
        return np.concatenate([store.column(name)[:n] for store, n in zip(self.stores, np.diff(self._starts).tolist())])

    def _block(self, begin: int, end: int) -> Codes:
        parts = [
            store[max(0, begin - first) : min(end, last) - first]
            for store, first, last in zip(self.stores, self._starts[:-1].tolist(), self._starts[1:].tolist())
            if begin < last and end > first
        ]
        return parts[0] if len(parts) == 1 else concatenate(parts or [self.template])

    def _take(self, index: NDArray[np.intp]) -> Codes:
        which = np.searchsorted(self._starts, index, side="right") - 1
        order = np.argsort(which, kind="stable")
        parts = [store[index[which == i] - self._starts[i]] for i, store in enumerate(self.stores)]
        return concatenate(parts)[np.argsort(order, kind="stable")]

    def __reduce__(self) -> tuple[Callable[..., ConcatenatedStores], tuple[Any, ...]]:
        return _reopened, (self.stores, self._starts)

    def __repr__(self) -> str:
        n, n_features = self.shape
        return f"ConcatenatedStores({len(self.stores)} stores, {n} x {n_features}, bits={self.bits})"


def _reopened(stores: Sequence[Any], starts: NDArray[np.intp]) -> ConcatenatedStores:
    """Return stores that may have grown in the meantime, with the rows they had: a row keeps its number."""
    found = ConcatenatedStores(stores)
    found._starts = starts
    return found
