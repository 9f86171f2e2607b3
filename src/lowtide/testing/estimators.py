"""The contracts of an encoder with two sides, and of a learner on one of them."""

from __future__ import annotations

import json
import pickle
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone, is_classifier
from sklearn.frozen import FrozenEstimator

from lowtide.codes import Codes
from lowtide.encoders import Encoder, drawn_from_state
from lowtide.errors import FingerprintMismatchError, LowtideError, ParameterError
from lowtide.spec import Part, State
from lowtide.testing.claims import STANDARD_ERRORS, claim, refusal

# Two ways to one solution: sums in another order, or L-BFGS that ends at a gradient of 1e-10.
_SAME = 1e-5


def check_encoder(encoder: Encoder, X: Any) -> None:
    """Check that the two sides of an encoder belong together; an AssertionError names what failed.

    Parameters
    ----------
    encoder : Encoder
        With `random_state` set to an integer, and a coded side. It is cloned, not fitted.
    X : array (n_samples, n_features)
        A few different rows; scikit-learn's own checks come on top (`parametrize_with_checks`).

    Notes
    -----
    Shapes and types; the same seed, the same codes; fingerprints; codes against `np.asarray`; no rows and one row;
    pickle and what a file keeps; and, where there is a `kernel_`, each pair of sides against its expectation, within
    six of its standard errors where it states any. Codes count as what the encoder expands them to.

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
    claim(_same(pickle.loads(pickle.dumps(fitted)).encode(X), fitted.encode(X)), encoder, "pickle must keep the codes")
    drawn, rows = fitted.drawn_, fitted.check_rows(X)
    if not refusal(ParameterError, drawn.to_state):  # a callable, say, that no file can hold
        kept = drawn_from_state(_read(drawn.to_state()))
        same = _same(kept.encode(rows), drawn.encode(rows)) and _same(kept.transform(rows), drawn.transform(rows))
        claim(same, fitted, "what a file keeps must give the same codes and features")
    if hasattr(fitted, "kernel_"):
        _check_estimates(fitted, X)


def _check_sides(fitted: Encoder, X: Any) -> None:
    Z, coded = fitted.transform(X), fitted.encode(X)
    named = Z.shape == (len(X), len(fitted.get_feature_names_out()))
    claim(named, fitted, "transform must give a column a name of get_feature_names_out")
    claim(Z.dtype == np.float32, fitted, "transform must give float32")
    claim(_expanded(fitted, coded).shape == Z.shape, fitted, "encode must have the shape of transform, once expanded")
    claim(len(fitted.fingerprint_) == 16, fitted, "fingerprint_ must have 16 bytes")
    if not isinstance(coded, Codes):
        claim(coded.dtype == np.float32, fitted, "encode must give Codes or float32")
        return
    claim(coded.fingerprint == fitted.fingerprint_, fitted, "codes must carry the fingerprint of their encoder")
    decoded = np.asarray(coded, dtype=np.float64)
    near = np.allclose(coded.dot(coded, dtype=np.float64), decoded @ decoded.T, rtol=1e-6, atol=1e-6)
    claim(near, fitted, "arithmetic on codes must be that on decoded features")


def _expanded(fitted: Encoder, coded: Any) -> Any:
    """Return what weights on a coded side are for; float features are that already."""
    return fitted.drawn_.expand(coded) if isinstance(coded, Codes) else coded


def _read(state: State) -> State:
    """Return a state as it comes from a file, its specs from text."""
    return {name: Part(part.version, json.loads(json.dumps(part.spec)), part.arrays) for name, part in state.items()}


def _same(left: Any, right: Any) -> bool:
    return bool(left == right) if isinstance(left, Codes) else bool(np.array_equal(left, right))


def _check_seed(encoder: Encoder, fitted: Encoder, X: Any) -> None:
    again = clone(encoder).fit(X)
    claim(again.fingerprint_ == fitted.fingerprint_, encoder, "the same seed must give the same fingerprint")
    claim(_same(again.encode(X), fitted.encode(X)), encoder, "the same seed must give the same codes")
    claim(_same(again.transform(X), fitted.transform(X)), encoder, "the same seed must give the same features")
    other = clone(encoder).set_params(random_state=fitted.random_state + 1).fit(X)
    claim(other.fingerprint_ != fitted.fingerprint_, encoder, "another seed must give another fingerprint")
    codes, foreign = fitted.encode(X), other.encode(X)
    if isinstance(codes, Codes):
        refused = refusal(FingerprintMismatchError, lambda: codes.dot(foreign))
        claim(refused, encoder, "codes of two encoders must not meet")
        _check_names_both(refused, encoder, fitted, foreign)


def _check_names_both(refused: str, part: Any, fitted: Any, foreign: Any) -> None:
    both = fitted.fingerprint_.hex() in refused and foreign.fingerprint.hex() in refused
    claim(both, part, "a refusal of foreign codes must name both fingerprints")


def _check_rows(fitted: Encoder, X: Any) -> None:
    """Rows are encoded one by one as together, up to the rounding of a matrix product, and there may be none."""
    claim(fitted.transform(X[:0]).shape[0] == 0, fitted, "transform of no rows must be empty")
    claim(fitted.encode(X[:0]).shape[0] == 0, fitted, "encode of no rows must be empty")
    together, Z = np.asarray(fitted.encode(X)), fitted.transform(X)
    alone = np.vstack([np.asarray(fitted.encode(X[i : i + 1])) for i in range(len(X))])
    rows = np.vstack([fitted.transform(X[i : i + 1]) for i in range(len(X))])
    near = np.allclose(rows, Z, rtol=0, atol=1e-3 * np.abs(Z).max())
    claim(near, fitted, "a row alone must give its features in a batch")
    differ = float(np.mean(np.abs(alone - together) > 1e-3 * np.abs(together).max()))
    claim(differ < 1e-3, fitted, f"a row alone must give its code in a batch, {differ:.1%} of the levels differ")


def _check_estimates(fitted: Any, X: Any) -> None:
    """Hold the products of all pairs of sides against their expectation; a right map of its own stands right."""
    X, Y = X[: len(X) // 2], X[len(X) // 2 :]
    left = {"full": fitted.transform(X), "codes": np.asarray(_expanded(fitted, fitted.encode(X)))}
    right = {"full": getattr(fitted, "transform_right", fitted.transform)(Y)}
    right["codes"] = np.asarray(_expanded(fitted, getattr(fitted, "encode_right", fitted.encode)(Y)))
    for sides in product(left, right):
        K, std = fitted.kernel_estimate(X, Y, sides=sides), np.zeros((len(X), len(Y)))
        # An encoder without chance in it has no errors to state, and its mean is the estimate itself.
        if not refusal(ParameterError, partial(fitted.kernel_estimate, X, Y, sides=sides, return_std=True)):
            std = fitted.kernel_estimate(X, Y, sides=sides, return_std=True)[1]
        multiplied = left[sides[0]].astype(np.float64) @ right[sides[1]].astype(np.float64).T
        near = np.allclose(K, multiplied, rtol=0, atol=1e-4)
        claim(near, fitted, f"kernel_estimate must be the product of the sides {sides}")
        claim(std >= 0, fitted, "standard errors must not be negative")
        within = np.abs(K - fitted.expected_kernel(X, Y, sides=sides)) <= STANDARD_ERRORS * std + 1e-5
        claim(within, fitted, f"estimates of {sides} must lie within {STANDARD_ERRORS:g} standard errors")


def check_learner(learner: Any, X: Any, y: ArrayLike) -> None:
    """Check that a learner treats rows, codes, weights and blocks as one contract; an AssertionError names what failed.

    Parameters
    ----------
    learner : estimator
        With parameters `features` and `random_state`, the latter an integer, that trains and predicts on packed codes
        with a fixed strength of regularization. It is cloned, not fitted.
    X : array (n_samples, n_features)
        A few dozen rows; scikit-learn's own checks come on top (`parametrize_with_checks`).
    y : array (n_samples,)

    Notes
    -----
    Rows against their `Codes`, in fit and in predict; foreign codes refused by both fingerprints; a row alone against
    a batch, and no rows; a weight of two against a row twice; blocks against all rows; the seed; pickle and what a
    file keeps; and, where there are probabilities, that they sum to one and keep the prediction.

    Examples
    --------
    >>> from lowtide import KernelClassifier
    >>> X = np.random.default_rng(0).standard_normal((40, 4))
    >>> check_learner(KernelClassifier(n_components=64, random_state=0), X, X[:, 0] * X[:, 1] > 0)
    """
    X, y = np.asarray(X, dtype=np.float64), np.asarray(y)
    fitted = clone(learner).fit(X, y)
    claim(fitted.features_ is not None, learner, "features_ must be the encoder that was fitted")
    codes = fitted.features_.encode(X)
    claim(isinstance(codes, Codes), learner, "the check needs features with packed codes")
    frozen = clone(learner).set_params(features=FrozenEstimator(fitted.features_))
    _check_codes(frozen, fitted, codes, X, y)
    _check_foreign(learner, fitted, X, y)
    _check_weights_and_blocks(frozen, X, y)
    together = _values(fitted, X)
    alone = np.concatenate([_values(fitted, X[i : i + 1]) for i in range(len(X))])
    claim(_near(alone, together), fitted, "a row alone must get its score in a batch")
    claim(len(fitted.predict(X[:0])) == 0, fitted, "predict of no rows must be empty")
    claim(_same(_values(clone(learner).fit(X, y), X), together), learner, "the same seed must give the same model")
    claim(_same(_values(pickle.loads(pickle.dumps(fitted)), X), together), learner, "pickle must keep the model")
    kept = type(fitted).from_state(_read(fitted.to_state()))
    claim(_same(_values(kept, X), together), learner, "what a file keeps must be the model")
    if hasattr(fitted, "predict_proba"):
        P = fitted.predict_proba(X)
        claim(np.allclose(P.sum(axis=1), 1.0) and np.all(P >= 0), fitted, "probabilities must be positive and sum to 1")
        same = np.array_equal(fitted.classes_[np.argmax(P, axis=1)], fitted.predict(X))
        claim(same, fitted, "the most probable class must be the predicted one")


def _values(fitted: Any, X: Any) -> NDArray[Any]:
    """Return scores where there are some, else predictions."""
    return np.asarray(getattr(fitted, "decision_function", fitted.predict)(X))


def _near(left: NDArray[Any], right: NDArray[Any]) -> bool:
    return bool(np.allclose(left, right, rtol=_SAME, atol=_SAME * float(np.max(np.abs(right), initial=0.0))))


def _check_codes(frozen: Any, fitted: Any, codes: Codes, X: Any, y: Any) -> None:
    expected = _values(fitted, X)
    claim(_near(_values(fitted, codes), expected), fitted, "codes must predict what their rows predict")
    kept = clone(frozen).fit(X, y)
    claim(kept.features_ is fitted.features_, fitted, "a frozen encoder must be kept, not cloned")
    claim(_near(_values(kept, X), expected), fitted, "a frozen encoder must give the model of the encoder itself")
    from_codes = clone(frozen).fit(codes, y)
    claim(_near(_values(from_codes, X), expected), fitted, "a fit on codes must be the fit on their rows")
    if fitted.features_.drawn_.expands:
        return  # without their encoder codes are what they decode to, and another model
    alone = clone(frozen).set_params(features=None).fit(codes, y)
    claim(_near(_values(alone, codes), expected), fitted, "a fit on codes must not need their encoder")
    claim(refusal(LowtideError, lambda: alone.predict(X)), fitted, "a model of codes alone must refuse raw rows")


def _check_foreign(learner: Any, fitted: Any, X: Any, y: Any) -> None:
    other = clone(learner).set_params(random_state=learner.random_state + 1)
    if other.features is not None:
        other.set_params(features__random_state=fitted.features_.random_state + 1)
    foreign = other.fit(X, y).features_.encode(X)
    refused = refusal(FingerprintMismatchError, lambda: fitted.predict(foreign))
    claim(refused, fitted, "codes of another encoder must be refused")
    _check_names_both(refused, fitted, fitted.features_, foreign)


def _check_weights_and_blocks(frozen: Any, X: Any, y: Any) -> None:
    counts = np.arange(len(X)) % 3
    if is_classifier(frozen):  # every class keeps a row that counts
        counts[np.unique(y, return_index=True)[1]] = 1
    weighted = clone(frozen).fit(X, y, sample_weight=counts)
    repeated = clone(frozen).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    same = _near(_values(weighted, X), _values(repeated, X))
    claim(same, frozen, "a weight must count as that many rows, zero as none")
    size = max(1, len(X) // 3)
    blocks = ((X[i : i + size], y[i : i + size]) for i in range(0, len(X), size))
    same = _near(_values(clone(frozen).fit(blocks), X), _values(clone(frozen).fit(X, y), X))
    claim(same, frozen, "an iterator of blocks must give the model of all rows")
