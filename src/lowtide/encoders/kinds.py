"""The encoders that a file may name, and the drawn values that are made of its arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lowtide._later import ByName

if TYPE_CHECKING:
    from lowtide.encoders.drawn.base import DrawnEncoder
    from lowtide.encoders.encoder import Encoder

_DRAWN = {
    "RandomFeatures": "DrawnFeatures",
    "Sketch": "DrawnSketch",
    "TernaryFeatures": "DrawnTernary",
    "ActivationFeatures": "DrawnActivation",
    "AsymmetricFeatures": "DrawnAsymmetric",
    "LearnedFeatures": "DrawnLearned",
    "VectorCodes": "DrawnVectorCodes",
}

ENCODERS: ByName[type[Encoder]] = ByName("lowtide.encoders", {kind: kind for kind in _DRAWN})
DRAWN: ByName[type[DrawnEncoder]] = ByName("lowtide.encoders", _DRAWN)
