"""Objects into files."""

from __future__ import annotations

from typing import Any

from lowtide import __version__
from lowtide._checks import fail
from lowtide.codes import Codes
from lowtide.persist.container import Bytes, pack
from lowtide.persist.kinds import kind_of
from lowtide.persist.metadata import check_metadata
from lowtide.persist.weights import WeightForm, pack_weights
from lowtide.persist.whole_file import PathLike, write_whole

__all__ = ["save", "to_bytes"]


def save(
    object: Any, path: PathLike, *, weights: WeightForm = "float32", metadata: dict[str, Any] | None = None
) -> None:
    """Write a fitted encoder, a fitted learner or codes to a file.

    Parameters
    ----------
    object : an encoder, a learner, CodePCA, what `lowtide.compress` gives, or Codes
        Fitted. What holds a callable, such as `PeriodicMap(f)` of a function, is refused.
    path : str or path-like
        Replaced when it is there. The customary ending is ".lowtide".
    weights : {"float32", "float64", "float16", "int8"}, default="float32"
        How a learner's weights are kept. float32 changes scores by float32 rounding, float64 not at all; float16 and
        int8, with a scale a column, take half and a quarter of float32.
    metadata : dict, optional
        What else to keep beside the object, as JSON has it: texts, finite numbers, booleans, None, lists and dicts with
        texts for keys. `lowtide.persist.read_metadata` gives it back; `load` does not look at it.

    Notes
    -----
    The file is written beside its place, synced and renamed: it is never there in part. It is a safetensors file with
    a JSON header and a sha256 over all of it; equal objects give equal bytes. A Hadamard encoder takes about 4.4 bytes
    a component (cos_sin), a dense one 2 n_features more.

    A `RandomState` object given as `random_state` is kept as None; sums of `partial_fit`, callbacks and scikit-learn's
    routing and output settings are not kept.

    See Also
    --------
    load : the way back

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> import lowtide as lt
    >>> X = np.random.default_rng(0).standard_normal((100, 20))
    >>> encoder = lt.RandomFeatures(n_components=4096, random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "encoder.lowtide")
    ...     lt.save(encoder, path)
    ...     os.path.getsize(path) < 20_000, lt.load(path).encode(X) == encoder.encode(X)
    (True, True)
    """
    write_whole(path, _pieces(object, weights, metadata))


def to_bytes(object: Any, *, weights: WeightForm = "float32") -> bytes:
    """Return the bytes of the file that `save` would write.

    Parameters
    ----------
    object : as for `save`
    weights : {"float32", "float64", "float16", "int8"}, default="float32"

    See Also
    --------
    from_bytes : the way back

    Examples
    --------
    >>> import numpy as np
    >>> import lowtide as lt
    >>> X = np.random.default_rng(0).standard_normal((100, 20))
    >>> encoder = lt.RandomFeatures(n_components=4096, random_state=0).fit(X)
    >>> data = lt.persist.to_bytes(encoder)
    >>> len(data) < 20_000, lt.persist.from_bytes(data).encode(X) == encoder.encode(X)
    (True, True)
    """
    return b"".join(_pieces(object, weights, None))


def _pieces(object: Any, weights: WeightForm, metadata: dict[str, Any] | None) -> list[Bytes]:
    """Return the bytes of a file in pieces."""
    kind = kind_of(object)
    spec, arrays = object.to_state() if isinstance(object, Codes) else object._state()
    header = {"kind": kind, "spec": spec, "writer": f"lowtide {__version__}"}
    if "weights" in arrays:
        header["weights"] = arrays["weights"].dtype.name
        arrays = {**arrays, **pack_weights(arrays["weights"], weights)}
    elif weights != "float32":
        raise fail("save", f"weights must be left out for {kind}, which has none", weights)
    if metadata is not None:
        header["metadata"] = check_metadata(metadata)
    return pack(header, arrays)
