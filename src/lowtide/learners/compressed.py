"""Low-bit machines made from exact ones: weights on one side of an encoder, and no support vectors."""

from __future__ import annotations

from itertools import combinations
from typing import Any, Literal, NoReturn, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, OutlierMixin, RegressorMixin
from sklearn.utils.multiclass import _ovr_decision_function
from sklearn.utils.validation import check_is_fitted, validate_data

from lowtide.codes import Codes
from lowtide.encoders import RandomFeatures
from lowtide.errors import ParameterError
from lowtide.learners.compress_error import DecisionReport, dense_blocks, draw_variance, layout_ratio
from lowtide.learners.compress_expansion import KernelExpansion, expansion_of, scale_columns
from lowtide.learners.design import Design
from lowtide.learners.machine import KernelMachine, Side

__all__ = ["CompressedClassifier", "CompressedDetector", "CompressedMachine", "CompressedRegressor"]

Array = NDArray[Any]


class CompressedMachine(KernelMachine):
    """What `lowtide.compress` returns: scores D w + b, D one side of the rows, w the sum over the support rows.

    Parameters
    ----------
    query, support : {"codes", "full"}
        The side of the rows that come, and of the support rows that the weights were summed over.

    Attributes
    ----------
    features_ : RandomFeatures
    coef_ : ndarray of float32 (k, n_features_out)
    intercept_ : ndarray (k,)
    scale_ : ndarray (n_features,) or None
        Divides the columns of rows before they are encoded: length scales that differ from column to column.
    layout_factor_ : float
        Standard error of the layout over that of independent frequencies, 1 where it cannot be told.
    report_ : DecisionReport
        How far decision values moved when the model was made.
    n_features_in_ : int
    """

    features_: RandomFeatures
    scale_: Array | None
    layout_factor_: float
    report_: DecisionReport

    def __init__(self, *, query: Side = "codes", support: Side = "full") -> None:
        self.query = query
        self.support = support

    def fit(self, X: Any, y: Any = None) -> NoReturn:
        """Refuse: a compressed model has no training of its own."""
        raise ParameterError(
            f"{type(self).__name__}: a compressed model is made from a fitted one and has no fit of its own. Fit the "
            "exact model, then call lowtide.compress on it."
        )

    def encode(self, X: Any) -> Codes | NDArray[np.float32]:
        """Return the codes of rows that `predict` takes: what a client sends."""
        check_is_fitted(self, "_weights")
        return self.features_.encode(scale_columns(self._checked(X), self.scale_))

    def decision_std(self, X: Any) -> Array:
        """Return the standard error of each score over draws of the frequencies, as `decision_function` before votes.

        Estimated from the spread of the frequencies' terms, times `layout_factor_`; it holds no bias of codes against
        codes. O(n m k), where a score takes the same.

        Returns
        -------
        ndarray (n,) for one column, else (n, k)
        """
        check_is_fitted(self, "_weights")
        design = self._design(X if isinstance(X, Codes) else self._checked(X), self._predict_on)
        W = self._weights.astype(np.float64)
        out = np.empty((design.shape[0], W.shape[1]))
        for part, D in dense_blocks(design):
            out[part] = self.layout_factor_ * np.sqrt(draw_variance(D, W, self.features_))
        return out[:, 0] if out.shape[1] == 1 else out

    def moved(self, X: Any, exact: Any) -> DecisionReport:
        """Measure how far decision values moved.

        Parameters
        ----------
        X : array, CSR matrix or data frame (n, n_features)
        exact : the model that was compressed; of a Pipeline its last step, with the rows that reach it
        """
        check_is_fitted(self, "_weights")
        return self._report(self._checked(X), expansion_of(exact), "given rows")

    def _fill(self, expansion: KernelExpansion, features: RandomFeatures, scale_by: float, rows: Any) -> Self:
        """Sum the weights over the support rows, and measure on rows (None: a sample of the support rows)."""
        self.features_, self.scale_ = features, expansion.scale
        self.n_features_in_, self._fingerprint = features.n_features_in_, features.fingerprint_
        self._predict_on = self.query
        weights = self._design(expansion.rows, self.support).rmatmul(expansion.coef) * scale_by
        self._keep(weights.astype(np.float32), expansion.intercept)
        which = "support rows" if rows is None else "given rows"
        measured = _sample(expansion.rows) if rows is None else self._checked(rows)
        self.layout_factor_ = self._layout_factor(measured)
        self.report_ = self._report(measured, expansion, which)
        return self

    def _checked(self, X: Any) -> Any:
        return validate_data(self, X, reset=False, accept_sparse="csr", dtype="numeric", ensure_min_samples=0)

    def _design(self, X: Any, side: str) -> Design:
        return super()._design(X if isinstance(X, Codes) else scale_columns(X, self.scale_), side)

    def _layout_factor(self, rows: Any) -> float:
        """Return the ratio of standard errors, pooled over rows: a single row has too few blocks to tell."""
        W = self._weights.astype(np.float64)
        parts = [layout_ratio(D, W, self.features_) for _, D in dense_blocks(self._design(rows, self._predict_on))]
        between, independent = np.sum(parts, axis=0) if parts else (1.0, 1.0)
        return float(np.sqrt(between / independent)) if independent > 0 else 1.0

    def _report(self, rows: Any, expansion: KernelExpansion, which: str) -> DecisionReport:
        exact, scores = expansion.decision(rows), self._scores(rows)
        labels = self._labels(exact)
        return DecisionReport(
            n_rows=rows.shape[0],
            rows=which,
            moved=_rms(scores - exact),
            largest=float(np.max(np.abs(scores - exact), initial=0.0)),
            predicted=_rms(self.decision_std(rows)),
            bias=_rms(self._expected(rows, expansion) - exact) if self._is_biased() else 0.0,
            spread=_rms(exact - exact.mean(axis=0)) if len(exact) else 0.0,
            unchanged=float(np.mean(labels == self._labels(scores))) if labels is not None and len(exact) else None,
            nbytes=self._nbytes(),
            exact_nbytes=expansion.nbytes,
        )

    def _is_biased(self) -> bool:
        return self.query == self.support == "codes"

    def _expected(self, rows: Any, expansion: KernelExpansion) -> Array:
        """Return the expectation of scores of codes against codes."""
        left, right = (scale_columns(X, self.scale_) for X in (rows, expansion.rows))
        kernel = self.features_.expected_kernel(left, right, sides=("codes", "codes"), normalize=self._normalized)
        return kernel @ expansion.coef + expansion.intercept

    def _labels(self, scores: Array) -> Array | None:
        """Return the classes of scores, or None where there are none."""
        return None

    def _nbytes(self) -> int:
        drawn = (*self.features_.projection_.arrays().values(), self.features_.random_offset_)
        own = (self._weights, self.intercept_, np.empty(0) if self.scale_ is None else self.scale_)
        return sum(int(np.asarray(array).nbytes) for array in (*drawn, *own))
