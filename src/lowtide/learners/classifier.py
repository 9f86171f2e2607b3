"""A kernel classifier on packed bits."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from lowtide._checks import check_integer, check_option, check_positive, fail
from lowtide.encoders import Encoder
from lowtide.learners.calibration import fit_slope, log_softmax_of, softmax_of
from lowtide.learners.class_targets import ClassCounts, ClassIndex, ClassTargets, largest
from lowtide.learners.class_weights import class_weights
from lowtide.learners.labeled_blocks import labeled_blocks
from lowtide.learners.left_out import left_out_hinge_scores, left_out_ridge_scores
from lowtide.learners.losses import LOSSES
from lowtide.learners.machine import KernelMachine, Side
from lowtide.learners.problem import Problem, SummedProblem
from lowtide.learners.progress import FitProgress, reports_progress
from lowtide.learners.solvers import RidgeSolution
from lowtide.learners.sources import column_of, is_source
from lowtide.learners.streaming import StreamingClassifier
from lowtide.learners.training import fit_smooth, fit_squared

__all__ = ["KernelClassifier"]

Array = NDArray[Any]

_SLOPE_ROWS = 10_000


class KernelClassifier(ClassifierMixin, StreamingClassifier, KernelMachine):
    """A kernel machine for classes, trained and used on a few packed bits per feature.

    With D the coded (or full) features it minimizes |w|^2/2 + C sum_i s_i loss(y_i, D_i w + b), b not penalized. More
    than two classes: one against the rest for "squared" and "squared_hinge", multinomial for "logistic".

    Parameters
    ----------
    features : Encoder or None, default=None
        Cloned and fitted on the rows. None is a one-bit Hadamard encoder of the RBF kernel with `gamma`,
        `n_components` and `bits`. A `FrozenEstimator` around a fitted encoder is used as it is. When fitted on `Codes`:
        None or the encoder that made them.
    loss : {"squared", "logistic", "squared_hinge"}, default="squared"
        "squared" is (y - f)^2, y = -1 or 1, solved from the packed Gram matrix; the others by L-BFGS.
    C : float or "auto", default=1.0
        Inverse regularization; "squared" is ridge with alpha = 1/(2C). "auto" chooses on the side that predicts: by
        exact leave-one-out for few components, else on a held-out tenth; by two halves for the other losses.
    gamma, n_components, bits
        Of the default features; not used when `features` is given.
    train_on, predict_on : {"codes", "full"} or None, default=None
        The side to fit on and to predict from; None is "codes", or "full" for features without a coded side. "full"
        takes raw rows only.
    class_weight : dict, "balanced" or None, default=None
    fit_intercept : bool, default=True
    max_iter : int, default=200
        L-BFGS iterations.
    tol : float, default=1e-4
        Largest gradient entry, per unit of weight, at which L-BFGS stops; problems below 2^24 code entries go to 1e-10.
    warm_start : bool, default=False
        Keep the encoder and start L-BFGS at the last solution.
    verbose : int, default=0
        1 shows a progress bar on stderr.
    random_state : int, RandomState or None, default=None
        Passed to the default features; also draws the held-out rows of C="auto".

    Attributes
    ----------
    classes_ : ndarray (n_classes,)
    coef_ : ndarray (1 or n_classes, n_features_out)
    intercept_ : ndarray (1 or n_classes,)
    features_ : Encoder or None
    C_ : float
    n_iter_ : int

    Notes
    -----
    Nothing of size n x m floats exists. "squared" takes the packed codes, one m x m Gram matrix and its factor.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> import lowtide as lt
    >>> X, y = load_digits(return_X_y=True)
    >>> model = lt.KernelClassifier(n_components=2048, random_state=0).fit(X[:1200], y[:1200])
    >>> bool(model.score(X[1200:], y[1200:]) > 0.92)
    True
    """

    _fitted_numbers = ("C_", "n_iter_", "_slope")

    def __init__(
        self,
        features: Encoder | None = None,
        *,
        loss: Literal["squared", "logistic", "squared_hinge"] = "squared",
        C: float | Literal["auto"] = 1.0,
        gamma: float | Literal["scale", "median"] = "scale",
        n_components: int = 1024,
        bits: int | None = 1,
        train_on: Side | None = None,
        predict_on: Side | None = None,
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        fit_intercept: bool = True,
        max_iter: int = 200,
        tol: float = 1e-4,
        warm_start: bool = False,
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.features = features
        self.loss = loss
        self.C = C
        self.gamma = gamma
        self.n_components = n_components
        self.bits = bits
        self.train_on = train_on
        self.predict_on = predict_on
        self.class_weight = class_weight
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state

    @reports_progress
    def fit(self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit on rows, on Codes or another source of codes, or on an iterator of blocks.

        Parameters
        ----------
        X : array, CSR matrix or data frame (n, n_features), or Codes, or a CodeSource, or an iterator
            A `CodeSource` such as a store is read block by block, as often as the loss needs, and only parameters,
            labels and one block are in memory. An iterator yields (rows, y) or (rows, y, sample_weight), read once:
            "squared" keeps only sums, so memory is flat in n; the other losses keep the packed codes. The encoder is
            fitted on the first block.
        y : array (n,) of classes; not with an iterator
            Of a source with columns also the name of one; None is its column "y".
        sample_weight : array (n,), optional
            Of a source with columns also the name of one.
        """
        # The packed codes of blocks are kept unless the loss needs their sums alone.
        self._check_parameters(blocks=isinstance(X, Iterator) and self.loss == "squared")
        self.__dict__.pop("_stream", None)
        if isinstance(X, Iterator):
            return self._fit_blocks(labeled_blocks(X, y, sample_weight, "KernelClassifier"))
        progress = FitProgress(self, n_steps=2 if self.loss == "squared" else self.max_iter + 1)
        with progress.running(X, y):
            self._fit_problem(self._start_problem(X, y, sample_weight), progress)
        return self

    def _fit_problem(self, problem: SummedProblem, progress: FitProgress) -> None:
        """Fit on validated rows with their labels."""
        found = problem.tally(ClassCounts.of)
        self.classes_ = found.classes
        self._check_classes()
        problem = self._with_targets(problem, class_weights(self.class_weight, found.classes, found.totals))
        progress.step("encode")
        rng = np.random.default_rng(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        if self.loss == "squared":
            solution, alpha = fit_squared(problem, "auto" if self.C == "auto" else 0.5 / self.C, rng)
            self._keep_ridge(solution, problem, 0.5 / alpha)
            progress.step("solve")
        else:
            self._minimize(problem, rng, progress)

    def _check_parameters(self, blocks: bool = False) -> None:
        check_option("KernelClassifier", "loss", self.loss, ("squared", "logistic", "squared_hinge"))
        check_integer("KernelClassifier", "max_iter", self.max_iter, 1)
        check_positive("KernelClassifier", "tol", self.tol)
        if self.C != "auto":
            check_positive("KernelClassifier", "C", self.C, "Or let it be chosen: C='auto'.")
        elif blocks:
            raise fail("KernelClassifier", "C must be a number when rows come in blocks", "auto")

    def _with_targets(self, problem: SummedProblem, factor: Array | None) -> SummedProblem:
        """Return the problem with labels as positions in classes_, and targets of the loss."""
        targets = ClassTargets(len(self.classes_), one_hot=self.loss == "logistic")
        return problem.relabel(ClassIndex(self.classes_, factor), targets)

    def _check_classes(self) -> None:
        if len(self.classes_) < 2:
            raise fail("KernelClassifier", "y must have at least two classes", f"one class, {self.classes_.tolist()}")

    def _keep_ridge(self, solution: RidgeSolution, problem: SummedProblem, C: float) -> None:
        """Keep a closed-form solution, with the slope that some of its rows give to probabilities."""
        self.C_, self.n_iter_ = float(C), 1
        self._keep(solution.coef, solution.intercept)
        part = problem.sample(_SLOPE_ROWS)
        self._slope = self._slope_of(left_out_ridge_scores(part, solution), part)

    def _minimize(self, problem: SummedProblem, rng: np.random.Generator, progress: FitProgress) -> None:
        """Minimize a smooth loss, keep the solution, and warn when it is not one yet."""
        stopped = False

        def each_iteration(theta: Array) -> None:
            nonlocal stopped
            stopped = progress.step("iteration", lambda: self._attributes_at(theta))
            if stopped:
                raise StopIteration

        solution, self.C_ = fit_smooth(
            problem,
            LOSSES[self.loss][len(self.classes_) > 2],
            self.C,
            rng,
            start=self._start_point(problem),
            max_iter=self.max_iter,
            tolerance=self.tol,
            each_iteration=each_iteration,
        )
        self.n_iter_, self._slope = solution.n_iter, 1.0
        self._keep(solution.coef, solution.intercept)
        if self.loss == "squared_hinge":
            part = problem.sample(_SLOPE_ROWS)
            share = part.shape[0] / problem.shape[0]
            scores = left_out_hinge_scores(part, solution.coef, solution.intercept, self.C_, share)
            self._slope = self._slope_of(scores, part)
        if not solution.converged and not stopped:
            self._warn_not_converged(solution.n_iter)

    def _warn_not_converged(self, n_iter: int) -> None:
        where = f"max_iter={self.max_iter}" if n_iter >= self.max_iter else f"iteration {n_iter}, for rounding,"
        warnings.warn(
            f"L-BFGS stopped at {where} before the gradient fell below tol={self.tol}. Raise max_iter or tol, or lower "
            "C.",
            ConvergenceWarning,
            stacklevel=6,  # the caller of fit, past scikit-learn's wrapper
        )

    def _attributes_at(self, theta: Array) -> dict[str, Any]:
        """Return what makes a copy of this estimator predict as if the fit ended here; for callbacks."""
        parameters = theta.reshape(-1, len(self.classes_) if len(self.classes_) > 2 else 1)
        return {"_weights": np.asfortranarray(parameters[:-1]), "intercept_": parameters[-1].copy(), "_slope": 1.0}

    def _slope_of(self, scores: Array, part: Problem) -> float:
        """Return the slope of the probabilities; the logistic loss has it built in, and no weight says nothing new."""
        if self.loss == "logistic":
            return 1.0
        if not np.any(part.weights):
            return getattr(self, "_slope", 1.0)
        return fit_slope(self._class_scores(scores), part.labels, part.weights)

    def decision_function(self, X: Any) -> Array:
        """Return scores of rows or codes, (n,) for two classes and (n, n_classes) for more."""
        return self._by_blocks(X, lambda scores: scores[:, 0] if scores.shape[1] == 1 else scores)

    def predict(self, X: Any) -> Array:
        """Return the class of the largest score, (n,), of rows, Codes or another source of codes."""
        return self._by_blocks(X, lambda scores: np.asarray(self.classes_[largest(scores)]), only_ahead=True)

    def predict_proba(self, X: Any) -> Array:
        """Return probabilities (n, n_classes): of the model for "logistic", softmax of sloped scores otherwise."""
        return self._by_blocks(X, lambda scores: softmax_of(self._slope * self._class_scores(scores)))

    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithms of `predict_proba`."""
        return self._by_blocks(X, lambda scores: log_softmax_of(self._slope * self._class_scores(scores)))

    def score(self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy on rows or codes.

        Parameters
        ----------
        X : array, CSR matrix or data frame (n, n_features), or Codes, or a CodeSource
        y : array (n,); of a source with columns also the name of one, "y" when None
        sample_weight : array (n,), optional
        """
        if is_source(X):
            y, sample_weight = column_of(X, y, "y"), column_of(X, sample_weight)
        return float(super().score(X, y, sample_weight))

    @staticmethod
    def _class_scores(scores: Array) -> Array:
        """Return a column a class: a single score s of two classes stands for -s/2 and s/2."""
        return scores if scores.shape[1] > 1 else np.hstack([-0.5 * scores, 0.5 * scores])
