"""Codes and rows as messages of a few bytes, and an encoder as JSON: what a client and a server exchange."""

from lowtide.wire.codes import CodesMessage, CodesReader, pack, unpack, wire_row_bytes
from lowtide.wire.columns import Columns
from lowtide.wire.description import describe_encoder, rebuild_encoder, summarize_encoder
from lowtide.wire.media import CODES_TYPE, ROWS_TYPE, media_type
from lowtide.wire.message import HEAD_BYTES, SUM_BYTES
from lowtide.wire.rows import RowsMessage, pack_rows, unpack_rows

__all__ = [
    "CODES_TYPE",
    "HEAD_BYTES",
    "ROWS_TYPE",
    "SUM_BYTES",
    "CodesMessage",
    "CodesReader",
    "Columns",
    "RowsMessage",
    "describe_encoder",
    "media_type",
    "pack",
    "pack_rows",
    "rebuild_encoder",
    "summarize_encoder",
    "unpack",
    "unpack_rows",
    "wire_row_bytes",
]
