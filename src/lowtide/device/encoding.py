"""Encoders as C: each a part with the tables and functions that write a code."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import fail
from lowtide.device.text import Part, Table, c_number, filled, narrowed, put_source
from lowtide.encoders import (
    DrawnEncoder,
    DrawnFeatures,
    DrawnLearned,
    DrawnSketch,
    DrawnTernary,
    FourierReading,
    RowMeasures,
    Trits,
)
from lowtide.errors import ParameterError
from lowtide.projections import Hadamard, HadamardProjection, SparseTernaryProjection
from lowtide.quantizers import PhaseSteps

_STEP_24 = np.float32(2.0**-24)
_LARGEST = {"uint8_t": 255, "int16_t": 32768}
_MOST_TERMS = 65535
_DENSE = "A dense matrix of frequencies would take four bytes of flash for each column and frequency."


def encoder_part(encoder: DrawnEncoder, names: dict[str, Any], favor: str) -> Part:
    """Return what encodes a row, or refuse an encoder that a device cannot run.

    `names` are what every template knows: `p`, `P`, `head`, `input_type`, `stored_bits`. To favor "flash" is to make
    again for every row what was drawn from a seed.
    """
    if isinstance(encoder, DrawnFeatures):
        return _phase_part(encoder, names, favor)
    if isinstance(encoder, DrawnSketch):
        return _line_part(encoder, names)
    if isinstance(encoder, DrawnTernary):
        return _ternary_part(encoder, names, favor)
    if isinstance(encoder, DrawnLearned) and isinstance(encoder.measures, RowMeasures):
        return _field_part(encoder, encoder.measures, names)
    remedy = "Use RandomFeatures, Sketch, TernaryFeatures, or LearnedFeatures of measure='rows'."
    raise fail("export_c", "an encoder must need no more than sums and comparisons on a device", encoder.kind, remedy)


def _phase_part(encoder: DrawnFeatures, names: dict[str, Any], favor: str) -> Part:
    """Return what encodes a row in float32, in the order of additions that decides every bit."""
    quantizer = encoder.coded_by
    if not isinstance(quantizer, PhaseSteps):
        remedy = "Use 'lloyd_max', 'uniform' or 'phase'."
        raise fail("export_c", "the quantizer's levels must be steps of the phase", encoder.quantizer_spec, remedy)
    layout = _hadamard_part(encoder, names)
    offsets, start, one = (_drawn_offsets(encoder) if favor == "flash" else None) or _kept_offsets(encoder.offset)
    tables, rule = _rule(quantizer)
    shifts = {"width": len(quantizer.shifts), "shifts": ", ".join(map(c_number, quantizer.shifts))}
    skip = "" if encoder.kept is None else "if (!is_kept(block, i)) continue;\n            "
    encode = filled("phase_encode.c", **names, **shifts, start=start, offset=one, skip=skip)
    return layout + offsets + Part(tables, filled("turns.c") + rule + put_source(names) + encode, code_bytes=400)


def _drawn_offsets(encoder: DrawnFeatures) -> tuple[Part, str, str] | None:
    """Return the dither drawn again: C, a declaration within the encoder, what gives that of the next frequency j.

    None where the seed is not known, or does not give it.
    """
    stream = encoder.dither_stream
    if stream is None:
        return None
    words, state = _pcg64_source(stream)
    again = np.random.Generator(stream).random(len(encoder.offset), dtype=np.float32)
    if not np.array_equal(again, encoder.offset):
        return None
    part = Part((), words + filled("dither.c"), code_bytes=350, work_bytes=64)
    return part, f"\n    Dither dither = {{{state}, 0}};", "next_offset(&dither, j)"


def _kept_offsets(offset: NDArray[np.float32]) -> tuple[Part, str, str]:
    """Return the dither as a table, in three bytes each where it is whole multiples of 2^-24."""
    steps = (offset / _STEP_24).astype(np.uint32)
    if np.array_equal(steps.astype(np.float32) * _STEP_24, offset):
        three = np.ascontiguousarray(steps.astype("<u4").view(np.uint8).reshape(-1, 4)[:, :3])
        table = Table("offsets", three, "Dither in turns, times 2^24, three bytes each.")
        return Part((table,), filled("offsets.c")), "", "offset_of(j)"
    return Part((Table("offsets", offset, "Dither in turns."),), ""), "", "offsets[j]"


def _rule(quantizer: PhaseSteps) -> tuple[tuple[Table, ...], str]:
    """Return how a place in a turn becomes a level: one comparison, or a search among borders."""
    borders, table, even = quantizer.borders, quantizer.table, quantizer.even
    part = filled("fold.c" if even else "floor.c")
    if len(borders) == 1:
        compare = "<=" if even else ">="
        values = {"compare": compare, "border": c_number(borders[0]), "inside": table[1], "outside": table[0]}
        return (), part + filled("one_border.c", **values)
    tables = [Table("borders", borders, "Borders of the levels, in turns.")]
    result, through = "levels[low]", " and a table"
    if np.array_equal(table, np.arange(len(table))):
        result, through = (f"{len(borders)}u - low" if even else "low"), ""
    else:
        # Even quantizers count borders at or beyond the place, all but those before it.
        by_count = np.ascontiguousarray(table[::-1] if even else table)
        tables.append(Table("levels", by_count, "Levels by the number of borders passed."))
    words = {"passed": "before", "compare": "<"} if even else {"passed": "at or before", "compare": "<="}
    return tuple(tables), part + filled("borders.c", n_borders=len(borders), result=result, through=through, **words)


def _line_part(encoder: DrawnSketch, names: dict[str, Any]) -> Part:
    """Return what encodes a normalized row; its length is summed in double and rooted without libm."""
    if encoder.store_norms:
        remedy = "A code is all that a device gives."
        raise fail("export_c", "a sketch must be without norms: store_norms=False", True, remedy)
    if encoder.steps.mirrored is None:
        need = "the steps of a sketch must be 2^b levels that mirror each other about a border at 0"
        raise fail("export_c", need, encoder.quantizer, "Choose such steps.")
    # Projections come in turns, so the borders do.
    borders = (encoder.steps.mirrored / (2 * math.pi)).astype(np.float32)
    tables = (Table("borders", borders, "Positive borders of the levels, in turns."),) if borders.size else ()
    count = filled("many_borders.c" if tables else "sign.c", n=borders.size)
    encode = filled("norm.c", **names) + put_source(names) + filled("line_encode.c", **names, count=count)
    return _hadamard_part(encoder, names) + Part(tables, encode, code_bytes=700, work_bytes=256)


def _hadamard_part(encoder: DrawnFeatures | DrawnSketch, names: dict[str, Any]) -> Part:
    """Return what projects a row, a block at a time, and the length of each frequency."""
    projection = encoder.projection
    if isinstance(encoder.layout, Hadamard) and not isinstance(projection, HadamardProjection):
        must = "a metric must be None or a factor per column to be exported"
        remedy = "Fit with metric=None or metric='diagonal' (--metric none, --metric diagonal). " + _DENSE
        raise ParameterError(f"export_c: {must}, got a matrix, which 'auto' may choose. {remedy}")
    if not isinstance(projection, HadamardProjection):
        remedy = "Fit with projection='hadamard'. " + _DENSE
        raise fail("export_c", f"{encoder.kind} must be on the Hadamard layout", encoder.layout, remedy)
    n_blocks, _, dimension = projection.layout.shape
    scale, scale_of = _scales(projection.scale)
    factors, entry = _factors(projection.factors)
    places, is_kept = _kept_outputs(projection)
    kept = projection.arrays()
    signs = Table("signs", kept["signs"], "Signs, 1 for minus: by block, S1 and S3 of each.")
    angles = Table("angles", kept["angles"], "Angles of the rotations, in 256ths of a turn, each half a step on.")
    cosines = Table("cosines", projection.cosines, "Cosines of the angles of a quarter; backwards, the sines.")
    shape = {"dimension": dimension, "n_blocks": n_blocks, "n_frequencies": projection.n_frequencies}
    source = filled("hadamard.c", **names, **shape, entry=entry, scale_of=is_kept + scale_of)
    tables = (signs, angles, cosines, scale, *factors, *places)
    return Part(tables, source, code_bytes=560, work_bytes=4 * dimension + 128)


def _factors(factors: NDArray[np.float32] | None) -> tuple[tuple[Table, ...], str]:
    """Return the factors of the columns, where there are any, and an entry of a row times its own."""
    if factors is None:
        return (), "(float)x[i]"
    return (Table("factors", factors, "Factors of the columns."),), "rounded_product((float)x[i], factors[i])"


def _kept_outputs(projection: HadamardProjection) -> tuple[tuple[Table, ...], str]:
    """Return which outputs of the blocks are frequencies, a bit each where not all are, and what asks for one."""
    if projection.outputs is None:
        return (), ""
    is_kept = np.zeros(projection.layout[:, 0].size, dtype=np.uint8)
    is_kept[projection.outputs] = 1
    bits = np.packbits(is_kept, bitorder="little")
    return (Table("kept", bits, "Outputs of the blocks that are frequencies, a bit each."),), filled("some_kept.c")


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
        return table, filled("scale_of.c", least=least)
    return Table("scales", scale, "Lengths of the frequencies."), filled("scale_as_is.c")


def _field_part(encoder: DrawnLearned, measures: RowMeasures, names: dict[str, Any]) -> Part:
    """Return what encodes a row by sums of products, each rounded once, and comparisons."""
    steps = encoder.steps
    tables = (
        Table("directions", np.ascontiguousarray(measures.projection.matrix.T), "Directions, one after the other."),
        Table("center", measures.center, "What is subtracted from each sum."),
        Table("field_bits", np.array(steps.bits, dtype=np.uint8), "Bits of each level of a code."),
        Table("field_borders", steps.borders, "Borders of the levels of each field."),
    )
    encode = filled("field_encode.c", **names, n_fields=measures.n_fields)
    return Part(tables, filled("fused.c") + encode, code_bytes=500, work_bytes=128)


def reading_part(encoder: DrawnEncoder, names: dict[str, Any], favor: str) -> Part | None:
    """Return what makes features of a code before it is scored; None where the code is what is scored."""
    if not isinstance(encoder, DrawnLearned) or not isinstance(encoder.reading, FourierReading):
        return None
    reader, mix, P = encoder.reading.drawn, encoder.reading.mix, f"{names['P']}_READ"
    n_levels, stored, n_bytes = reader.required_template.packing
    own = {"P": P, "input_type": "float", "stored_bits": stored}
    own["head"] = "static int encode_features_read(const float *x, uint8_t *code)"
    sizes = {"FEATURES": reader.n_features, "LEVELS": n_levels, "CODE_BYTES": n_bytes}
    defined = "\n" + "".join(f"#define {P}_{name} {size}\n" for name, size in sizes.items())
    values = Table("field_values", encoder.steps.values, "What the levels of each field decode to.")
    tables: tuple[Table, ...] = (values,)
    if mix is not None:
        tables += (Table("mix", mix.matrix, "What makes coordinates those of rows."),)
    mixed = "    decode_fields(packed, z);\n" if mix is None else filled("field_mix.c")
    read = filled("field_decode.c"), filled("field_read.c", mixed=mixed)
    start = Part((), defined)
    features = _phase_part(reader, {**names, **own}, favor)
    work = n_bytes + 8 * reader.n_features + 128
    return start + features + Part(tables, "".join(read), code_bytes=500, work_bytes=work)


def _ternary_part(encoder: DrawnTernary, names: dict[str, Any], favor: str) -> Part:
    """Return what encodes a row of integers by sums and comparisons alone."""
    largest = _LARGEST.get(names["input_type"])
    if largest is None:
        remedy = "Sums of integers are exact on every machine. Take input='int16' or 'uint8'."
        raise fail("export_c", "TernaryFeatures must have integers as input", names["input_type"], remedy)
    drawn = encoder.projection
    if drawn.most_terms > _MOST_TERMS:
        raise fail("export_c", f"sums must have at most {_MOST_TERMS} terms of a sign", drawn.most_terms)
    sums, start, one = _from_seed(encoder, names) if favor == "flash" else _from_lists(drawn, names)
    encode = filled("ternary.c", **names, start=start, sum=one, **_comparisons(encoder.trits))
    limits = Part(_thresholds(encoder, largest * drawn.most_terms), "")
    return limits + sums + Part((), put_source(names) + encode, code_bytes=280, work_bytes=128)


def _comparisons(trits: Trits) -> dict[str, str]:
    """Return when a sum is trit 1, and what else it may be."""
    if trits.between:
        return {"plus": "sum >= lower[j] && sum <= upper[j]", "minus": ""}
    if trits.below == trits.above:
        return {"plus": "sum > upper[j] || sum < lower[j]", "minus": ""}
    return {"plus": "sum > upper[j]", "minus": "\n        else if (sum < lower[j]) put(code, j, 2);"}


def _thresholds(encoder: DrawnTernary, reach: int) -> tuple[Table, Table]:
    """Return thresholds within the reach of the sums, in 16 bits where they fit."""
    limits = [np.clip(side.astype(np.int64), -reach - 1, reach + 1) for side in encoder.thresholds.for_integers]
    fits = max(int(np.abs(side).max()) for side in limits) <= np.iinfo(np.int16).max
    upper, lower = (side.astype(np.int16 if fits else np.int32) for side in limits)
    return Table("upper", upper, "Upper thresholds of the sums."), Table("lower", lower, "Lower thresholds.")


def _from_seed(encoder: DrawnTernary, names: dict[str, Any]) -> tuple[Part, str, str]:
    """Return sums over words that follow from the seed, the declaration of where they are, and one sum."""
    words, state = _pcg64_source(np.random.PCG64(encoder.seed))
    sums = filled("seeded_sums.c", **names, half=round(encoder.projection.density * 2**31))
    return Part((), words + sums, code_bytes=320), f"State state = {state};", "sum_of(x, &state)"


def _from_lists(drawn: SparseTernaryProjection, names: dict[str, Any]) -> tuple[Part, str, str]:
    """Return the same of lists of columns by output: those that are added, then those that are subtracted."""
    signs = drawn.signs().tocsr()
    signs.sort_indices()
    output = np.repeat(np.arange(drawn.n_outputs), np.diff(signs.indptr))
    order = np.lexsort((signs.indices, signs.data < 0, output))
    counts = np.bincount(2 * output + (signs.data < 0), minlength=2 * drawn.n_outputs)
    columns = narrowed(signs.indices[order])
    tables = (
        Table("counts", narrowed(counts), "Columns added and subtracted, a pair an output."),
        Table("columns", columns, "Columns of each sum: those added, then those subtracted."),
    )
    kind = "uint8_t" if columns.dtype == np.uint8 else "uint16_t"
    part = Part(tables, filled("lists.c", **names, column_type=kind))
    return part, f"const {kind} *next = columns;", "sum_of(x, j, &next)"


def _pcg64_source(stream: np.random.PCG64) -> tuple[str, str]:
    """Return numpy's PCG64 in C, and a stream's state as the initializer of a `State`: what it gave is drawn again."""
    state = stream.state["state"]
    (high, low), (more, less) = (divmod(int(state[key]), 1 << 64) for key in ("state", "inc"))
    return filled("pcg64.c", increment_high=hex(more), increment_low=hex(less)), f"{{{high:#x}u, {low:#x}u}}"
