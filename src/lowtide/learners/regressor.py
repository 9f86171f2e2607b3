"""Kernel ridge regression on packed bits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.utils import Tags

from lowtide._checks import check_integer, check_option, check_positive, fail
from lowtide.learners import fitting
from lowtide.learners.machine import IN_BLOCKS, KernelMachine, Sides, fit_steps, forgotten_if_stopped, reports_progress
from lowtide.spec import Registry

if TYPE_CHECKING:
    from lowtide.encoders import Encoder
    from lowtide.kernels import Kernel
    from lowtide.learners.calibration import CalibrationRows
    from lowtide.learners.decision import Side
    from lowtide.learners.problem import Problem, SummedProblem
    from lowtide.learners.ridge import Form, NormalEquations, RidgeSolution


Array = NDArray[Any]
_SMALLEST_TARGET = 1e-80


@dataclass
class _Largest:
    """The largest absolute value of the targets of some rows."""

    value: float

    @classmethod
    def of(cls, targets: Array, weight: Array | None) -> _Largest:
        """Return that of some rows; weights do not matter."""
        return cls(float(np.max(np.abs(targets), initial=0.0)))

    def merge(self, part: _Largest) -> None:
        """Take in other rows."""
        self.value = max(self.value, part.value)


def _check_size(largest: _Largest) -> None:
    """Refuse targets whose squares are all 0 in float64, so that no alpha could be told from another."""
    if 0 < largest.value < _SMALLEST_TARGET:
        need = f"the largest target must be 0 or at least {_SMALLEST_TARGET} for alpha='auto'"
        raise fail("KernelRegressor", need, largest.value, "Multiply y by a constant.")


@dataclass(frozen=True)
class _Stream:
    """What `partial_fit` keeps from block to block: the sides, whether targets are (n,), and the sums so far."""

    sides: Sides
    flat: bool
    sums: NormalEquations


@dataclass(eq=False, repr=False)
class KernelRegressor(RegressorMixin, KernelMachine):
    """Learn numbers as `KernelRidge` does, from a few packed bits per feature; settings left out are chosen.

    With D the coded (or full) features it minimizes sum_i s_i (y_i - D_i w - b)^2 + alpha |w|^2, b not penalized.

    Parameters
    ----------
    features : Encoder or None, default=None
        As in `KernelClassifier`.
    alpha : float or "auto", default="auto"
        Regularization; "auto" walks from 1 to what is clearly better by the squared error that up to 2,048 rows have
        when left out, read on the side that predicts.
    kernel, gamma, n_components, bits, metric, prune, budget
        Of the default features, as in `KernelClassifier`; not used when `features` is given.
    train_on, predict_on : {"codes", "full"} or None, default=None
        The side to fit on and to predict from; None is "codes", or "full" for features without a coded side.
    fit_intercept : bool, default=True
    solver : {"auto", "primal", "dual", "iterative"}, default="auto"
        How the minimum is found, see Notes; "auto" takes the cheapest that memory allows. Rows in blocks need "auto" or
        "primal".
    max_iter : int, default=200
        Steps of the "iterative" solver.
    tol : float, default=1e-4
        Error of the predictions relative to their size, less the intercept, at which "iterative" stops. From 1e-6 down
        everything is float64.
    warm_start : bool, default=False
        Keep the encoder of the last fit.
    verbose : int, default=0
        1 shows a progress bar on stderr.
    random_state : int, RandomState or None, default=None
        Passed to the default features.

    Attributes
    ----------
    coef_ : ndarray (n_targets, n_features_out)
    intercept_ : ndarray (n_targets,)
    features_ : Encoder or None
    decision_ : Decision
        What was learned, frozen.
    choice_ : Choice
        What was chosen, with the left-out losses that decided; print it for a table.
    alpha_ : float
    n_iter_ : int
        Steps of the "iterative" solver, else 1.
    solver_ : {"primal", "dual", "iterative"}
        The solver that was used.

    Notes
    -----
    Of n rows and m features, "primal" gathers sums of m x m and factorizes them, "dual" does so with the n x n kernel
    matrix of the rows, and "iterative" takes conjugate gradients on products with the codes, preconditioned by the
    kernel matrix of at most 8,192 rows. All have the same minimum.

    Nothing of size n x m floats exists. Beside the codes "primal" holds two m x m matrices, "dual" two n x n ones, and
    "iterative" that of its rows and some vectors. Where none of them fits, "auto" raises `MemoryNeedError` before it
    allocates any. Rows in blocks are added to m x m sums, of which there may be three.

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

    fitted_numbers = ("alpha_", "n_iter_", "solver_")
    _first_alpha = 1.0
    _farthest_alpha = 16
    features: Encoder | None = None
    _: KW_ONLY
    alpha: float | Literal["auto"] = "auto"
    kernel: str | Kernel = "rbf"
    gamma: float | Literal["auto", "scale", "median"] = "auto"
    n_components: int | Literal["auto"] = "auto"
    bits: int | None = 1
    metric: Literal["auto", "diagonal", "full"] | None = "auto"
    prune: int | Literal["auto"] | None = "auto"
    budget: int | dict[str, float] | None = None
    train_on: Side | None = None
    predict_on: Side | None = None
    fit_intercept: bool = True
    solver: Literal["auto", "primal", "dual", "iterative"] = "auto"
    max_iter: int = 200
    tol: float = 1e-4
    warm_start: bool = False
    verbose: int = 0
    random_state: int | np.random.RandomState | None = None
    alpha_: float = field(init=False)
    n_iter_: int = field(init=False)
    solver_: Form = field(init=False)
    _stream: _Stream = field(init=False)

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
        if isinstance(X, Iterator):
            blocks, stream = fitting.labeled_blocks(X, y, sample_weight, "KernelRegressor"), None
            with fit_steps(self, None) as step:
                self.__dict__.pop("_stream", None)
                for block in blocks:
                    stream = self._added(*block, stream)
                    step("block")
                if stream is None:
                    raise fail("KernelRegressor", "blocks must hold at least one (rows, y)", "none")
                self._solve_sums(stream)
            return self
        with fit_steps(self, 2, X, y) as step:
            self.__dict__.pop("_stream", None)
            problem, sides = self._start_problem(X, y, sample_weight, multi_output=True, y_numeric=True)
            flat = problem.n_label_axes == 1
            problem = problem.relabel(fitting.as_columns)
            if self.alpha == "auto":
                _check_size(problem.tally(_Largest.of))
            step("encode")
            solution = self._ridge(problem, lambda: fitting.CalibrationRows.with_more(None, problem))
            self._keep_ridge(solution, sides, flat)
            step("solve")
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
        with forgotten_if_stopped(self):
            self._stream = self._added(X, y, sample_weight, self.__dict__.get("_stream"))
            self._solve_sums(self._stream)
        return self

    @classmethod
    def _parts(cls) -> dict[str, Registry[Any]]:
        return {"kernel": fitting.KERNELS.of(fitting.Kernel)}

    def _check_parameters(self, blocks: bool = False) -> None:
        check_option("KernelRegressor", "solver", self.solver, ("auto", *fitting.FORMS))
        check_integer("KernelRegressor", "max_iter", self.max_iter, 1)
        check_positive("KernelRegressor", "tol", self.tol)
        if blocks and self.solver not in ("auto", "primal"):
            raise fail("KernelRegressor", "solver must be 'auto' or 'primal' when rows come in blocks", self.solver)
        if self.alpha != "auto":
            check_positive("KernelRegressor", "alpha", self.alpha, "Or let it be chosen: alpha='auto'.")

    def _added(self, X: Any, y: Any, sample_weight: Any, stream: _Stream | None) -> _Stream:
        """Add a block of rows to the sums; None is for the first."""
        checks = {"multi_output": True, "y_numeric": True}
        sides = None if stream is None else stream.sides
        rows, values, weight, sides = self._start(X, y, sample_weight, sides, IN_BLOCKS, **checks)
        problem = sides.problem(rows, values, weight, self.fit_intercept).relabel(fitting.as_columns)
        fitting.check_sums("KernelRegressor", problem.shape[1])
        parts = (fitting.NormalEquations.of(part, np.float64) for part in problem.parts())
        if stream is None:
            self.choice_ = replace(self.choice_, source=f"{self.choice_.source} of the first block")
            if self.alpha == "auto":
                _check_size(problem.tally(_Largest.of))
            self._ridge(problem, lambda: fitting.CalibrationRows.of(problem))
            stream = _Stream(sides, values.ndim == 1, next(parts))
        elif problem.n_targets != len(stream.sums.target_sum):
            raise fail("KernelRegressor", f"y must have {len(stream.sums.target_sum)} targets", problem.n_targets)
        for part in parts:
            stream.sums.merge(part)
        return stream

    def _solve_sums(self, stream: _Stream) -> None:
        """Solve what has been gathered so far."""
        solution = stream.sums.solve(self.alpha_, fit_intercept=self.fit_intercept)
        self._keep_ridge(solution, stream.sides, stream.flat)

    def _ridge(self, problem: SummedProblem, sample: Callable[[], CalibrationRows]) -> RidgeSolution:
        """Return the solution with the alpha that was given or is chosen, and keep that."""
        fit = fitting.RidgeFit("KernelRegressor", self.solver, self.tol, self.max_iter, self._first_alpha, _squared)
        # One that was chosen by rows which did not teach the features is taken.
        given: Any = self.choice_.settings.get("alpha", self.alpha)
        solution, alpha, walk = fit(problem, given, sample)
        self.alpha_ = float(alpha)
        trials = [] if walk is None else fitting.trials_of("alpha", walk)
        n_judges = 0 if walk is None else len(walk.weights)
        self.choice_ = self.choice_.with_more({"alpha": self.alpha_}, trials, n_judges)
        return solution

    def _readable(self, problem: Problem) -> Problem:
        return problem.relabel(fitting.as_columns)

    @property
    def _strength(self) -> float | Literal["auto"]:
        return self.alpha

    def _judged(self, scores: Array, rows: Problem, keys: Array | None) -> Array:
        return _squared(scores, rows)

    def _keep_ridge(self, solution: RidgeSolution, sides: Sides, flat: bool) -> None:
        self.n_iter_, self.solver_ = solution.n_iter, solution.form
        self.decision_ = sides.decision(solution.coef, solution.intercept, fitting.Values(flat))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def predict(self, X: Any) -> Array:
        """Return predictions for rows, Codes or another source of codes, (n,) or (n, n_targets)."""
        return self._decision().predict(self._input(X), checked=True)

    def score(self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> float:
        """Return R^2 on rows or codes.

        Parameters
        ----------
        X : array, CSR matrix or data frame (n, n_features), or Codes, or a CodeSource
        y : array (n,) or (n, n_targets); of a source with columns also the name of one, "y" when None
        sample_weight : array (n,), optional
        """
        if fitting.is_source(X):
            y, sample_weight = fitting.column_of(X, y, "y"), fitting.column_of(X, sample_weight)
        return float(super().score(X, y, sample_weight))


def _squared(scores: Array, rows: Problem) -> Array:
    """Return what left-out predictions are judged by, in units of the largest target: squares of squares are summed."""
    size = float(np.max(np.abs(rows.targets), initial=0.0)) or 1.0
    return fitting.squared_losses(scores / size, rows.targets / size)
