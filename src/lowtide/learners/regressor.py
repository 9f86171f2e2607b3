"""Kernel ridge regression on packed bits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.utils import Tags, check_random_state

from lowtide._checks import check_positive, fail
from lowtide.encoders import Encoder
from lowtide.learners.labeled_blocks import labeled_blocks
from lowtide.learners.machine import KernelMachine, Side
from lowtide.learners.progress import FitProgress, reports_progress
from lowtide.learners.solvers import NormalEquations, RidgeSolution
from lowtide.learners.sources import column_of, is_source
from lowtide.learners.training import fit_squared

__all__ = ["KernelRegressor", "as_columns"]

Array = NDArray[Any]


class KernelRegressor(RegressorMixin, KernelMachine):
    """Kernel ridge regression, trained and used on a few packed bits per feature.

    With D the coded (or full) features it minimizes sum_i s_i (y_i - D_i w - b)^2 + alpha |w|^2, b not penalized.

    Parameters
    ----------
    features : Encoder or None, default=None
        As in `KernelClassifier`.
    alpha : float or "auto", default=1.0
        Regularization; "auto" chooses by leave-one-out or held-out error on the side that predicts.
    gamma, n_components, bits
        Of the default features; not used when `features` is given.
    train_on, predict_on : {"codes", "full"} or None, default=None
        The side to fit on and to predict from; None is "codes", or "full" for features without a coded side.
    fit_intercept : bool, default=True
    warm_start : bool, default=False
        Keep the encoder of the last fit.
    verbose : int, default=0
        1 shows a progress bar on stderr.
    random_state : int, RandomState or None, default=None
        Passed to the default features; also draws the held-out rows of alpha="auto".

    Attributes
    ----------
    coef_ : ndarray (n_targets, n_features_out)
    intercept_ : ndarray (n_targets,)
    features_ : Encoder or None
    alpha_ : float

    Examples
    --------
    >>> import numpy as np
    >>> import lowtide as lt
    >>> X = np.linspace(-3, 3, 400)[:, None]
    >>> y = np.sin(2 * X[:, 0])
    >>> model = lt.KernelRegressor(gamma=1.0, n_components=512, alpha="auto", random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.98)
    True
    """

    _fitted_numbers = ("alpha_", "_flat")

    def __init__(
        self,
        features: Encoder | None = None,
        *,
        alpha: float | Literal["auto"] = 1.0,
        gamma: float | Literal["scale", "median"] = "scale",
        n_components: int = 1024,
        bits: int | None = 1,
        train_on: Side | None = None,
        predict_on: Side | None = None,
        fit_intercept: bool = True,
        warm_start: bool = False,
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.features = features
        self.alpha = alpha
        self.gamma = gamma
        self.n_components = n_components
        self.bits = bits
        self.train_on = train_on
        self.predict_on = predict_on
        self.fit_intercept = fit_intercept
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state

    @reports_progress
    def fit(self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit on rows, on Codes or another source of codes, or on an iterator of blocks.

        Parameters
        ----------
        X : array, CSR matrix or data frame (n, n_features), or Codes, or a CodeSource, or an iterator
            A `CodeSource` such as a store is read block by block. An iterator yields (rows, y) or (rows, y,
            sample_weight) and is read once. In both memory is flat in n but for the targets. The encoder is fitted on
            the first block of an iterator.
        y : array (n,) or (n, n_targets); not with an iterator
            Of a source with columns also the name of one; None is its column "y".
        sample_weight : array (n,), optional
            Of a source with columns also the name of one.
        """
        self._check_parameters(blocks=isinstance(X, Iterator))
        self.__dict__.pop("_stream", None)
        if isinstance(X, Iterator):
            return self._fit_blocks(labeled_blocks(X, y, sample_weight, "KernelRegressor"))
        progress = FitProgress(self, n_steps=2)
        with progress.running(X, y):
            problem = self._start_problem(X, y, sample_weight, multi_output=True, y_numeric=True)
            self._flat = problem.n_label_axes == 1
            problem = problem.relabel(as_columns)
            progress.step("encode")
            rng = np.random.default_rng(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
            solution, alpha = fit_squared(problem, self.alpha, rng)
            self._keep_ridge(solution, alpha)
            progress.step("solve")
        return self

    def partial_fit(self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Add rows to the normal equations and solve them.

        Parameters
        ----------
        X : array, CSR matrix or data frame (n, n_features), or Codes, or a CodeSource
            The first call after construction or `fit` starts anew and fits the encoder.
        y : array (n,) or (n, n_targets); of a source with columns also the name of one, "y" when None
        sample_weight : array (n,), optional
        """
        self._check_parameters(blocks=True)
        self._add(X, y, sample_weight)
        self._solve_sums()
        return self

    def _check_parameters(self, blocks: bool = False) -> None:
        if self.alpha != "auto":
            check_positive("KernelRegressor", "alpha", self.alpha, "Or let it be chosen: alpha='auto'.")
        elif blocks:
            raise fail("KernelRegressor", "alpha must be a number when rows come in blocks", "auto")

    def _add(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Add a block of rows to the sums."""
        first = "_stream" not in self.__dict__
        rows, values, weight = self._start_block(X, y, sample_weight, first, multi_output=True, y_numeric=True)
        problem = self._problem(rows, values, weight, self.fit_intercept).relabel(as_columns)
        if first:
            self._flat = values.ndim == 1
            self._stream = NormalEquations(problem.shape[1], problem.n_targets)
        elif problem.n_targets != len(self._stream.target_sum):
            raise fail("KernelRegressor", f"y must have {len(self._stream.target_sum)} targets", problem.n_targets)
        for part in problem.parts():
            self._stream.add(part.train, part.targets, part.weight)

    def _solve_sums(self) -> None:
        """Solve what has been gathered so far."""
        alpha = float(self.alpha)
        self._keep_ridge(self._stream.solve(alpha, fit_intercept=self.fit_intercept), alpha)

    def _keep_ridge(self, solution: RidgeSolution, alpha: float) -> None:
        self.alpha_ = float(alpha)
        self._keep(solution.coef, solution.intercept)

    def _fit_blocks(self, blocks: Iterator[Any]) -> Self:
        """Gather the sums of an iterator of blocks, solve, and let the sums go."""
        progress = FitProgress(self, n_steps=None)
        with progress.running(None, None):
            try:
                for X, y, sample_weight in blocks:
                    self._add(X, y, sample_weight)
                    progress.step("block")
                if "_stream" not in self.__dict__:
                    raise fail("KernelRegressor", "blocks must hold at least one (rows, y)", "none")
                self._solve_sums()
            finally:
                self.__dict__.pop("_stream", None)
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def predict(self, X: Any) -> Array:
        """Return predictions for rows, Codes or another source of codes, (n,) or (n, n_targets)."""
        return self._by_blocks(X, lambda scores: scores[:, 0] if self._flat else scores)

    def score(self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> float:
        """Return R^2 on rows or codes.

        Parameters
        ----------
        X : array, CSR matrix or data frame (n, n_features), or Codes, or a CodeSource
        y : array (n,) or (n, n_targets); of a source with columns also the name of one, "y" when None
        sample_weight : array (n,), optional
        """
        if is_source(X):
            y, sample_weight = column_of(X, y, "y"), column_of(X, sample_weight)
        return float(super().score(X, y, sample_weight))


def as_columns(values: Array, weight: Array | None) -> tuple[Array, Array | None]:
    """Return values (n,) or (n, k) as float64 columns."""
    return values.reshape(len(values), -1).astype(np.float64), weight
