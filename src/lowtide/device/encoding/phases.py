"""Random Fourier features on the Hadamard layout, as C."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import fail
from lowtide.device.encoding.hadamard import hadamard_part
from lowtide.device.encoding.seeded import pcg64_source
from lowtide.device.packing import put_source
from lowtide.device.text import Part, Table, c_float, filled
from lowtide.encoders import RandomFeatures
from lowtide.quantizers import PhaseSteps

__all__ = ["phase_part"]

_STEP_24 = np.float32(2.0**-24)


def phase_part(encoder: RandomFeatures, names: dict[str, Any], favor: str) -> Part:
    """Return what encodes a row in float32, in the order of additions that decides every bit.

    Parameters
    ----------
    encoder : RandomFeatures, fitted
        On the Hadamard layout, with a quantizer whose levels are steps of the phase.
    names : dict
        What every template knows: `p`, `P`, `input_type`, `stored_bits`.
    favor : {"flash", "time"}
        Draw the dither again from its seed for every row, or keep it.
    """
    projection, quantizer = encoder.projection_, _step_quantizer(encoder)
    layout = hadamard_part(encoder, projection, names)
    offsets = (_drawn_offsets(encoder) if favor == "flash" else None) or _kept_offsets(encoder._offset)
    rule_tables, rule = _rule(quantizer)
    encode = filled(
        "phase_encode.c",
        **names,
        width=len(quantizer.shifts),
        shifts=", ".join(c_float(shift) for shift in quantizer.shifts),
        start=offsets.start,
        offset=offsets.one,
    )
    source = offsets.source + filled("turns.c") + rule + put_source(names) + encode
    return Part(
        (*layout.tables, *offsets.tables, *rule_tables),
        layout.source + source,
        layout.headers,
        code_bytes=layout.code_bytes + 400 + offsets.code_bytes,
        work_bytes=layout.work_bytes + offsets.work_bytes,
    )


def _step_quantizer(encoder: RandomFeatures) -> PhaseSteps:
    quantizer = encoder._coded_side()
    if not isinstance(quantizer, PhaseSteps):
        remedy = "Use 'lloyd_max', 'uniform' or 'phase'."
        raise fail("export_c", "the quantizer's levels must be steps of the phase", encoder.quantizer_spec_, remedy)
    return quantizer


@dataclass(frozen=True)
class _Offsets:
    """The dither as C: a declaration within the encoder, and what gives that of frequency j, in their order."""

    tables: tuple[Table, ...]
    source: str
    start: str
    one: str
    code_bytes: int = 0
    work_bytes: int = 0


def _drawn_offsets(encoder: RandomFeatures) -> _Offsets | None:
    """Return the dither drawn again; None where the seed is not known, or does not give it."""
    stream = encoder._dither_stream
    if stream is None:
        return None
    words, state = pcg64_source(stream)
    again = np.random.Generator(stream).random(len(encoder._offset), dtype=np.float32)
    if not np.array_equal(again, encoder._offset):
        return None
    start = f"\n    Dither dither = {{{state}, 0}};"
    return _Offsets((), words + filled("dither.c"), start, "next_offset(&dither, j)", code_bytes=350, work_bytes=64)


def _kept_offsets(offset: NDArray[np.float32]) -> _Offsets:
    """Return the dither as a table, in three bytes each where it is whole multiples of 2^-24."""
    steps = (offset / _STEP_24).astype(np.uint32)
    if np.array_equal(steps.astype(np.float32) * _STEP_24, offset):
        three = np.ascontiguousarray(steps.astype("<u4").view(np.uint8).reshape(-1, 4)[:, :3])
        table = Table("offsets", three, "Dither in turns, times 2^24, three bytes each.")
        return _Offsets((table,), filled("offsets.c"), "", "offset_of(j)")
    return _Offsets((Table("offsets", offset, "Dither in turns."),), "", "", "offsets[j]")


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
