"""The encoders that a file may name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lowtide._later import ByName

if TYPE_CHECKING:
    from lowtide.encoders.encoder import Encoder

ENCODERS: ByName[type[Encoder]] = ByName(
    "lowtide.encoders",
    (
        "RandomFeatures",
        "Sketch",
        "TernaryFeatures",
        "ActivationFeatures",
        "AsymmetricFeatures",
        "LearnedFeatures",
        "VectorCodes",
    ),
)
