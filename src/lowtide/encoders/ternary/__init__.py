"""Ternary random features.

`spread`: mean and tau of the training rows. `thresholds`: where a sum turns into a plus or a minus. `trits`: rows to
packed trits. `estimation`: kernel values and their limits. `state`: what a file keeps. `features`: the encoder.
"""

from lowtide.encoders.ternary.features import TernaryFeatures
from lowtide.encoders.ternary.spread import Spread
from lowtide.encoders.ternary.thresholds import Thresholds

__all__ = ["Spread", "TernaryFeatures", "Thresholds"]
