"""The Hadamard layout as C: signs, fast transforms and lengths."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import fail
from lowtide.device.text import Part, Table, filled
from lowtide.projections import DrawnProjection, HadamardProjection

__all__ = ["hadamard_part"]


def hadamard_part(encoder: Any, projection: DrawnProjection, names: dict[str, Any]) -> Part:
    """Return what projects a row, a block at a time, and the length of each frequency.

    Parameters
    ----------
    encoder : RandomFeatures or Sketch
    projection : DrawnProjection
        The encoder's; refused unless it is on the Hadamard layout.
    names : dict
        What every template knows.
    """
    if not isinstance(projection, HadamardProjection):
        remedy = "Fit with projection='hadamard'. A dense W takes four bytes of flash a column and frequency."
        raise fail("export_c", f"{type(encoder).__name__} must be on the Hadamard layout", encoder._layout, remedy)
    n_blocks, _, dimension = projection.signs.shape
    scale, scale_of = _scales(projection.scale)
    signs = Table("signs", projection.arrays()["signs"], "Signs, 1 for minus: by block, S1, S2 and S3 of each.")
    shape = {"dimension": dimension, "n_blocks": n_blocks, "n_frequencies": projection.n_frequencies}
    source = filled("hadamard.c", **names, **shape, scale_of=scale_of)
    return Part((signs, scale), source, frozenset({"float.h"}), code_bytes=400, work_bytes=4 * dimension + 128)


def _scales(scale: NDArray[np.float32]) -> tuple[Table, str]:
    """Return the lengths, in two bytes each where they span less than a factor of four.

    They are rounded to 16 significant bits: the low 8 bits of a float are zeros, and positive floats are in the order
    of their bits.
    """
    bits = scale.view(np.uint32)
    least = int(bits.min())
    steps = (bits - np.uint32(least)) >> np.uint32(8)
    if bits.max() - least < 1 << 24 and np.array_equal((steps << np.uint32(8)) + np.uint32(least), bits):
        table = Table("scales", steps.astype(np.uint16), "Lengths of the frequencies, as the bits of floats.")
        return table, (
            "static float scale_of(uint32_t j)\n{\n"
            "    union {\n        uint32_t bits;\n        float value;\n    } scale;\n"
            f"    scale.bits = {least}u + ((uint32_t)scales[j] << 8);\n"
            "    return scale.value;\n}\n"
        )
    table = Table("scales", scale, "Lengths of the frequencies.")
    return table, "static float scale_of(uint32_t j)\n{\n    return scales[j];\n}\n"
