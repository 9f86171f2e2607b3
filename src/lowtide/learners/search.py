"""Search over bandwidths and strengths on one sketch."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import check_scoring
from sklearn.model_selection import ParameterGrid, check_cv
from sklearn.utils import Tags, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_y, check_is_fitted, validate_data

from lowtide._checks import check_positive, fail, host_array, missing_extra
from lowtide.codes import Codes
from lowtide.encoders import Sketch, fourier_codebook, fourier_codes, steps_of_codes
from lowtide.errors import FingerprintMismatchError
from lowtide.learners.classifier import KernelClassifier
from lowtide.learners.design import column_of, first_codes, is_source
from lowtide.learners.folds import GivenProblem, evaluator
from lowtide.learners.machine import CallbackSupport, KernelMachine, fit_steps, reports_progress
from lowtide.learners.problem import ProblemSource, SummedProblem, source_problem
from lowtide.quantizers import LineSteps

Array = NDArray[Any]

_GAMMAS = np.logspace(-1.5, 1.5, 16)
_STRENGTHS = {"C": np.logspace(-1, 3, 5), "alpha": 0.5 / np.logspace(-1, 3, 5)}


def _read_by(book: Array) -> Callable[[Codes], Codes]:
    """Return the change of codes to another codebook."""
    return partial(Codes.with_codebook, codebook=book)


def _best_can(name: str) -> Any:
    """Return a check that the model has a method."""
    return available_if(lambda self: hasattr(self._best() if hasattr(self, "best_params_") else self._model(), name))


@dataclass(eq=False, repr=False)
class SketchSearchCV(MetaEstimatorMixin, CallbackSupport, BaseEstimator):
    """Search the best gamma and regularization by cross-validation, on a sketch of the rows that is made once.

    Every gamma reads the same packed levels through a codebook of its own. For the squared loss each fold's Gram matrix
    is summed once a gamma, a training set's is the total less its fold's, and every strength costs one factorization.

    Parameters
    ----------
    estimator : KernelClassifier, KernelRegressor or None, default=None
        The model to tune, its `features` None. None is `KernelClassifier()`. A loss "auto" is "squared" here, a
        multi_class "auto" is "ovr"; C and alpha are chosen for each candidate where the grid does not name them.
    param_grid : dict or None, default=None
        Values to try: "gamma" (scikit-learn's; rows have norm 1), and parameters of the model, "C" or "alpha" first of
        all. None is 16 gammas from 0.03 to 32 and 5 values of C from 0.1 to 1000 (or alpha = 1/(2C)).
    sketch : Sketch or None, default=None
        Cloned and fitted on the rows; a fitted one in a `FrozenEstimator` is used as it is. When `fit` gets Codes:
        None, or the fitted sketch that made them, for raw rows at `predict`. None for rows is `Sketch()`.
    scoring : str, callable or None, default=None
        As in scikit-learn; None is accuracy or R^2.
    cv : int, splitter or iterable, default=None
        As in scikit-learn: None is 5 folds, stratified for classes.
    refit : bool, default=True
        Fit the best model on all rows.
    verbose : int, default=0
        1 shows a progress bar on stderr.
    random_state : int, RandomState or None, default=None
        Of the default sketch.

    Attributes
    ----------
    cv_results_ : dict
        As of scikit-learn's searches, a row a candidate.
    best_params_, best_score_, best_index_
        Of the candidate with the largest mean score.
    best_estimator_ : KernelClassifier or KernelRegressor
        Fitted on all rows, with refit=True. It can be saved on its own.
    sketch_ : Sketch or None
        None when fitted on Codes without their sketch; then only Codes can be predicted.
    codes_ : Codes or CodeSource
        The stored sketch of the rows; None when they are on a cluster.
    refit_time_ : float
        Seconds.

    Notes
    -----
    With m = 2 n_components features, g gammas, s strengths and f folds the squared loss costs g n m^2 for Gram matrices
    and g s f m^3 / 3 for factorizations, spread over threads, and keeps 2 f + 3 matrices of m^2 numbers. Above 512
    features these are float32, and a score may differ from a single fit's by a row in some thousand; the best model is
    fitted exactly. Other losses, class weights, and scorers that want probabilities are fitted one by one, on the same
    sketch.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> import lowtide as lt
    >>> X, y = load_digits(return_X_y=True)
    >>> S = lt.Sketch(256, random_state=0).fit(X).encode(X)
    >>> grid = {"gamma": np.logspace(-1, 1, 5), "C": [1.0, 10.0, 100.0]}
    >>> search = lt.SketchSearchCV(param_grid=grid, cv=3).fit(S, y)
    >>> search.best_params_["gamma"] > 0.5, search.best_score_ > 0.95
    (True, True)
    >>> len(search.cv_results_["params"]), search.predict(S[:3]).shape
    (15, (3,))
    """

    estimator: KernelMachine | None = None
    _: KW_ONLY
    param_grid: dict[str, Any] | None = None
    sketch: Sketch | None = None
    scoring: Any = None
    cv: Any = None
    refit: bool = True
    verbose: int = 0
    random_state: int | np.random.RandomState | None = None
    sketch_: Sketch | None = field(init=False)

    @reports_progress
    def fit(self, X: Any, y: ArrayLike | None = None) -> Self:
        """Sketch the rows, unless they come as codes, and try every candidate on every fold.

        Parameters
        ----------
        X : Codes of a sketch, or another source of them, or array, CSR matrix or data frame (n, n_features)
        y : array (n,) of classes or numbers, or (n, n_targets) of numbers
            Of a source with columns also the name of one; None is its column "y".
        """
        model, (gammas, choices) = self._model(), self._grid()
        problem, codes, y = self._take(X, y)
        steps = self._steps(codes)
        folds = check_cv(self.cv, y, classifier=is_classifier(model))
        # Order is nothing to a score, and sources are read in theirs.
        splits = [(np.sort(train), np.sort(test)) for train, test in folds.split(np.empty((len(y), 0)), y)]
        self.scorer_ = None if self.scoring is None else check_scoring(model, self.scoring)
        evaluate = evaluator(model, choices, y, splits, self.scorer_)
        with fit_steps(self, len(gammas) + bool(self.refit), X, y) as step:
            found = []
            for gamma in gammas:
                book = fourier_codebook(steps, codes.n_levels, gamma)
                found.append(evaluate(problem.recode(_read_by(book)), codes.with_codebook(book)))
                step("gamma")
            self.n_splits_ = len(splits)
            candidates = [{"gamma": gamma, **choice} for gamma in gammas for choice in choices]
            self.cv_results_ = cv_results(candidates, *np.concatenate(found, axis=1))
            self.best_index_ = int(np.argmin(self.cv_results_["rank_test_score"]))
            self.best_params_ = candidates[self.best_index_]
            self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
            if self.refit:
                self._refit(model, problem, codes)
                step("refit")
        return self

    def predict(self, X: Any) -> Array:
        """Return predictions of the best model for raw rows or Codes with any codebook of the sketch."""
        return np.asarray(self._best().predict(X))

    @_best_can("decision_function")  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Array:
        """Return the decision values of the best model."""
        return np.asarray(self._best().decision_function(X))

    @_best_can("predict_proba")  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of the best model."""
        return np.asarray(self._best().predict_proba(X))

    def score(self, X: Any, y: ArrayLike | None = None) -> float:
        """Return the score of the best model, by `scoring`, or accuracy or R^2; y of a source may be left out."""
        best = self._best()
        y = column_of(X, y, "y") if is_source(X) else y
        return float(best.score(X, y) if self.scorer_ is None else self.scorer_(best, X, y))

    def plot(self, ax: Any = None) -> Any:
        """Draw score over gamma, a line with a band of one standard deviation for each other choice, the best marked.

        Needs matplotlib.

        Parameters
        ----------
        ax : matplotlib Axes, optional

        Returns
        -------
        matplotlib Axes
        """
        check_is_fitted(self, "cv_results_")
        try:
            from matplotlib import pyplot as plt
        except ImportError as error:
            raise missing_extra("Plots need matplotlib, which is not installed", "report") from error
        if ax is None:
            _, ax = plt.subplots()
        results, candidates = self.cv_results_, self.cv_results_["params"]
        others = [{name: value for name, value in params.items() if name != "gamma"} for params in candidates]
        gamma = np.asarray(results["param_gamma"], dtype=np.float64)
        mean, std = results["mean_test_score"], results["std_test_score"]
        for choice in [choice for i, choice in enumerate(others) if choice not in others[:i]]:
            rows = np.array([i for i, other in enumerate(others) if other == choice])
            rows = rows[np.argsort(gamma[rows])]
            label = ", ".join(f"{n}={v:.3g}" if isinstance(v, float) else f"{n}={v}" for n, v in choice.items())
            (line,) = ax.plot(gamma[rows], mean[rows], label=label)
            band, color = ((mean - std)[rows], (mean + std)[rows]), line.get_color()
            ax.fill_between(gamma[rows], *band, color=color, alpha=0.15, lw=0)
        best = self.best_index_
        ax.plot(gamma[best], mean[best], "ko", label=f"best, gamma={gamma[best]:.3g}")
        ax.set(xscale="log", xlabel="gamma", ylabel="mean test score")
        ax.legend()
        return ax

    @property
    def classes_(self) -> Array:
        """Classes of the best model."""
        return np.asarray(self._best().classes_)

    def _model(self) -> Any:
        """Return the model to tune, not fitted."""
        model = KernelClassifier() if self.estimator is None else self.estimator
        if not isinstance(model, KernelMachine) or model.features is not None:
            remedy = "The sketch gives the features: SketchSearchCV(sketch=...)."
            need = "estimator must be a KernelClassifier or KernelRegressor without features"
            raise fail("SketchSearchCV", need, model, remedy)
        # What the data would mostly choose, and what shares sums.
        usual = {"loss": "squared", "multi_class": "ovr"}
        given = model.get_params(deep=False)
        return clone(model).set_params(**{name: usual[name] for name in usual if given.get(name) == "auto"})

    def _grid(self) -> tuple[list[float], list[dict[str, Any]]]:
        """Return the gammas, and every choice of the other parameters."""
        strength = "C" if is_classifier(self._model()) else "alpha"
        default = {"gamma": _GAMMAS, strength: _STRENGTHS[strength]}
        grid = default if self.param_grid is None else self.param_grid
        if not isinstance(grid, dict) or "gamma" not in grid:
            got = sorted(grid) if isinstance(grid, dict) else grid
            raise fail("SketchSearchCV", "param_grid must be a dict with values of 'gamma'", got)
        others = {name: values for name, values in grid.items() if name != "gamma"}
        unknown = set(others) - set(self._model().get_params(deep=False))
        if unknown or "features" in others:
            raise fail("SketchSearchCV", "param_grid must name gamma and parameters of the estimator", sorted(others))
        gammas = [check_positive("SketchSearchCV", "each gamma", gamma) for gamma in np.ravel(grid["gamma"])]
        if not gammas:
            raise fail("SketchSearchCV", "param_grid must have at least one gamma", gammas)
        ParameterGrid(others)  # refuses a text or a number where a list of them belongs
        # Numbers of Python's print as what they are.
        plain = {
            name: [value.item() if isinstance(value, np.generic) else value for value in values]
            for name, values in others.items()
        }
        return gammas, list(ParameterGrid(plain))

    def _take(self, X: Any, y: Any) -> tuple[SummedProblem, Codes, Array]:
        """Return rows with their labels, zero rows of their codes, and the labels; settle the sketch."""
        checks = {} if is_classifier(self._model()) else {"multi_output": True, "y_numeric": True}
        if isinstance(X, ProblemSource):
            self.codes_ = None
            self._adopt(X.template, X.encoder)
            return X.problem(True, **checks), X.template, X.all_labels()
        if is_source(X):
            y = column_of(X, y, "y")
            if y is None or X.n_rows == 0:
                raise fail("SketchSearchCV", "codes must have rows, and y a value a row", f"{X.n_rows} rows, y {y!r}")
            y = _check_y(y, estimator=self, **checks)
            if len(y) != X.n_rows:
                raise fail("SketchSearchCV", f"y must have a value a row, {X.n_rows}", len(y))
            self._adopt(first_codes(X), getattr(X, "encoder", None))
            self.codes_ = X
        else:
            X = host_array("SketchSearchCV", X)
            rows, y = validate_data(self, X, y, accept_sparse="csr", dtype="numeric", **checks)
            sketch = self.sketch_ = self.fit_sketch(X)
            self.codes_ = sketch.drawn_.encode(rows)
        if is_classifier(self._model()):
            check_classification_targets(y)
        y = np.asarray(y)
        return source_problem(self.codes_, y, None, fit_intercept=True), first_codes(self.codes_), y

    def fit_sketch(self, X: Any) -> Sketch:
        """Return a clone of the sketch, fitted on rows (n, n_features); a frozen one as it is."""
        if isinstance(self.sketch, FrozenEstimator):
            check_is_fitted(self.sketch.estimator)
            return self.sketch.estimator
        given = Sketch(random_state=self.random_state) if self.sketch is None else self.sketch
        if not isinstance(given, Sketch):
            raise fail("SketchSearchCV", "sketch must be a Sketch", given)
        return clone(given).fit(X)

    def _adopt(self, codes: Codes, own: Sketch | None = None) -> None:
        """Take stored codes as they are; a sketch that is given must have made them, else they may bring their own."""
        given = self.sketch.estimator if isinstance(self.sketch, FrozenEstimator) else self.sketch
        sketch: Any = own if given is None else given
        if sketch is not None:
            check_is_fitted(sketch)
            if sketch.fingerprint_ != codes.fingerprint:
                raise FingerprintMismatchError(
                    f"Codes must come from the given sketch, fingerprint {sketch.fingerprint_.hex()}, got codes of "
                    f"{codes.fingerprint.hex()}. Give the sketch that made them, or none."
                )
        self.sketch_ = sketch
        self._steps(codes)  # refuses codes of other encoders
        self.n_features_in_ = codes.n_levels if sketch is None else sketch.n_features_in_
        self.__dict__.pop("feature_names_in_", None)
        if sketch is not None and hasattr(sketch, "feature_names_in_"):
            self.feature_names_in_ = sketch.feature_names_in_

    def _steps(self, codes: Codes) -> LineSteps:
        """Return the steps that made the codes, by the sketch where there is one; refuse codes of other encoders."""
        own = None if self.sketch_ is None else self.sketch_.drawn_.quantizer
        return steps_of_codes("SketchSearchCV", codes, own)

    def _refit(self, model: Any, problem: SummedProblem, codes: Codes) -> None:
        """Fit the best candidate on all rows; warns when its gamma asks too much of the bits."""
        start = time.perf_counter()
        gamma = self.best_params_["gamma"]
        own_steps = None if self.sketch_ is None else self.sketch_.drawn_.quantizer
        codes = fourier_codes(codes, gamma, quantizer=own_steps)
        features = None if self.sketch_ is None else self.sketch_.with_gamma(gamma)
        own = {name: value for name, value in self.best_params_.items() if name != "gamma"}
        rows = GivenProblem(codes, problem.recode(_read_by(codes.codebook)))
        self.best_estimator_ = model.set_params(features=features, **own).fit(rows)
        self.refit_time_ = time.perf_counter() - start

    def _best(self) -> Any:
        check_is_fitted(self, "cv_results_")
        if not hasattr(self, "best_estimator_"):
            raise fail("SketchSearchCV", "refit must be True to predict", self.refit, "Or fit a model of best_params_.")
        return self.best_estimator_

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "cv_results_")

    def __sklearn_tags__(self) -> Tags:
        tags, own = super().__sklearn_tags__(), get_tags(self._model())
        for name in ("estimator_type", "classifier_tags", "regressor_tags", "target_tags"):
            setattr(tags, name, getattr(own, name))
        tags.input_tags.sparse = True
        return tags


def cv_results(
    candidates: list[dict[str, Any]], test: Array, fit_seconds: Array, score_seconds: Array
) -> dict[str, Any]:
    """Return scikit-learn's `cv_results_` of candidates (rows) over folds (columns)."""
    results: dict[str, Any] = {}
    for name, seconds in (("fit_time", fit_seconds), ("score_time", score_seconds)):
        results[f"mean_{name}"], results[f"std_{name}"] = seconds.mean(axis=1), seconds.std(axis=1)
    for name in candidates[0]:
        values = [candidate[name] for candidate in candidates]
        plain = all(isinstance(value, (bool, int, float, np.number)) for value in values)
        column = np.empty(len(values), dtype=np.asarray(values).dtype if plain else object)
        column[:] = values
        results[f"param_{name}"] = np.ma.MaskedArray(column)
    results["params"] = candidates
    for i in range(test.shape[1]):
        results[f"split{i}_test_score"] = test[:, i]
    mean = test.mean(axis=1)
    results["mean_test_score"], results["std_test_score"] = mean, test.std(axis=1)
    # Scores that are not numbers come last.
    order = np.where(np.isnan(mean), np.nanmin(mean) - 1.0 if np.isfinite(mean).any() else 0.0, mean)
    results["rank_test_score"] = rankdata(-order, method="min").astype(np.int32)
    return results
