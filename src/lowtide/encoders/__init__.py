"""The transformers, each with a full and a coded side."""

from lowtide.encoders.asymmetric import AsymmetricFeatures
from lowtide.encoders.base import Encoder
from lowtide.encoders.random_features import RandomFeatures
from lowtide.encoders.sketch import Sketch, fourier_codebook, fourier_codes, linear_codes
from lowtide.encoders.state import EstimatorState
from lowtide.encoders.ternary import TernaryFeatures
from lowtide.encoders.zero_rows import no_codes

__all__ = [
    "ENCODERS",
    "AsymmetricFeatures",
    "Encoder",
    "EstimatorState",
    "RandomFeatures",
    "Sketch",
    "TernaryFeatures",
    "fourier_codebook",
    "fourier_codes",
    "linear_codes",
    "no_codes",
]

_ENCODERS = (RandomFeatures, Sketch, TernaryFeatures, AsymmetricFeatures)
# What a file may name as an encoder.
ENCODERS: dict[str, type[Encoder]] = {cls.__name__: cls for cls in _ENCODERS}
