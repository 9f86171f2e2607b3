"""The contract of a learner on one side of an encoder."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone, is_classifier
from sklearn.frozen import FrozenEstimator

from lowtide.codes import Codes
from lowtide.errors import FingerprintMismatchError, LowtideError
from lowtide.testing.claim import claim

__all__ = ["check_learner"]

# Two ways to one solution: sums in another order, or L-BFGS that ends at a gradient of 1e-10.
_SAME = 1e-5


def check_learner(learner: Any, X: Any, y: ArrayLike) -> None:
    """Check that a learner treats rows, codes, weights and blocks as one contract.

    Parameters
    ----------
    learner : estimator
        With parameters `features` and `random_state`, the latter an integer, that trains and predicts on packed codes
        with a fixed strength of regularization. It is cloned, not fitted.
    X : array (n_samples, n_features)
        A few dozen rows; scikit-learn's own checks come on top (`parametrize_with_checks`).
    y : array (n_samples,)

    Raises
    ------
    AssertionError
        With a sentence that names what failed.

    Notes
    -----
    Rows against their `Codes`, in fit and in predict; foreign codes refused by both fingerprints; a row alone against
    a batch, and no rows; a weight of two against a row twice; blocks against all rows; the seed; pickle; and, where
    there are probabilities, that they sum to one and keep the prediction.

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
    _check_rows(fitted, X)
    _check_weights_and_blocks(frozen, X, y)
    again, restored = clone(learner).fit(X, y), pickle.loads(pickle.dumps(fitted))
    claim(np.array_equal(_values(again, X), _values(fitted, X)), learner, "the same seed must give the same model")
    claim(np.array_equal(_values(restored, X), _values(fitted, X)), learner, "pickle must keep the model")
    if hasattr(fitted, "predict_proba"):
        _check_probabilities(fitted, X)


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
    alone = clone(frozen).set_params(features=None).fit(codes, y)
    claim(_near(_values(alone, codes), expected), fitted, "a fit on codes must not need their encoder")
    refused = _raises(LowtideError, lambda: alone.predict(X))
    claim(refused, fitted, "a model of codes alone must refuse raw rows")


def _check_foreign(learner: Any, fitted: Any, X: Any, y: Any) -> None:
    other = clone(learner).set_params(random_state=learner.random_state + 1)
    if other.features is not None:
        other.set_params(features__random_state=fitted.features_.random_state + 1)
    foreign = other.fit(X, y).features_.encode(X)
    refused = _raises(FingerprintMismatchError, lambda: fitted.predict(foreign))
    claim(refused, fitted, "codes of another encoder must be refused")
    both = fitted.features_.fingerprint_.hex() in refused and foreign.fingerprint.hex() in refused
    claim(both, fitted, "a refusal of foreign codes must name both fingerprints")


def _raises(kind: type[Exception], call: Callable[[], Any]) -> str:
    """Return the message of an expected error, empty when there was none."""
    try:
        call()
    except kind as error:
        return str(error) or kind.__name__
    return ""


def _check_rows(fitted: Any, X: Any) -> None:
    together = _values(fitted, X)
    alone = np.concatenate([_values(fitted, X[i : i + 1]) for i in range(len(X))])
    claim(_near(alone, together), fitted, "a row alone must get its score in a batch")
    claim(len(fitted.predict(X[:0])) == 0, fitted, "predict of no rows must be empty")


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


def _check_probabilities(fitted: Any, X: Any) -> None:
    P = fitted.predict_proba(X)
    claim(np.allclose(P.sum(axis=1), 1.0) and np.all(P >= 0), fitted, "probabilities must be positive and sum to 1")
    same = np.array_equal(fitted.classes_[np.argmax(P, axis=1)], fitted.predict(X))
    claim(same, fitted, "the most probable class must be the predicted one")
