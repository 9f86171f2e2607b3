"""From an exact kernel machine of scikit-learn to a low-bit one, without training."""

from __future__ import annotations

import warnings
from copy import copy
from dataclasses import KW_ONLY, asdict, dataclass, field, fields
from functools import partial
from typing import Any, ClassVar, Literal, NoReturn, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, OutlierMixin, RegressorMixin
from sklearn.kernel_ridge import KernelRidge
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC, NuSVC, OneClassSVM
from sklearn.utils import Tags

from lowtide._checks import check_option, fail
from lowtide.codes import Codes
from lowtide.encoders import RandomFeatures
from lowtide.errors import ParameterError
from lowtide.learners.decision import Side
from lowtide.learners.expansion import (
    DecisionReport,
    KernelExpansion,
    dense_blocks,
    draw_variance,
    expansion_of,
    layout_ratio,
)
from lowtide.learners.learner import Learner
from lowtide.learners.machine import Sides
from lowtide.learners.rules import Rule, Sign, Values, Votes
from lowtide.maps import FeatureMap
from lowtide.projections import Projection
from lowtide.quantizers import Quantizer
from lowtide.spec import Part, State
from lowtide.tables import Number, Recipe

Array = NDArray[Any]

_VERSION = 1
_MOST_SUPPORT_ROWS = 1000


def compress(
    model: Any,
    *,
    n_components: int = 4096,
    bits: int | None = 1,
    query: Side = "codes",
    support: Side = "full",
    projection: str | Projection = "hadamard",
    feature_map: str | FeatureMap = "cos_sin",
    quantizer: str | Quantizer = "lloyd_max",
    normalize: bool = True,
    X: Any = None,
    random_state: int | np.random.RandomState | None = None,
) -> Any:
    """Turn a fitted kernel machine of scikit-learn into one on a few bits per feature, without training.

    The machine's kernel sums sum_i alpha_i k(x_i, x) + b become decode(encode(x)) . w + b with the weights
    w = sum_i alpha_i transform(x_i): unbiased, and the support rows are not needed any more.

    Parameters
    ----------
    model : SVC, NuSVC, SVR, NuSVR, OneClassSVM, KernelRidge or GaussianProcessRegressor, fitted
        With an RBF kernel; KernelRidge also with "laplacian" or a Gaussian process kernel. Of Gaussian process kernels:
        constants times, and plus, one RBF, Matern or PairwiseKernel term, and WhiteKernel; length scales may differ
        from column to column. Or a Pipeline that ends in one of them.
    n_components : int, default=4096
        Features. The squared error falls as one over their number.
    bits : int or None, default=1
        Bits a feature of the coded side; None with query="full", support="full".
    query : {"codes", "full"}, default="codes"
        The side of the rows to predict: codes are what is sent or stored.
    support : {"codes", "full"}, default="full"
        The side of the support rows in w. Codes against codes are biased.
    projection, feature_map, quantizer
        Of `RandomFeatures`. A laplacian kernel needs projection="iid".
    normalize : bool, default=True
        Divide codes against codes by their expectation at x = y; no other pair is touched.
    X : array, CSR matrix or data frame, default=None
        Rows to measure on how far decision values moved; None takes at most 1000 of the support rows.
    random_state : int, RandomState or None, default=None

    Returns
    -------
    CompressedClassifier, CompressedRegressor or CompressedDetector, or a Pipeline with that as its last step
        With `report_`: how far the decision values moved, and the predicted standard error.

    Warns
    -----
    UserWarning
        When the standard error is larger than half the spread of the decision values.

    Notes
    -----
    Costs the features of the support rows and their sum, O(n m (log d + k)) with "hadamard", k decision columns. A
    prediction costs O(m (log d + k)), however many support rows there were. Probabilities of `SVC` and the standard
    deviation of a Gaussian process are not carried over.

    References
    ----------
    Schellekens and Jacques, Breaking the waves: asymmetric random periodic features for low-bitrate kernel machines,
    sections 6 and 7, Table 1.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.svm import SVC
    >>> import lowtide as lt
    >>> X, y = load_digits(return_X_y=True)
    >>> exact = SVC().fit(X[:1200], y[:1200])
    >>> small = lt.compress(exact, n_components=4096, random_state=0)
    >>> bool(small.score(X[1200:], y[1200:]) > exact.score(X[1200:], y[1200:]) - 0.02)
    True
    >>> codes = small.encode(X[1200:])                   # 512 bytes a row
    >>> bool((small.predict(codes) == small.predict(X[1200:])).all())
    True
    """
    for name, side in (("query", query), ("support", support)):
        check_option("compress", name, side, ("codes", "full"))
        if side == "codes" and bits is None:
            raise fail("compress", f"{name} must be 'full' with bits=None: there are no codes", side, "Or set bits=1.")
    features = RandomFeatures(
        n_components=n_components,
        projection=projection,
        feature_map=feature_map,
        bits=bits,
        quantizer=quantizer,
        random_state=random_state,
    )
    small = _compress(model, features, X, query=query, support=support, normalize=normalize)
    _warn_when_noise_hides_the_signal(small)
    return small


@dataclass(eq=False, repr=False)
class CompressedMachine(Learner):
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
    decision_ : Decision
        What predicts. Its `recipe` divides the columns of rows where length scales differ from column to column.
    layout_factor_ : float
        Standard error under the layout over that of independent frequencies; 1 where it cannot be told.
    report_ : DecisionReport
        How far decision values moved when the model was made.
    n_features_in_ : int
    """

    fitted_numbers = ("layout_factor_",)
    own_parts: ClassVar[dict[str, int]] = {"report": _VERSION}
    _: KW_ONLY
    query: Side = "codes"
    support: Side = "full"
    normalize: bool = True
    features_: RandomFeatures = field(init=False)
    layout_factor_: float = field(init=False)
    report_: DecisionReport = field(init=False)

    def fit(self, X: Any, y: Any = None) -> NoReturn:
        """Refuse: a compressed model has no training of its own."""
        raise ParameterError(
            f"{type(self).__name__}: a compressed model is made from a fitted one and cannot be fitted. Fit the exact "
            "model, then call lowtide.compress on it."
        )

    def predict(self, X: Any) -> Array:
        """Return the predictions for rows or Codes: (n,), or (n, n_targets) for several targets."""
        return self._decision().predict(self._input(X), checked=True)

    def encode(self, X: Any) -> Codes | NDArray[np.float32]:
        """Return the codes of rows, which `predict` takes: what a client sends."""
        return self._decision().encode(self._measurable(X, fewest=0), checked=True)

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
        expansion, weights = expansion_of(exact), self._decision().weights
        own, given = (self.n_features_in_, weights.shape[1]), (expansion.rows.shape[1], expansion.coef.shape[1])
        if given != own:
            need = f"exact must be the model that was compressed, {own[0]} columns and {own[1]} kernel sums"
            raise fail(type(self).__name__, need, given)
        return self._report(self._measurable(X), expansion, "given rows")

    def to_state(self) -> State:
        """Return what a file keeps: that of every learner, and a part "report"."""
        return {**super().to_state(), "report": Part(_VERSION, asdict(self.report_))}

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Return the model of what `to_state` gave."""
        self = super().from_state(state)
        report, names = state["report"].spec, {field.name for field in fields(DecisionReport)}
        if set(report) != names or not all(isinstance(v, (int, float, str, type(None))) for v in report.values()):
            raise fail(cls.__name__, f"a report must have {', '.join(sorted(names))}", report)
        self.report_ = DecisionReport(**report)
        return self

    def _fill(self, model: Any, expansion: KernelExpansion, features: RandomFeatures, X: Any, rule: Rule) -> Self:
        """Sum the weights over the support rows and measure on X (None: on some of the support rows)."""
        self.features_, drawn = features, features.drawn_
        names = getattr(model, "feature_names_in_", None)
        columns = None if names is None else tuple(map(str, names))
        # Only codes against codes have another value than 1 at x = y.
        at_zero = 1.0
        if self.normalize and self._is_biased():
            at_zero = float(features.expected_kernel(np.zeros((1, drawn.n_features)), sides=("codes", "codes"))[0, 0])
        sides = self._sides(columns)
        weights = sides.design(expansion.rows, self.support).rmatmul(expansion.coef) / at_zero
        classes = model.classes_ if rule.task == "classification" else None
        recipe = None if expansion.scale is None else _division(columns, expansion.scale)
        answers = {"classes": classes, "recipe": recipe}
        self.decision_ = sides.decision(weights.astype(np.float32), expansion.intercept, rule, **answers)
        self._name_columns()
        step = -(-expansion.rows.shape[0] // _MOST_SUPPORT_ROWS)
        rows = expansion.rows[::step] if X is None else self._measurable(X)
        self.layout_factor_ = self._layout_factor(rows)
        self.report_ = self._report(rows, expansion, "support rows" if X is None else "given rows")
        return self

    def _is_biased(self) -> bool:
        return self.query == self.support == "codes"

    def _measurable(self, X: Any, fewest: int = 1) -> Any:
        """Return validated rows, one at least: the exact model cannot read codes."""
        if isinstance(X, Codes):
            raise fail(type(self).__name__, "X must be the rows themselves", "Codes")
        return self._input(X, fewest)

    def _sides(self, columns: tuple[str, ...] | None = None) -> Sides:
        drawn = self.features_.drawn_
        return Sides(type(self).__name__, drawn, drawn.template, self.support, self.query, columns)

    def _std(self, rows: Any) -> Array:
        if isinstance(rows, Codes):
            self.decision_.check_codes(rows)
        design, W = self._sides().design(rows, self.query), self.decision_.weights.astype(np.float64)
        out = np.empty((design.shape[0], W.shape[1]))
        for part, D in dense_blocks(design):
            out[part] = self.layout_factor_ * np.sqrt(draw_variance(D, W, self.features_.drawn_))
        return out

    def _layout_factor(self, rows: Any) -> float:
        """Return the ratio of standard errors, pooled over rows: one row has too few blocks to tell."""
        W, drawn = self.decision_.weights.astype(np.float64), self.features_.drawn_
        parts = [layout_ratio(D, W, drawn) for _, D in dense_blocks(self._sides().design(rows, self.query))]
        between, independent = np.sum(parts, axis=0)
        return float(np.sqrt(between / independent)) if independent > 0 else 1.0

    def _report(self, rows: Any, expansion: KernelExpansion, which: str) -> DecisionReport:
        """Compare with the exact model on validated, scaled rows."""
        exact, scores = expansion.decision(rows), self.decision_.scores(rows, checked=True)
        expected, unchanged = exact, None
        if self._is_biased():
            gram = partial(self.features_.expected_kernel, normalize=self.normalize, sides=("codes", "codes"))
            expected = expansion.decision(rows, gram)
        if self.decision_.task != "regression":
            before, after = (self.decision_.answer("predictions", values) for values in (exact, scores))
            unchanged = float(np.mean(before == after))
        return DecisionReport(
            n_rows=len(exact),
            rows=which,
            moved=_rms(scores - exact),
            largest=float(np.max(np.abs(scores - exact))),
            predicted=_rms(self._std(rows)),
            bias=_rms(expected - exact),
            spread=_rms(exact - exact.mean(axis=0)),
            unchanged=unchanged,
            nbytes=self._nbytes(),
            exact_nbytes=expansion.nbytes,
        )

    def _nbytes(self) -> int:
        """Return the bytes of what was drawn and of the weights; also of a quantizer that no file can hold."""
        drawn, decision = self.features_.drawn_, self.decision_
        scale = () if decision.recipe is None else (np.empty(drawn.n_features),)
        arrays = (*drawn.projection.arrays().values(), drawn.offset, decision.weights, decision.intercept, *scale)
        return sum(int(np.asarray(array).nbytes) for array in arrays)

    def __sklearn_clone__(self) -> Self:
        """Return itself: there is no unfitted form to go back to."""
        return self


@dataclass(eq=False, repr=False)
class CompressedClassifier(ClassifierMixin, CompressedMachine):
    """A compressed `SVC` or `NuSVC`: one score per pair of classes, decided by votes as scikit-learn does.

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

    _: KW_ONLY
    decision_function_shape: Literal["ovr", "ovo"] = "ovr"
    break_ties: bool = False

    def decision_function(self, X: Any) -> Array:
        """Return decision values of rows or Codes: (n,) for two classes, else (n, n_classes) or (n, n_pairs)."""
        return self._decision().values(self._input(X), checked=True)


class CompressedRegressor(RegressorMixin, CompressedMachine):
    """A compressed `SVR`, `NuSVR`, `KernelRidge` or mean of a `GaussianProcessRegressor`.

    Parameters
    ----------
    query, support, normalize
        As in `CompressedMachine`.
    """

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
        return self._decision().values(self._input(X), checked=True)

    def score_samples(self, X: Any) -> Array:
        """Return the kernel sums of rows or Codes, (n,)."""
        return self.decision_function(X) + self.offset_

    @property
    def offset_(self) -> Array:
        """The negative intercept, as in `OneClassSVM`."""
        return -self.intercept_


def _compress(model: Any, features: RandomFeatures, X: Any, **sides: Any) -> Any:
    """Return the machine, or a pipeline that shares all steps but the last, which is compressed."""
    if isinstance(model, Pipeline):
        reaching = X if X is None or len(model.steps) == 1 else model[:-1].transform(X)
        name, last = model.steps[-1]
        pipeline = copy(model)
        pipeline.steps = [*model.steps[:-1], (name, _compress(last, features, reaching, **sides))]
        return pipeline
    expansion = expansion_of(model)
    features.set_params(kernel=expansion.kernel).fit(expansion.rows)
    machine, rule = _machine_for(model, **sides)
    return machine._fill(model, expansion, features, X, rule)


def _machine_for(model: Any, **sides: Any) -> tuple[CompressedMachine, Rule]:
    """Return the machine of the model's kind, still without weights, and how it decides."""
    if isinstance(model, (SVC, NuSVC)):
        shape, ties = model.decision_function_shape, model.break_ties
        if ties and shape == "ovo":
            raise fail("compress", "break_ties must be False with decision_function_shape='ovo'", ties)
        return CompressedClassifier(**sides, decision_function_shape=shape, break_ties=ties), Votes(shape, ties)
    if isinstance(model, OneClassSVM):
        return CompressedDetector(**sides), Sign()
    flat = True
    # Predictions of y (n, 1) are flat for a Gaussian process, but not for kernel ridge regression.
    if isinstance(model, KernelRidge):
        flat = np.ndim(model.dual_coef_) == 1
    elif hasattr(model, "alpha_"):  # a Gaussian process
        flat = model.alpha_.size == len(model.alpha_)
    return CompressedRegressor(**sides), Values(flat)


def _warn_when_noise_hides_the_signal(small: Any) -> None:
    while isinstance(small, Pipeline):
        small = small.steps[-1][1]
    report = small.report_
    if report.predicted > 0.5 * report.spread > 0:
        warnings.warn(
            f"The compressed decision values have a standard error of {report.predicted:.3g}, and vary by "
            f"{report.spread:.3g} themselves. Raise n_components (four times as many halve the error), regularize the "
            "exact model more strongly, or train KernelClassifier or KernelRegressor on the codes.",
            UserWarning,
            stacklevel=3,
        )


def _division(columns: tuple[str, ...] | None, scale: Array) -> Recipe:
    """Return the recipe of numbers that are divided by length scales, one per column."""
    names = [str(j) for j in range(len(scale))] if columns is None else columns
    divided = [(Number(j), (("divide", float(length)),)) for j, length in enumerate(scale)]
    return Recipe.of_features(names, divided, named=columns is not None)


def _rms(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2)))
