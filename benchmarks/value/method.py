"""What every method of the table is given, and what it gives back."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler

__all__ = ["Answer", "Method", "Split", "split_of"]

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Split:
    """Rows to learn on and rows to predict.

    Attributes
    ----------
    rows, labels : float32 (n, d), int (n,)
    others, truth : float32 (n_test, d), int (n_test,)
        Rows to predict; their labels only score.
    seed : int
    """

    rows: Array
    labels: Array
    others: Array
    truth: Array
    seed: int
    _kept: dict[Hashable, Any] = field(default_factory=dict)

    @property
    def scale(self) -> float:
        """Gamma that scikit-learn calls "scale": 1 over columns times variance."""
        return 1.0 / (self.rows.shape[1] * float(self.rows.var(dtype=np.float64)))

    def kept(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """Return what several methods need, made once a split."""
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]


@dataclass(frozen=True)
class Answer:
    """What a method predicts and what it takes.

    Attributes
    ----------
    predictions : ndarray (n_test,)
    item_bytes : float
        Bytes that are kept of a row.
    model_bytes : int
        Bytes of all that is needed to encode and predict rows.
    """

    predictions: Array
    item_bytes: float
    model_bytes: int


@dataclass(frozen=True)
class Method:
    """A way to keep rows in a number of bytes and to classify from these.

    Attributes
    ----------
    name : str
    side : "lowtide", "peer" or "mixed"
        Mixed methods, a peer's code with lowtide's machine, are shown and not counted.
    answer : callable
        Of a split and a number of bytes an item; None where the method has no form of that size for such rows.
    needs : str, optional
        Module that may not be there; the method is then left out.
    """

    name: str
    side: str
    answer: Callable[[Split, int], Answer | None]
    needs: str | None = None

    @property
    def is_there(self) -> bool:
        """Whether this environment has what the method needs."""
        return self.needs is None or find_spec(self.needs) is not None


def split_of(X: Array, y: Array, n_train: int, n_test: int, seed: int, standardize: bool = True) -> Split:
    """Return a random split; columns are standardized by the training rows if wanted."""
    order = np.random.default_rng(seed).permutation(len(X))
    train, test = order[:n_train], order[n_train : n_train + n_test]
    rows, others = X[train].astype(np.float64), X[test].astype(np.float64)
    if standardize:
        scaler = StandardScaler().fit(rows)
        rows, others = scaler.transform(rows), scaler.transform(others)
    return Split(rows.astype(np.float32), y[train], others.astype(np.float32), y[test], seed)
