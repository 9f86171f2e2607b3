"""Frame a message: a head of 48 bytes, parts with a name and a version each, and a checksum of all.

    0   4   magic, "LTWC" for codes and "LTWR" for rows of float32
    4   1   version, 2
    5   1   codes: bits of the quantizer, 1 to 8; rows: 0 for input rows, 1 for full features
    6   2   number of parts
    8   16  fingerprint: the identity of the encoder's frequencies
    24  16  codes: side, the identity of the rule that made levels of phases; rows: zeros
    40  4   codes: levels a row; rows: columns
    44  4   rows
    48      parts, one after the other
    -4  4   CRC-32C of every byte before it

A part is 4 bytes of name, 4 of version, 8 of length, and as many bytes. Numbers are little-endian. No part is
interpreted before version, length and checksum are known to be right; one of an unknown name is refused by it.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass

from lowtide.checksum import crc32c
from lowtide.errors import WireFormatError

_VERSION = 2
_MOST_ROWS = (1 << 32) - 1
_HEAD, _PART, _SUM = struct.Struct("<4sBBH16s16sII"), struct.Struct("<4sIQ"), struct.Struct("<I")
_PARTS = ("LEVL", "NORM", "ROWS")  # packed levels, a norm a row, rows of float32
# What is around the content of one part.
FRAME_BYTES = _HEAD.size + _PART.size + _SUM.size
CODES_TYPE = f"application/vnd.lowtide.codes; v={_VERSION}"
ROWS_TYPE = f"application/vnd.lowtide.rows; v={_VERSION}"

Buffer = bytes | bytearray | memoryview


def media_type(header: str) -> tuple[str, dict[str, str]]:
    """Return the type and the parameters of a `Content-Type`, in lower case, quotes taken off.

    Examples
    --------
    >>> media_type('Application/vnd.lowtide.codes; V="2"')
    ('application/vnd.lowtide.codes', {'v': '2'})
    """
    name, *rest = header.split(";")
    pairs = (part.partition("=") for part in rest)
    return name.strip().lower(), {key.strip().lower(): value.strip().strip('"') for key, _, value in pairs}


@dataclass(frozen=True)
class Head:
    """The fields before the parts; `detail`, `side` and `width` mean what the magic says."""

    magic: bytes
    detail: int
    n_parts: int
    fingerprint: bytes
    side: bytes
    width: int
    n_rows: int

    def to_bytes(self) -> bytes:
        """Return the 48 bytes."""
        if self.n_rows > _MOST_ROWS or self.width > _MOST_ROWS:
            must = f"a message must have at most {_MOST_ROWS} rows and columns"
            raise WireFormatError(f"{must}, got {self.n_rows} and {self.width}. Send several.")
        sizes = self.width, self.n_rows
        return _HEAD.pack(self.magic, _VERSION, self.detail, self.n_parts, self.fingerprint, self.side, *sizes)

    @classmethod
    def of(cls, data: Buffer, magic: bytes) -> Head:
        """Return the head of a message of one kind, or say why it is none."""
        start = bytes(data[:5])
        if start[:4] != magic:
            raise WireFormatError(f"a message must begin with {magic.decode()!r}, got {start[:4].hex() or 'nothing'}.")
        if len(start) == 5 and start[4] != _VERSION:
            raise WireFormatError(f"a message must have version {_VERSION}, got {start[4]}. Update lowtide.")
        if len(data) < FRAME_BYTES:
            raise WireFormatError(f"a message must have at least {FRAME_BYTES} bytes, got {len(data)}.")
        _, _, *fields = _HEAD.unpack_from(data)
        return cls(magic, *fields)


def seal(head: Head, parts: Mapping[str, Buffer]) -> bytes:
    """Return head and parts, each of version 1, as one message, its checksum last."""
    pieces: list[Buffer] = [head.to_bytes()]
    for name, content in parts.items():
        pieces += [_PART.pack(name.encode(), 1, len(content)), content]
    body = b"".join(pieces)
    return body + _SUM.pack(crc32c(body))


def open_parts(data: memoryview, n_parts: int, wanted: Mapping[str, int]) -> dict[str, memoryview]:
    """Return the parts of a whole message by name, not copied: those wanted, of so many bytes each, and no others."""
    found: list[tuple[bytes, int, memoryview]] = []
    at, end = _HEAD.size, len(data) - _SUM.size
    for _ in range(n_parts):
        if at + _PART.size > end:
            raise WireFormatError(f"a message must have the {n_parts} parts of its head, got {len(found)}: cut short.")
        name, version, size = _PART.unpack_from(data, at)
        at += _PART.size + size
        found.append((name, version, data[at - size : at]))
    if at != end:
        short = "cut short" if at > end else "too long"
        raise WireFormatError(f"a message must have the {at + _SUM.size} bytes of its parts, got {len(data)}: {short}.")
    (given,), expected = _SUM.unpack_from(data, end), crc32c(data[:end])
    if given != expected:
        raise WireFormatError(
            f"a message must have the checksum {expected:08x} of its bytes, got {given:08x}: damaged."
        )
    return _known_parts(found, wanted)


def _known_parts(found: list[tuple[bytes, int, memoryview]], wanted: Mapping[str, int]) -> dict[str, memoryview]:
    """Return parts by name; refuse an unknown, repeated or missing one, another version, and another length."""
    parts: dict[str, memoryview] = {}
    for tag, version, content in found:
        name = tag.decode("latin-1")
        if name not in wanted or name in parts:
            other = "which does not belong here" if name in _PARTS else "which this lowtide does not know. Update it"
            words = "twice" if name in parts else other
            raise WireFormatError(f"a message must have the parts {', '.join(wanted)}, got {name!r}, {words}.")
        if version != 1:
            raise WireFormatError(f"part {name!r} must have version 1, got {version}. Update lowtide.")
        if len(content) != wanted[name]:
            raise WireFormatError(f"part {name!r} must have the {wanted[name]} bytes of its rows, got {len(content)}.")
        parts[name] = content
    for name in wanted:
        if name not in parts:
            raise WireFormatError(f"a message must have a part {name!r}, got {', '.join(parts) or 'none'}.")
    return parts
