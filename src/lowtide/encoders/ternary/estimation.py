"""Kernel values of ternary features, with their error bars and their expectations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import fail
from lowtide.codes import Codes
from lowtide.encoders.estimation import Side, actual_sides, check_own_codes
from lowtide.theory import center_kernel, ternary_kernel

if TYPE_CHECKING:
    from lowtide.theory import TernaryMatch

__all__ = ["TernaryEstimation"]


class TernaryEstimation:
    """What ternary features say of kernel values. `sides` changes nothing here: both sides have the same values."""

    match_: TernaryMatch
    mean_: NDArray[np.float64]
    fingerprint_: bytes

    def kernel_estimate(
        self,
        X: Any,
        Y: Any = None,
        *,
        sides: tuple[Side, Side] = ("codes", "codes"),
        return_std: bool = False,
        centered: bool = False,
    ) -> Any:
        """Return the product of two rows of features, counted on packed trits.

        Parameters
        ----------
        X, Y : array, CSR matrix, data frame or Codes; Y defaults to X
        sides : pair of {"full", "codes"}, default=("codes", "codes")
            Named for symmetry with other encoders; the values are the same.
        return_std : bool, default=False
            Also return the standard error of each entry over draws of W, of raw rows only.
        centered : bool, default=False
            Subtract the means of rows and columns, as the theory of these features does; of X against itself only.

        Returns
        -------
        K : ndarray of float32, shape (n, n_y)
        std : ndarray of float32, shape (n, n_y), with return_std
        """
        left, right = self._operands(X, Y, sides, centered)
        K = self._codes(left).dot(self._codes(right))
        if centered:
            K = center_kernel(K).astype(np.float32)
        if not return_std:
            return K
        if centered:
            raise fail("TernaryFeatures", "standard errors are those of the kernel that is not centered", "centered")
        mean, square = self._expected(left, right)
        variance = np.maximum(square - mean**2, 0.0) / self._n_features_out  # type: ignore[attr-defined]
        return K, np.sqrt(variance).astype(np.float32)

    def expected_kernel(
        self, X: Any, Y: Any = None, *, sides: tuple[Side, Side] = ("codes", "codes"), centered: bool = False
    ) -> NDArray[np.float64]:
        """Return what `kernel_estimate` converges to with more columns and components, float64 (n, n_y).

        alpha^2 E[sigma(w.z) sigma(w.z')] for normal w: sums of many terms are close to normal, whatever the sparsity.
        """
        left, right = self._operands(X, Y, sides, centered)
        mean, _ = self._expected(left, right)
        return center_kernel(mean) if centered else mean

    def _operands(self, X: Any, Y: Any, sides: tuple[Side, Side], centered: bool) -> tuple[Any, Any]:
        """Check the arguments that all estimates share."""
        actual_sides(self, X, Y, sides)
        if centered and Y is not None:
            remedy = "For other rows fit scikit-learn's KernelCenterer on the kernel of X."
            raise fail(type(self).__name__, "a centered kernel is that of X against itself", "a Y", remedy)
        return X, X if Y is None else Y

    def _codes(self, X: Any) -> Codes:
        if not isinstance(X, Codes):
            return self.encode(X)  # type: ignore[attr-defined]
        check_own_codes(self, X)
        return X

    def _expected(self, X: Any, Y: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return mean and second moment of one feature's product, m times that of a column."""
        if isinstance(X, Codes) or isinstance(Y, Codes):
            raise fail("TernaryFeatures", "expected values need raw rows on both sides", "Codes")
        left, right = (self._scaled(rows) for rows in (X, Y))
        squares = [np.einsum("ij,ij->i", rows, rows) for rows in (left, right)]
        return ternary_kernel(self.match_.map, squares[0], squares[1], left @ right.T)

    def _scaled(self, X: Any) -> NDArray[np.float64]:
        """Return centered, scaled rows."""
        rows = self._rows(X)  # type: ignore[attr-defined]
        dense = rows.toarray() if hasattr(rows, "toarray") else rows
        return np.asarray((np.asarray(dense, dtype=np.float64) - self.mean_) * self._scale)  # type: ignore[attr-defined]
