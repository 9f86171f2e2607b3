"""Encoders as C: each a part with the tables and functions that write a code.

`hadamard`: the projection, for `phases` (RandomFeatures) and `lines` (Sketch). `ternary`: TernaryFeatures, on integers.
`seeded`: what a seed gives, drawn again on the device.
"""

from lowtide.device.encoding.lines import line_part
from lowtide.device.encoding.phases import phase_part
from lowtide.device.encoding.ternary import ternary_part

__all__ = ["line_part", "phase_part", "ternary_part"]
