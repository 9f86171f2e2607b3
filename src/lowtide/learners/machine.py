"""How a fit begins: rows, codes or a source of them become a problem on the side to fit on; and how far it has come."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_y, validate_data

from lowtide._checks import check_integer, check_memory, check_option, fail, host_array
from lowtide.codes import Codes  # which bring the ops: threadpool_limits around a fit has to know of their threads
from lowtide.errors import CancelledError
from lowtide.learners import fitting
from lowtide.learners.learner import MOST_COMPONENTS, Learner, check_features
from lowtide.spec import Part, State

if TYPE_CHECKING:
    from lowtide.encoders import DrawnEncoder, Encoder, RandomFeatures
    from lowtide.learners.choice import Budget, Candidate, Choice
    from lowtide.learners.decision import Decision, Side
    from lowtide.learners.design import Design
    from lowtide.learners.problem import Problem, SummedProblem
    from lowtide.learners.rules import Rule


Array = NDArray[Any]
Method = TypeVar("Method", bound=Callable[..., Any])
Step = Callable[..., bool]
# Where the choice of C starts: at C = 1.
FIRST_ALPHA = 0.5
# Components where nothing tells how many are worth it.
_COMPONENTS = 1024
# Components at the most where rows come in blocks: their sums are matrices of as many rows and columns.
IN_BLOCKS = 4096
# Power of the steps to a metric where nothing limits the components.
_MILD = 0.5
# One more than the largest seed that is drawn where none is given.
_SEEDS = 2**31 - 1
# Of the part "choice" of a file.
_VERSION = 1

try:  # experimental since scikit-learn 1.9
    from sklearn.callback import CallbackSupportMixin, with_callbacks

    CallbackSupport: Any = CallbackSupportMixin
except ImportError:

    class CallbackSupport:  # type: ignore[no-redef]
        """Nothing to support before scikit-learn 1.9."""

    with_callbacks = None


def reports_progress(method: Method) -> Method:
    """Tear callbacks down when the method ends, however it ends."""
    return method if with_callbacks is None else cast(Method, with_callbacks(method))


@contextmanager
def unchanged_if_stopped(estimator: Any) -> Iterator[None]:
    """Leave an estimator as it was before when a token or Ctrl-C stops what is done to it."""
    before = dict(vars(estimator))
    try:
        yield
    except (CancelledError, KeyboardInterrupt):
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


@contextmanager
def forgotten_if_stopped(estimator: Any) -> Iterator[None]:
    """Leave an estimator not fitted when a token or Ctrl-C stops what adds to its sums: they are of no known rows."""
    try:
        yield
    except (CancelledError, KeyboardInterrupt):
        vars(estimator).pop("_stream", None)
        vars(estimator).pop("decision_", None)
        raise


@contextmanager
def fit_steps(estimator: Any, n_steps: int | None, X: Any = None, y: Any = None) -> Iterator[Step]:
    """Open a fit of so many steps, None when nobody knows, for callbacks and the bar; close it however it ends.

    It gives a function that reports one step as done, by its name, and returns whether a callback asks to stop. The
    second argument of that returns what a copy of the estimator needs to predict as if the fit ended here. A fit that
    is stopped leaves the estimator as it was before.
    """
    start = getattr(estimator, "_init_callback_context", None)
    context = None if start is None else start(max_subtasks=n_steps)
    if context is not None:
        context.call_on_fit_task_begin(estimator=estimator, X=X, y=y)
    bar = None
    if estimator.verbose:
        from rich.console import Console
        from rich.progress import Progress

        bar = Progress(console=Console(stderr=True), transient=True)
        bar.add_task(f"{type(estimator).__name__}.fit", total=n_steps)
        bar.start()

    def step(name: str, attributes: Callable[[], dict[str, Any]] | None = None) -> bool:
        stop = False
        if context is not None:
            task = context.subcontext(task_name=name)
            task.call_on_fit_task_begin(estimator=estimator)
            stop = bool(task.call_on_fit_task_end(estimator=estimator, X=X, y=y, reconstruction_attributes=attributes))
        if bar is not None:
            bar.advance(bar.task_ids[0])
        return stop

    try:
        with unchanged_if_stopped(estimator):
            yield step
    finally:
        if bar is not None:
            bar.stop()
    if context is not None:
        context.call_on_fit_task_end(estimator=estimator, X=X, y=y)


@dataclass(frozen=True)
class Sides:
    """What rows become in a fit: by which encoder, on which side they are learned from, and on which they are scored.

    There is no encoder for Codes alone, and no template (codes of zero rows with the codebook to learn on) where no
    side is packed. `owner` is the learner's name, for messages, and `columns` are the names of a row's columns.
    """

    owner: str
    encoder: DrawnEncoder | None
    template: Codes | None
    train_on: Side
    predict_on: Side
    columns: tuple[str, ...] | None = None

    def design(self, X: Any, side: Side) -> Design:
        """Return validated rows or codes as the matrix of one side."""
        if fitting.is_source(X):
            return fitting.design_of(self.read(X) if isinstance(X, Codes) else fitting.RecodedSource(X, self.read))
        if self.encoder is None:
            raise fail(self.owner, "a model fitted on Codes alone takes Codes", type(X).__name__)
        if side == "full":
            return fitting.FullDesign(self.encoder.embed, X, self.encoder.n_embedded)
        return fitting.encoded_design(self.encoder.encode, X, self.encoder.n_outputs, self.read)

    def problem(self, X: Any, labels: Array, weight: Array | None, fit_intercept: bool) -> Problem:
        """Return both sides of the rows with their labels; one object where the two sides are one.

        Codes have no full side to look at: then both are the codes, whatever will predict.
        """
        train = self.design(X, self.train_on)
        same = self.predict_on == self.train_on or fitting.is_source(X)
        predict = train if same else self.design(X, self.predict_on)
        return fitting.Problem(train, predict, labels, weight, fit_intercept)

    def recode(self, codes: Codes) -> Codes:
        """Return codes with the codebook of the template."""
        return codes if self.template is None else fitting.read_as(self.template, codes)

    def read(self, codes: Codes) -> Codes:
        """Return what is learned on: codes with the codebook of the template, expanded where their encoder does so."""
        recoded = self.recode(codes)
        return recoded if self.encoder is None else self.encoder.expand(recoded)

    def decision(self, coef: Array, intercept: Array, rule: Rule, **answers: Any) -> Decision:
        """Return the decision of weights (m, k) and intercepts (k,); `answers` are its classes and calibration."""
        template = self.template if self.predict_on == "codes" else None
        made = (self.encoder, template, self.predict_on, coef, intercept, rule)
        return fitting.Decision(*made, columns=self.columns, **answers)


class KernelMachine(CallbackSupport, Learner):
    """A linear model on one side of an encoder, scored on the same or on the other side."""

    kernel: Any
    gamma: Any
    n_components: int | Literal["auto"]
    bits: int | None
    metric: Any
    prune: Any
    budget: Any
    own_parts: ClassVar[dict[str, int]] = {"choice": _VERSION}
    # The penalty that a choice starts from, and how many quarters of a decade it may come away from that.
    _first_alpha: ClassVar[float]
    _farthest_alpha: ClassVar[int]
    choice_: Choice
    train_on: Side | None = None
    predict_on: Side | None = None
    fit_intercept: bool
    random_state: Any

    def to_state(self) -> State:
        """Return what a file keeps: that of every learner, and a part "choice" of those that choose."""
        state = super().to_state()
        return {**state, "choice": Part(_VERSION, self.choice_.to_config())} if "choice" in self.own_parts else state

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Return the learner of what `to_state` gave."""
        self = super().from_state(state)
        if "choice" in cls.own_parts:
            fitting.Budget.of(self.budget, cls.__name__)
            self.choice_ = fitting.Choice.from_config(state["choice"].spec)
        return self

    @abstractmethod
    def _readable(self, problem: Problem) -> Problem | None:
        """Return rows with labels that are read as targets; None where no candidate could be better than another."""

    @property
    @abstractmethod
    def _strength(self) -> float | Literal["auto"]:
        """How strongly to regularize, as it was given."""

    @abstractmethod
    def _judged(self, scores: Array, rows: Problem, keys: Array | None) -> Array:
        """Return the losses of left-out scores, (n, q); of scores that may be mixed where there are keys."""

    def _start_problem(self, X: Any, y: Any, sample_weight: Any, **checks: Any) -> tuple[SummedProblem, Sides]:
        """Validate rows, codes or a source of codes, settle the encoder and the sides; return what is to be fitted."""
        if isinstance(X, fitting.ProblemSource):
            sides = self._adopt(X.template, X.encoder)
            self.choice_ = self.choice_ if X.choice is None else X.choice
            problem = X.problem(self.fit_intercept, **checks)
            return problem.recode(sides.read) if sides.encoder is not None and sides.encoder.expands else problem, sides
        rows, labels, weight, sides = self._start(X, y, sample_weight, **checks)
        return sides.problem(rows, labels, weight, self.fit_intercept), sides

    def _start(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        sides: Sides | None = None,
        most: int = MOST_COMPONENTS,
        **checks: Any,
    ) -> tuple[Any, Array, Array | None, Sides]:
        """Validate; return rows or codes, labels, weights (None: all ones), and the sides.

        `sides` are given with one of many blocks; the first of them settles the encoder and the sides. `most` are the
        most components that may be chosen.
        """
        if fitting.is_source(X):
            y, sample_weight = fitting.column_of(X, y, "y"), fitting.column_of(X, sample_weight)
            owner = type(self).__name__
            if y is None:
                raise fail(owner, "y must be passed, a value a row of the codes", y)
            if X.n_rows == 0:
                raise fail(owner, "codes to fit on must have at least one row", "0 rows")
            y = np.asarray(_check_y(y, estimator=self, **checks))
            if len(y) != X.n_rows:
                raise fail(owner, f"y must have a value a row, {X.n_rows}", len(y))
            if sides is None:
                sides = self._adopt(fitting.first_codes(X), getattr(X, "encoder", None))
            elif sides.template is None or sides.train_on == "full":
                raise fail(owner, "blocks must be rows, as before, when train_on is 'full'", "Codes")
            else:
                fitting.check_same(sides.template, fitting.first_codes(X))
                X = sides.recode(X) if isinstance(X, Codes) else fitting.RecodedSource(X, sides.recode)
            return X, y, self._check_weight(sample_weight, len(y)), sides
        X = named = host_array(type(self).__name__, X)
        reset = sides is None
        X, y = validate_data(self, X, y, reset=reset, accept_sparse="csr", dtype="numeric", **checks)
        weight = self._check_weight(sample_weight, len(y))
        if sides is None:
            self._check_codes_fit(X.shape[0])
            keeps = self.warm_start and self.__dict__.keys() >= {"features_", "choice_"}
            self.choice_ = self.choice_.of_features() if keeps else fitting.Choice({})
            sides = self._sides_of(self.fit_features(X, weight, named, y, most))
        return X, y, weight, sides

    def _check_codes_fit(self, n_rows: int) -> None:
        """Refuse rows whose codes would not fit in memory, before anything is drawn or encoded."""
        given = self.features.estimator if isinstance(self.features, FrozenEstimator) else self.features
        features: Any = self if given is None else given
        n_components, bits = getattr(features, "n_components", None), getattr(features, "bits", None)
        if self.train_on == "full" or not isinstance(n_components, Integral) or not isinstance(bits, Integral):
            return
        n_components, bits = int(n_components), int(bits)
        what = f"the codes of {n_rows:,} rows by {n_components:,} components of {bits} bit{'s' * (bits > 1)}"
        remedy = "Lower n_components, or encode into a CodeStore and fit on that: it is read block by block."
        check_memory(type(self).__name__, float(n_rows) * n_components * bits / 8 + 16.0 * n_components, what, remedy)

    def _asked(self, budget: Budget) -> Candidate:
        """Return the settings of the default features, as they were given; refuse what is none."""
        owner = type(self).__name__
        allowed = {"gamma": ("auto", "scale", "median"), "metric": ("auto", "diagonal", "full"), "prune": ("auto",)}
        for name, words in allowed.items():
            value = getattr(self, name)
            if isinstance(value, str) or (name == "metric" and value is not None):
                check_option(owner, name, value, words)
        if not isinstance(self.prune, (str, type(None))):
            check_integer(owner, "prune", self.prune, 2, remedy="Or prune=None keeps all that are drawn.")
        if self.n_components != "auto":
            code = fitting.Budget(item=budget.item).n_components(bits=self.bits, n_rows=1, n_outputs=1)
            self._check_within(budget, check_integer(owner, "n_components", self.n_components, 1), code)
        # Without a limit on the code there are as many frequencies as are worth it already.
        prune = None if self.prune == "auto" and budget.item is None else self.prune
        return fitting.Candidate(
            self.gamma if isinstance(self.kernel, str) else None, self.n_components, self.metric, prune
        )

    def _check_within(self, budget: Budget, n_components: int, most: int | None) -> None:
        """Refuse a number of components that was given together with a budget that has no room for it."""
        if most is not None and n_components > most:
            owner, need = type(self).__name__, f"n_components must be at most {most} to keep within {budget}"
            raise fail(owner, need, n_components, 'Give one of the two, or n_components="auto".')

    def _default_features(self, X: Any, weight: Array | None, labels: Array | None, most: int) -> Encoder:
        """Return random features, not fitted; what is left to the data is chosen by losses of rows left out."""
        owner, budget = type(self).__name__, fitting.Budget.of(self.budget, type(self).__name__)
        asked = self._asked(budget)
        if not asked.is_open:
            self.choice_ = fitting.Choice(asked.settings())
            return self._features_of(asked, self.random_state)
        # Candidates share a draw: those frequencies that are kept are places in it.
        is_settled = isinstance(self.random_state, Integral)
        seed = self.random_state if is_settled else check_random_state(self.random_state).randint(_SEEDS)
        X = X.to_numpy() if hasattr(X, "iloc") else X
        came = fitting.dense_design(X)
        both = None if labels is None else fitting.Problem(came, came, labels, weight, self.fit_intercept)
        whole = None if both is None else self._readable(both)
        if whole is None:
            few = _COMPONENTS if self.n_components == "auto" else self.n_components
            plain = fitting.Candidate("scale" if asked.gamma == "auto" else asked.gamma, few)
            self.choice_ = fitting.Choice(plain.settings())
            return self._features_of(plain, seed)
        fitting.warn_when_columns_differ(owner, X)
        scale = 1.0
        if isinstance(asked.gamma, str):
            norm, word = (
                fitting.KERNELS.of(fitting.Kernel)[self.kernel]().norm,
                "scale" if asked.gamma == "auto" else asked.gamma,
            )
            scale = fitting.resolve_gamma(word, X, norm, np.random.default_rng(0), weight, owner)
            asked = asked if asked.gamma == "auto" else replace(asked, gamma=scale)
        n, d = whole.shape
        sizes = {"n_rows": n, "n_outputs": whole.n_targets, "n_columns": d}
        limit = budget.n_components(bits=self.bits, **sizes, metric=asked.metric)
        if asked.n_components != "auto":
            self._check_within(budget, asked.n_components, limit)
        most = min(most, fitting.memory_components(n, self.bits), *(() if limit is None else (limit,)))
        chooser = fitting.Chooser(
            fitting.CalibrationRows.of(whole, fitting.SAMPLED),
            n,
            partial(self._features_of, seed=seed),
            self._on_sides,
            self._judged,
            first=self._first_alpha,
            farthest=self._farthest_alpha,
            # Its frequencies are as large as the rows: not what a limit on the model is for.
            mixes=budget.model is None,
            # Few components need a stronger metric than many, which can do without.
            power=_MILD if limit is None else None,
        )
        found = chooser.features(asked, scale, most)
        alpha = chooser.strength(found) if self._strength == "auto" else None
        settings = found.settings() | ({} if alpha is None else {"alpha": alpha})
        self.choice_ = fitting.Choice(settings, tuple(chooser.trials), len(chooser.judges.keys))
        return self._features_of(chooser.taught(found), seed)

    def _features_of(self, found: Candidate, seed: Any) -> RandomFeatures:
        """Return the features of settled settings, in the fastest layout that their kernel allows."""
        kernel = fitting.KERNELS.of(fitting.Kernel).resolve(self.kernel)
        layout = next((name for name in fitting.PROJECTIONS if kernel.law in fitting.PROJECTIONS[name].laws), "iid")
        learned = {"metric": found.metric, "kept": found.kept}
        return fitting.RandomFeatures(
            self.kernel,
            gamma="scale" if found.gamma is None else found.gamma,
            n_components=found.n_components,
            projection=layout,
            bits=self.bits,
            random_state=seed,
            **{name: value for name, value in learned.items() if value is not None},
        )

    def _on_sides(self, features: Encoder, rows: Problem) -> Problem:
        """Return rows as they came on the sides to learn on and to predict from."""
        made = self._sides_of(features).problem(
            fitting.rows_as_they_came(rows), rows.labels, rows.weight, self.fit_intercept
        )
        return replace(made, reading=rows.reading)

    def _adopt(self, codes: Codes, own: Encoder | None = None) -> Sides:
        """Take codes as they are; an encoder that is given must have made them, else they may bring their own."""
        given = self.features.estimator if isinstance(self.features, FrozenEstimator) else self.features
        check_features(type(self).__name__, given)
        encoder: Any = own if given is None else given
        if encoder is not None:
            if "drawn_" not in encoder.__dict__:
                need = "features must be None or the fitted encoder that made the codes"
                raise fail(type(self).__name__, need, f"{encoder!r}, not fitted")
            encoder.drawn_.check_codes(codes)
        self.features_, self.choice_ = encoder, fitting.Choice({}, source="codes")
        self.n_features_in_ = encoder.n_features_in_ if encoder is not None else codes.shape[1]
        self.__dict__.pop("feature_names_in_", None)
        if hasattr(encoder, "feature_names_in_"):
            self.feature_names_in_ = encoder.feature_names_in_
        return self._sides_of(encoder, codes[:0])

    def _sides_of(self, encoder: Encoder | None, codes: Codes | None = None) -> Sides:
        """Resolve train_on and predict_on: codes, or full where there is no coded side; `codes` were fitted on."""
        drawn = None if encoder is None else encoder.drawn_
        has_codes = drawn is None or drawn.has_codes
        default: Side = "codes" if has_codes else "full"
        owner = type(self).__name__
        sides: dict[str, Any] = {}
        for name, side in (("train_on", self.train_on), ("predict_on", self.predict_on)):
            sides[name] = default if side is None else check_option(owner, name, side, ("codes", "full"))
            if sides[name] == "codes" and not has_codes:
                raise fail(owner, f"{name} must be 'full' for features without a coded side", side, "Or set bits=1.")
        if codes is not None and sides["train_on"] == "full":
            raise fail(owner, "train_on must be 'codes' when fitted on Codes", "full", "Pass the raw rows.")
        if drawn is None and sides["predict_on"] == "full":
            remedy = "Give their encoder as features."
            raise fail(owner, "predict_on must be 'codes' when fitted on Codes alone", "full", remedy)
        if drawn is not None and len(set(sides.values())) == 2 and drawn.n_embedded != drawn.n_outputs:
            need = f"train_on and predict_on must be one side for {drawn.kind}, whose embedding has columns of its own"
            raise fail(owner, need, (sides["train_on"], sides["predict_on"]))
        template = codes if codes is not None else drawn.template if drawn is not None and has_codes else None
        names = self.__dict__.get("feature_names_in_")
        return Sides(owner, drawn, template, **sides, columns=None if names is None else tuple(map(str, names)))

    def _start_point(self, problem: SummedProblem) -> Array | None:
        """Return the last solution for a warm start, if it is of the same shape."""
        if not self.warm_start or "decision_" not in self.__dict__:
            return None
        weights, intercept = self.decision_.weights, self.decision_.intercept
        if weights.shape != (problem.shape[1], problem.n_targets):
            return None
        return np.vstack([weights, intercept if problem.fit_intercept else np.zeros_like(intercept)])
