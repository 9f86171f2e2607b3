"""WHAT is done to a projection: the periodic functions of its phase."""

from lowtide.maps.base import N_HARMONICS, Cosine, CosSin, FeatureMap, Moments
from lowtide.maps.density import Arcsine, Density, Normal
from lowtide.spec import Registry

__all__ = ["FEATURE_MAPS", "N_HARMONICS", "Arcsine", "CosSin", "Cosine", "Density", "FeatureMap", "Moments", "Normal"]

FEATURE_MAPS: Registry[FeatureMap] = Registry("feature_map", FeatureMap, {"cos_sin": CosSin, "cosine": Cosine})
