"""Rows of a Dask collection as codes."""

from __future__ import annotations

from typing import Any

from dask import delayed

from lowtide.codes import Codes
from lowtide.distributed.collection import CodeCollection
from lowtide.distributed.partitions import row_partitions
from lowtide.distributed.shipping import Shipped
from lowtide.encoders import Encoder, no_codes

__all__ = ["encode"]


def encode(encoder: Encoder, X: Any) -> CodeCollection:
    """Return the codes of a Dask array or data frame, lazily, a partition at a time.

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
    none = no_codes("encode", encoder)
    # The bytes are one node of the graph that all partitions share.
    shipped = delayed(Shipped(encoder), pure=False, traverse=False)
    make = delayed(_encoded, pure=False)
    parts = tuple(make(part, shipped) for part in row_partitions("encode: X", X))
    return CodeCollection(parts, none, encoder, X)


def _encoded(rows: Any, shipped: Shipped) -> Codes:
    """Return the codes of one partition."""
    codes: Codes = shipped.thing.encode(rows)
    return codes
