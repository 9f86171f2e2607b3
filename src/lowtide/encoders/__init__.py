"""The transformers, each with a full and a coded side."""

from lowtide.encoders.asymmetric import AsymmetricFeatures
from lowtide.encoders.base import Encoder
from lowtide.encoders.random_features import RandomFeatures
from lowtide.encoders.state import EstimatorState

__all__ = ["ENCODERS", "AsymmetricFeatures", "Encoder", "EstimatorState", "RandomFeatures"]

# What a file may name as an encoder.
ENCODERS: dict[str, type[Encoder]] = {cls.__name__: cls for cls in (RandomFeatures, AsymmetricFeatures)}
