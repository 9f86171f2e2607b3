"""Predictions as Dask arrays."""

from __future__ import annotations

from typing import Any

import dask
import dask.array as da
import numpy as np
from dask import delayed

from lowtide._checks import check_option, fail
from lowtide.codes import CodeSource
from lowtide.distributed.collection import CodeCollection
from lowtide.distributed.partitions import RowRange, ranges_of, row_partitions
from lowtide.distributed.shipping import Shipped

__all__ = ["predict"]

_METHODS = ("predict", "decision_function", "predict_proba", "transform")
# Rows of a store that make one chunk of predictions, at least.
_CHUNK_ROWS = 1 << 16


def predict(model: Any, X: Any, *, method: str = "predict") -> da.Array:
    """Return a model's predictions, lazily: a Dask array with a chunk a partition.

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
    shipped = delayed(Shipped(model), pure=False, traverse=False)
    run = delayed(_predicted, pure=False)
    arrays = [
        da.from_delayed(run(part, shipped, method), (size, *like.shape[1:]), like.dtype)
        for part, size in zip(parts, sizes)
    ]
    return da.concatenate(arrays, allow_unknown_chunksizes=True)


def _parts(X: Any) -> tuple[list[Any], list[float], Any]:
    """Return the parts of the rows, the size of each (NaN when not known), and one row or codes of none."""
    if isinstance(X, CodeCollection):
        parts, (_, sizes, _) = list(X.parts), _parts(X.rows)
        return parts, sizes, X.no_codes
    if isinstance(X, da.Array):
        parts = row_partitions("predict: X", X)
        return parts, list(X.chunks[0]), np.zeros((1, X.shape[1]), X.dtype)
    if dask.is_dask_collection(X):
        found = row_partitions("predict: X", X)
        return found, [np.nan] * len(found), X._meta_nonempty
    if isinstance(X, CodeSource) and hasattr(X, "__getitem__"):
        ranges = ranges_of(X, max(1, X.n_rows // _CHUNK_ROWS))
        return [RowRange(X, *each) for each in ranges], [high - low for low, high in ranges], X[:0]
    need = "X must be a Dask array or data frame, a CodeCollection or a CodeStore"
    raise fail("predict", need, type(X).__name__, "Rows in memory are predicted by the model itself.")


def _predicted(rows: Any, shipped: Shipped, method: str) -> Any:
    return getattr(shipped.thing, method)(rows)
