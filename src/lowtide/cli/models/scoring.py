"""How well predictions meet the truth."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide.cli.terminal import amount, counted

__all__ = ["Score", "score"]


@dataclass(frozen=True)
class Score:
    """A score over some rows.

    Attributes
    ----------
    measure : {"accuracy", "r2"}
    value : float
    rows : int
    baseline : float or None
        Accuracy of always naming the most common class of these rows.
    rmse : float or None
        Root mean square error, for numbers.
    """

    measure: str
    value: float
    rows: int
    baseline: float | None = None
    rmse: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Return what the measure has."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    def sentence(self, of_rows: str) -> str:
        """Say it; `of_rows` tells which rows they are."""
        rows = f"{counted(self.rows, 'row')} {of_rows}"
        if self.baseline is not None:
            return f"accuracy {self.value:.3f} on {rows} (always the most common class: {self.baseline:.3f})"
        return f"R² {self.value:.3f}, root mean square error {amount(self.rmse or 0.0)} on {rows}"


def score(truth: NDArray[Any], predicted: NDArray[Any], *, classes: bool) -> Score | None:
    """Return accuracy for classes, R² and root mean square error for numbers; None without rows.

    R² of rows with one value is that of scikit-learn: 1 when all are met, else 0.

    Examples
    --------
    >>> score(np.array([1, 2, 2]), np.array([1, 2, 1]), classes=True).value
    0.6666666666666666
    """
    n = len(truth)
    if n == 0:
        return None
    if classes:
        _, counts = np.unique(truth, return_counts=True)
        return Score("accuracy", float(np.mean(truth == predicted)), n, baseline=float(counts.max() / n))
    square = float(np.sum((truth - predicted) ** 2))
    spread = float(np.sum((truth - truth.mean()) ** 2))
    r2 = 1.0 - square / spread if spread > 0 else float(square == 0)
    return Score("r2", r2, n, rmse=float(np.sqrt(square / n)))
