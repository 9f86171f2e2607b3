"""What is kept in a file beside its object."""

from __future__ import annotations

import json
from typing import Any

from lowtide._checks import fail
from lowtide.errors import FileFormatError
from lowtide.persist.whole_file import PathLike, read

__all__ = ["check_metadata", "read_metadata"]


def read_metadata(path: PathLike) -> dict[str, Any]:
    """Return the metadata that a file was saved with, empty when there are none; the object is not built.

    Parameters
    ----------
    path : str or path-like

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> import lowtide as lt
    >>> encoder = lt.RandomFeatures(n_components=128, random_state=0).fit(np.eye(5))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "encoder.lowtide")
    ...     lt.save(encoder, path, metadata={"made of": "unit vectors"})
    ...     lt.persist.read_metadata(path)
    {'made of': 'unit vectors'}
    """
    metadata = read(path, mapped=True).header.get("metadata", {})
    if not isinstance(metadata, dict):
        raise FileFormatError(f"{str(path)!r} must have a dict of metadata, got {type(metadata).__name__}.")
    return metadata


def check_metadata(metadata: Any) -> dict[str, Any]:
    """Return metadata that a file gives back as they are, or refuse them."""
    try:
        kept = json.loads(json.dumps(metadata, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise fail("save", "metadata must be what JSON holds", metadata, f"{error}.") from error
    if not isinstance(metadata, dict) or kept != metadata:
        remedy = "Use a dict with texts for keys, and lists, not tuples."
        raise fail("save", "metadata must come back from JSON as they are", metadata, remedy)
    return kept
