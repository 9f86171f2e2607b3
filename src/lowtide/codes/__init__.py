"""Packed levels with a codebook, and arithmetic on them that never needs the float features."""

from lowtide.codes.codes import Codes
from lowtide.codes.concatenate import concatenate
from lowtide.codes.layout import pack_levels, row_bytes, stored_bits, unpack_levels
from lowtide.codes.source import CodeSource
from lowtide.codes.transposed import TransposedCodes
from lowtide.codes.trits import pack_trits, unpack_trits

__all__ = [
    "CodeSource",
    "Codes",
    "TransposedCodes",
    "concatenate",
    "pack_levels",
    "pack_trits",
    "row_bytes",
    "stored_bits",
    "unpack_levels",
    "unpack_trits",
]
