"""Kernel values from the left and the right side, with their error bars and expectations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from lowtide._checks import fail
from lowtide.codes import Codes
from lowtide.encoders.asymmetric.moments import block_moments
from lowtide.encoders.estimation import Side, check_sides, product
from lowtide.errors import FingerprintMismatchError

if TYPE_CHECKING:
    from lowtide.kernels import MeasureBlock, MeasureKernel
    from lowtide.projections import DrawnProjection
    from lowtide.quantizers import Quantizer

__all__ = ["TwoSidedEstimation"]

Floats = NDArray[np.float64]


class TwoSidedEstimation:
    """What an encoder with a left and a right map says of kernel values k(x, y), x on the left.

    `sides` names what stands left and right: "full" for float32 features, "codes" for the coded side. Rows may be raw
    or `Codes`, of `encode` on the left and of `encode_right` on the right.
    """

    kernel_: MeasureKernel
    blocks_: tuple[MeasureBlock, ...]
    quantizer_spec_: Quantizer | None
    fingerprint_: bytes
    fingerprint_right_: bytes
    _projections: list[DrawnProjection]
    _block_columns: tuple[int, ...]

    def kernel_estimate(
        self, X: Any, Y: Any = None, *, sides: tuple[Side, Side] = ("full", "full"), return_std: bool = False
    ) -> Any:
        """Return the product of the left side of X and the right side of Y, an estimate of k(x, y).

        Unbiased unless both sides are coded; then its mean is `expected_kernel`.

        Parameters
        ----------
        X, Y : array, CSR matrix, data frame or Codes; Y defaults to X
        sides : pair of {"full", "codes"}, default=("full", "full")
        return_std : bool, default=False
            Also return the standard error of each entry: in closed form at the exact difference of raw rows, else from
            the spread of the estimate over frequencies.

        Returns
        -------
        K : ndarray of float32, shape (n, n_y)
        std : ndarray of float32, shape (n, n_y), with return_std
        """
        Y = X if Y is None else Y
        sides = check_sides(self, X, Y, sides)
        left, right = self._left(X, sides[0]), self._right(Y, sides[1])
        K = product(left, right)
        if not return_std:
            return K
        if isinstance(X, Codes) or isinstance(Y, Codes) or not self.kernel_.closed_form:
            return K, self._measured_std(left, right).astype(np.float32)
        variance = sum(v for _, v in self._moments(X, Y, sides))
        return K, np.sqrt(variance).astype(np.float32)

    def expected_kernel(
        self, X: Any, Y: Any = None, *, sides: tuple[Side, Side] = ("full", "full")
    ) -> NDArray[np.float64]:
        """Return what `kernel_estimate` of raw rows converges to as components grow, float64 (n, n_y)."""
        Y = X if Y is None else Y
        sides = check_sides(self, X, Y, sides)
        if "full" in sides:
            return self.kernel_.gram(*(self._rows(rows) for rows in (X, Y)))  # type: ignore[attr-defined]
        if not self.kernel_.closed_form:
            got = f"{type(self.kernel_).__name__} with codes on both sides"
            raise fail(type(self).__name__, "expected_kernel needs a kernel in closed form", got, "Keep a side full.")
        return np.asarray(sum(mean for mean, _ in self._moments(X, Y, sides)))

    def _moments(self, X: Any, Y: Any, sides: tuple[Side, Side]) -> list[tuple[Floats, Floats]]:
        """Return mean and variance of each block's part of the estimate."""
        left, right = (_dense(self._rows(rows)) for rows in (X, Y))  # type: ignore[attr-defined]
        return [
            block_moments(block, projection.blocks, self.quantizer_spec_, n, left, right, sides)
            for block, projection, n in zip(self.blocks_, self._projections, self._block_columns)
        ]

    def _left(self, X: Any, side: Side) -> Any:
        if isinstance(X, Codes):
            _check_side(X, self.fingerprint_, "left", "encode")
            return X
        return self.transform(X) if side == "full" else self.encode(X)  # type: ignore[attr-defined]

    def _right(self, Y: Any, side: Side) -> Any:
        if isinstance(Y, Codes):
            _check_side(Y, self.fingerprint_right_, "right", "encode_right")
            codes = Y
        elif side == "full":
            return self.transform_right(Y)  # type: ignore[attr-defined]
        else:
            codes = self.encode_right(Y)  # type: ignore[attr-defined]
        # As left codes, which the two codebooks allow: from here on they meet those of the same encoder, on purpose.
        return self._no_codes.with_rows(codes.packed)  # type: ignore[attr-defined]

    def _measured_std(self, left: Any, right: Any) -> Floats:
        """Return standard errors from the spread over frequencies, which are taken as independent.

        With P_j the part of frequency j, sum_j P_j^2 is a product of features too: of cos^2, sqrt2 cos sin and sin^2.
        """
        check_is_fitted(self)
        arrays = [np.asarray(side, dtype=np.float64) for side in (left, right)]
        variance = np.zeros((len(arrays[0]), len(arrays[1])))
        start = 0
        for n in self._block_columns:
            L, R = (array[:, start : start + n] for array in arrays)
            count = -(-n // 2)
            square = product(_squares(L), _squares(R))
            variance += np.maximum(square - (L @ R.T) ** 2 / count, 0.0) * count / max(count - 1, 1)
            start += n
        return np.sqrt(variance)


def _squares(F: Floats) -> Floats:
    """Return cos^2, sqrt2 cos sin and sin^2 of interleaved pairs; a cosine alone counts as a pair with sine 0."""
    padded = F if F.shape[1] % 2 == 0 else np.pad(F, ((0, 0), (0, 1)))
    c, s = padded[:, ::2], padded[:, 1::2]
    return np.hstack([c * c, np.sqrt(2.0) * c * s, s * s])


def _dense(rows: Any) -> Floats:
    return np.asarray(rows.toarray() if sparse.issparse(rows) else rows, dtype=np.float64)


def _check_side(codes: Codes, expected: bytes, side: str, method: str) -> None:
    if codes.fingerprint != expected:
        raise FingerprintMismatchError(
            f"Codes on the {side} must come from this encoder's {method}, fingerprint {expected.hex()}, got codes of "
            f"{codes.fingerprint.hex()}. The two sides have codes of their own."
        )
