"""The rows of several stores as those of one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import fail
from lowtide.codes import Codes, StoredRows, concatenate


class StoredTable(StoredRows):
    """Stored codes with columns beside them."""

    @abstractmethod
    def column(self, name: str) -> NDArray[Any]:
        """Return a column, array (n_rows,)."""

    @property
    def y(self) -> NDArray[Any]:
        """The column "y"."""
        return self.column("y")


class ConcatenatedStores(StoredTable):
    """The rows of several stores, one after the other, by reference: a `CodeSource` like each of them.

    Parameters
    ----------
    stores : sequence of CodeStore
        Of one encoder, one codebook and the same columns. Their rows are those that each has now.
    """

    def __init__(self, stores: Sequence[Any]) -> None:
        self.stores = tuple(stores)
        if not self.stores or not all(isinstance(store, StoredTable) for store in self.stores):
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
        self.use_template(self.stores[0].template)
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

    def rows_between(self, begin: int, end: int) -> Codes:
        """Return rows [begin, end), which must be there.

        Parameters
        ----------
        begin, end : int
        """
        parts = [
            store[max(0, begin - first) : min(end, last) - first]
            for store, first, last in zip(self.stores, self._starts[:-1].tolist(), self._starts[1:].tolist())
            if begin < last and end > first
        ]
        return parts[0] if len(parts) == 1 else concatenate(parts or [self.template])

    def rows_at(self, index: NDArray[np.intp]) -> Codes:
        """Return rows by number, in any order, each of which must be there.

        Parameters
        ----------
        index : array of int (k,)
        """
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
