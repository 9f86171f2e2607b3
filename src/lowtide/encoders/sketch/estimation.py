"""Cosines and kernel values from sketches, with their error bars."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from lowtide._checks import check_positive, fail
from lowtide.codes import Codes
from lowtide.encoders.estimation import Side, actual_sides, check_own_codes
from lowtide.encoders.sketch.codebooks import fourier_codebook, linear_codes, warn_of_bias
from lowtide.encoders.sketch.rows import linear_rows
from lowtide.encoders.sketch.similarity import CosineCurve, product, scaled_fourier_product
from lowtide.theory import fourier_moments, layout_variance

if TYPE_CHECKING:
    from lowtide.projections import DrawnProjection
    from lowtide.quantizers import LineSteps

__all__ = ["SketchEstimation"]

Floats = NDArray[np.float64]


class SketchEstimation:
    """What a sketch says of two rows: their cosine, and their Gaussian kernel at any bandwidth.

    Rows may be raw or `Codes` of this sketch; raw ones are encoded first, unless their side is "full".
    """

    projection_: DrawnProjection
    steps_: LineSteps
    fingerprint_: bytes

    def cosine_similarity(
        self, X: Any, Y: Any = None, *, sides: tuple[Side, Side] = ("codes", "codes"), return_std: bool = False
    ) -> Any:
        """Return estimates of the cosines x.y / (|x| |y|).

        With a full side the product of the two sides is unbiased. The product of codes with codes has a known mean,
        1/(1-D) at x = y, which is inverted: for one bit this is cos(pi (1 - p)), p the share of equal signs.

        Parameters
        ----------
        X, Y : array, CSR matrix, data frame or Codes; Y defaults to X
        sides : pair of {"codes", "full"}, default=("codes", "codes")
            What stands left and right; Codes always count as "codes".
        return_std : bool, default=False
            Also return the standard error of each entry: how far the cosine moves when the product moves by the
            standard error that theory gives at the estimated cosine.

        Returns
        -------
        cosine : ndarray of float32, shape (n, n_y), within [-1, 1]
        std : ndarray of float32, shape (n, n_y), with return_std
        """
        Y = X if Y is None else Y
        sides = actual_sides(self, X, Y, sides)
        curve = _cosine_curve(self.steps_.bits, self.projection_.blocks, sides)
        left, right = (self._linear_side(rows, side) for rows, side in zip((X, Y), sides))
        cosine = curve.cosine(product(left, right))
        if not return_std:
            return cosine.astype(np.float32)
        return cosine.astype(np.float32), curve.std(cosine).astype(np.float32)

    def kernel_estimate(
        self, X: Any, Y: Any = None, *, gamma: float, normalized: bool | None = None, return_std: bool = False
    ) -> Any:
        """Return estimates of exp(-gamma |x-y|^2), from codes on both sides.

        For rows of norm 1 this is the product of the two sides' `fourier` codes, and converges to
        `theory.sketch_kernel`. With norms kept beside the codes it is the same with cos and sin of
        sqrt(2 gamma) |x| mu_i, so the kernel of the rows as they came.

        Parameters
        ----------
        X, Y : array, CSR matrix, data frame or Codes; Y defaults to X
        gamma : float
            Scikit-learn's, above 0; the One-Sketch paper's is 1/bandwidth, sqrt(2 gamma).
        normalized : bool, optional
            Whether rows count as of norm 1; None does so unless both sides have norms. Raw rows have.
        return_std : bool, default=False
            Also return the standard error of each entry. Of rows of norm 1: in closed form, at the cosine that the
            codes give. Of others: from the spread of the products over projections, which overstates it on orthogonal
            layouts.

        Returns
        -------
        K : ndarray of float32, shape (n, n_y)
        std : ndarray of float32, shape (n, n_y), with return_std
        """
        gamma = check_positive(type(self).__name__, "gamma", gamma)
        left, right = self._two_codes(X, Y)
        if normalized is None:
            normalized = left.norms is None or right.norms is None
        if not normalized:
            return self._scaled_kernel(left, right, gamma, return_std)
        bits, k = left.bits, left.n_levels
        warn_of_bias(bits, gamma, stacklevel=3)
        book = fourier_codebook(bits, k, gamma)
        K = left.with_codebook(book).dot(right.with_codebook(book))
        if not return_std:
            return K
        moments = fourier_moments(bits, gamma)
        cosine = self.cosine_similarity(left, right).astype(np.float64)
        return K, self._std_at(moments, cosine).astype(np.float32)

    def expected_kernel(self, X: Any, Y: Any = None, *, gamma: float) -> Floats:
        """Return what `kernel_estimate` of normalized raw rows converges to as components grow, float64 (n, n_y)."""
        gamma = check_positive(type(self).__name__, "gamma", gamma)
        left, right = (self._unit_rows(rows) for rows in (X, X if Y is None else Y))
        return fourier_moments(self.steps_.bits, gamma).mean(np.clip(left @ right.T, -1.0, 1.0))

    def _std_at(self, moments: Any, cosine: Floats) -> Floats:
        """Return the standard error of the mean of a product over the projections."""
        blocks = self.projection_.blocks
        covariance = moments.covariance(cosine, blocks.dimension) if blocks.lengths != "iid" else 0.0
        return np.sqrt(layout_variance(blocks, moments.variance(cosine), covariance))

    def _scaled_kernel(self, left: Codes, right: Codes, gamma: float, return_std: bool) -> Any:
        """Return the estimate for rows times their norms, and its sample standard error."""
        if left.norms is None or right.norms is None:
            remedy = "Encode with Sketch(store_norms=True), or give raw rows."
            raise fail(type(self).__name__, "normalized must be True for codes without norms", False, remedy)
        # Rows of these lengths at this gamma are like rows of norm 1 at a gamma as many times larger.
        longest = float(np.max(left.norms, initial=0.0)) * float(np.max(right.norms, initial=0.0))
        if longest > 0.0:
            where = f"gamma={gamma:.4g} of rows as long as these, which is for rows of norm 1 "
            warn_of_bias(left.bits, gamma * longest, stacklevel=4, where=where)
        K = scaled_fourier_product(left, right, gamma)
        if not return_std:
            return K
        # cos^2 = (1 + cos of twice the phase) / 2, and twice the phase is four times gamma.
        second = (1.0 + scaled_fourier_product(left, right, 4.0 * gamma).astype(np.float64)) / 2.0
        spread = np.maximum(second - K.astype(np.float64) ** 2, 0.0)
        return K, np.sqrt(spread / left.n_levels).astype(np.float32)

    def _linear_side(self, X: Any, side: Side) -> Any:
        if side == "full":
            return linear_rows(self._rows(X), self.projection_)  # type: ignore[attr-defined]
        return linear_codes(self._codes_of(X), normalized=True)

    def _two_codes(self, X: Any, Y: Any) -> tuple[Codes, Codes]:
        check_is_fitted(self)
        left = self._codes_of(X)
        return left, left if Y is None else self._codes_of(Y)

    def _codes_of(self, X: Any) -> Codes:
        """Return Codes of this sketch as they are, and raw rows encoded, with their norms."""
        if not isinstance(X, Codes):
            return self._encode_with_norms(self._rows(X))  # type: ignore[attr-defined]
        check_own_codes(self, X)
        return X

    def _unit_rows(self, X: Any) -> Floats:
        rows = self._rows(X)  # type: ignore[attr-defined]
        dense = np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows, dtype=np.float64)
        length = np.linalg.norm(dense, axis=1, keepdims=True)
        return dense / np.where(length > 0, length, np.inf)


@lru_cache(maxsize=64)
def _cosine_curve(bits: int, blocks: Any, sides: tuple[Side, Side]) -> CosineCurve:
    return CosineCurve(bits, blocks, sides)
