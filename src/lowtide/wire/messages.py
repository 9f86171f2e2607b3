"""Pack codes and rows of float32 into messages, and read them back.

A message is a head of 48 bytes, parts with a name and a version each, and a checksum of all:

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
from collections import namedtuple
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import check_option
from lowtide.checksum import crc32c
from lowtide.codes import Bits, Codes, row_bits
from lowtide.encoders import DrawnEncoder, Encoder
from lowtide.errors import FingerprintMismatchError, WireFormatError

_VERSION = 2
_MOST_ROWS = (1 << 32) - 1
_HEAD, _PART = struct.Struct("<4sBBH16s16sII"), struct.Struct("<4sIQ")
_SUM = _COUNT = struct.Struct("<I")
_COMMON_BYTES = _HEAD.size - 4  # of a head, all before the number of rows: the same in every message of one encoder
_CODES, _ROWS = b"LTWC", b"LTWR"
_LEVELS, _NORMS, _FLOATS = b"LEVL", b"NORM", b"ROWS"  # parts: packed levels, a norm a row, rows of float32
_ROW_SIDES: tuple[Literal["input", "features"], ...] = ("input", "features")  # by the number that stands for them
_NO_ENCODER = bytes(16)
# What is around the content of one part.
FRAME_BYTES = _HEAD.size + _PART.size + _SUM.size
CODES_TYPE = f"application/vnd.lowtide.codes; v={_VERSION}"
ROWS_TYPE = f"application/vnd.lowtide.rows; v={_VERSION}"

Buffer = bytes | bytearray | memoryview
_Part = tuple[bytes, int, int]  # name, version and size


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


# The fields before the parts; `detail`, `side` and `width` mean what the magic says.
_Head = namedtuple("_Head", "magic version detail n_parts fingerprint side width n_rows")


def _seal(head: _Head, parts: dict[bytes, Buffer]) -> bytes:
    """Return head and parts, each of version 1, as one message, its checksum last."""
    if head.n_rows > _MOST_ROWS or head.width > _MOST_ROWS:
        must = f"a message must have at most {_MOST_ROWS} rows and columns"
        raise WireFormatError(f"{must}, got {head.n_rows} and {head.width}. Send several.")
    pieces: list[Buffer] = [_HEAD.pack(*head)]
    for name, content in parts.items():
        pieces += [_PART.pack(name, 1, len(content)), content]
    body = b"".join(pieces)
    return body + _SUM.pack(crc32c(body))


def _head_of(data: Buffer, magic: bytes) -> _Head:
    """Return the head of a message of one kind, or say why it is none."""
    start = bytes(data[:5])
    if start[:4] != magic:
        raise WireFormatError(f"a message must begin with {magic.decode()!r}, got {start[:4].hex() or 'nothing'}.")
    if len(start) == 5 and start[4] != _VERSION:
        raise WireFormatError(f"a message must have version {_VERSION}, got {start[4]}. Update lowtide.")
    if len(data) < FRAME_BYTES:
        raise WireFormatError(f"a message must have at least {FRAME_BYTES} bytes, got {len(data)}: cut short.")
    return _Head._make(_HEAD.unpack_from(data))


def _open(data: memoryview, n_parts: int, wanted: list[_Part]) -> list[memoryview]:
    """Return the contents of the parts wanted, not copied, of a whole message that must have no others."""
    found: list[_Part] = []
    contents: dict[_Part, memoryview] = {}
    at, end = _HEAD.size, len(data) - _SUM.size
    for _ in range(n_parts):
        if at + _PART.size > end:
            raise WireFormatError(f"a message must have the {n_parts} parts of its head, got {len(found)}: cut short.")
        part = _PART.unpack_from(data, at)
        at += _PART.size + part[2]
        found.append(part)
        contents[part] = data[at - part[2] : at]
    if at != end:
        short = "cut short" if at > end else "too long"
        raise WireFormatError(f"a message must have the {at + _SUM.size} bytes of its parts, got {len(data)}: {short}.")
    (given,), expected = _SUM.unpack_from(data, end), crc32c(data[:end])
    if given != expected:
        must = f"a message must have the checksum {expected:08x} of its bytes"
        raise WireFormatError(f"{must}, got {given:08x}: damaged.")
    if found != wanted and sorted(found) != sorted(wanted):
        raise WireFormatError(_difference(found, {name.decode(): size for name, _, size in wanted}))
    return [contents[part] for part in wanted]


def _difference(found: list[_Part], wanted: dict[str, int]) -> str:
    """Say in what parts are not those wanted: one unknown, repeated or missing, of another version or length."""
    seen: list[str] = []
    for tag, version, size in found:
        name = tag.decode("latin-1")
        if name not in wanted or name in seen:
            known = tag in (_LEVELS, _NORMS, _FLOATS)
            other = "which does not belong here" if known else "which this lowtide does not know. Update it"
            words = "twice" if name in seen else other
            return f"a message must have the parts {', '.join(wanted)}, got {name!r}, {words}."
        if version != 1:
            return f"part {name!r} must have version 1, got {version}. Update lowtide."
        if size != wanted[name]:
            return f"part {name!r} must have the {wanted[name]} bytes of its rows, got {size}."
        seen.append(name)
    missing = next(name for name in wanted if name not in seen)
    return f"a message must have a part {missing!r}, got {', '.join(seen) or 'none'}."


def wire_row_bytes(n_levels: int, bits: Bits) -> int:
    """Return the bytes of a row in a message: ceil(row_bits(n_levels, bits) / 8).

    In memory a row is padded to a multiple of 8 bytes; in a message to whole bytes only.

    Examples
    --------
    >>> wire_row_bytes(4096, 1), wire_row_bytes(100, 1)
    (512, 13)
    """
    return -(-row_bits(n_levels, bits) // 8)


def pack(codes: Codes) -> bytes:
    """Return codes as one message.

    Parameters
    ----------
    codes : Codes
        Any number of rows below 2^32. The codebook is not sent: who knows the encoder knows it.

    Returns
    -------
    bytes
        68 + n wire_row_bytes(n_levels, bits) of them; 16 + 4 n more where norms are kept.

    See Also
    --------
    unpack : the way back

    Examples
    --------
    >>> import numpy as np
    >>> import lowtide as lt
    >>> encoder = lt.RandomFeatures(n_components=256, random_state=0).fit(np.eye(5))
    >>> message = lt.wire.pack(encoder.encode(np.eye(5)))
    >>> len(message), message[:4]
    (228, b'LTWC')
    >>> lt.wire.unpack(message, encoder) == encoder.encode(np.eye(5))
    True
    """
    if not isinstance(codes, Codes):
        raise WireFormatError(f"wire.pack: codes must be Codes, got {type(codes).__name__}. Encode the rows first.")
    width = wire_row_bytes(codes.n_levels, codes.bits)
    rows = codes.packed if codes.packed.shape[1] == width else np.ascontiguousarray(codes.packed[:, :width])
    parts: dict[bytes, Buffer] = {_LEVELS: rows.reshape(-1).data}
    if codes.norms is not None:
        parts[_NORMS] = np.ascontiguousarray(codes.norms, dtype="<f4").view(np.uint8).data
    return _seal(_codes_head(codes, len(codes)), parts)


def _codes_head(codes: Codes, n_rows: int) -> _Head:
    n_parts = 1 if codes.norms is None else 2
    # Levels with bits of their own are told by the side.
    bits = 0 if isinstance(codes.bits, tuple) else codes.bits
    return _Head(_CODES, _VERSION, bits, n_parts, codes.fingerprint, codes.side, codes.n_levels, n_rows)


def unpack(data: Buffer, encoder: Encoder | DrawnEncoder | Codes) -> Codes:
    """Return the codes of a message.

    Parameters
    ----------
    data : bytes
        The whole message, as it came: it may be anything.
    encoder : fitted encoder, or Codes of it
        Who must have made the codes; gives them their codebook.

    Returns
    -------
    Codes

    Raises
    ------
    WireFormatError
        Also a ValueError: the message is foreign, cut short, too long or damaged, of another version, has parts that
        are not known, levels or bits that are not the encoder's, or bits set where there are no levels.
    FingerprintMismatchError
        Also a ValueError: another encoder, or another quantizer on the same frequencies, made the codes.

    See Also
    --------
    pack : the way there
    """
    template: Any = encoder
    if not isinstance(encoder, Codes):
        drawn = encoder.drawn_ if isinstance(encoder, Encoder) else encoder
        template = drawn.template
        if template is None:
            raise WireFormatError(f"wire.unpack: {drawn.kind} must have packed codes, got float features alone.")
    reader = CodesReader(template)
    return reader.codes([reader.read(data)])


class CodesMessage(NamedTuple):
    """The rows of a message that was found right: packed bytes, and norms where they are kept."""

    n_rows: int
    rows: memoryview
    norms: memoryview | None = None


class CodesReader:
    """Reads many messages of one encoder's codes, and joins their rows into one block.

    Parameters
    ----------
    template : Codes
        Codes of the encoder, of any number of rows.

    Notes
    -----
    `read` compares all of the head but the number of rows with the one that is expected at once: a message of 512 bytes
    takes a few microseconds.
    """

    def __init__(self, template: Codes) -> None:
        self.template = template[:0] if len(template) else template
        n_levels, stored, self._stored_width = template.packing
        self._width = wire_row_bytes(n_levels, template.bits)
        # Norms come with the rows of a sketch that keeps them, and must where rows are times their norms.
        self._has_norms = template.norms is not None
        # Not every value is one of a byte that is a level of 5 to 7 bits, or the last of a row and used in part.
        self._every = stored == 8
        used = template.bits if self._every else row_bits(n_levels, template.bits) % 8
        self._limit = 1 << used if used else 256  # type: ignore[operator]
        self._head = _codes_head(template, 0)
        self._common = _HEAD.pack(*self._head)[:_COMMON_BYTES]

    def read(self, data: Buffer) -> CodesMessage:
        """Return the rows of a message, which may be anything, without copying them."""
        view, head = memoryview(data), self._head
        if data[:_COMMON_BYTES] != self._common or len(view) < FRAME_BYTES:
            head = self._checked(_head_of(data, _CODES))
        (n_rows,) = _COUNT.unpack_from(view, _COMMON_BYTES)
        wanted = [(_LEVELS, 1, n_rows * self._width)]
        if self._has_norms:
            wanted.append((_NORMS, 1, 4 * n_rows))
        message = CodesMessage(n_rows, *_open(view, head.n_parts, wanted))
        if self._has_norms or self._limit < 256:
            self._check_values(message)
        return message

    def codes(self, messages: Sequence[CodesMessage]) -> Codes:
        """Return the rows of messages, one after the other, as codes."""
        joined = messages[0].rows if len(messages) == 1 else b"".join([message.rows for message in messages])
        rows = np.frombuffer(joined, dtype=np.uint8).reshape(-1, self._width)
        if self._width != self._stored_width:
            padded = np.zeros((len(rows), self._stored_width), dtype=np.uint8)
            padded[:, : self._width] = rows
            rows = padded
        if not self._has_norms:
            return self.template.with_rows(rows)
        norms = np.frombuffer(b"".join([message.norms or b"" for message in messages]), dtype="<f4")
        return self.template.with_rows(rows, norms.astype(np.float32))

    def _checked(self, head: _Head) -> _Head:
        """Return a head that differs from the expected one in its parts alone; else say in what it differs."""
        own = self._head
        for mark, mine, other in (("fingerprint", own.fingerprint, head.fingerprint), ("side", own.side, head.side)):
            if mine != other:
                must = f"a message must hold codes of the encoder with the {mark} {mine.hex()}"
                remedy = "Encode the rows with the encoder, and the quantizer, that the reader has."
                raise FingerprintMismatchError(f"{must}, got codes of {other.hex()}. {remedy}")
        for words, want, got in (("bits a level", own.detail, head.detail), ("levels a row", own.width, head.width)):
            if want != got:
                raise WireFormatError(f"a message must have {want} {words}, got {got}.")
        return head

    def _check_values(self, message: CodesMessage) -> None:
        """Raise for lengths that are none, and for bits that no level has: counting would take them for features."""
        if message.norms is not None:
            norms = np.frombuffer(message.norms, dtype="<f4")
            if not ((norms >= 0) & (norms < np.inf)).all():
                raise WireFormatError("norms must be finite numbers of at least 0, got others.")
        levels = np.frombuffer(message.rows, dtype=np.uint8)
        if not self._every and levels[self._width - 1 :: self._width].max(initial=0) >= self._limit:
            raise WireFormatError("bits after the last level of a row must be zero, got others.")
        if self._every and levels.max(initial=0) >= self._limit:
            raise WireFormatError(f"{self.template.bits}-bit levels must lie below {self._limit}, got {levels.max()}.")


class RowsMessage(NamedTuple):
    """What a message of rows holds."""

    rows: NDArray[np.float32]
    side: Literal["input", "features"]
    fingerprint: bytes | None


def pack_rows(X: Any, *, side: Literal["input", "features"] = "input", fingerprint: bytes | None = None) -> bytes:
    """Return rows of float32 as one message of 68 + 4 n d bytes.

    Parameters
    ----------
    X : array (n, d)
        Finite; rounded to float32.
    side : {"input", "features"}, default="input"
        Rows as an encoder takes them, or the full side that it makes of them.
    fingerprint : bytes of length 16, optional
        Of the encoder; features must have it.

    Examples
    --------
    >>> import lowtide as lt
    >>> message = lt.wire.pack_rows([[1.0, 2.0]])
    >>> len(message)
    76
    >>> lt.wire.unpack_rows(message)
    RowsMessage(rows=array([[1., 2.]], dtype=float32), side='input', fingerprint=None)
    """
    check_option("wire.pack_rows", "side", side, _ROW_SIDES)
    with np.errstate(over="ignore"):  # what float32 cannot hold becomes infinite, and is refused as such
        rows = np.ascontiguousarray(X, dtype="<f4")
    if rows.ndim != 2 or not np.isfinite(rows).all():
        raise WireFormatError(f"wire.pack_rows: X must be finite float32 of shape (n, d), got shape {rows.shape}.")
    if (fingerprint is None and side == "features") or (fingerprint is not None and len(fingerprint) != 16):
        raise WireFormatError(f"wire.pack_rows: fingerprint must be 16 bytes for features, got {fingerprint!r}.")
    n_rows, width = rows.shape
    number = _ROW_SIDES.index(side)
    head = _Head(_ROWS, _VERSION, number, 1, fingerprint or _NO_ENCODER, _NO_ENCODER, width, n_rows)
    return _seal(head, {_FLOATS: rows.reshape(-1).view(np.uint8).data})


def unpack_rows(data: Buffer, *, fingerprint: bytes | None = None) -> RowsMessage:
    """Return the rows of a message, which may be anything.

    Parameters
    ----------
    data : bytes
    fingerprint : bytes of length 16, optional
        The encoder that the rows must be for; input rows may leave it out.

    Returns
    -------
    RowsMessage
        `rows`, float32 (n, d), read-only where they share the message's memory; `side`; `fingerprint`, None for input
        rows that name no encoder.

    Raises
    ------
    WireFormatError
        Also a ValueError: the message is foreign, cut short, too long or damaged, of another version, has parts that
        are not known, or numbers that are not finite.
    FingerprintMismatchError
        Also a ValueError: the rows are for another encoder.
    """
    head = _head_of(data, _ROWS)
    if head.side != _NO_ENCODER or head.detail >= len(_ROW_SIDES):
        raise WireFormatError(f"byte 5 of rows must be 0 or 1, and bytes 24 to 39 zero, got {head.detail} or others.")
    (content,) = _open(memoryview(data), head.n_parts, [(_FLOATS, 1, 4 * head.n_rows * head.width)])
    side = _ROW_SIDES[head.detail]
    given = None if side == "input" and head.fingerprint == _NO_ENCODER else head.fingerprint
    if fingerprint is not None and given is not None and given != fingerprint:
        must = f"rows must be for the encoder {fingerprint.hex()}"
        raise FingerprintMismatchError(f"{must}, got rows for {given.hex()}. Fetch it again.")
    rows = np.frombuffer(content, dtype="<f4").reshape(head.n_rows, head.width).astype(np.float32, copy=False)
    if not np.isfinite(rows).all():
        raise WireFormatError("rows must be finite numbers, got NaN or infinity. Replace or drop these values first.")
    return RowsMessage(rows, side, given)
