"""Kernel values from two sides, with their error bars and their expectations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from lowtide._checks import check_option, fail
from lowtide.codes import Codes
from lowtide.encoders.pair_curves import PairCurves, pair_curves
from lowtide.errors import FingerprintMismatchError
from lowtide.kernels import distances

if TYPE_CHECKING:
    from lowtide.kernels import Kernel
    from lowtide.maps import FeatureMap
    from lowtide.projections import DrawnProjection
    from lowtide.quantizers import Quantizer

__all__ = ["KernelEstimation"]

Side = Literal["full", "codes"]
Floats = NDArray[np.floating[Any]]


class KernelEstimation:
    """What a two-sided encoder of a stationary kernel says of kernel values.

    `sides` names what stands left and right: "full" for float32 features, "codes" for the coded side. Rows may be raw
    or `Codes` of this encoder, which always count as "codes".
    """

    kernel_: Kernel
    projection_: DrawnProjection
    feature_map_: FeatureMap
    quantizer_spec_: Quantizer | None
    fingerprint_: bytes
    n_features_in_: int

    def kernel_estimate(
        self,
        X: Any,
        Y: Any = None,
        *,
        sides: tuple[Side, Side] = ("full", "full"),
        return_std: bool = False,
        normalize: bool = False,
    ) -> Any:
        """Return the product of the two sides, an estimate of the kernel.

        Unbiased unless both sides are coded; then its mean is `expected_kernel`.

        Parameters
        ----------
        X, Y : array, CSR matrix, data frame or Codes; Y defaults to X
        sides : pair of {"full", "codes"}, default=("full", "full")
        return_std : bool, default=False
            Also return the standard error of each entry in closed form, at the exact distance when both inputs are raw
            rows, at the estimated one otherwise.
        normalize : bool, default=False
            Divide by the expectation at x = y, pi^2/8 for one-bit codes against codes.

        Returns
        -------
        K : ndarray of float32, shape (n, n_y)
        std : ndarray of float32, shape (n, n_y), with return_std
        """
        Y = X if Y is None else Y
        sides = check_sides(self, X, Y, sides)
        K = product(self._side(X, sides[0]), self._side(Y, sides[1]))
        curves = self._curves(sides) if return_std or normalize else None
        scale = curves.value_at_zero if curves is not None and normalize else 1.0
        if curves is None or not return_std:
            return K if scale == 1.0 else (K / scale).astype(np.float32)
        distance = self._distance(X, Y, K, curves)
        return (K / scale).astype(np.float32), (curves.std(distance) / scale).astype(np.float32)

    def expected_kernel(
        self, X: Any, Y: Any = None, *, sides: tuple[Side, Side] = ("full", "full"), normalize: bool = False
    ) -> NDArray[np.float64]:
        """Return what `kernel_estimate` of raw rows converges to as components grow, float64 (n, n_y)."""
        Y = X if Y is None else Y
        curves = self._curves(check_sides(self, X, Y, sides))
        value = curves.mean(self._exact_distance(X, Y))
        return value / curves.value_at_zero if normalize else value

    def distance_estimate(
        self, X: Any, Y: Any = None, *, sides: tuple[Side, Side] = ("full", "full")
    ) -> NDArray[np.float64]:
        """Return distances in X's units from the kernel estimate, float64 (n, n_y).

        The pair's expected kernel is inverted on its first decreasing branch, in the norm of the kernel: an estimate at
        or above the value at 0 gives 0, one at or below the branch's infimum NaN: the points are too far apart to tell.
        """
        Y = X if Y is None else Y
        sides = check_sides(self, X, Y, sides)
        return self._curves(sides).distance(self.kernel_estimate(X, Y, sides=sides))

    def _side(self, X: Any, side: Side) -> Any:
        if isinstance(X, Codes):
            check_own_codes(self, X)
            return X
        return self.transform(X) if side == "full" else self.encode(X)  # type: ignore[attr-defined]

    def _curves(self, sides: tuple[Side, Side]) -> PairCurves:
        return pair_curves(
            self.kernel_,
            self.projection_.blocks,
            self.feature_map_,
            self.quantizer_spec_,
            self._n_features_out,  # type: ignore[attr-defined]
            self.n_features_in_,
            sides,
        )

    def _distance(self, X: Any, Y: Any, K: Floats, curves: PairCurves) -> NDArray[np.float64]:
        """Return exact distances of raw rows, else the estimated ones; too far to tell counts as infinitely far."""
        if isinstance(X, Codes) or isinstance(Y, Codes):
            return np.nan_to_num(curves.distance(K), nan=np.inf)
        return self._exact_distance(X, Y)

    def _exact_distance(self, X: Any, Y: Any) -> NDArray[np.float64]:
        left, right = (self._rows(rows) for rows in (X, Y))  # type: ignore[attr-defined]
        return distances(left, right, self.kernel_.norm)


def check_sides(encoder: Any, X: Any, Y: Any, sides: tuple[Side, Side]) -> tuple[Side, Side]:
    """Check the two names, let Codes be codes, and refuse codes that do not exist."""
    left, right = actual_sides(encoder, X, Y, sides)
    if "codes" in (left, right):
        encoder._coded_side()
    return left, right


def actual_sides(encoder: Any, X: Any, Y: Any, sides: tuple[Side, Side]) -> tuple[Side, Side]:
    """Check the two names of a fitted encoder's sides, and let Codes be codes."""
    check_is_fitted(encoder)
    owner = type(encoder).__name__
    if not isinstance(sides, (tuple, list)) or len(sides) != 2:
        raise fail(owner, "sides must be (left, right), each 'full' or 'codes'", sides)
    for side in sides:
        check_option(owner, "each of sides", side, ("full", "codes"))
    left, right = ("codes" if isinstance(rows, Codes) else side for rows, side in zip((X, Y), sides))
    return left, right


def check_own_codes(encoder: Any, codes: Codes) -> None:
    """Refuse codes of another encoder."""
    check_is_fitted(encoder)
    if codes.fingerprint != encoder.fingerprint_:
        raise FingerprintMismatchError(
            f"Codes must come from this encoder, fingerprint {encoder.fingerprint_.hex()}, got codes of "
            f"{codes.fingerprint.hex()}. Encode the rows with this encoder."
        )


def product(left: Any, right: Any) -> NDArray[np.float32]:
    """Return left right' whichever of the two is packed."""
    if isinstance(left, Codes):
        return left.dot(right) if isinstance(right, Codes) else left @ np.ascontiguousarray(right.T)
    if isinstance(right, Codes):
        return np.ascontiguousarray((right @ np.ascontiguousarray(left.T)).T)
    return np.asarray(left @ right.T)
