"""Packed levels with a codebook, and arithmetic on them that never needs the float features."""

from lowtide.codes.arithmetic import TransposedCodes, check_padding, empty_result, empty_rows, is_by_rows
from lowtide.codes.codes import Codes
from lowtide.codes.exchange import unpack_levels
from lowtide.codes.layout import (
    Bits,
    pack_levels,
    pack_trits,
    row_bits,
    row_bytes,
    spell_bits,
    stored_bits,
    unpack_trits,
)
from lowtide.codes.source import CodeSource, StoredRows, concatenate
from lowtide.codes.top_k import RowCells, check_in_cells, factors_of, lengths_of, row_mask

# fmt: off
__all__ = [  # noqa: RUF022
    "Codes", "TransposedCodes", "CodeSource", "StoredRows", "concatenate",
    "Bits", "pack_levels", "unpack_levels", "pack_trits", "unpack_trits", "row_bits", "row_bytes", "spell_bits",
    "stored_bits", "check_padding", "empty_result", "empty_rows", "is_by_rows", "row_mask",
    "RowCells", "check_in_cells", "factors_of", "lengths_of",
]
# fmt: on
