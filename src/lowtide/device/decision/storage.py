"""How a decision's weights lie in flash and are read there, as C."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lowtide.device.decision.prefix import LONGEST, PrefixCoded
from lowtide.device.decision.weights import WEIGHTS, RoundedWeights, pack_fields
from lowtide.device.text import Table, filled

__all__ = ["WeightCode", "weight_code"]


@dataclass(frozen=True)
class WeightCode:
    """Tables, and a function `next_weight` that reads from a place and moves it.

    Attributes
    ----------
    tables : tuple of Table
    source : str
    may_skip : bool
        Whether the place is a number of weights, so that some can be passed over unread.
    """

    tables: tuple[Table, ...]
    source: str
    may_skip: bool


def weight_code(rounded: RoundedWeights, kind: str, favor: str) -> WeightCode:
    """Return weights side by side, or, to save flash, under a prefix code when that is shorter.

    Parameters
    ----------
    rounded : RoundedWeights
    kind : {"int8", "int6", "int4", "float16"}
    favor : {"flash", "time"}
    """
    weights, what = rounded.weights, f"Weights, {len(rounded.bias)} a feature"
    if kind == "float16":
        table = Table("weights", weights.view(np.uint16), f"{what}, IEEE binary16.")
        return WeightCode((table,), filled("half.c"), may_skip=True)
    if kind == "int8":
        plain = WeightCode((Table("weights", weights, f"{what}."),), filled("bytes.c"), may_skip=True)
    else:
        bits = WEIGHTS[kind]
        table = Table("weights", pack_fields(weights, bits), f"{what}, {bits} bits each.")
        shape = {"weight_bits": bits, "weight_mask": (1 << bits) - 1, "weight_sign": 1 << (bits - 1)}
        plain = WeightCode((table,), filled("fields.c", **shape), may_skip=True)
    if favor == "time":
        return plain
    coded = PrefixCoded.of(weights)
    return _under_prefix_code(coded, what) if coded.nbytes < plain.tables[0].nbytes else plain


def _under_prefix_code(coded: PrefixCoded, what: str) -> WeightCode:
    tables = (
        Table("weights", coded.packed, f"{what}, under a prefix code."),
        Table("words", coded.words, "Words of the code, by the bits that follow."),
    )
    masks = {"word_mask": (1 << LONGEST) - 1, "low_mask": (1 << coded.low) - 1}
    source = filled("prefix.c", longest=LONGEST, low=coded.low, offset=coded.offset, **masks)
    return WeightCode(tables, source, may_skip=False)
