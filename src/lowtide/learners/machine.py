"""What the classifier and the regressor share: features, sides, and scores from packed bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import (
    _check_sample_weight,
    _check_y,
    check_is_fitted,
    has_fit_parameter,
    validate_data,
)

from lowtide._checks import check_option, fail
from lowtide.codes import Codes, CodeSource
from lowtide.encoders import Encoder, RandomFeatures
from lowtide.errors import FingerprintMismatchError
from lowtide.learners.decisive_scores import decisive_scores, is_worthwhile
from lowtide.learners.design import CodedDesign, Design, FullDesign, encoded_design
from lowtide.learners.problem import Problem, ProblemSource, SummedProblem
from lowtide.learners.progress import CallbackSupport
from lowtide.learners.source_design import design_of
from lowtide.learners.sources import RecodedSource, column_of, first_codes, is_source, read_blocks
from lowtide.learners.state import MachineState

__all__ = ["KernelMachine", "Side", "check_features"]

Array = NDArray[Any]
Side = Literal["codes", "full"]


class KernelMachine(MachineState, CallbackSupport, BaseEstimator):
    """A linear model on one side of an encoder, scored on the same or on the other side."""

    features: Any
    gamma: Any
    n_components: int
    bits: int | None
    train_on: Side | None
    predict_on: Side | None
    random_state: Any
    warm_start: bool
    features_: Encoder | None
    _weights: Array
    intercept_: Array

    def _start_problem(self: Any, X: Any, y: Any, sample_weight: Any, **checks: Any) -> SummedProblem:
        """Validate rows, codes or a source of codes, settle the encoder and the sides; return what is to be fitted."""
        if isinstance(X, ProblemSource):
            self._adopt(X.no_codes, X.encoder)
            self._settle_sides(coded_only=True)
            return X.problem(self.fit_intercept, **checks)
        return self._problem(*self._start(X, y, sample_weight, **checks), self.fit_intercept)

    def _start(self, X: Any, y: Any, sample_weight: Any, **checks: Any) -> tuple[Any, Array, Array | None]:
        """Validate, settle the encoder and the sides; return rows or codes, labels, and weights (None: all ones)."""
        if is_source(X):
            y, sample_weight = column_of(X, y, "y"), column_of(X, sample_weight)
            y = self._check_targets(X, y, **checks)
            self._adopt(first_codes(X), getattr(X, "encoder", None))
            weight = self._check_weight(sample_weight, len(y))
        else:
            named = X
            X, y = validate_data(self, X, y, accept_sparse="csr", dtype="numeric", **checks)
            weight = self._check_weight(sample_weight, len(y))
            self._fit_features(X, weight, named)
        self._settle_sides(coded_only=is_source(X))
        return X, y, weight

    def _start_block(
        self, X: Any, y: Any, sample_weight: Any, first: bool, **checks: Any
    ) -> tuple[Any, Array, Array | None]:
        """Validate one of many blocks; the first settles the encoder and the sides."""
        if first:
            return self._start(X, y, sample_weight, **checks)
        if is_source(X):
            y, sample_weight = column_of(X, y, "y"), column_of(X, sample_weight)
            y = self._check_targets(X, y, **checks)
            _check_fingerprint(first_codes(X), self._fingerprint)
            X = self._as_trained(X) if isinstance(X, Codes) else RecodedSource(X, self._as_trained)
        else:
            X, y = validate_data(self, X, y, reset=False, accept_sparse="csr", dtype="numeric", **checks)
        return X, y, self._check_weight(sample_weight, len(y))

    def _check_targets(self, codes: CodeSource, y: Any, **checks: Any) -> Array:
        """Return validated targets of codes, a value a row."""
        owner, n_rows = type(self).__name__, codes.n_rows
        if y is None:
            raise fail(owner, "y must be passed, a value a row of the codes", y)
        if n_rows == 0:
            raise fail(owner, "codes to fit on must have at least one row", "0 rows")
        targets = _check_y(y, estimator=self, **checks)
        if len(targets) != n_rows:
            raise fail(owner, f"y must have a value a row, {n_rows}", len(targets))
        return np.asarray(targets)

    def _check_weight(self, sample_weight: Any, n: int) -> Array | None:
        if sample_weight is None:
            return None
        weight = _check_sample_weight(sample_weight, np.empty((n, 1)), dtype=np.float64, ensure_non_negative=True)
        return None if np.all(weight == 1.0) else weight

    def _fit_features(self, X: Any, weight: Array | None, named: Any) -> None:
        """Fit a clone of the features, unless they are frozen or a warm start keeps the ones there are.

        `named` is X as it came: a frozen encoder that was fitted on named columns wants the same ones.
        """
        # Rows are read by the encoder's own codebook, whatever Codes a fit before this one was on.
        self.__dict__.pop("_trained_codes", None)
        given = self.features
        check_features(type(self).__name__, given)
        if isinstance(given, FrozenEstimator):
            check_is_fitted(given.estimator)
            validate_data(given.estimator, named, reset=False, skip_check_array=True)
            self.features_ = given.estimator
        elif self.warm_start and getattr(self, "features_", None) is not None:
            validate_data(self.features_, X, reset=False, skip_check_array=True)
        elif given is None:
            self.features_ = self._default_features().fit(X, sample_weight=weight)
        elif has_fit_parameter(given, "sample_weight"):
            self.features_ = clone(given).fit(X, sample_weight=weight)
        else:
            self.features_ = clone(given).fit(X)

    def _default_features(self) -> RandomFeatures:
        return RandomFeatures(
            gamma=self.gamma, n_components=self.n_components, bits=self.bits, random_state=self.random_state
        )

    def _adopt(self, codes: Codes, own: Encoder | None = None) -> None:
        """Take codes as they are; an encoder that is given must have made them, else they may bring their own."""
        given = self.features.estimator if isinstance(self.features, FrozenEstimator) else self.features
        check_features(type(self).__name__, given)
        encoder: Any = own if given is None else given
        if encoder is not None:
            try:
                check_is_fitted(encoder)
            except NotFittedError:
                raise fail(
                    type(self).__name__,
                    "features must be None or the fitted encoder that made the codes",
                    f"{encoder!r}, not fitted",
                ) from None
            _check_fingerprint(codes, encoder.fingerprint_)
        self.features_, self._trained_codes = encoder, codes[:0]
        self.n_features_in_ = encoder.n_features_in_ if encoder is not None else codes.shape[1]
        self._fingerprint = codes.fingerprint
        self.__dict__.pop("feature_names_in_", None)
        if hasattr(encoder, "feature_names_in_"):
            self.feature_names_in_ = encoder.feature_names_in_

    def _settle_sides(self, coded_only: bool) -> None:
        """Resolve train_on and predict_on: codes, or full where there is no coded side."""
        has_codes = self.features_ is None or self.features_._has_codes
        default: Side = "codes" if has_codes else "full"
        owner = type(self).__name__
        sides = {}
        for name, side in (("train_on", self.train_on), ("predict_on", self.predict_on)):
            sides[name] = default if side is None else check_option(owner, name, side, ("codes", "full"))
            if sides[name] == "codes" and not has_codes:
                raise fail(owner, f"{name} must be 'full' for features without a coded side", side, "Or set bits=1.")
        if coded_only and sides["train_on"] == "full":
            raise fail(owner, "train_on must be 'codes' when fitted on Codes", "full", "Pass the raw rows.")
        if self.features_ is None and sides["predict_on"] == "full":
            remedy = "Give their encoder as features."
            raise fail(owner, "predict_on must be 'codes' when fitted on Codes alone", "full", remedy)
        self._train_on, self._predict_on = sides["train_on"], sides["predict_on"]
        if self._train_on != self._predict_on and self._n_columns_of("full") != self._n_columns_of("codes"):
            need = f"train_on and predict_on must be one side for {type(self.features_).__name__}, whose embedding has "
            raise fail(owner, f"{need}columns of its own", (self._train_on, self._predict_on))
        if self.features_ is not None:
            self._fingerprint = self.features_.fingerprint_

    def _n_columns_of(self, side: str) -> int | None:
        """Return how many weights a side has; None when there is no encoder to ask."""
        if self.features_ is None:
            return None
        return self.features_._n_embedded if side == "full" else self.features_._n_features_out

    def _design(self, X: Any, side: str) -> Design:
        """Return rows or codes as the matrix of one side."""
        if is_source(X):
            return design_of(X)
        if self.features_ is None:
            raise fail(type(self).__name__, "a model fitted on Codes alone predicts on Codes", type(X).__name__)
        if side == "full":
            return FullDesign(self.features_, X)
        return encoded_design(self.features_, X, read=self._as_trained)

    def _as_trained(self, codes: Codes) -> Codes:
        """Return codes with the codebook that the weights are for: a sketch's levels may come with any other."""
        trained = self._trained_codes
        if trained is None:
            trained = codes if self.features_ is None else getattr(self.features_, "_no_codes", codes)
        same = codes.codebook is trained.codebook or np.array_equal(codes.codebook, trained.codebook)
        if same and codes.is_times_norms == trained.is_times_norms:
            return codes
        book = codes.with_codebook(trained.codebook)
        return book.times_norms() if trained.is_times_norms else book

    def _problem(self, X: Any, labels: Array, weight: Array | None, fit_intercept: bool) -> Problem:
        """Return both sides of the rows with their labels; one object where the two sides are one.

        Codes have no full side to look at: then both are the codes, whatever will predict.
        """
        train = self._design(X, self._train_on)
        same = self._predict_on == self._train_on or is_source(X)
        predict = train if same else self._design(X, self._predict_on)
        return Problem(train, predict, labels, weight, fit_intercept)

    def _by_blocks(self, X: Any, method: Callable[[Array], Array], only_ahead: bool = False) -> Array:
        """Return method(scores) of all rows; a source is read block by block, so its scores are never there at once."""
        if not is_source(X) or isinstance(X, Codes):
            return method(self._scores(X, only_ahead))
        check_is_fitted(self, "_weights")
        done = [method(self._scores(block, only_ahead)) for block in read_blocks(X, len(self.intercept_))]
        return np.concatenate(done) if done else method(np.empty((0, len(self.intercept_))))

    def _scores(self, X: Any, only_ahead: bool = False) -> Array:
        """Return D w + b on the side that predicts, float64 (n, k); maybe only close enough to tell which is ahead."""
        if "_weights" not in self.__dict__:
            check_is_fitted(self, "_weights")
        if isinstance(X, Codes):
            _check_fingerprint(X, self._fingerprint)
            if self._predict_on == "full":
                remedy = "Pass the raw rows, or fit with predict_on='codes'."
                raise fail(type(self).__name__, "rows must not be coded when predict_on is 'full'", "Codes", remedy)
            X = self._as_trained(X)
        elif is_source(X):
            return self._by_blocks(X, lambda scores: scores)
        elif self.features_ is not None and (hasattr(self, "feature_names_in_") or not self.features_._is_plain(X)):
            X = validate_data(self, X, reset=False, accept_sparse="csr", dtype="numeric", ensure_min_samples=0)
        design = self._design(X, self._predict_on)
        if only_ahead and isinstance(design, CodedDesign) and is_worthwhile(design.codes):
            return decisive_scores(design.codes, self._weights, self.intercept_)
        # Always in float64: the score of a row does not depend on the rows around it.
        return design.matmul(self._weights.astype(np.float64, copy=False)) + self.intercept_

    def _keep(self, coef: Array, intercept: Array) -> None:
        """Store the solution; coef_ is a view in scikit-learn's orientation."""
        # A column's weights side by side: the order in which a single row is scored fastest.
        self._weights = np.asfortranarray(coef)
        self.intercept_ = np.asarray(intercept)

    def _start_point(self, problem: SummedProblem) -> Array | None:
        """Return the last solution for a warm start, if it is of the same shape."""
        shape = (problem.shape[1], problem.n_targets)
        if not self.warm_start or not hasattr(self, "_weights") or self._weights.shape != shape:
            return None
        return np.vstack([self._weights, self.intercept_ if problem.fit_intercept else np.zeros_like(self.intercept_)])

    @property
    def coef_(self) -> Array:
        """Weights, (k, n_features_out)."""
        check_is_fitted(self, "_weights")
        return self._weights.T

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _check_fingerprint(codes: Codes, expected: bytes) -> None:
    if codes.fingerprint != expected:
        raise FingerprintMismatchError(
            f"Codes must come from the model's encoder, fingerprint {expected.hex()}, got codes of "
            f"{codes.fingerprint.hex()}. Encode the rows with the model's features_."
        )


def check_features(owner: str, features: Any) -> None:
    """Refuse features that are no encoder, frozen or not."""
    encoder = features.estimator if isinstance(features, FrozenEstimator) else features
    if encoder is not None and not isinstance(encoder, Encoder):
        raise fail(owner, "features must be None or an encoder", features, "lowtide.RandomFeatures('rbf'), say.")
