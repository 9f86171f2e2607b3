"""Codes to bytes and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lowtide.codes import Codes, row_bytes, stored_bits
from lowtide.encoders import Encoder
from lowtide.errors import FingerprintMismatchError, WireFormatError
from lowtide.wire.message import CODES_MAGIC, HEAD_BYTES, SUM_BYTES, Buffer, Head, check_sum, seal

__all__ = ["CodesMessage", "CodesReader", "pack", "unpack", "wire_row_bytes"]

_NORMS = 1  # flag
_KNOWN_FLAGS = _NORMS


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
        36 + n ceil(n_levels B / 8) of them, B the stored bits of a level; 4 more a row where norms are kept.

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
    (196, b'LTWC')
    >>> lt.wire.unpack(message, encoder) == encoder.encode(np.eye(5))
    True
    """
    if not isinstance(codes, Codes):
        raise WireFormatError(f"wire.pack: codes must be Codes, got {type(codes).__name__}. Encode the rows first.")
    flags = 0 if codes.norms is None else _NORMS
    head = Head(CODES_MAGIC, codes.bits, flags, codes.fingerprint, codes.n_levels, len(codes))
    width = wire_row_bytes(codes.n_levels, codes.bits)
    rows = codes.packed if codes.packed.shape[1] == width else np.ascontiguousarray(codes.packed[:, :width])
    pieces: list[Buffer] = [head.to_bytes(), rows.reshape(-1).data]
    if codes.norms is not None:
        pieces.append(np.ascontiguousarray(codes.norms, dtype="<f4").view(np.uint8).data)
    return seal(pieces)


def unpack(data: Buffer, encoder: Encoder | Codes) -> Codes:
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
        Also a ValueError: the message is foreign, cut short, too long or damaged, of another version, has levels or
        bits that are not the encoder's, or bits set where there are no levels.
    FingerprintMismatchError
        Also a ValueError: another encoder made the codes.

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
        self._row_bytes = self._width + (4 if self._has_norms else 0)
        head = Head(CODES_MAGIC, template.bits, int(self._has_norms), template.fingerprint, template.n_levels, 0)
        used = template.n_levels * stored_bits(template.bits)
        self._all_used = used % 8 == 0 and template.bits <= 4 and not self._has_norms
        self._start = head.to_bytes()[:28]

    @classmethod
    def of(cls, encoder: Encoder | Codes) -> CodesReader:
        """Return the reader of a fitted encoder's codes, or of codes like the given ones."""
        if isinstance(encoder, Codes):
            return cls(encoder)
        none = encoder._encode(np.zeros((0, encoder.n_features_in_), dtype=np.float32))
        if not isinstance(none, Codes):
            raise WireFormatError(f"wire.unpack: {type(encoder).__name__} must have packed codes, got float features.")
        return cls(none)

    def read(self, data: Buffer) -> CodesMessage:
        """Return the rows of a message, which may be anything, without copying them."""
        view = memoryview(data)
        if data[:28] != self._start or len(view) < HEAD_BYTES + SUM_BYTES:
            self._refuse(view)
        n_rows = int.from_bytes(view[28:32], "little")
        check_sum(view, HEAD_BYTES + n_rows * self._row_bytes + SUM_BYTES)
        end = HEAD_BYTES + n_rows * self._width
        message = CodesMessage(n_rows, view[HEAD_BYTES:end], view[end:-SUM_BYTES] if self._has_norms else None)
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

    def _refuse(self, view: memoryview) -> None:
        """Say in what the head differs from the expected one."""
        head, expected = Head.of(view, CODES_MAGIC), Head.of(self._start + bytes(8), CODES_MAGIC)
        if head.flags & ~_KNOWN_FLAGS:
            raise WireFormatError(f"flags must be 0 or {_NORMS}, got {head.flags}. Update lowtide to read newer ones.")
        if head.fingerprint != expected.fingerprint:
            raise FingerprintMismatchError(
                f"a message must hold codes of the encoder {expected.fingerprint.hex()}, got codes of "
                f"{head.fingerprint.hex()}. Encode the rows with the encoder that the reader has."
            )
        names: tuple[tuple[str, Any], ...] = (("detail", "bits a level"), ("width", "levels a row"), ("flags", "flags"))
        for field, words in names:
            want, got = getattr(expected, field), getattr(head, field)
            if want != got:
                raise WireFormatError(f"a message must have {want} {words}, got {got}.")
        raise WireFormatError("a message must have a head of this version, got another.")
