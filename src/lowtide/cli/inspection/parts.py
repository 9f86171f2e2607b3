"""Which part of an object an array of a file belongs to."""

from __future__ import annotations

from typing import Any

__all__ = ["sizes_by_part"]

# By the last word of an array's name, or by the one before for what a projection calls its own.
_PARTS = {
    "weights": "weights",
    "weights_scale": "weights",
    "intercept": "weights",
    "projection": "frequencies",
    "offset": "dither",
    "left_offset": "dither",
    "packed": "packed rows",
    "norms": "norms",
    "codebook": "codebook",
    "scale": "column factors",
    "mean": "thresholds",
    "map": "thresholds",
    "upper": "thresholds",
    "lower": "thresholds",
}


def sizes_by_part(content: dict[str, Any]) -> dict[str, int]:
    """Return bytes by part, the largest first, the header last.

    Parameters
    ----------
    content : dict
        As `lowtide.persist.describe` returns it.

    Examples
    --------
    >>> arrays = {"weights": {"bytes": 8}, "features.projection.signs": {"bytes": 24}}
    >>> sizes_by_part({"arrays": arrays, "header_bytes": 100})
    {'frequencies': 24, 'weights': 8, 'header': 100}
    """
    sizes: dict[str, int] = {}
    for name, entry in content["arrays"].items():
        words = name.split(".")
        part = next((_PARTS[word] for word in words if word in _PARTS), "other")
        sizes[part] = sizes.get(part, 0) + int(entry["bytes"])
    return {**dict(sorted(sizes.items(), key=lambda item: -item[1])), "header": int(content["header_bytes"])}
