"""WHAT is done to a projection: the periodic functions of its phase."""

from lowtide.maps.base import FeatureMap
from lowtide.maps.cos_sin import CosSin
from lowtide.maps.cosine import Cosine
from lowtide.maps.density import Arcsine, Density, Normal
from lowtide.maps.moments import N_HARMONICS, Moments
from lowtide.spec import Registry

__all__ = ["FEATURE_MAPS", "N_HARMONICS", "Arcsine", "CosSin", "Cosine", "Density", "FeatureMap", "Moments", "Normal"]

FEATURE_MAPS: Registry[FeatureMap] = Registry("feature_map", FeatureMap, {"cos_sin": CosSin, "cosine": Cosine})
