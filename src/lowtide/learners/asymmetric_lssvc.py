"""Least-squares classification with both sides of an asymmetric kernel."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from lowtide._checks import check_option, check_positive, fail
from lowtide.codes import Codes
from lowtide.encoders import AsymmetricFeatures, Encoder
from lowtide.learners.class_targets import ClassCounts, ClassIndex, ClassTargets, largest
from lowtide.learners.class_weights import class_weights
from lowtide.learners.design import Design, FullDesign, encoded_design
from lowtide.learners.machine import check_features
from lowtide.learners.solvers import TwoSidedSystem
from lowtide.learners.state import MachineState

__all__ = ["AsymmetricLSSVC"]

Array = NDArray[Any]
Side = Literal["codes", "full"]
_ROLES = ("both", "source", "target")
_SOLVERS = {"ask_ls": TwoSidedSystem.solve_ask_ls, "ridge": TwoSidedSystem.solve_ridge}
# g in units of the inverse of the largest singular value: within the range where AsK-LS is positive definite, and where
# ridge damps components below a thirtieth of the largest.
_STABLE = {"ask_ls": 0.9, "ridge": 30.0}
# Below this the solution is rounding.
_SMALLEST_RCOND = 1e-13


class AsymmetricLSSVC(ClassifierMixin, MachineState, BaseEstimator):
    """Least-squares classifier that learns from k(x, y) and from k(y, x): rows as sources and rows as targets.

    It regresses the labels on the columns of the kernel matrix and on its rows, or solves the AsK-LS system
    [0 0 y' 0; 0 0 0 y'; y 0 I/g H; 0 y H' I/g] with H_ij = y_i k(x_i, x_j) y_j and g = 2 C, in both cases
    through the two maps of an encoder, so no n x n matrix exists. A row has a score as a source, sum_j k(x, x_j) c_j +
    b1, and one as a target, sum_j k(x_j, x) a_j + b2.

    Parameters
    ----------
    features : Encoder or None, default=None
        Cloned and fitted on the rows; a `FrozenEstimator` around a fitted encoder is used as it is. None is
        `AsymmetricFeatures` of its default kernel with `n_components` and no coded side. An encoder without a right
        side counts as symmetric.
    C : float or "stable", default="stable"
        Inverse regularization, g = 2 C. With a symmetric kernel AsK-LS is `KernelClassifier` of that C. "stable"
        is 0.9 of the largest at which AsK-LS is positive definite, see Notes; for ridge 33 times as much.
    system : {"ridge", "ask_ls"}, default="ridge"
        Ridge regression of the labels on the columns of the kernel matrix and on its rows, or the AsK-LS system, a
        saddle that is erratic unless the kernel is nearly symmetric.
    role : {"both", "source", "target"}, default="both"
        Which score of a row decides; "both" is their mean.
    n_components : int, default=1024
        Of the default features.
    side : {"codes", "full"} or None, default=None
        What both maps are taken from; None is "codes", or "full" for features without a coded side.
    class_weight : dict, "balanced" or None, default=None
    random_state : int, RandomState or None, default=None
        Passed to the default features.

    Attributes
    ----------
    classes_ : ndarray (n_classes,)
    source_coef_, target_coef_ : ndarray (1 or n_classes, n_features_out)
    intercept_ : ndarray (2, 1 or n_classes)
        b1 and b2.
    features_ : Encoder
    C_ : float

    Notes
    -----
    More than two classes: one against the rest, in one solve. AsK-LS is positive definite while 1/g is above every
    singular value of the centered kernel matrix. Beyond that it is a saddle point, singular where 1/g is one of them
    (fit raises there). A component of singular value sigma that the kernel turns by an angle theta is learned with the
    gain g sigma (cos theta - g sigma)/(1 - g^2 sigma^2), of the wrong sign between cos theta and 1; with ridge it is
    g^2 sigma^2/(1 + g^2 sigma^2) whatever the angle.

    References
    ----------
    AsK-LS (He, He, Shi, Huang and Suykens), learning with asymmetric kernels: least squares and feature interpretation.

    Examples
    --------
    >>> import numpy as np
    >>> from lowtide import AsymmetricFeatures, AsymmetricLSSVC
    >>> from lowtide.kernels import ShiftGaussian
    >>> X = np.random.default_rng(0).standard_normal((200, 2))
    >>> y = np.where(X[:, 0] * X[:, 1] > 0, "in", "out")
    >>> features = AsymmetricFeatures(ShiftGaussian(shift=0.3), n_components=256, bits=None, random_state=0)
    >>> model = AsymmetricLSSVC(features).fit(X[:150], y[:150])
    >>> bool(model.score(X[150:], y[150:]) > 0.85)
    True
    """

    _fitted_numbers = ("C_",)

    def __init__(
        self,
        features: Encoder | None = None,
        *,
        C: float | Literal["stable"] = "stable",
        system: Literal["ridge", "ask_ls"] = "ridge",
        role: Literal["both", "source", "target"] = "both",
        n_components: int = 1024,
        side: Side | None = None,
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.features = features
        self.C = C
        self.system = system
        self.role = role
        self.n_components = n_components
        self.side = side
        self.class_weight = class_weight
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit on rows.

        Parameters
        ----------
        X : array, CSR matrix or data frame (n, n_features)
        y : array (n,) of classes
        sample_weight : array (n,), optional
        """
        if self.C != "stable":
            check_positive("AsymmetricLSSVC", "C", self.C, "Or let it be derived: C='stable'.")
        check_option("AsymmetricLSSVC", "role", self.role, _ROLES)
        check_option("AsymmetricLSSVC", "system", self.system, tuple(_SOLVERS))
        _refuse_codes(X)
        named = X
        rows, labels = validate_data(self, X, y, accept_sparse="csr", dtype="numeric")
        weight = None
        if sample_weight is not None:
            weight = _check_sample_weight(sample_weight, rows, dtype=np.float64, ensure_non_negative=True)
        found = ClassCounts.of(labels, weight)
        self.classes_ = found.classes
        if len(self.classes_) < 2:
            got = f"one class, {self.classes_.tolist()}"
            raise fail("AsymmetricLSSVC", "y must have at least two classes", got)
        factor = class_weights(self.class_weight, self.classes_, found.totals, owner="AsymmetricLSSVC")
        index, weight = ClassIndex(self.classes_, factor)(labels, weight)
        self._fit_features(rows, named)
        self._predict_on = self._resolve_side()
        left, right = self._designs(rows)
        targets = ClassTargets(len(self.classes_), one_hot=False).targets(index)
        system = TwoSidedSystem(left, right, targets, weight)
        self.C_ = self._stable_strength(system) if self.C == "stable" else float(self.C)
        solution = _SOLVERS[self.system](system, 2.0 * self.C_)
        if solution.rcond < _SMALLEST_RCOND:
            remedy = "Change C a little: the system is singular where 1/(2C) is a singular value of the kernel matrix."
            raise fail("AsymmetricLSSVC", "C must give a system that is not singular", self.C, remedy)
        intercept = np.vstack([solution.source_intercept, solution.target_intercept])
        self._keep(np.vstack([solution.source, solution.target]), intercept)
        return self

    def _stable_strength(self, system: TwoSidedSystem) -> float:
        largest = system.largest_singular_value()
        return 0.5 * _STABLE[self.system] / largest if largest > 0 else 1.0

    def decision_function(self, X: Any) -> Array:
        """Return scores, (n,) for two classes and (n, n_classes) for more."""
        scores = self._scores(X, self.role)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def source_scores(self, X: Any) -> Array:
        """Return the scores of rows as sources, through k(x, .), shape (n, 1 or n_classes)."""
        return self._scores(X, "source")

    def target_scores(self, X: Any) -> Array:
        """Return the scores of rows as targets, through k(., x), shape (n, 1 or n_classes)."""
        return self._scores(X, "target")

    def predict(self, X: Any) -> Array:
        """Return the class of the largest score, (n,)."""
        scores = self._scores(X, self.role)
        return np.asarray(self.classes_[largest(scores)])

    @property
    def source_coef_(self) -> Array:
        """Weights of the left map, u = sum_j c_j right(x_j), (k, m)."""
        check_is_fitted(self, "_weights")
        return self._weights[: len(self._weights) // 2].T

    @property
    def target_coef_(self) -> Array:
        """Weights of the right map, v = sum_j a_j left(x_j), (k, m)."""
        check_is_fitted(self, "_weights")
        return self._weights[len(self._weights) // 2 :].T

    def _scores(self, X: Any, role: str) -> Array:
        check_is_fitted(self, "_weights")
        _refuse_codes(X)
        rows = validate_data(self, X, reset=False, accept_sparse="csr", dtype="numeric", ensure_min_samples=0)
        left, right = self._designs(rows)
        m = len(self._weights) // 2
        found = []
        if role != "target":
            found.append(left.matmul(np.ascontiguousarray(self._weights[:m])) + self.intercept_[0])
        if role != "source":
            found.append(right.matmul(np.ascontiguousarray(self._weights[m:])) + self.intercept_[1])
        return np.asarray(np.mean(found, axis=0))

    def _fit_features(self, rows: Any, named: Any) -> None:
        given = self.features
        check_features("AsymmetricLSSVC", given)
        if isinstance(given, FrozenEstimator):
            check_is_fitted(given.estimator)
            validate_data(given.estimator, named, reset=False, skip_check_array=True)
            self.features_: Encoder = given.estimator
        elif given is None:
            default = AsymmetricFeatures(n_components=self.n_components, bits=None, random_state=self.random_state)
            self.features_ = default.fit(rows)
        else:
            self.features_ = clone(given).fit(rows)
        self._fingerprint = self.features_.fingerprint_

    def _resolve_side(self) -> str:
        has_codes = self.features_._has_codes
        side = ("codes" if has_codes else "full") if self.side is None else self.side
        check_option("AsymmetricLSSVC", "side", side, ("codes", "full"))
        if side == "codes" and not has_codes:
            raise fail("AsymmetricLSSVC", "side must be 'full' for features without a coded side", side)
        return side

    def _designs(self, rows: Any) -> tuple[Design, Design]:
        """Return the left and the right side of rows; one object for an encoder whose sides are one."""
        encoder: Any = self.features_
        two = hasattr(encoder, "transform_right")
        if self._predict_on == "full":
            left: Design = FullDesign(encoder, rows, "_transform")
            return left, FullDesign(encoder, rows, "_transform_right") if two else left
        left = encoded_design(encoder, rows)
        return left, encoded_design(encoder, rows, "_encode_right") if two else left

    def _keep(self, coef: Array, intercept: Array) -> None:
        self._weights = np.asarray(coef)
        self.intercept_ = np.asarray(intercept)

    def _own_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        return {}, {}

    def _take_own_state(self, spec: dict[str, Any], arrays: dict[str, Array]) -> None:
        """Take nothing: the shared state is all there is."""

    def _check_consistent(self) -> None:
        """Raise when the parts of a file do not belong together."""
        if self.features_ is None:
            raise fail("AsymmetricLSSVC", "a file must hold the encoder", None)
        columns = self._n_columns(len(self.classes_))
        need = (2 * self.features_._n_features_out, columns), (2, columns)
        if (self._weights.shape, self.intercept_.shape) != need:
            raise fail("AsymmetricLSSVC", f"weights and intercepts must be of shapes {need}", self._weights.shape)
        if not np.isfinite(self._weights).all() or not np.isfinite(self.intercept_).all():
            raise fail("AsymmetricLSSVC", "weights must be finite", "NaN or infinity")
        if (self.n_features_in_, self._fingerprint) != (self.features_.n_features_in_, self.features_.fingerprint_):
            raise fail("AsymmetricLSSVC", "the encoder must be the one that the weights are for", self.features_)
        self._resolve_side_of_file()

    def _resolve_side_of_file(self) -> None:
        if self._predict_on == "codes" and not self.features_._has_codes:
            raise fail("AsymmetricLSSVC", "the side must be 'full' for features without a coded side", "codes")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _refuse_codes(X: Any) -> None:
    """Refuse codes, which would be read as rows where there are as many of their columns."""
    if isinstance(X, Codes):
        raise fail("AsymmetricLSSVC", "X must be rows, which have two sides", "Codes of one", "Pass the rows.")
