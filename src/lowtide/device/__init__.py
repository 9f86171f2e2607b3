"""C99 for the smallest device: encode a row, and decide, without heap, libm or a library.

`text`: numbers, names and tables as C. `recipe`: features of a row of a table. `encoding`: encoders. `weights` and
`scores`: scores and answers from a code. `export`: all in one header and one source. The C itself is in `templates`.
"""

from lowtide.device.export import DeviceCode, export_c
from lowtide.device.scores import ScoreTables
from lowtide.device.text import name_from

__all__ = ["DeviceCode", "ScoreTables", "export_c", "name_from"]
