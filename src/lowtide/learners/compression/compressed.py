"""Low-bit machines made from exact ones: weights on one side of an encoder, and no support vectors."""

from __future__ import annotations

from itertools import combinations
from typing import Any, Literal, NoReturn, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, OutlierMixin, RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import _ovr_decision_function
from sklearn.utils.validation import check_is_fitted, validate_data

from lowtide._checks import fail
from lowtide.codes import Codes
from lowtide.encoders import RandomFeatures
from lowtide.errors import ParameterError
from lowtide.learners.compression.error import DecisionReport, dense_blocks, draw_variance, layout_ratio
from lowtide.learners.compression.expansion import KernelExpansion, expansion_of, scale_columns
from lowtide.learners.compression.state import CompressedState
from lowtide.learners.design import Design
from lowtide.learners.machine import KernelMachine, Side, _check_fingerprint

__all__ = ["CompressedClassifier", "CompressedDetector", "CompressedMachine", "CompressedRegressor"]

Array = NDArray[Any]

_MOST_SUPPORT_ROWS = 1000


class CompressedMachine(CompressedState, KernelMachine):
    """What `lowtide.compress` makes: scores D w + b, D one side of the rows, w a sum over one side of support rows.

    Parameters
    ----------
    query, support : {"codes", "full"}
        The side of the rows that come, and that of the support rows which went into the weights.
    normalize : bool
        Whether weights for codes against codes were divided by their expectation at x = y.

    Attributes
    ----------
    features_ : RandomFeatures
    coef_ : ndarray of float32 (k, n_features_out)
    intercept_ : ndarray (k,)
    scale_ : ndarray (n_features,) or None
        Divides the columns of rows before they are encoded: length scales that differ from column to column.
    layout_factor_ : float
        Standard error under the layout over that of independent frequencies; 1 where it cannot be told.
    report_ : DecisionReport
        How far decision values moved when the model was made.
    n_features_in_ : int
    """

    features_: RandomFeatures
    feature_names_in_: Array
    scale_: Array | None
    layout_factor_: float
    report_: DecisionReport

    def __init__(self, *, query: Side = "codes", support: Side = "full", normalize: bool = True) -> None:
        self.query = query
        self.support = support
        self.normalize = normalize

    def fit(self, X: Any, y: Any = None) -> NoReturn:
        """Refuse: a compressed model has no training of its own."""
        raise ParameterError(
            f"{type(self).__name__}: a compressed model is made from a fitted one and cannot be fitted. Fit the exact "
            "model, then call lowtide.compress on it."
        )

    def encode(self, X: Any) -> Codes | NDArray[np.float32]:
        """Return the codes of rows, which `predict` takes: what a client sends."""
        return self.features_.encode(scale_columns(self._input(X), self.scale_))

    def decision_std(self, X: Any) -> Array:
        """Return the standard error of each kernel sum over draws of the frequencies.

        Estimated from the spread of the frequencies' terms, times `layout_factor_`. Bias of codes against codes is no
        part of it. Costs about four times the scores.

        Parameters
        ----------
        X : array, CSR matrix or data frame (n, n_features), or Codes

        Returns
        -------
        ndarray (n,) for one column; else (n, k): a column a target, or a pair of classes
        """
        std = self._std(self._input(X))
        return std[:, 0] if std.shape[1] == 1 else std

    def moved(self, X: Any, exact: Any) -> DecisionReport:
        """Measure how far decision values moved.

        Parameters
        ----------
        X : array, CSR matrix or data frame (n, n_features)
        exact : estimator
            The model that was compressed; of a Pipeline its last step, and X the rows that reach it.

        Returns
        -------
        DecisionReport
        """
        expansion = expansion_of(exact)
        own, given = (self.n_features_in_, len(self.intercept_)), (expansion.rows.shape[1], expansion.coef.shape[1])
        if given != own:
            need = f"exact must be the model that was compressed, {own[0]} columns and {own[1]} kernel sums"
            raise fail(type(self).__name__, need, given)
        return self._report(self._measurable(X), expansion, "given rows")

    def _fill(self, expansion: KernelExpansion, features: RandomFeatures, X: Any) -> Self:
        """Sum the weights over the support rows and measure on X (None: on some of the support rows)."""
        self.features_, self.scale_ = features, expansion.scale
        self.n_features_in_, self._fingerprint = features.n_features_in_, features.fingerprint_
        self._predict_on = self.query
        weights = self._design(expansion.rows, self.support).rmatmul(expansion.coef) / self._value_at_zero()
        self._keep(weights.astype(np.float32), expansion.intercept)
        step = -(-expansion.rows.shape[0] // _MOST_SUPPORT_ROWS)
        rows = expansion.rows[::step] if X is None else self._measurable(X)
        self.layout_factor_ = self._layout_factor(rows)
        self.report_ = self._report(rows, expansion, "support rows" if X is None else "given rows")
        return self

    def _value_at_zero(self) -> float:
        """Return what weights are divided by: only codes against codes have another value than 1 at x = y."""
        if not (self.normalize and self._is_biased()):
            return 1.0
        origin = np.zeros((1, self.n_features_in_))
        return float(self.features_.expected_kernel(origin, sides=("codes", "codes"))[0, 0])

    def _is_biased(self) -> bool:
        return self.query == self.support == "codes"

    def _input(self, X: Any, fewest: int = 0) -> Any:
        """Return rows validated, or Codes of this model's encoder."""
        check_is_fitted(self, "_weights")
        if isinstance(X, Codes):
            _check_fingerprint(X, self._fingerprint)
            return X
        return validate_data(self, X, reset=False, accept_sparse="csr", dtype="numeric", ensure_min_samples=fewest)

    def _measurable(self, X: Any) -> Any:
        """Return validated rows, one at least: the exact model cannot read codes."""
        if isinstance(X, Codes):
            raise fail(type(self).__name__, "X must be the rows themselves for the exact model to read", "Codes")
        return self._input(X, fewest=1)

    def _design(self, X: Any, side: str) -> Design:
        return super()._design(X if isinstance(X, Codes) else scale_columns(X, self.scale_), side)

    def _std(self, rows: Any) -> Array:
        design, W = self._design(rows, self._predict_on), self._weights.astype(np.float64)
        out = np.empty((design.shape[0], W.shape[1]))
        for part, D in dense_blocks(design):
            out[part] = self.layout_factor_ * np.sqrt(draw_variance(D, W, self.features_))
        return out

    def _layout_factor(self, rows: Any) -> float:
        """Return the ratio of standard errors, pooled over rows: one row has too few blocks to tell."""
        W = self._weights.astype(np.float64)
        parts = [layout_ratio(D, W, self.features_) for _, D in dense_blocks(self._design(rows, self._predict_on))]
        between, independent = np.sum(parts, axis=0)
        return float(np.sqrt(between / independent)) if independent > 0 else 1.0

    def _report(self, rows: Any, expansion: KernelExpansion, which: str) -> DecisionReport:
        """Compare with the exact model on validated rows."""
        exact = expansion.decision(rows)
        scores = self._design(rows, self._predict_on).matmul(self._weights.astype(np.float64)) + self.intercept_
        labels, expected = self._labels(exact), self._expected(rows, expansion) if self._is_biased() else exact
        return DecisionReport(
            n_rows=len(exact),
            rows=which,
            moved=_rms(scores - exact),
            largest=float(np.max(np.abs(scores - exact))),
            predicted=_rms(self._std(rows)),
            bias=_rms(expected - exact),
            spread=_rms(exact - exact.mean(axis=0)),
            unchanged=None if labels is None else float(np.mean(labels == self._labels(scores))),
            nbytes=self._nbytes(),
            exact_nbytes=expansion.nbytes,
        )

    def _expected(self, rows: Any, expansion: KernelExpansion) -> Array:
        """Return the expectation of the scores of codes against codes."""

        def gram(left: Any, right: Any) -> Array:
            return self.features_.expected_kernel(left, right, sides=("codes", "codes"), normalize=self.normalize)

        return expansion.decision(rows, gram)

    def _labels(self, scores: Array) -> Array | None:
        """Return the classes that scores decide for; None in regression."""
        return None

    def _nbytes(self) -> int:
        drawn = (*self.features_.projection_.arrays().values(), self.features_.random_offset_)
        own = (self._weights, self.intercept_, *(() if self.scale_ is None else (self.scale_,)))
        return sum(int(np.asarray(array).nbytes) for array in (*drawn, *own))

    def __sklearn_clone__(self) -> Self:
        """Return itself: there is no unfitted form to go back to."""
        return self


class CompressedClassifier(ClassifierMixin, CompressedMachine):
    """A compressed `SVC` or `NuSVC`: a column a pair of classes, decided by votes as scikit-learn does.

    Parameters
    ----------
    query, support, normalize
        As in `CompressedMachine`.
    decision_function_shape : {"ovr", "ovo"}
    break_ties : bool
        As in `SVC`: decide by the values of "ovr", where votes alone may tie.

    Attributes
    ----------
    classes_ : ndarray (n_classes,)
    coef_ : ndarray of float32 (1 or n_classes (n_classes - 1) / 2, n_features_out)
    """

    classes_: Array

    def __init__(
        self,
        *,
        query: Side = "codes",
        support: Side = "full",
        normalize: bool = True,
        decision_function_shape: Literal["ovr", "ovo"] = "ovr",
        break_ties: bool = False,
    ) -> None:
        super().__init__(query=query, support=support, normalize=normalize)
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties

    def decision_function(self, X: Any) -> Array:
        """Return decision values of rows or Codes: (n,) for two classes, else (n, n_classes) or (n, n_pairs)."""
        scores = self._scores(X)
        if len(self.classes_) == 2:
            return scores[:, 0]
        return self._class_values(scores) if self.decision_function_shape == "ovr" else scores

    def predict(self, X: Any) -> Array:
        """Return the classes of rows or Codes, (n,)."""
        return self._labels(self._scores(X))

    def _class_values(self, scores: Array) -> Array:
        return np.asarray(_ovr_decision_function(scores < 0, -scores, len(self.classes_)))

    def _labels(self, scores: Array) -> Array:
        """Vote as libsvm does: a pair's first class on a positive value; the first class of the most votes."""
        n_classes = len(self.classes_)
        if n_classes == 2:
            return np.asarray(self.classes_[(scores[:, 0] >= 0).astype(np.intp)])
        if self.break_ties:
            return np.asarray(self.classes_[np.argmax(self._class_values(scores), axis=1)])
        votes = np.zeros((len(scores), n_classes), dtype=np.intp)
        for column, (i, j) in enumerate(combinations(range(n_classes), 2)):
            first = scores[:, column] > 0
            votes[:, i] += first
            votes[:, j] += ~first
        return np.asarray(self.classes_[np.argmax(votes, axis=1)])


class CompressedRegressor(RegressorMixin, CompressedMachine):
    """A compressed `SVR`, `NuSVR`, `KernelRidge` or mean of a `GaussianProcessRegressor`.

    Parameters
    ----------
    query, support, normalize
        As in `CompressedMachine`.
    """

    _flat: bool
    _fitted_numbers = ("layout_factor_", "_flat")

    def predict(self, X: Any) -> Array:
        """Return predictions for rows or Codes, (n,) or (n, n_targets)."""
        scores = self._scores(X)
        return scores[:, 0] if self._flat else scores

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


class CompressedDetector(OutlierMixin, CompressedMachine):
    """A compressed `OneClassSVM`.

    Parameters
    ----------
    query, support, normalize
        As in `CompressedMachine`.

    Attributes
    ----------
    offset_ : ndarray (1,)
        What `score_samples` has more than `decision_function`.
    """

    def decision_function(self, X: Any) -> Array:
        """Return values of rows or Codes, (n,), positive for inliers."""
        return self._scores(X)[:, 0]

    def score_samples(self, X: Any) -> Array:
        """Return the kernel sums of rows or Codes, (n,)."""
        return self.decision_function(X) + self.offset_

    def predict(self, X: Any) -> Array:
        """Return 1 for inliers and -1 for outliers, (n,)."""
        return self._labels(self._scores(X))

    @property
    def offset_(self) -> Array:
        """The negative intercept, as in `OneClassSVM`."""
        return -self.intercept_

    def _labels(self, scores: Array) -> Array:
        return np.where(scores[:, 0] > 0, 1, -1)


def _rms(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2)))
