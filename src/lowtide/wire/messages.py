"""Pack codes and rows of float32 into messages, and read them back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import check_option
from lowtide.codes import Codes, row_bytes, stored_bits
from lowtide.encoders import DrawnEncoder, Encoder
from lowtide.errors import FingerprintMismatchError, WireFormatError
from lowtide.wire.frame import Buffer, Head, open_parts, seal

_CODES, _ROWS = b"LTWC", b"LTWR"
_LEVELS, _NORMS, _FLOATS = "LEVL", "NORM", "ROWS"  # parts
_ROW_SIDES = ("input", "features")  # by the number that stands for them
_NO_ENCODER = bytes(16)
# Of a head, all before the number of rows: what every message of one encoder has in common.
_COMMON_BYTES = 44


def wire_row_bytes(n_levels: int, bits: int) -> int:
    """Return the bytes of a row in a message: ceil(n_levels B / 8), B = stored_bits(bits).

    In memory a row is padded to a multiple of 8 bytes; in a message to whole bytes only.

    Examples
    --------
    >>> wire_row_bytes(4096, 1), wire_row_bytes(100, 1)
    (512, 13)
    """
    return -(-n_levels * stored_bits(bits) // 8)


def pack(codes: Codes) -> bytes:
    """Return codes as one message.

    Parameters
    ----------
    codes : Codes
        Any number of rows below 2^32. The codebook is not sent: who knows the encoder knows it.

    Returns
    -------
    bytes
        68 + n ceil(n_levels B / 8) of them, B the stored bits of a level; 16 + 4 n more where norms are kept.

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
    parts: dict[str, Buffer] = {_LEVELS: rows.reshape(-1).data}
    if codes.norms is not None:
        parts[_NORMS] = np.ascontiguousarray(codes.norms, dtype="<f4").view(np.uint8).data
    return seal(_head_of(codes, len(codes)), parts)


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
    reader = CodesReader.of(encoder)
    return reader.codes([reader.read(data)])


@dataclass(frozen=True)
class CodesMessage:
    """The rows of a message that was found right: packed bytes, and norms where they are kept."""

    n_rows: int
    rows: memoryview
    norms: memoryview | None


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
        self.template = template[:0]
        self._width = wire_row_bytes(template.n_levels, template.bits)
        self._stored_width = row_bytes(template.n_levels, template.bits)
        # Norms come with the rows of a sketch that keeps them, and must where rows are times their norms.
        self._has_norms = template.norms is not None
        used = template.n_levels * stored_bits(template.bits)
        self._all_used = used % 8 == 0 and template.bits <= 4 and not self._has_norms
        self._expected = _head_of(template, 0)
        self._common = self._expected.to_bytes()[:_COMMON_BYTES]

    @classmethod
    def of(cls, encoder: Encoder | DrawnEncoder | Codes) -> CodesReader:
        """Return the reader of a fitted encoder's codes, or of codes like the given ones."""
        if isinstance(encoder, Codes):
            return cls(encoder)
        drawn = encoder.drawn_ if isinstance(encoder, Encoder) else encoder
        if drawn.template is None:
            raise WireFormatError(f"wire.unpack: {drawn.kind} must have packed codes, got float features alone.")
        return cls(drawn.template)

    def read(self, data: Buffer) -> CodesMessage:
        """Return the rows of a message, which may be anything, without copying them."""
        view = memoryview(data)
        head = self._expected
        if data[:_COMMON_BYTES] != self._common or len(view) < _COMMON_BYTES + 4:
            head = self._checked(Head.of(data, _CODES))
        n_rows = int.from_bytes(view[_COMMON_BYTES : _COMMON_BYTES + 4], "little")
        wanted = {_LEVELS: n_rows * self._width}
        if self._has_norms:
            wanted[_NORMS] = 4 * n_rows
        parts = open_parts(view, head.n_parts, wanted)
        message = CodesMessage(n_rows, parts[_LEVELS], parts.get(_NORMS))
        if not self._all_used:
            self._check_unused(message)
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

    def _checked(self, head: Head) -> Head:
        """Return a head that differs from the expected one in its parts alone; else say in what it differs."""
        own = self._expected
        for mark, mine, other in (("fingerprint", own.fingerprint, head.fingerprint), ("side", own.side, head.side)):
            if mine != other:
                must = f"a message must hold codes of the encoder with the {mark} {mine.hex()}"
                remedy = "Encode the rows with the encoder, and the quantizer, that the reader has."
                raise FingerprintMismatchError(f"{must}, got codes of {other.hex()}. {remedy}")
        for words, want, got in (("bits a level", own.detail, head.detail), ("levels a row", own.width, head.width)):
            if want != got:
                raise WireFormatError(f"a message must have {want} {words}, got {got}.")
        return head

    def _check_unused(self, message: CodesMessage) -> None:
        """Raise for lengths that are none, and for bits that no level has: counting would take them for features."""
        if message.norms is not None:
            norms = np.frombuffer(message.norms, dtype="<f4")
            if not np.all((norms >= 0) & (norms < np.inf)):
                raise WireFormatError("norms must be finite numbers of at least 0, got others.")
        bits, used = self.template.bits, self.template.n_levels * stored_bits(self.template.bits) % 8
        if not used and bits <= 4:
            return
        packed = np.frombuffer(message.rows, dtype=np.uint8).reshape(-1, self._width)
        if used and (packed[:, -1] >> used).any():
            raise WireFormatError("bits after the last level of a row must be zero, got others.")
        if bits > 4 and len(packed) and int(packed.max()) >= 1 << bits:
            raise WireFormatError(f"{bits}-bit levels must lie below {1 << bits}, got {packed.max()}.")


def _head_of(codes: Codes, n_rows: int) -> Head:
    n_parts = 1 if codes.norms is None else 2
    return Head(_CODES, codes.bits, n_parts, codes.fingerprint, codes.side, codes.n_levels, n_rows)


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
    head = Head(_ROWS, _ROW_SIDES.index(side), 1, fingerprint or _NO_ENCODER, _NO_ENCODER, width, n_rows)
    return seal(head, {_FLOATS: rows.reshape(-1).view(np.uint8).data})


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
    head = Head.of(data, _ROWS)
    if head.side != _NO_ENCODER or head.detail >= len(_ROW_SIDES):
        raise WireFormatError(f"byte 5 of rows must be 0 or 1, and bytes 24 to 39 zero, got {head.detail} or others.")
    parts = open_parts(memoryview(data), head.n_parts, {_FLOATS: 4 * head.n_rows * head.width})
    side: Literal["input", "features"] = "features" if head.detail else "input"
    given = None if side == "input" and head.fingerprint == _NO_ENCODER else head.fingerprint
    if fingerprint is not None and given is not None and given != fingerprint:
        raise FingerprintMismatchError(
            f"rows must be for the encoder {fingerprint.hex()}, got rows for {given.hex()}. Fetch it again."
        )
    values = np.frombuffer(parts[_FLOATS], dtype="<f4")
    rows = values.reshape(head.n_rows, head.width).astype(np.float32, copy=False)
    if not np.isfinite(rows).all():
        raise WireFormatError("rows must be finite numbers, got NaN or infinity. Replace or drop these values first.")
    return RowsMessage(rows, side, given)
