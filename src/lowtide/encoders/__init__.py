"""The transformers, each with a full and a coded side; what a fit draws is one frozen value."""

from lowtide.encoders.activation import ActivationFeatures, DrawnActivation
from lowtide.encoders.asymmetric import AsymmetricFeatures, DrawnAsymmetric
from lowtide.encoders.codebooks import (
    DitheredCosines,
    dithered_codes,
    fourier_codebook,
    fourier_codes,
    linear_codes,
    steps_of_codes,
)
from lowtide.encoders.encoder import DrawnEncoder, Encoder, check_identity, drawn_from_state
from lowtide.encoders.learned import DrawnLearned, LearnedFeatures
from lowtide.encoders.measures import RowMeasures
from lowtide.encoders.nearest import Found
from lowtide.encoders.nystroem import AsymmetricNystroem
from lowtide.encoders.random_features import DrawnFeatures, RandomFeatures
from lowtide.encoders.reading import FourierReading
from lowtide.encoders.rows import dense_rows, is_plain, row_keys, row_keys_of, some_rows
from lowtide.encoders.sketch import DrawnSketch, Sketch
from lowtide.encoders.ternary import DrawnTernary, TernaryFeatures
from lowtide.encoders.trits import Spread, Thresholds, Trits
from lowtide.encoders.vectors import DrawnVectorCodes, VectorCodes

__all__ = [
    "ENCODERS",
    "ActivationFeatures",
    "AsymmetricFeatures",
    "AsymmetricNystroem",
    "DitheredCosines",
    "DrawnActivation",
    "DrawnAsymmetric",
    "DrawnEncoder",
    "DrawnFeatures",
    "DrawnLearned",
    "DrawnSketch",
    "DrawnTernary",
    "DrawnVectorCodes",
    "Encoder",
    "Found",
    "FourierReading",
    "LearnedFeatures",
    "RandomFeatures",
    "RowMeasures",
    "Sketch",
    "Spread",
    "TernaryFeatures",
    "Thresholds",
    "Trits",
    "VectorCodes",
    "check_identity",
    "dense_rows",
    "dithered_codes",
    "drawn_from_state",
    "fourier_codebook",
    "fourier_codes",
    "is_plain",
    "linear_codes",
    "row_keys",
    "row_keys_of",
    "some_rows",
    "steps_of_codes",
]

_ENCODERS: tuple[type[Encoder], ...] = (
    RandomFeatures,
    Sketch,
    TernaryFeatures,
    ActivationFeatures,
    AsymmetricFeatures,
    LearnedFeatures,
    VectorCodes,
)
# What a file may name as an encoder.
ENCODERS: dict[str, type[Encoder]] = {cls.__name__: cls for cls in _ENCODERS}
