"""Which code to take: encoders are compared on rows held out, by what an item, a model and a prediction cost."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from numbers import Integral
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.utils import check_random_state, check_X_y
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from lowtide._checks import check_integer, check_option, fail
from lowtide.encoders import Encoder, LearnedFeatures, Sketch, TernaryFeatures, dense_rows, row_keys_of
from lowtide.errors import ScaleWarning
from lowtide.learners.automatic import warn_when_columns_differ
from lowtide.learners.choice import Budget
from lowtide.learners.classifier import KernelClassifier
from lowtide.learners.design import is_source
from lowtide.learners.evaluation import accuracy_error, r2_error
from lowtide.learners.machine import KernelMachine
from lowtide.learners.regressor import KernelRegressor

__all__ = ["Advice", "AdvisedCode", "advise"]

Array = NDArray[Any]
Task = Literal["classification", "regression"]

_OWNER = "advise"
# Rows that are held out from everything, and rows that are learned from; of few rows a quarter is held out.
_HELD, _LEARNED, _SHARE = 1000, 3000, 4
_FEWEST_ROWS = 40
# Numbers of more different values than this, or than a tenth of the rows, are regressed.
_MOST_CLASSES = 20
# Components that rows, and codes of rows, are read by: they are made while a row is read, and are not stored.
_READ_BY = 4096
_READ_BITS, _SKETCH_BITS, _TERNARY_BITS = 4, 4, 2
# Rows of a sketch have norm 1: gammas to try, over the one of rows as they are times their mean square.
_SKETCH_GAMMAS = (0.0625, 0.125, 0.25, 0.5)
# A sparse row keeps a float32 and an index of 4 bytes an entry.
_ENTRY_BYTES = 8
_STEPS = 255


@dataclass(frozen=True)
class AdvisedCode:
    """One way to keep an item: its bytes, its cost, and how well held-out rows are predicted from it.

    Attributes
    ----------
    encoder : str
        "random", "sketch", "ternary" or "learned" codes; or "rows" as they are, or rounded to a byte a column.
    settings : dict
        What was given to the encoder, or chosen for it.
    item_bytes : int
        Of one item as it is kept.
    model_bytes : int
        Of the weights and the encoder, as a file keeps them.
    cost : int
        Additions and multiplications, about, of a prediction from a row: to encode it, and to add the weights.
    score : float
        Accuracy, or R^2, on rows held out.
    error : float
        Its standard error.
    within_budget : bool
    on_front : bool
        No other one is as good in score, bytes and cost, and better in one of them.
    is_best : bool
        This is the one to take.
    """

    encoder: str
    settings: dict[str, Any]
    item_bytes: int
    model_bytes: int
    cost: int
    score: float
    error: float
    within_budget: bool = True
    on_front: bool = False
    is_best: bool = False

    def is_beaten_by(self, other: AdvisedCode) -> bool:
        """Whether another is nowhere worse and somewhere better."""
        own, its = ((-each.score, each.item_bytes, each.model_bytes, each.cost) for each in (self, other))
        return own != its and all(a >= b for a, b in zip(own, its))


@dataclass(frozen=True)
class Advice:
    """The ways to keep items that `advise` compared, and the one that it recommends.

    Attributes
    ----------
    rows : list of AdvisedCode
        By encoder, in order of bytes an item.
    best : AdvisedCode
        The smallest one within the budget whose held-out score is not clearly below the best such score, by one
        standard error of the difference.
    model : KernelClassifier or KernelRegressor
        A learner that does it, not fitted: fit it on all rows.
    task : {"classification", "regression"}
    n_learned, n_held : int
        Rows that were learned from, and rows that judged.
    """

    rows: list[AdvisedCode]
    best: AdvisedCode
    model: KernelMachine
    task: Task
    n_learned: int
    n_held: int

    @property
    def keeps_rows(self) -> bool:
        """Whether the advice is to keep rows as they are: no smaller code is as good."""
        return self.best.encoder == "rows"

    @property
    def recommendation(self) -> str:
        """The advice in a sentence."""
        best, word = self.best, "accuracy" if self.task == "classification" else "R^2"
        reached = f"{word} {best.score:.3f} +- {best.error:.3f}"
        if self.keeps_rows:
            as_what = best.settings["as"]
            return (
                f"Keep your rows as they are, in {as_what} ({best.item_bytes} bytes an item): {reached}, and no "
                "smaller code is as good."
            )
        whole = next(each for each in self.rows if each.encoder == "rows")
        return (
            f"Take {best.encoder} codes of {best.item_bytes} bytes an item: {reached}, against {whole.score:.3f} of "
            f"the rows as they are ({whole.item_bytes:,} bytes)."
        )

    def to_rows(self) -> list[dict[str, Any]]:
        """Return the table as plain dictionaries, one an encoder and size."""
        return [asdict(each) for each in self.rows]

    def __str__(self) -> str:
        """Return the table as text, and the recommendation below it."""
        word = "accuracy" if self.task == "classification" else "R^2"
        table: list[tuple[str, ...]] = [
            ("encoder", "settings", "bytes an item", "bytes of the model", "cost", word, "")
        ]
        for each in self.rows:
            settings = ", ".join(f"{name}={_short(value)}" for name, value in each.settings.items())
            marks = [
                text
                for text, holds in (
                    ("best", each.is_best),
                    ("front", each.on_front),
                    ("over the budget", not each.within_budget),
                )
                if holds
            ]
            sizes = (f"{size:,}" for size in (each.item_bytes, each.model_bytes, each.cost))
            table.append((each.encoder, settings, *sizes, f"{each.score:.3f} +- {each.error:.3f}", ", ".join(marks)))
        widths = [max(len(line[i]) for line in table) for i in range(len(table[0]))]
        numbers = range(2, 5)
        lines = [
            "  ".join(cell.rjust(w) if i in numbers else cell.ljust(w) for i, (cell, w) in enumerate(zip(line, widths)))
            for line in table
        ]
        judged = f"Learned from {self.n_learned} rows, judged by {self.n_held} others."
        return "\n".join([*(line.rstrip() for line in lines), "", judged, self.recommendation])


def advise(
    X: Any,
    y: ArrayLike,
    budget: int | dict[str, float] | None = None,
    *,
    task: Task | None = None,
    bytes: tuple[int, ...] = (8, 16, 32, 64, 128, 512),
    random_state: int | np.random.RandomState | None = 0,
    on_trial: Callable[[AdvisedCode], object] | None = None,
) -> Advice:
    """Compare ways to keep items in few bytes on your own data, and recommend one.

    Random, sketched, ternary and learned codes of several sizes, and the rows themselves in float32 and in a byte a
    column, are tried on some of the rows; others, held out from everything, judge them.

    Parameters
    ----------
    X : array, CSR matrix or data frame (n, n_features)
        At least 40 rows, as a learner gets them: scale columns of different units before.
    y : array (n,) of classes or numbers, or (n, n_targets) of numbers
    budget : int, dict or None, default=None
        Bytes an item, or a dictionary with some of "item" and "model" (bytes) and "seconds" (of a fit).
    task : {"classification", "regression"} or None, default=None
        None regresses numbers that are not whole, and those of more than 20 values that fewer than ten rows share.
    bytes : tuple of int, default=(8, 16, 32, 64, 128, 512)
        Sizes of codes to try, multiples of 8. Those above a budget are left out, and the budget itself is one.
    random_state : int, RandomState or None, default=0
        Settles which rows are held out, and all that is drawn.
    on_trial : callable or None, default=None
        Called with each code once it is judged: to show that work goes on.

    Returns
    -------
    Advice
        `print` shows the table; `best` is the row to take, `model` a learner that does it, to be fitted on all rows.

    Notes
    -----
    At most 3,000 rows are learned from and 1,000 held out, or a quarter. Hashes of the rows choose them, so their order
    does not matter, and equal rows are on one side. The gamma of all but random codes is the one that suits the rows.
    About thirty models are fitted: some seconds for a few hundred rows, half a minute to a minute for 3,000.

    Scores of the table are those of models that have seen 3,000 rows at most: with more rows larger codes gain more.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.preprocessing import scale
    >>> import lowtide as lt
    >>> X, y = load_iris(return_X_y=True)
    >>> advice = lt.advise(scale(X), y, bytes=(8,))
    >>> advice.best.item_bytes                                  # four columns of a byte each
    4
    >>> model = advice.model.fit(scale(X), y)
    """
    limits = Budget.of(budget, _OWNER)
    sizes = _sizes(bytes, limits)
    if is_source(X):
        raise fail(_OWNER, "X must be rows: codes are what is compared", type(X).__name__, "Pass the raw rows.")
    if task is not None:
        check_option(_OWNER, "task", task, ("classification", "regression"))
    rows, labels = check_X_y(X, y, accept_sparse="csr", dtype="numeric", multi_output=True, estimator=_OWNER)
    if rows.shape[0] < _FEWEST_ROWS:
        remedy = "Of fewer rows none can be held out: keep them as they are."
        raise fail(_OWNER, f"X must have at least {_FEWEST_ROWS} rows", rows.shape[0], remedy)
    task = task or _guessed(labels)
    is_seed = isinstance(random_state, Integral)
    seed: Any = random_state if is_seed else check_random_state(random_state).randint(np.iinfo(np.int32).max)
    sample = _Sample.of(rows, labels, task, seed)
    warn_when_columns_differ(_OWNER, sample.learned[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScaleWarning)  # said once
        tried = []
        for each in _Trials(sample, limits, rows.shape[0], seed).run(sizes):
            tried.append(each)
            if on_trial is not None:
                on_trial(each.code)
    return _advice(tried, sample, limits)


@dataclass(frozen=True)
class _Sample:
    """Rows to learn from and rows held out, each with labels; and what a score is."""

    learned: tuple[Any, Array]
    held: tuple[Any, Array]
    task: Task

    @classmethod
    def of(cls, rows: Any, labels: Array, task: Task, seed: int) -> _Sample:
        """Return those of the smallest hashes, which the seed changes; equal rows stay together."""
        if task == "classification":
            if labels.ndim > 1:
                raise fail(_OWNER, "y must be one class a row, (n,), for classification", labels.shape)
            check_classification_targets(labels)
        elif labels.dtype.kind not in "iufb":
            raise fail(_OWNER, "y must be numbers for regression", labels.dtype.name)
        keys = row_keys_of(rows) ^ np.random.default_rng(seed).integers(2**64, dtype=np.uint64)
        rank = np.unique(labels, axis=0, return_inverse=True)[1].ravel()
        order = np.lexsort((rank, keys))
        n_held = min(_HELD, len(order) // _SHARE)
        n_held = int(np.searchsorted(keys[order], keys[order[n_held - 1]], side="right"))
        held, learned = order[:n_held], order[n_held : n_held + _LEARNED]
        if len(np.unique(rank[learned])) < 2 or len(np.unique(keys[learned])) < 2:
            need = "rows to learn from must have at least two different rows and two different values of y"
            got = f"{len(np.unique(keys))} different rows and {len(np.unique(rank))} values in all"
            raise fail(_OWNER, need, got)
        return cls((rows[learned], labels[learned]), (rows[held], labels[held]), task)

    def losses(self, predicted: Array, labels: Array) -> Array:
        """Return what each row loses: 1 for a wrong class; the squared error over the variance of the target."""
        if self.task == "classification":
            return np.asarray(predicted != labels, dtype=np.float64)
        columns, guesses = (np.asarray(each, dtype=np.float64).reshape(len(labels), -1) for each in (labels, predicted))
        return np.asarray(((columns - guesses) ** 2 / _variance(columns)).mean(axis=1))

    def score(self, losses: Array) -> tuple[float, float]:
        """Return accuracy or R^2 of held-out rows, and its standard error."""
        n, score = len(losses), 1.0 - float(losses.mean())
        if self.task == "classification":
            return score, accuracy_error(1.0 - score, n)
        return score, r2_error(losses, self.held[1])

    def is_as_good(self, losses: Array, least: Array) -> bool:
        """Whether losses of held-out rows are not clearly above the least: by less than a standard error."""
        more = losses - least
        # A wrong answer more, of rows that agree in all others, is no clear difference.
        spread = float(((more - more.mean()) ** 2).sum()) + (self.task == "classification")
        return bool(more.sum() <= np.sqrt(spread))


@dataclass(frozen=True)
class _Tried:
    """A code with the losses of held-out rows, and the learner that makes it."""

    code: AdvisedCode
    losses: Array
    model: KernelMachine


class _Trials:
    """Fits the candidates, one after the other."""

    def __init__(self, sample: _Sample, limits: Budget, n_rows: int, seed: int) -> None:
        self.sample, self.limits, self.seed = sample, limits, seed
        # What a number of components is bound by where it is not by the bytes of a code.
        others = {name: getattr(limits, name) for name in ("model", "seconds")}
        self.others = {name: value for name, value in others.items() if value is not None}
        y = sample.learned[1]
        k = len(np.unique(y)) if sample.task == "classification" else y.reshape(len(y), -1).shape[1]
        n_outputs = k if sample.task == "regression" or k > 2 else 1
        most = Budget(**self.others).n_components(bits=_READ_BITS, n_rows=n_rows, n_outputs=n_outputs)
        self.read_by = _READ_BY if most is None else min(_READ_BY, most)

    def run(self, sizes: list[int]) -> Iterator[_Tried]:
        """Yield what was tried: the rows as they are first, which also choose gamma."""
        own = self._learner(bits=None, n_components=self.read_by, budget=self.others or None)
        fitted = clone(own).fit(*self.sample.learned)
        # That of the plain rows, before a metric moved it; there are no trials of very few rows.
        trials = [trial.value for trial in fitted.choice_.trials if trial.setting == "gamma" and trial.chosen]
        gamma: Any = (trials or [fitted.choice_.settings["gamma"]])[0]
        yield from self._as_rows(own, fitted)
        stored = 0
        for size in sizes:
            budget: Any = {"item": size, **self.others} if self.others else size
            tried = self._tried("random", self._learner(budget=budget))
            if tried.code.item_bytes <= stored:
                break  # the rest of the budget leaves no room for more
            stored = tried.code.item_bytes
            yield tried
        X = self.sample.learned[0]
        square = float(np.mean(np.sum(dense_rows(X) ** 2, axis=1)))
        factor = self._sketch_factor(sizes[len(sizes) // 2], gamma * square)
        for size in sizes:
            yield self._tried("sketch", self._learner(self._sketch(size, factor * gamma * square)))
        for size in sizes:
            m = 8 * size // _TERNARY_BITS
            ternary = TernaryFeatures(gamma=gamma, n_components=m, sparsity="auto", random_state=self.seed)
            yield self._tried("ternary", self._learner(ternary))
        stored = 0
        for size in sizes:
            features = LearnedFeatures(
                gamma=gamma, n_bytes=size, n_components=self.read_by, bits=_READ_BITS, random_state=self.seed
            )
            tried = self._tried("learned", self._learner(features))
            if tried.code.item_bytes <= stored:
                break  # nothing is left that more bytes could tell
            stored = tried.code.item_bytes
            yield tried

    def _learner(self, features: Encoder | None = None, **settings: Any) -> KernelMachine:
        cls = KernelClassifier if self.sample.task == "classification" else KernelRegressor
        return cls(features, **settings, random_state=self.seed)

    def _sketch(self, size: int, gamma: float) -> Sketch:
        return Sketch(n_components=8 * size // _SKETCH_BITS, bits=_SKETCH_BITS, gamma=gamma, random_state=self.seed)

    def _sketch_factor(self, size: int, gamma: float) -> float:
        """Return which of the gammas predicts a quarter of the rows to learn from best."""
        X, y = self.sample.learned
        n = len(y) // _SHARE
        if len(np.unique(y[n:], axis=0)) < 2:
            return _SKETCH_GAMMAS[-1]

        def loss(factor: float) -> float:
            model = self._learner(self._sketch(size, factor * gamma)).fit(X[n:], y[n:])
            return float(self.sample.losses(model.predict(X[:n]), y[:n]).mean())

        return min(_SKETCH_GAMMAS, key=loss)

    def _as_rows(self, own: KernelMachine, fitted: KernelMachine) -> Iterator[_Tried]:
        """Yield the rows as they are, and in a byte a column where that is less."""
        X, held = self.sample.learned[0], self.sample.held[0]
        if issparse(X):
            size = round(_ENTRY_BYTES * X.nnz / X.shape[0])
            yield self._judged("rows", {"as": "CSR"}, fitted, own, size, held)
            return
        width = min(4, X.dtype.itemsize)
        name = X.dtype.name if X.dtype.itemsize <= width else "float32"
        yield self._judged("rows", {"as": name}, fitted, own, width * X.shape[1], held)
        if width > 1:
            yield self._judged("rows", {"as": "int8"}, fitted, own, X.shape[1], _rounded(held, X))

    def _tried(self, encoder: str, model: KernelMachine) -> _Tried:
        """Fit a learner on codes and judge it."""
        fitted = clone(model).fit(*self.sample.learned)
        assert fitted.features_ is not None
        settings = {name: fitted.choice_.settings.get(name) for name in ("gamma", "n_components", "metric", "prune")}
        if model.features is not None:
            given = model.features.get_params()
            settings = {name: given[name] for name in ("gamma", "n_components", "bits") if name in given}
        size = fitted.features_.drawn_.required_template.packed.shape[1]
        return self._judged(encoder, settings, fitted, model, size, self.sample.held[0])

    def _judged(
        self, encoder: str, settings: dict[str, Any], fitted: KernelMachine, model: KernelMachine, size: int, held: Any
    ) -> _Tried:
        """Return what held-out rows say of a fitted learner."""
        losses = self.sample.losses(fitted.predict(held), self.sample.held[1])
        decision = fitted.decision_
        assert decision.encoder is not None
        cost = decision.encoder.row_cost + decision.weights.size
        limits = self.limits
        fits = (limits.item is None or size <= limits.item) and (
            limits.model is None or decision.nbytes <= limits.model
        )
        code = AdvisedCode(encoder, settings, size, decision.nbytes, cost, *self.sample.score(losses), fits)
        return _Tried(code, losses, model)


def _advice(tried: list[_Tried], sample: _Sample, limits: Budget) -> Advice:
    """Return the table with its marks."""
    within = [each for each in tried if each.code.within_budget]
    if not within:
        least = min(each.code.model_bytes for each in tried)
        raise fail(_OWNER, f"budget must leave the model {least} bytes at least", limits.model)
    top = min(within, key=lambda each: float(each.losses.mean()))

    # Of equal size, rows as they are need no encoder.
    best = min(
        (each for each in within if sample.is_as_good(each.losses, top.losses)),
        key=lambda each: (each.code.item_bytes, each.code.encoder != "rows", each.code.model_bytes, each.code.cost),
    )
    codes = [each.code for each in tried]
    rows = [
        replace(each.code, on_front=not any(map(each.code.is_beaten_by, codes)), is_best=each is best) for each in tried
    ]
    chosen = next(each for each in rows if each.is_best)
    return Advice(rows, chosen, best.model, sample.task, len(sample.learned[1]), len(sample.held[1]))


def _sizes(given: Any, limits: Budget) -> list[int]:
    """Return the bytes to try, rising: those given within the budget, and the budget."""
    try:
        sizes = list(given)
    except TypeError:
        raise fail(_OWNER, "bytes must be a tuple of sizes", given, "bytes=(16, 64), say.") from None
    if not sizes:
        raise fail(_OWNER, "bytes must have at least one size", given)
    for size in sizes:
        if check_integer(_OWNER, "bytes", size, 8) % 8:
            raise fail(_OWNER, "bytes must be multiples of 8: codes are kept in words of 8 bytes", size)
    found = {int(size) for size in sizes if limits.item is None or size <= limits.item}
    return sorted(found if limits.item is None else found | {limits.item // 8 * 8})


def _guessed(labels: Array) -> Task:
    """Return what labels are: classes, or numbers too many or too fine for that."""
    if labels.ndim > 1 or type_of_target(labels) == "continuous":
        return "regression"
    is_fine = labels.dtype.kind in "iuf" and len(np.unique(labels)) > max(_MOST_CLASSES, len(labels) / 10)
    return "regression" if is_fine else "classification"


def _rounded(rows: Array, others: Array) -> Array:
    """Return rows rounded to 256 even steps between the least and the largest value of other rows, a column each."""
    low, high = others.min(axis=0).astype(np.float64), others.max(axis=0).astype(np.float64)
    step = np.where(high > low, (high - low) / _STEPS, 1.0)
    return np.asarray(low + step * np.clip(np.round((rows - low) / step), 0, _STEPS))


def _variance(columns: Array) -> Array:
    """Return the variance of each column, 1 where it has none."""
    found = columns.var(axis=0)
    return np.where(found > 0.0, found, 1.0)


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
