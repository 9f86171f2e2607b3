"""Sketches on the Hadamard layout, as C."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lowtide._checks import fail
from lowtide.device.encoding.hadamard import hadamard_part
from lowtide.device.packing import put_source
from lowtide.device.text import Part, Table, filled
from lowtide.encoders import Sketch

__all__ = ["line_part"]

_ONE_BIT = "    return !(u < 0.0f);"
_MANY_BITS = """    const float size = u < 0.0f ? -u : u;
    uint32_t low = 0, high = {n}u;
    while (low < high) {{
        const uint32_t middle = (low + high) / 2;
        if (borders[middle] <= size) low = middle + 1;
        else high = middle;
    }}
    return u < 0.0f ? {n}u - low : {n}u + 1 + low;"""


def line_part(encoder: Sketch, names: dict[str, Any]) -> Part:
    """Return what encodes a normalized row; its length is summed in double and rooted without libm.

    Parameters
    ----------
    encoder : Sketch, fitted
        On the Hadamard layout, without norms beside the codes.
    names : dict
        What every template knows: `p`, `P`, `input_type`, `stored_bits`.
    """
    if encoder._store_norms:
        remedy = "A code is all that a device gives."
        raise fail("export_c", "a sketch must be without norms: store_norms=False", True, remedy)
    layout = hadamard_part(encoder, encoder.projection_, names)
    # Projections come in turns, so the borders do.
    borders = (encoder.steps_.borders / (2 * math.pi)).astype(np.float32)
    tables, count = [*layout.tables], _ONE_BIT
    if len(borders):
        tables.append(Table("borders", borders, "Positive borders of the levels, in turns."))
        count = _MANY_BITS.format(n=len(borders))
    encode = filled("norm.c", **names) + put_source(names) + filled("line_encode.c", **names, count=count)
    return Part(
        tuple(tables),
        layout.source + encode,
        layout.headers,
        code_bytes=layout.code_bytes + 700,
        work_bytes=layout.work_bytes + 256,
    )
