"""What is in a file, without building it."""

from __future__ import annotations

from typing import Any

from lowtide.persist.container import FORMAT
from lowtide.persist.whole_file import PathLike, read

__all__ = ["describe"]


def describe(path: PathLike) -> dict[str, Any]:
    """Return what a file says of itself, after its checksum has been found right; nothing is built.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    dict, ready for JSON
        `format`, `kind`, `writer`, `sha256`; `spec`, parameters and fitted values; `arrays`, with `dtype`, `shape` and
        `bytes` of each; `metadata`, what was saved beside the object; `header_bytes` and `bytes`, of the whole file.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> import lowtide as lt
    >>> encoder = lt.RandomFeatures(n_components=128, random_state=0).fit(np.eye(5))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     lt.save(encoder, os.path.join(folder, "encoder.lowtide"))
    ...     found = lt.persist.describe(os.path.join(folder, "encoder.lowtide"))
    >>> found["format"], found["kind"], found["spec"]["quantizer"]
    ('1', 'RandomFeatures', {'bits': 1, 'type': 'LloydMax'})
    >>> found["arrays"]["projection.signs"]
    {'dtype': 'uint8', 'shape': [24], 'bytes': 24}
    """
    container = read(path, mapped=True)
    arrays: dict[str, dict[str, Any]] = {
        name: {"dtype": array.dtype.name, "shape": list(array.shape), "bytes": array.nbytes}
        for name, array in sorted(container.arrays.items())
    }
    return {
        "format": FORMAT,
        "kind": container.header.get("kind"),
        "writer": container.header.get("writer"),
        "sha256": container.sha256,
        "spec": container.header.get("spec"),
        "arrays": arrays,
        "metadata": container.header.get("metadata", {}),
        "header_bytes": container.text_bytes,
        "bytes": container.text_bytes + sum(array["bytes"] for array in arrays.values()),
    }
