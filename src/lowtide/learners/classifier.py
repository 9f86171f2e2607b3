"""A kernel classifier on packed bits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets

from lowtide._checks import check_integer, check_option, check_positive, fail
from lowtide.codes import Codes, concatenate
from lowtide.learners import fitting
from lowtide.learners.machine import (
    FIRST_ALPHA,
    IN_BLOCKS,
    KernelMachine,
    Sides,
    Step,
    fit_steps,
    forgotten_if_stopped,
    reports_progress,
    unchanged_if_stopped,
)
from lowtide.spec import Registry

if TYPE_CHECKING:
    from lowtide.encoders import Encoder
    from lowtide.kernels import Kernel
    from lowtide.learners.calibration import CalibrationRows
    from lowtide.learners.class_fit import ClassFit
    from lowtide.learners.classes import ClassSums
    from lowtide.learners.decision import Decision, Side
    from lowtide.learners.losses import Loss
    from lowtide.learners.problem import Problem, SummedProblem
    from lowtide.learners.ridge import Form
    from lowtide.learners.smooth import MinibatchSteps


Array = NDArray[Any]
Block = tuple[Any, Array, Array | None, Sides]


@dataclass
class _Stream:
    """What `partial_fit` keeps from block to block: sides, classes, sums or small steps so far, rows to calibrate on.

    `fit` has what the first block chose; `weight` is that of all rows so far.
    """

    sides: Sides
    classes: Array
    so_far: ClassSums | MinibatchSteps
    fit: ClassFit
    rows: CalibrationRows | None = None
    weight: float = 0.0

    def add(self, problem: Problem, loss: Loss) -> None:
        """Take in a block of rows."""
        self.weight += problem.total_weight
        if not loss.is_calibrated:
            self.rows = fitting.CalibrationRows.with_more(self.rows, problem)
        for part in problem.parts():
            if isinstance(self.so_far, fitting.ClassSums):
                self.so_far.add(part.train, self.classes[part.labels], part.weight)
            else:
                self.so_far.add(part, loss, self.fit.strength)
        if isinstance(self.so_far, fitting.ClassSums):
            self.so_far.check()


def _takes_blocks(model: Any) -> bool:
    """Refuse rows in blocks for machines of pairs, each of which needs the rows of two classes."""
    if model.multi_class == "ovo":
        remedy = "Fit on all rows at once, as Codes or a store."
        raise fail("KernelClassifier", "multi_class must be 'ovr' when rows come in blocks", "ovo", remedy)
    return True


@dataclass(eq=False, repr=False)
class KernelClassifier(ClassifierMixin, KernelMachine):
    """Learn classes as `SVC` does, from a few packed bits per feature; settings left out are chosen from the data.

    With D the coded (or full) features it minimizes |w|^2/2 + C sum_i s_i loss(y_i, D_i w + b), b not penalized. More
    than two classes: each against the rest, the multinomial loss for "logistic"; or a machine a pair of them.

    Parameters
    ----------
    features : Encoder or None, default=None
        Cloned and fitted on the rows; a `FrozenEstimator` around a fitted encoder is used as it is. None is
        `RandomFeatures` of the settings below. When fitted on `Codes`: None or the encoder that made them.
    loss : {"auto", "squared", "logistic", "squared_hinge", "hinge"} or Loss, default="auto"
        "squared" is (y - f)^2, y = -1 or 1; "hinge" is max(0, 1 - y f), that of `SVC`, by Newton's method; the others
        are minimized by L-BFGS. "auto" is "squared", unless two classes are clearly better off with "squared_hinge" or
        "logistic". A loss of your own derives from `lowtide.learners.Loss`; `lowtide.register` gives it a name.
    C : float or "auto", default="auto"
        Inverse regularization; "squared" is ridge with alpha = 1/(2C). "auto" chooses on the side that predicts: by
        exact left-out probabilities of up to 2,048 rows, starting from 1; by two halves for the other losses.
    kernel : str or Kernel, default="rbf"
        As in `RandomFeatures`; an object has a scale of its own. This and the next six are of the default features.
    gamma : {"auto", "scale", "median"} or float, default="auto"
        "auto" walks from half of "scale" to what is clearly better by left-out losses of 1,024 rows (2,048 of many).
    n_components : int or "auto", default="auto"
        "auto" takes as many, 1,024 to 16,384 within the budget, as make left-out losses fall by a hundredth.
    bits : int or None, default=1
        Bits a component; None for float features alone.
    metric : {"auto", "diagonal", "full"} or None, default="auto"
        Columns are stretched by how much they matter in a first fit; codes then depend on the task. "full" mixes
        them by a matrix. "auto" takes what is clearly better on rows that it was not learned from.
    prune : int, "auto" or None, default="auto"
        Draw so many times as many frequencies, and keep those of the largest weight. "auto" tries 4 under a budget of
        bytes an item.
    budget : int, dict or None, default=None
        Bytes an item, or a dictionary with some of "item" and "model" (bytes) and "seconds" (of the fit).
    train_on, predict_on : {"codes", "full"} or None, default=None
        The side to fit on and to predict from, "full" for raw rows only; None is "codes" where features have them.
    multi_class : {"auto", "ovr", "joint", "ovo"}, default="auto"
        More than two classes: each against the rest ("ovr"), whose scores "joint" mixes by the k x k matrix that makes
        left-out rows most probable, and "auto" where classes have ten rows each; or a machine a pair ("ovo"), which
        vote, a tie going to the larger sum of confidences; not for `partial_fit` and "squared" on an iterator.
    class_weight : dict, "balanced" or None, default=None
    fit_intercept : bool, default=True
    solver : {"auto", "primal", "dual", "iterative"}, default="auto"
        How the minimum is found, see Notes; "auto" takes the cheapest that memory allows.
    max_iter : int, default=200
        Steps of L-BFGS, and of Newton's method for "hinge"; or of "iterative" for "squared".
    tol : float, default=1e-4
        Error of the scores of "squared", relative to their size. Of the other losses the largest gradient entry, per
        unit of weight, at which L-BFGS stops; problems below 2^24 code entries go to 1e-10. Of "hinge" the duality gap
        relative to the objective; the same problems go to 1e-8.
    warm_start : bool, default=False
        Keep the encoder and start L-BFGS at the last solution.
    verbose : int, default=0
        1 shows a progress bar on stderr.
    random_state : int, RandomState or None, default=None
        Passed to the default features; also draws the halves of C="auto" for losses other than "squared".

    Attributes
    ----------
    classes_ : ndarray (n_classes,)
    coef_ : ndarray (k, n_features_out), k = 1, n_classes or n_pairs
        Of a pair of "ovo" positive for its first class, in the order (0, 1), (0, 2), ..., as those of `SVC`.
    intercept_ : ndarray (k,)
    features_ : Encoder or None
    decision_ : Decision
        What was learned, frozen.
    choice_ : Choice
        What was chosen, with the left-out losses that decided; print it for a table.
    C_ : float
    n_iter_ : int
    solver_ : {"primal", "dual", "iterative"}

    Notes
    -----
    Nothing of size n x m floats exists. Beside the codes "squared" holds two m x m matrices ("primal"), two n x n ones
    ("dual"), or one of at most 8,192 rows and some vectors ("iterative", conjugate gradients); the other losses some 30
    vectors of weights, and for "dual" n x n matrices. With "auto", what does not fit is refused by `MemoryNeedError`.

    Probabilities of all losses but "logistic", and of all of "ovo", are softmax(g(scores)), g a rising curve: the most
    probable class is the predicted one. It is fitted on what up to 20,000 rows, picked by a hash of their codes, would
    have scored if left out. A border of two classes that gets clearly more of them right goes into `intercept_`, and
    the mixture of "joint" into `coef_` and `intercept_`.

    "auto" settings are chosen on some rows, those of the smallest hash: so neither the order of rows matters, nor
    whether equal rows come as one of their joint weight. Of rows in blocks the first block chooses.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> import lowtide as lt
    >>> X, y = load_digits(return_X_y=True)
    >>> model = lt.KernelClassifier(random_state=0).fit(X[:1200], y[:1200])
    >>> bool(model.score(X[1200:], y[1200:]) > 0.93)
    True
    >>> sorted(model.choice_.settings)
    ['C', 'gamma', 'loss', 'metric', 'n_components', 'prune']
    """

    fitted_numbers = ("C_", "n_iter_", "solver_")
    _first_alpha = FIRST_ALPHA
    # Left-out rows of a sample ask for ever less: what they ask for beyond C = 30 costs more rows more than it gains.
    _farthest_alpha = 6
    features: Encoder | None = None
    _: KW_ONLY
    loss: str | Loss = "auto"
    C: float | Literal["auto"] = "auto"
    kernel: str | Kernel = "rbf"
    gamma: float | Literal["auto", "scale", "median"] = "auto"
    n_components: int | Literal["auto"] = "auto"
    bits: int | None = 1
    metric: Literal["auto", "diagonal", "full"] | None = "auto"
    prune: int | Literal["auto"] | None = "auto"
    budget: int | dict[str, float] | None = None
    train_on: Side | None = None
    predict_on: Side | None = None
    multi_class: Literal["auto", "ovr", "joint", "ovo"] = "auto"
    class_weight: dict[Any, float] | Literal["balanced"] | None = None
    fit_intercept: bool = True
    solver: Literal["auto", "primal", "dual", "iterative"] = "auto"
    max_iter: int = 200
    tol: float = 1e-4
    warm_start: bool = False
    verbose: int = 0
    random_state: int | np.random.RandomState | None = None
    C_: float = field(init=False)
    n_iter_: int = field(init=False)
    solver_: Form = field(init=False)
    _stream: _Stream = field(init=False)

    @reports_progress
    def fit(self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit on rows, on Codes or another source of codes, or on an iterator of blocks.

        Parameters
        ----------
        X : array, CSR matrix or data frame (n, n_features), or Codes, or a CodeSource, or an iterator
            A `CodeSource` such as a store is read block by block, as often as the solver needs. An iterator yields
            (rows, y) or (rows, y, sample_weight), read once: "squared" keeps m x m sums and at most 20,000 packed rows,
            the other losses the packed codes. The encoder is fitted on the first block.
        y : array (n,) of classes; not with an iterator
            Of a source with columns also the name of one; None is its column "y".
        sample_weight : array (n,), optional
            Of a source with columns also the name of one.
        """
        loss = fitting.settled_loss(self.loss)
        # The packed codes of blocks are kept unless the loss needs their sums alone.
        self._check_parameters(blocks=isinstance(X, Iterator) and loss.has_normal_equations)
        if isinstance(X, Iterator):
            return self._fit_blocks(fitting.labeled_blocks(X, y, sample_weight, "KernelClassifier"), loss)
        n_steps = None if self.multi_class == "ovo" or self.loss == "auto" else self.max_iter + 1
        with fit_steps(self, 2 if n_steps and loss.has_normal_equations else n_steps, X, y) as step:
            self.__dict__.pop("_stream", None)
            problem, sides = self._start_problem(X, y, sample_weight)
            self._fit_problem(problem, sides, step)
        return self

    @available_if(_takes_blocks)  # type: ignore[untyped-decorator]
    def partial_fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Take in more rows: "squared" adds to the normal equations, the others take small steps.

        Equations are solved and probabilities calibrated when the model is next asked for something. A call that is
        stopped while it adds rows leaves the model not fitted.

        Parameters
        ----------
        X : array, CSR matrix or data frame (n, n_features), or Codes, or a CodeSource
            The first call after construction or `fit` starts anew and fits the encoder.
        y : array (n,); of a source with columns also the name of one, "y" when None
        classes : array, needed in the first call
            All classes that will come; those of a `fit` before, if there was one. Later calls: None, or the same.
        sample_weight : array (n,), optional
        """
        loss = fitting.settled_loss(self.loss)
        self._check_parameters(blocks=True)
        stream: _Stream | None = self.__dict__.get("_stream")
        known = self._stream_classes(classes, stream)
        sides = None if stream is None else stream.sides
        with unchanged_if_stopped(self):
            rows, labels, weight, sides = self._start(X, y, sample_weight, sides, IN_BLOCKS)
            factor = fitting.class_weights(self.class_weight, known, None)
            problem = sides.problem(rows, labels, weight, self.fit_intercept)
            problem = problem.relabel(fitting.ClassIndex(known, factor), loss.targets(len(known)))
            if stream is None:
                fit = self._class_fit()
                fit.choose_by_block(problem)
                steps = fitting.MinibatchSteps(problem.shape[1], problem.n_targets)
                so_far = fitting.ClassSums(known) if loss.has_normal_equations else steps
                stream = self._stream = _Stream(sides, known, so_far, fit)
        with forgotten_if_stopped(self):
            stream.add(problem, loss)
            self._keep(stream.fit)
        self.decision_ = stream
        return self

    @property
    def decision_(self) -> Decision:
        """What was learned, frozen. After `partial_fit` it is made when it is first asked for."""
        if "decision_" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute 'decision_'")
        kept = self.__dict__["decision_"]
        if isinstance(kept, _Stream):
            kept = self.__dict__["decision_"] = self._decide(kept)
        decision: Decision = kept
        return decision

    @decision_.setter
    def decision_(self, decision: Decision | _Stream) -> None:
        self.__dict__["decision_"] = decision

    def _decide(self, stream: _Stream) -> Decision:
        """Return the decision of all rows of a stream so far."""
        fit, loss = stream.fit, fitting.settled_loss(self.loss)
        if isinstance(stream.so_far, fitting.ClassSums):
            _, equations = stream.so_far.equations()
            solution = equations.solve(0.5 / fit.strength, fit_intercept=self.fit_intercept)
            machine = fitting.Machine.of_ridge(solution, stream.rows)
        else:
            machine = fit.smooth_machine(stream.so_far.parameters.copy(), stream.rows, stream.weight, loss)
        return fit.decided(machine, stream.sides, stream.classes, fitting.ArgMax(), loss)

    @classmethod
    def _parts(cls) -> dict[str, Registry[Any]]:
        return {"loss": fitting.LOSSES, "kernel": fitting.KERNELS.of(fitting.Kernel)}

    def _stream_classes(self, classes: ArrayLike | None, stream: _Stream | None) -> Array:
        """Return all classes that will come; they are settled by the first block."""
        given = None if classes is None else np.unique(np.asarray(classes))
        if stream is not None:
            if given is not None and not np.array_equal(given, stream.classes):
                need = f"classes must stay those of the first call of partial_fit, {stream.classes.tolist()}"
                raise fail("KernelClassifier", need, classes, "Start anew: call partial_fit of a clone.")
            return stream.classes
        if given is None and "decision_" not in self.__dict__:
            raise fail("KernelClassifier", "classes must be given in the first call of partial_fit", None)
        known = self.classes_ if given is None else given
        fitting.check_classes("KernelClassifier", known)
        return known

    def _fit_problem(self, problem: SummedProblem, sides: Sides, step: Step) -> None:
        """Fit on validated rows with their labels."""
        rng = np.random.default_rng(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        fit = self._class_fit()
        decision = fit(problem, sides, rng, step, self._start_point)
        self._keep(fit)
        self.decision_ = decision

    def _class_fit(self) -> ClassFit:
        """Return how classes are to be fitted, with what has been chosen so far."""
        names = ("loss", "multi_class", "class_weight", "fit_intercept", "solver", "max_iter", "tol")
        choice, C = self.choice_, self.C
        if "alpha" in choice.settings:  # by rows that did not teach the features
            C = 0.5 / cast(float, choice.settings["alpha"])
            as_C = ((t, 0.5 / cast(float, t.value)) for t in choice.trials if t.setting == "alpha")
            others = [t for t in choice.trials if t.setting != "alpha"]
            trials = (*others, *(replace(t, setting="C", value=value) for t, value in as_C))
            choice = replace(choice.without("alpha"), trials=trials)
        return fitting.ClassFit(C=C, **{name: getattr(self, name) for name in names}, choice=choice)

    def _keep(self, fit: ClassFit) -> None:
        self.C_, self.n_iter_, self.solver_, self.choice_ = fit.strength, fit.n_iter, fit.form, fit.choice

    def _check_parameters(self, blocks: bool = False) -> None:
        check_option("KernelClassifier", "solver", self.solver, ("auto", *fitting.FORMS))
        if blocks and self.solver not in ("auto", "primal"):
            raise fail("KernelClassifier", "solver must be 'auto' or 'primal' when rows come in blocks", self.solver)
        check_option("KernelClassifier", "multi_class", self.multi_class, ("auto", "ovr", "joint", "ovo"))
        if blocks:
            _takes_blocks(self)
        check_integer("KernelClassifier", "max_iter", self.max_iter, 1)
        check_positive("KernelClassifier", "tol", self.tol)
        if self.C != "auto":
            check_positive("KernelClassifier", "C", self.C, "Or let it be chosen: C='auto'.")

    def _fit_blocks(self, blocks: Iterator[Any], loss: Loss) -> Self:
        """Fit on an iterator of (rows, y, sample_weight): sums where they are enough, else codes."""
        with fit_steps(self, None) as step:
            self.__dict__.pop("_stream", None)
            gather = self._gather_sums if loss.has_normal_equations else self._gather_codes
            gather(self._started(blocks, step), step)
        return self

    def _started(self, blocks: Iterator[Any], step: Step) -> Iterator[Block]:
        """Yield the blocks validated; the encoder is fitted on the first."""
        sides: Sides | None = None
        for X, y, sample_weight in blocks:
            rows, labels, weight, sides = self._start(X, y, sample_weight, sides, IN_BLOCKS)
            check_classification_targets(labels)
            yield rows, labels, weight, sides
            step("block")
        if sides is None:
            raise fail("KernelClassifier", "blocks must hold at least one (rows, y)", "none")

    def _gather_sums(self, blocks: Iterator[Block], step: Step) -> None:
        sums, kept, fit = None, None, None
        for rows, labels, weight, sides in blocks:
            known = np.unique(labels)
            _, weight = fitting.ClassIndex(known, fitting.class_weights(self.class_weight, known, None, more=True))(
                labels, weight
            )
            sums = fitting.ClassSums(known) if sums is None else sums
            problem = sides.problem(rows, labels, weight, self.fit_intercept)
            if fit is None:
                fit = self._class_fit()
                targets = fitting.settled_loss(self.loss).targets(max(2, len(known)))
                fit.choose_by_block(problem.relabel(fitting.ClassIndex(known), targets))
            sums.add(problem.train, labels, weight)
            kept = fitting.CalibrationRows.with_more(kept, problem)
        assert sums is not None
        assert kept is not None
        assert fit is not None
        classes, equations = sums.equations()
        fitting.check_classes("KernelClassifier", classes)
        fitting.class_weights(self.class_weight, classes, None)  # refuses names that did not come
        solution, loss = (
            equations.solve(0.5 / fit.strength, fit_intercept=self.fit_intercept),
            fitting.settled_loss(self.loss),
        )
        kept = kept.relabel(fitting.ClassIndex(classes), loss.targets(len(classes)))
        decision = fit.decided(fitting.Machine.of_ridge(solution, kept), sides, classes, fitting.ArgMax(), loss)
        self._keep(fit)
        self.decision_ = decision
        step("solve")

    def _gather_codes(self, blocks: Iterator[Block], step: Step) -> None:
        parts = []
        for rows, labels, weight, sides in blocks:
            codes = rows
            if not isinstance(rows, Codes) and sides.train_on == "codes" and sides.encoder is not None:
                codes = sides.encoder.encode(rows)
            if not isinstance(codes, Codes):
                remedy = "Or fit on all rows at once, or take loss='squared'."
                raise fail("KernelClassifier", "blocks must be trained on as packed codes", sides.train_on, remedy)
            parts.append((codes, labels, np.ones(len(labels)) if weight is None else weight))
        codes, targets, weights = zip(*parts)
        rows = concatenate(codes), np.concatenate(targets), np.concatenate(weights)
        self.choice_ = replace(self.choice_, source=f"{self.choice_.source} of the first block")
        self._fit_problem(sides.problem(*rows, self.fit_intercept), sides, step)

    def _readable(self, problem: Problem) -> Problem | None:
        """Return rows with labels that are read as targets of classes; None for one class, as a first block may be."""
        found = problem.tally(fitting.ClassCounts.of)
        if len(found.classes) < 2:
            return None
        factor = fitting.class_weights(self.class_weight, found.classes, found.totals, more=True)
        return problem.relabel(
            fitting.ClassIndex(found.classes, factor), fitting.LOSSES.resolve("squared").targets(len(found.classes))
        )

    @property
    def _strength(self) -> float | Literal["auto"]:
        return self.C

    def _judged(self, scores: Array, rows: Problem, keys: Array | None) -> Array:
        return fitting.class_losses(
            scores, rows.labels, rows.weights, keys if self.multi_class in ("auto", "joint") else None
        )

    def decision_function(self, X: Any) -> Array:
        """Return scores of rows or codes, (n,) for two classes and (n, n_classes) for more."""
        return self._decision().values(self._input(X), checked=True)

    def predict(self, X: Any) -> Array:
        """Return the class of the largest score, (n,), of rows, Codes or another source of codes."""
        return self._decision().predict(self._input(X), checked=True)

    def predict_proba(self, X: Any) -> Array:
        """Return probabilities (n, n_classes): of the model for "logistic", calibrated on left-out scores otherwise."""
        return self._decision().probabilities(self._input(X), checked=True)

    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithms of `predict_proba`."""
        return self._decision().log_probabilities(self._input(X), checked=True)

    def score(self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy on rows or codes.

        Parameters
        ----------
        X : array, CSR matrix or data frame (n, n_features), or Codes, or a CodeSource
        y : array (n,); of a source with columns also the name of one, "y" when None
        sample_weight : array (n,), optional
        """
        if fitting.is_source(X):
            y, sample_weight = fitting.column_of(X, y, "y"), fitting.column_of(X, sample_weight)
        return float(super().score(X, y, sample_weight))
