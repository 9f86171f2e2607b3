"""The transformers, each with a full and a coded side."""

from lowtide.encoders.base import Encoder
from lowtide.encoders.random_features import RandomFeatures

__all__ = ["Encoder", "RandomFeatures"]
