"""The two-sided contract: a full side in float32, a coded side in packed bits, on the same frequencies."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from lowtide._checks import fail
from lowtide.codes import Codes
from lowtide.encoders.state import EstimatorState

__all__ = ["Encoder"]


class Encoder(EstimatorState, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of the transformers with two sides.

    `transform` gives the full side, float32 features; `encode` the coded side, `Codes` that carry `fingerprint_`.
    """

    fingerprint_: bytes
    n_features_in_: int

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Return the full side.

        Parameters
        ----------
        X : array, CSR matrix or data frame (n, n_features)

        Returns
        -------
        ndarray of float32, shape (n, n_features_out)
        """
        return self._transform(self._rows(X))

    def encode(self, X: Any) -> Codes | NDArray[np.float32]:
        """Return the coded side.

        Parameters
        ----------
        X : array, CSR matrix or data frame (n, n_features)

        Returns
        -------
        Codes of shape (n, n_features_out); float32 features of that shape where the coded side is continuous
        """
        return self._encode(self._rows(X))

    @abstractmethod
    def _transform(self, rows: Any) -> NDArray[np.float32]:
        """Return the full side of validated rows."""

    @abstractmethod
    def _encode(self, rows: Any) -> Codes | NDArray[np.float32]:
        """Return the coded side of validated rows."""

    @property
    @abstractmethod
    def _n_features_out(self) -> int: ...

    def _embed(self, rows: Any) -> NDArray[np.float32]:
        """Return what a linear model on the full side learns on: that side, unless there is an `embed`."""
        return self._transform(rows)

    @property
    def _n_embedded(self) -> int:
        """Columns of `_embed`."""
        return self._n_features_out

    def _rows(self, X: Any, *, reset: bool = False) -> Any:
        """Return X as a validated array or CSR matrix of its own dtype; float32 comes block by block later."""
        if not reset:
            if self._is_plain(X):
                return X
            check_is_fitted(self)
            if isinstance(X, Codes) and X.fingerprint == self.fingerprint_:
                raise fail(type(self).__name__, "X must be rows, not what this encoder made of them", "its Codes")
        fewest = 1 if reset else 0
        return validate_data(self, X, reset=reset, accept_sparse="csr", dtype="numeric", ensure_min_samples=fewest)

    def _is_plain(self, X: Any) -> bool:
        """Whether X is exactly what the ops take: then scikit-learn's validation, 120 us a call, is passed over."""
        return (
            type(X) is np.ndarray
            and X.dtype in (np.float32, np.float64)
            and X.ndim == 2
            and self.__sklearn_is_fitted__()
            and X.shape[1] == self.n_features_in_
            and not hasattr(self, "feature_names_in_")
            and (self._ops_refuse_not_finite or _is_finite(X))
        )

    @property
    def _has_codes(self) -> bool:
        """Whether a fitted encoder has a coded side."""
        return True

    @property
    def _ops_refuse_not_finite(self) -> bool:
        """Whether the ops find NaN and infinity by themselves, so that no pass over X has to."""
        return False

    def __sklearn_is_fitted__(self) -> bool:
        """Whether a fit was finished: the fingerprint comes last."""
        return hasattr(self, "fingerprint_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags


def _is_finite(X: NDArray[np.floating[Any]]) -> bool:
    """Return whether the sum is finite; false also for a sum of large numbers, which validation then looks at."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(X.sum()))
