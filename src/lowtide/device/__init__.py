"""C99 for the smallest device: encode a row, and decide, without heap, libm or a library.

`text`: numbers, names and tables as C. `packing`: levels in and out of a code. `encoding`: encoders. `decision`: scores
and classes from a code. `comment`: what the header says. `export`: all in one header and one source. The C itself is in
`templates`.
"""

from lowtide.device.decision import Decision
from lowtide.device.export import DeviceCode, export_c
from lowtide.device.text import name_from

__all__ = ["Decision", "DeviceCode", "export_c", "name_from"]
