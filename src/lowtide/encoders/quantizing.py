"""What encoders do alike with the quantizer that a user names."""

from __future__ import annotations

from copy import copy

from lowtide._checks import check_integer, fail
from lowtide.maps import FeatureMap
from lowtide.quantizers import DrawnQuantizer, Quantizer, quantizer_by_name

__all__ = ["count_levels", "resolve_quantizer"]


def resolve_quantizer(owner: str, bits: int | None, quantizer: str | Quantizer) -> Quantizer | None:
    """Return the quantizer with its bits, or None when there is no coded side."""
    if bits is None:
        return None
    if isinstance(quantizer, Quantizer):
        return copy(quantizer)
    check_integer(owner, "bits", bits, 1, 8, "For float features alone: bits=None.")
    return quantizer_by_name(quantizer, bits)


def count_levels(
    owner: str, spec: Quantizer | None, quantizer: DrawnQuantizer | None, feature_map: FeatureMap, n_components: int
) -> int:
    """Return the levels of a row: a level holds one component, or both of a frequency."""
    if quantizer is None:
        return 0
    per_level = feature_map.width // len(quantizer.shifts)
    if n_components % per_level:
        need = f"n_components must be a multiple of {per_level} with {spec!r}"
        raise fail(owner, need, n_components)
    return n_components // per_level
