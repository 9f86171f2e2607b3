"""Codes and rows as messages of a few bytes, and an encoder as JSON: what a client and a server exchange."""

from lowtide.wire.description import describe_encoder, rebuild_encoder, summarize_encoder
from lowtide.wire.json_rows import JsonReader, JsonRows, JsonRowsError, json_numbers
from lowtide.wire.messages import (
    CODES_TYPE,
    FRAME_BYTES,
    ROWS_TYPE,
    CodesMessage,
    CodesReader,
    RowsMessage,
    media_type,
    pack,
    pack_rows,
    unpack,
    unpack_rows,
    wire_row_bytes,
)

__all__ = [
    "CODES_TYPE",
    "FRAME_BYTES",
    "ROWS_TYPE",
    "CodesMessage",
    "CodesReader",
    "JsonReader",
    "JsonRows",
    "JsonRowsError",
    "RowsMessage",
    "describe_encoder",
    "json_numbers",
    "media_type",
    "pack",
    "pack_rows",
    "rebuild_encoder",
    "summarize_encoder",
    "unpack",
    "unpack_rows",
    "wire_row_bytes",
]
