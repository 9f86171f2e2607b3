"""Codes beside other operands: their transpose, and the check that two of them belong together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from lowtide.codes.arithmetic import Rows, as_operand
from lowtide.errors import CodeLayoutError, FingerprintMismatchError

if TYPE_CHECKING:
    from lowtide.codes.codes import Codes


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class TransposedCodes:
    """View of `Codes` with rows and columns exchanged; made by `Codes.T`, it only multiplies: C.T @ R = D' R.

    Examples
    --------
    >>> import numpy as np
    >>> from lowtide.codes import Codes, pack_levels
    >>> packed = pack_levels(np.array([[0, 1, 1], [1, 1, 0]]), bits=1)
    >>> C = Codes(packed, bits=1, n_levels=3, codebook=[-1.0, 1.0], fingerprint=bytes(16))
    >>> C.T @ np.array([10.0, 1.0])
    array([-9., 11.,  9.])
    """

    T: Codes  # the codes themselves
    rows: Rows
    __array_ufunc__ = None
    ndim = 2

    @property
    def shape(self) -> tuple[int, int]:
        """Decoded shape, (n_features, n)."""
        return self.T.shape[::-1]

    def __matmul__(self, R: Any) -> NDArray[Any]:
        """Return D' R, R (n,) or (n, c) float32 or float64; rows are added in a fixed order whatever the threads."""
        operand = as_operand("Codes.T @ R", R, self.shape[1])
        product = self.rows.rmatmul(operand if operand.ndim == 2 else operand[:, None])
        return product if operand.ndim == 2 else product[:, 0]

    def __repr__(self) -> str:
        return f"{self.T!r}.T"


def check_same_frequencies(owner: str, left: Codes, right: Codes) -> None:
    """Raise unless both were made with the same frequencies and have equally many decoded columns."""
    if left.fingerprint != right.fingerprint:
        raise FingerprintMismatchError(
            f"{owner}: codes must come from one encoder, or from encoders of the same frequencies, got fingerprints "
            f"{left.fingerprint.hex()} and {right.fingerprint.hex()}. Encode both with the same fitted encoder."
        )
    if left.shape[1] != right.shape[1]:
        raise CodeLayoutError(
            f"{owner}: codes must have equal widths, got {left.n_levels} levels, {left.shape[1]} columns and "
            f"{right.n_levels} levels, {right.shape[1]} columns. Use codebooks with as many values a level."
        )
