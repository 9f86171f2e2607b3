"""The transpose of a code matrix, for the product from the left."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from lowtide.codes.arithmetic import as_operand, rmatmul

if TYPE_CHECKING:
    from lowtide.codes.codes import Codes

__all__ = ["TransposedCodes"]


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

    __slots__ = ("_codes",)
    __array_ufunc__ = None
    ndim = 2

    def __init__(self, codes: Codes) -> None:
        self._codes = codes

    @property
    def T(self) -> Codes:  # noqa: N802
        """The codes themselves."""
        return self._codes

    @property
    def shape(self) -> tuple[int, int]:
        """Decoded shape, (n_features, n)."""
        return self._codes.shape[::-1]

    def __matmul__(self, R: Any) -> NDArray[Any]:
        """Return D' R, R (n,) or (n, c) float32 or float64; rows are added in a fixed order whatever the threads."""
        operand = as_operand("Codes.T @ R", R, self.shape[1])
        product = rmatmul(self._codes._rows, operand if operand.ndim == 2 else operand[:, None])
        return product if operand.ndim == 2 else product[:, 0]

    def __repr__(self) -> str:
        return f"{self._codes!r}.T"
