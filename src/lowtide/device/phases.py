"""Random Fourier features on the Hadamard layout, as C."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import fail
from lowtide.codes import stored_bits
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
    if projection.signs is None:
        remedy = "Fit with projection='hadamard'. A dense W takes d x m floats, and its sums round as BLAS pleases."
        raise fail("export_c", "RandomFeatures must be on the Hadamard layout", encoder._layout, remedy)
    n_blocks, _, dimension = projection.signs.shape
    scale, scale_of = _scales(projection.scale)
    offset, offset_of = _offsets(encoder._offset)
    rule_tables, rule = _rule(quantizer)
    signs = Table("signs", projection.arrays()["signs"], "Signs, 1 for minus: by block, S1, S2 and S3 of each.")
    phase = filled("turns.c", scale_of=scale_of, offset_of=offset_of) + rule + _put(names["stored_bits"])
    source = filled(
        "hadamard.c",
        **names,
        dimension=dimension,
        n_blocks=n_blocks,
        n_frequencies=projection.n_frequencies,
        width=len(quantizer.shifts),
        shifts=", ".join(c_float(shift) for shift in quantizer.shifts),
        phase=phase,
    )
    headers = frozenset({"float.h", "string.h"} if scale.values.dtype == np.uint16 else {"float.h"})
    return Part((signs, scale, offset, *rule_tables), source, headers, code_bytes=800, work_bytes=4 * dimension + 128)


def put_source(bits: int) -> str:
    """Return the function that writes a level; a level of three bits may lie across two bytes."""
    return _put(bits)


def _step_quantizer(encoder: RandomFeatures) -> PhaseSteps:
    quantizer = encoder._coded_side()
    if not isinstance(quantizer, PhaseSteps):
        remedy = "Use 'lloyd_max', 'uniform' or 'phase'."
        raise fail("export_c", "the quantizer's levels must be steps of the phase", encoder.quantizer_spec_, remedy)
    return quantizer


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
            f"    const uint32_t bits = {least}u + ((uint32_t)scales[j] << 8);\n"
            "    float value;\n    memcpy(&value, &bits, sizeof value);\n    return value;\n}\n"
        )
    table = Table("scales", scale, "Lengths of the frequencies.")
    return table, "static float scale_of(uint32_t j)\n{\n    return scales[j];\n}\n"


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


def _put(bits: int) -> str:
    across = "\n    if ((bit & 7) > 5) code[(bit >> 3) + 1] = (uint8_t)(level >> (8 - (bit & 7)));"
    return filled("put.c", stored_bits=bits, across=across if bits == stored_bits(3) else "")
