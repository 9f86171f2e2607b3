"""Learners fitted by a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import dask
import numpy as np
from dask import delayed
from sklearn.frozen import FrozenEstimator

from lowtide._checks import fail
from lowtide.codes import CodeSource
from lowtide.distributed.cluster import connected
from lowtide.distributed.collection import CodeCollection
from lowtide.distributed.encoding import encode
from lowtide.distributed.partitions import row_partitions
from lowtide.distributed.rows import RemoteRows
from lowtide.learners import KernelClassifier, KernelRegressor, SketchSearchCV

__all__ = ["fit"]

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
    if isinstance(model, SketchSearchCV):
        return model._fitted_sketch(sample)
    model._fit_features(sample, None, sample)
    return model.features_


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
