"""Random Fourier features on the Hadamard layout, as C."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import fail
from lowtide.device.hadamard import hadamard_part
from lowtide.device.packing import put_source
from lowtide.device.text import Part, Table, c_float, filled
from lowtide.encoders import RandomFeatures
from lowtide.quantizers import PhaseSteps

__all__ = ["phase_part"]

_STEP_24 = np.float32(2.0**-24)


def phase_part(encoder: RandomFeatures, names: dict[str, Any]) -> Part:
    """Return what encodes a row in float32, in the order of additions that decides every bit.

    Parameters
    ----------
    encoder : RandomFeatures, fitted
        On the Hadamard layout, with a quantizer whose levels are steps of the phase.
    names : dict
        What every template knows: `p`, `P`, `input_type`, `stored_bits`.
    """
    projection, quantizer = encoder.projection_, _step_quantizer(encoder)
    layout = hadamard_part(encoder, projection, names)
    offset, offset_of = _offsets(encoder._offset)
    rule_tables, rule = _rule(quantizer)
    encode = filled(
        "phase_encode.c",
        **names,
        width=len(quantizer.shifts),
        shifts=", ".join(c_float(shift) for shift in quantizer.shifts),
    )
    source = filled("turns.c", offset_of=offset_of) + rule + put_source(names) + encode
    return Part(
        (*layout.tables, offset, *rule_tables),
        layout.source + source,
        layout.headers,
        code_bytes=layout.code_bytes + 400,
        work_bytes=layout.work_bytes,
    )


def _step_quantizer(encoder: RandomFeatures) -> PhaseSteps:
    quantizer = encoder._coded_side()
    if not isinstance(quantizer, PhaseSteps):
        remedy = "Use 'lloyd_max', 'uniform' or 'phase'."
        raise fail("export_c", "the quantizer's levels must be steps of the phase", encoder.quantizer_spec_, remedy)
    return quantizer


def _offsets(offset: NDArray[np.float32]) -> tuple[Table, str]:
    """Return the dither, in three bytes each where it is whole multiples of 2^-24."""
    steps = (offset / _STEP_24).astype(np.uint32)
    if np.array_equal(steps.astype(np.float32) * _STEP_24, offset):
        three = np.ascontiguousarray(steps.astype("<u4").view(np.uint8).reshape(-1, 4)[:, :3])
        return Table("offsets", three, "Dither in turns, times 2^24, three bytes each."), (
            "static float offset_of(uint32_t j)\n{\n    const uint8_t *o = offsets + 3 * j;\n"
            "    return (float)(int32_t)(o[0] | ((uint32_t)o[1] << 8) | ((uint32_t)o[2] << 16)) "
            "* 5.9604644775390625e-8f;\n}\n"
        )
    table = Table("offsets", offset, "Dither in turns.")
    return table, "static float offset_of(uint32_t j)\n{\n    return offsets[j];\n}\n"


def _rule(quantizer: PhaseSteps) -> tuple[tuple[Table, ...], str]:
    """Return how a place in a turn becomes a level: one comparison, or a search among borders."""
    borders, table, even = quantizer.borders, quantizer.table, quantizer.even
    part = filled("fold.c" if even else "floor.c")
    if len(borders) == 1:
        compare = "<=" if even else ">="
        values = {"compare": compare, "border": c_float(borders[0]), "inside": table[1], "outside": table[0]}
        return (), part + filled("one_border.c", **values)
    # Even quantizers count borders at or beyond the place, all but those before it.
    by_count = table[::-1] if even else table
    tables, result = [Table("borders", borders, "Borders of the levels, in turns.")], "levels[low]"
    if np.array_equal(table, np.arange(len(table))):
        result = f"{len(borders)}u - low" if even else "low"
    else:
        tables.append(Table("levels", np.ascontiguousarray(by_count), "Levels by the number of borders passed."))
    words = {
        "passed": "before" if even else "at or before",
        "through": "" if result != "levels[low]" else " and a table",
    }
    compare = "<" if even else "<="
    return tuple(tables), part + filled("borders.c", n_borders=len(borders), compare=compare, result=result, **words)
