"""Rows of float32 to bytes and back: input rows as they are, or full features of an encoder."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import check_option
from lowtide.errors import FingerprintMismatchError, WireFormatError
from lowtide.wire.message import HEAD_BYTES, ROWS_MAGIC, SUM_BYTES, Buffer, Head, check_sum, seal

__all__ = ["RowsMessage", "Side", "pack_rows", "unpack_rows"]

Side = Literal["input", "features"]
_SIDES = ("input", "features")  # by the number that stands for them
_NO_ENCODER = bytes(16)


class RowsMessage(NamedTuple):
    """What a message of rows holds."""

    rows: NDArray[np.float32]
    side: Side
    fingerprint: bytes | None


def pack_rows(X: Any, *, side: Side = "input", fingerprint: bytes | None = None) -> bytes:
    """Return rows of float32 as one message of 36 + 4 n d bytes.

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
    44
    >>> lt.wire.unpack_rows(message)
    RowsMessage(rows=array([[1., 2.]], dtype=float32), side='input', fingerprint=None)
    """
    check_option("wire.pack_rows", "side", side, _SIDES)
    with np.errstate(over="ignore"):  # what float32 cannot hold becomes infinite, and is refused as such
        rows = np.ascontiguousarray(X, dtype="<f4")
    if rows.ndim != 2 or not np.isfinite(rows).all():
        raise WireFormatError(f"wire.pack_rows: X must be finite float32 of shape (n, d), got shape {rows.shape}.")
    if (fingerprint is None and side == "features") or (fingerprint is not None and len(fingerprint) != 16):
        raise WireFormatError(f"wire.pack_rows: fingerprint must be 16 bytes for features, got {fingerprint!r}.")
    head = Head(ROWS_MAGIC, _SIDES.index(side), 0, fingerprint or _NO_ENCODER, rows.shape[1], rows.shape[0])
    return seal([head.to_bytes(), rows.reshape(-1).view(np.uint8).data])


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
        Also a ValueError: the message is foreign, cut short, too long or damaged, of another version, or has numbers
        that are not finite.
    FingerprintMismatchError
        Also a ValueError: the rows are for another encoder.
    """
    head = Head.of(data, ROWS_MAGIC)
    if head.flags or head.detail >= len(_SIDES):
        raise WireFormatError(f"flags must be 0 and the side 0 or 1, got {head.flags} and {head.detail}.")
    check_sum(data, HEAD_BYTES + 4 * head.n_rows * head.width + SUM_BYTES)
    side: Side = "features" if head.detail else "input"
    given = None if side == "input" and head.fingerprint == _NO_ENCODER else head.fingerprint
    if fingerprint is not None and given is not None and given != fingerprint:
        raise FingerprintMismatchError(
            f"rows must be for the encoder {fingerprint.hex()}, got rows for {given.hex()}. Fetch it again."
        )
    values = np.frombuffer(data, dtype="<f4", count=head.n_rows * head.width, offset=HEAD_BYTES)
    rows = values.reshape(head.n_rows, head.width).astype(np.float32, copy=False)
    if not np.isfinite(rows).all():
        raise WireFormatError("rows must be finite numbers, got NaN or infinity. Replace or drop these values first.")
    return RowsMessage(rows, side, given)
