"""WHAT is done to a projection: the periodic functions of its phase."""

from lowtide.maps.base import N_HARMONICS, Arcsine, Cosine, CosSin, Density, FeatureMap, Moments, Normal, SharedRounding
from lowtide.spec import Registry

__all__ = [
    "FEATURE_MAPS",
    "N_HARMONICS",
    "Arcsine",
    "CosSin",
    "Cosine",
    "Density",
    "FeatureMap",
    "Moments",
    "Normal",
    "SharedRounding",
]

FEATURE_MAPS: Registry[FeatureMap] = Registry("feature_map", FeatureMap, {"cos_sin": CosSin, "cosine": Cosine})
