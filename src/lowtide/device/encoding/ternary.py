"""Ternary features on integers, as C."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import fail
from lowtide.device.encoding.seeded import pcg64_source
from lowtide.device.packing import put_source
from lowtide.device.text import Part, Table, filled
from lowtide.encoders import TernaryFeatures
from lowtide.projections import SparseTernaryProjection

__all__ = ["ternary_part"]

_LARGEST = {"uint8_t": 255, "int16_t": 32768}
_MOST_TERMS = 65535


def ternary_part(encoder: TernaryFeatures, names: dict[str, Any], favor: str) -> Part:
    """Return what encodes a row of integers by sums and comparisons alone.

    Parameters
    ----------
    encoder : TernaryFeatures, fitted
    names : dict
        What every template knows: `p`, `P`, `input_type`, `stored_bits`.
    favor : {"flash", "time"}
        Make the entries of W again from their seed for every row, or keep them as lists of columns.
    """
    largest = _LARGEST.get(names["input_type"])
    if largest is None:
        remedy = "Sums of integers are exact on every machine. Take input='int16' or 'uint8'."
        raise fail("export_c", "TernaryFeatures must have integers as input", names["input_type"], remedy)
    drawn = encoder.projection_
    if drawn.most_terms > _MOST_TERMS:
        raise fail("export_c", f"sums must have at most {_MOST_TERMS} terms of a sign", drawn.most_terms)
    thresholds = _thresholds(encoder, largest * drawn.most_terms)
    tables, sums, start, one_sum = _from_seed(encoder, names) if favor == "flash" else _from_lists(drawn, names)
    encode = filled("ternary.c", **names, start=start, sum=one_sum, below=1 if encoder._even else 2)
    source = sums + put_source(names) + encode
    code_bytes = 600 if favor == "flash" else 280
    return Part((*thresholds, *tables), source, frozenset(), code_bytes=code_bytes, work_bytes=128)


def _thresholds(encoder: TernaryFeatures, reach: int) -> tuple[Table, Table]:
    """Return thresholds within the reach of the sums, in 16 bits where they fit."""
    limits = [np.clip(side.astype(np.int64), -reach - 1, reach + 1) for side in encoder.thresholds_.for_integers]
    fits = max(int(np.abs(side).max()) for side in limits) <= np.iinfo(np.int16).max
    upper, lower = (side.astype(np.int16 if fits else np.int32) for side in limits)
    return Table("upper", upper, "A sum above is a plus."), Table("lower", lower, "A sum below is a minus.")


def _from_seed(encoder: TernaryFeatures, names: dict[str, Any]) -> tuple[tuple[Table, ...], str, str, str]:
    """Return no table: the words that follow from the seed."""
    words, state = pcg64_source(np.random.PCG64(encoder._seed))
    sums = filled("seeded_sums.c", **names, half=round(encoder.projection_.density * 2**31))
    return (), words + sums, f"State state = {state};", "sum_of(x, &state)"


def _from_lists(drawn: SparseTernaryProjection, names: dict[str, Any]) -> tuple[tuple[Table, ...], str, str, str]:
    """Return lists of columns by output: those that are added, then those that are subtracted."""
    signs = drawn.signs().tocsr()
    signs.sort_indices()
    output = np.repeat(np.arange(drawn.n_outputs), np.diff(signs.indptr))
    order = np.lexsort((signs.indices, signs.data < 0, output))
    counts = np.bincount(2 * output + (signs.data < 0), minlength=2 * drawn.n_outputs)
    columns = _narrow(signs.indices[order], drawn.n_features - 1)
    tables = (
        Table("counts", _narrow(counts, int(counts.max())), "Columns added and subtracted, a pair an output."),
        Table("columns", columns, "Columns of each sum: those added, then those subtracted."),
    )
    kind = "uint8_t" if columns.dtype == np.uint8 else "uint16_t"
    return tables, filled("lists.c", **names, column_type=kind), f"const {kind} *next = columns;", "sum_of(x, j, &next)"


def _narrow(values: NDArray[Any], largest: int) -> NDArray[Any]:
    """Return values as unsigned integers of the least width."""
    return values.astype(np.uint8 if largest < 256 else np.uint16)
