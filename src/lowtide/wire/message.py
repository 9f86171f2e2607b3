"""The frame of a message: a head of 32 bytes, a payload, and a checksum of both.

    0   4   magic, "LTWC" for codes and "LTWR" for rows of float32
    4   1   version, 1
    5   1   codes: bits of the quantizer, 1 to 8; rows: 0 for input rows, 1 for full features
    6   2   flags; bit 0: norms follow the rows of codes; all others are zero
    8   16  fingerprint of the encoder
    24  4   codes: levels a row; rows: columns
    28  4   rows
    32      payload
    -4  4   CRC-32C of every byte before it

Numbers are little-endian. Nothing is interpreted before version, length and checksum are known to be right.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from lowtide.checksum import crc32c
from lowtide.errors import WireFormatError

__all__ = ["CODES_MAGIC", "HEAD_BYTES", "MOST_ROWS", "ROWS_MAGIC", "SUM_BYTES", "VERSION", "Head", "check_sum", "seal"]

CODES_MAGIC, ROWS_MAGIC = b"LTWC", b"LTWR"
VERSION = 1
MOST_ROWS = (1 << 32) - 1
_HEAD = struct.Struct("<4sBBH16sII")
_SUM = struct.Struct("<I")
HEAD_BYTES, SUM_BYTES = _HEAD.size, _SUM.size

Buffer = bytes | bytearray | memoryview


@dataclass(frozen=True)
class Head:
    """The fields before the payload; `detail` and `width` mean what the magic says."""

    magic: bytes
    detail: int
    flags: int
    fingerprint: bytes
    width: int
    n_rows: int

    def to_bytes(self) -> bytes:
        """Return the 32 bytes."""
        if self.n_rows > MOST_ROWS or self.width > MOST_ROWS:
            raise WireFormatError(
                f"a message must have at most {MOST_ROWS} rows and columns, got {self.n_rows} and {self.width}. "
                "Send several."
            )
        return _HEAD.pack(self.magic, VERSION, self.detail, self.flags, self.fingerprint, self.width, self.n_rows)

    @classmethod
    def of(cls, data: Buffer, magic: bytes) -> Head:
        """Return the head of a message of one kind, or say why it is none."""
        n_bytes = len(data)
        start = bytes(data[:5])
        if start[:4] != magic:
            raise WireFormatError(f"a message must begin with {magic.decode()!r}, got {start[:4].hex() or 'nothing'}.")
        if len(start) == 5 and start[4] != VERSION:
            raise WireFormatError(f"a message must have version {VERSION}, got {start[4]}. Update lowtide to read it.")
        if n_bytes < HEAD_BYTES + SUM_BYTES:
            raise WireFormatError(f"a message must have at least {HEAD_BYTES + SUM_BYTES} bytes, got {n_bytes}.")
        _, _, detail, flags, fingerprint, width, n_rows = _HEAD.unpack_from(data)
        return cls(magic, detail, flags, fingerprint, width, n_rows)


def seal(pieces: list[Buffer]) -> bytes:
    """Return pieces as one message, its checksum last."""
    body = b"".join(pieces)
    return body + _SUM.pack(crc32c(body))


def check_sum(data: Buffer, n_bytes: int) -> None:
    """Raise unless a message has the length that its head asks for and the checksum of its bytes."""
    if len(data) != n_bytes:
        short = "cut short" if len(data) < n_bytes else "too long"
        raise WireFormatError(f"a message must have the {n_bytes} bytes of its rows, got {len(data)}: {short}.")
    found, expected = _SUM.unpack_from(data, n_bytes - SUM_BYTES)[0], crc32c(memoryview(data)[:-SUM_BYTES])
    if found != expected:
        raise WireFormatError(
            f"a message must have the checksum {expected:08x} of its bytes, got {found:08x}: damaged."
        )
