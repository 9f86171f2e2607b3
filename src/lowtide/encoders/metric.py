"""What rows are multiplied by before they are projected, and which frequencies are kept of many."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from lowtide._checks import fail, is_sparse
from lowtide.projections import MOST_FREQUENCIES

_COLUMNS = "A column of factor 0 does not matter; leave columns as they are with factors of 1."


def check_metric(owner: str, metric: Any, n_features: int) -> NDArray[np.float32]:
    """Return a metric as float32, factors (n_features,) or a matrix (n_features, r), or refuse it."""
    given = np.asarray(metric)
    if given.dtype.kind not in "fiu" or given.ndim not in (1, 2) or len(given) != n_features or given.size == 0:
        need = f"metric must be numbers of shape ({n_features},) or ({n_features}, r)"
        raise fail(owner, need, f"{given.dtype} {given.shape}", "It needs an entry, or a row, a column of X.")
    with np.errstate(over="ignore"):
        found = np.array(given, dtype=np.float32, order="C")
    if not np.isfinite(found).all():
        raise fail(owner, "metric must be finite in float32", f"{given[~np.isfinite(found)][0]}", "Rescale it.")
    if found.ndim == 1 and np.any(found < 0):
        raise fail(owner, "factors of a metric must be 0 or above", float(found.min()), _COLUMNS)
    if not found.any():
        raise fail(owner, "metric must not be 0 in float32 everywhere", "zeros", "All rows would be equal.")
    return found


def kept_metric(owner: str, kept: NDArray[Any] | None, n_features: int) -> NDArray[np.float32] | None:
    """Return the metric of a file, which may be anything, or None where there was none."""
    if kept is None:
        return None
    if kept.dtype != np.float32:
        raise fail(owner, "metric must be float32", str(kept.dtype))
    return check_metric(owner, kept, n_features)


def multiplied(rows: Any, metric: NDArray[np.float32]) -> Any:
    """Return validated rows times a metric in float64, (n, d) or (n, r); a CSR matrix stays one under factors.

    Examples
    --------
    >>> multiplied(np.array([[1.0, 2.0]]), np.array([0.5, 2.0], dtype=np.float32))
    array([[0.5, 4. ]])
    """
    wide = metric.astype(np.float64)
    if metric.ndim == 2:
        return np.asarray(rows @ wide)
    return scipy.sparse.csr_array(rows @ scipy.sparse.diags_array(wide)) if is_sparse(rows) else rows * wide


class MultipliedRows:
    """Rows times a metric, multiplied as they are asked for: a whole copy of many would be large."""

    def __init__(self, rows: Any, metric: NDArray[np.float32]) -> None:
        self._rows, self._metric = rows, metric
        self.shape = (rows.shape[0], metric.shape[-1])

    def __getitem__(self, chosen: Any) -> Any:
        """Return some of the multiplied rows."""
        return multiplied(self._rows[chosen], self._metric)


def check_places(owner: str, name: str, places: Any, most: int) -> NDArray[np.int64]:
    """Return places of frequencies, int64 (n,), or refuse them: they rise, from 0 to below `most`."""
    given = np.asarray(places)
    need = f"{name} must be integers that rise, from 0 to {most - 1}"
    if given.dtype.kind not in "iu" or given.ndim != 1 or given.size == 0:
        raise fail(owner, need, f"{given.dtype} {given.shape}")
    if given.min() < 0 or given.max() >= most or np.any(given[1:] <= given[:-1]):
        raise fail(owner, need, f"{given[:8].tolist()} and so on", "Sort them, each once.")
    return given.astype(np.int64)


def check_kept(owner: str, kept: Any, n_frequencies: int, n_components: int) -> NDArray[np.int64]:
    """Return the places of as many frequencies as so many components need, or refuse them."""
    places = check_places(owner, "kept", kept, MOST_FREQUENCIES)
    if len(places) != n_frequencies:
        need = f"kept must have the {n_frequencies} places that n_components={n_components} needs"
        raise fail(owner, need, len(places))
    return places
