"""The contract of an encoder with two sides."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
from sklearn.base import clone

from lowtide.codes import Codes
from lowtide.encoders import Encoder
from lowtide.errors import FingerprintMismatchError
from lowtide.testing.claim import STANDARD_ERRORS, claim

__all__ = ["check_encoder"]


def check_encoder(encoder: Encoder, X: Any) -> None:
    """Check that the two sides of an encoder belong together.

    Parameters
    ----------
    encoder : Encoder
        With `random_state` set to an integer, and a coded side. It is cloned, not fitted.
    X : array (n_samples, n_features)
        A few different rows; scikit-learn's own checks come on top (`parametrize_with_checks`).

    Raises
    ------
    AssertionError
        With a sentence that names what failed.

    Notes
    -----
    Shapes and types; the same seed, the same codes; fingerprints; codes against `np.asarray`; no rows and one row;
    pickle; and, where there is a `kernel_`, each pair of sides against its expectation, within six of its
    standard errors.

    Examples
    --------
    >>> from lowtide import RandomFeatures
    >>> check_encoder(RandomFeatures(gamma=0.2, random_state=0), np.random.default_rng(0).standard_normal((9, 4)))
    """
    claim(isinstance(encoder, Encoder), encoder, "must derive from lowtide.encoders.Encoder")
    X = np.asarray(X, dtype=np.float64)
    fitted = clone(encoder).fit(X)
    _check_sides(fitted, X)
    _check_seed(encoder, fitted, X)
    _check_rows(fitted, X)
    restored = pickle.loads(pickle.dumps(fitted))
    claim(_same(restored.encode(X), fitted.encode(X)), encoder, "pickle must keep the codes")
    if hasattr(fitted, "kernel_"):
        _check_estimates(fitted, X)


def _check_sides(fitted: Encoder, X: Any) -> None:
    Z, coded = fitted.transform(X), fitted.encode(X)
    n_out = len(fitted.get_feature_names_out())
    claim(Z.shape == (len(X), n_out), fitted, "transform must give a column a name of get_feature_names_out")
    claim(Z.dtype == np.float32, fitted, "transform must give float32")
    claim(coded.shape == Z.shape, fitted, "encode must have the shape of transform")
    claim(len(fitted.fingerprint_) == 16, fitted, "fingerprint_ must have 16 bytes")
    if not isinstance(coded, Codes):
        claim(coded.dtype == np.float32, fitted, "encode must give Codes or float32")
        return
    claim(coded.fingerprint == fitted.fingerprint_, fitted, "codes must carry the fingerprint of their encoder")
    decoded = np.asarray(coded, dtype=np.float64)
    product = coded.dot(coded, dtype=np.float64)
    near = np.allclose(product, decoded @ decoded.T, rtol=1e-6, atol=1e-6)
    claim(near, fitted, "arithmetic on codes must be that on decoded features")


def _same(left: Any, right: Any) -> bool:
    return bool(left == right) if isinstance(left, Codes) else bool(np.array_equal(left, right))


def _check_seed(encoder: Encoder, fitted: Encoder, X: Any) -> None:
    again = clone(encoder).fit(X)
    claim(again.fingerprint_ == fitted.fingerprint_, encoder, "the same seed must give the same fingerprint")
    claim(_same(again.encode(X), fitted.encode(X)), encoder, "the same seed must give the same codes")
    claim(np.array_equal(again.transform(X), fitted.transform(X)), encoder, "the same seed must give the same features")
    other = clone(encoder).set_params(random_state=fitted.random_state + 1).fit(X)
    claim(other.fingerprint_ != fitted.fingerprint_, encoder, "another seed must give another fingerprint")
    codes, foreign = fitted.encode(X), other.encode(X)
    if not isinstance(codes, Codes):
        return
    try:
        codes.dot(foreign)
    except FingerprintMismatchError as error:
        both = codes.fingerprint.hex() in str(error) and foreign.fingerprint.hex() in str(error)
        claim(both, encoder, "a refusal of foreign codes must name both fingerprints")
    else:
        claim(False, encoder, "codes of two encoders must not meet")


def _check_rows(fitted: Encoder, X: Any) -> None:
    """Rows are encoded one by one as together, up to the rounding of a matrix product, and there may be none."""
    claim(fitted.transform(X[:0]).shape[0] == 0, fitted, "transform of no rows must be empty")
    claim(fitted.encode(X[:0]).shape[0] == 0, fitted, "encode of no rows must be empty")
    together, Z = np.asarray(fitted.encode(X)), fitted.transform(X)
    alone = np.vstack([np.asarray(fitted.encode(X[i : i + 1])) for i in range(len(X))])
    rows = np.vstack([fitted.transform(X[i : i + 1]) for i in range(len(X))])
    claim(
        np.allclose(rows, Z, rtol=0, atol=1e-3 * np.abs(Z).max()),
        fitted,
        "a row alone must give its features in a batch",
    )
    differ = float(np.mean(np.abs(alone - together) > 1e-3 * np.abs(together).max()))
    claim(differ < 1e-3, fitted, f"a row alone must give its code in a batch, {differ:.1%} of the levels differ")


def _check_estimates(fitted: Any, X: Any) -> None:
    half = len(X) // 2
    for sides in (("full", "full"), ("codes", "full"), ("full", "codes"), ("codes", "codes")):
        K, std = fitted.kernel_estimate(X[:half], X[half:], sides=sides, return_std=True)
        left, right = _side_arrays(fitted, X[:half], X[half:], sides)
        product = np.allclose(K, left @ right.T, rtol=0, atol=1e-4)
        claim(product, fitted, f"kernel_estimate must be the product of the sides {sides}")
        gap = np.abs(K - fitted.expected_kernel(X[:half], X[half:], sides=sides))
        claim(std >= 0, fitted, "standard errors must not be negative")
        worst = float(np.max(gap - STANDARD_ERRORS * std))
        claim(worst <= 1e-5, fitted, f"estimates of {sides} must lie within {STANDARD_ERRORS:g} standard errors")


def _side_arrays(fitted: Any, X: Any, Y: Any, sides: tuple[str, str]) -> tuple[Any, Any]:
    """Return what stands left and right; an encoder with a right map of its own is asked for it."""
    full = (fitted.transform, getattr(fitted, "transform_right", fitted.transform))
    coded = (fitted.encode, getattr(fitted, "encode_right", fitted.encode))
    left, right = (
        np.asarray((full if side == "full" else coded)[i](rows), dtype=np.float64)
        for i, (side, rows) in enumerate(zip(sides, (X, Y)))
    )
    return left, right
