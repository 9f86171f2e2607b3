"""Settings that nobody gave are chosen from the data: candidates are compared by the losses of rows that are left out.

Some of the rows, those of the smallest hash, stand for all: so the order of rows does not matter, and a row that is
repeated counts as one of their joint weight. One setting is chosen after the other, each from where most data are well
served, and a candidate is taken when it is clearly better there.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from lowtide.encoders import dense_rows, some_rows
from lowtide.errors import ScaleWarning
from lowtide.learners.calibration import CalibrationRows
from lowtide.learners.choice import Candidate, Trial, Value, trials_of
from lowtide.learners.cholesky import Factor, suitable_threads
from lowtide.learners.design import FullDesign
from lowtide.learners.dual import DualSystem, dense_design
from lowtide.learners.losses import LOSSES, Loss
from lowtide.learners.metric import MetricKind, best_frequencies, learn_metrics
from lowtide.learners.problem import Problem
from lowtide.learners.smooth import Objective, minimize
from lowtide.learners.strength import Walk, choose_strength, is_better, is_usual_weight, paired_gain

__all__ = [
    "SAMPLED",
    "Chooser",
    "can_choose_loss",
    "choose_loss",
    "rows_as_they_came",
    "warn_when_columns_differ",
]

Array = NDArray[Any]

# Rows that judge candidates; more of many rows, whose fit takes longer anyway. Others teach a metric.
_JUDGES, _MORE_JUDGES, _MANY_ROWS = 1024, 2048, 10_000
_TAUGHT = 3072
SAMPLED = _MORE_JUDGES + _TAUGHT
# So much of the variance, and so few of the columns.
_MOST_VARIANCE, _FEW_SCALES = 0.99, 0.1
# The first gamma, over 1 / (columns times variance): most data are served best about here. Steps are factors of 2.
_FIRST_GAMMA, _GAMMA_FACTOR = 0.5, 2.0
# Standard errors by which a candidate must be better: a gamma, a metric or a choice of frequencies; and a loss.
_CERTAINTY, _LOSS_CERTAINTY = 1.0, 2.0
# Components to choose gamma and a metric with, and the fewest that are chosen.
_SEARCHED, _FEWEST = 8192, 1024
# Components stop growing when twice as many make the left-out loss less than so much smaller.
_WORTH = 0.01
# How many times as many frequencies are drawn when the best are kept.
_DRAWN = 4
# In factors of 2, so 256 times either way: columns that are all noise have no best gamma.
_FARTHEST_GAMMA = 8
# Below so many rows nothing is told from noise, and all settings are what most data are served best by.
_TOO_FEW = 20
# Below so many rows no metric is told from noise. Up to so many columns a matrix is tried: features are no slower.
_FEWEST_ROWS, _FEW_COLUMNS = 200, 64
# Of the features that a metric is learned with: any will do.
_SEED = 0
# Of minimizers that judge a loss: steps of C, how far it may be from that of the squared loss, and when they end.
_C_FACTOR, _FARTHEST_C = 10.0**0.5, 4
_STEPS, _TOLERANCE = 60, 1e-3


class Chooser:
    """Chooses what was left to the data, one setting after the other, and notes what it tried.

    Parameters
    ----------
    rows : CalibrationRows
        Rows as they came, in the order of their hashes, with labels that are read as targets.
    n_rows : int
        Rows of the fit.
    encoder : callable
        Takes a `Candidate` and returns features, not fitted.
    problem : callable
        Takes fitted features and a `Problem` of rows as they came; returns it on the sides to learn on and to predict.
    judge : callable
        Takes left-out scores, the rows, and their keys where scores may be mixed; returns losses (n, q), see `Walk`.
    first : float
        The penalty alpha to start from.
    farthest : int
        Quarters of a decade that the penalty may be away from it.
    mixes : bool
        Whether a metric that mixes columns may be chosen.
    power : float or None
        Of the steps that a metric is learned by, see `learn_metrics`.
    """

    def __init__(
        self,
        rows: CalibrationRows,
        n_rows: int,
        encoder: Callable[[Candidate], Any],
        problem: Callable[[Any, Problem], Problem],
        judge: Callable[[Array, Problem, Array | None], Array],
        first: float,
        farthest: int,
        mixes: bool,
        power: float | None,
    ) -> None:
        self._farthest, self._mixes, self._power = farthest, mixes, power
        self.sample, self._encoder, self._problem, self._judge = rows, encoder, problem, judge
        n = len(rows.keys)
        n_judges = _MORE_JUDGES if n_rows > _MANY_ROWS else _JUDGES
        # What is fitted to labels is judged on rows of its own.
        n_judges = min(n_judges, n // 2) if n >= _FEWEST_ROWS else min(n_judges, n)
        self.judges, self._teachers = rows.first(n_judges), rows.rest(n_judges)
        self.trials: list[Trial] = []
        self._known: dict[tuple[Any, ...], tuple[Candidate, Array]] = {}
        size = rows.rows.total_weight / max(1.0, float(rows.counts.sum()))
        # Weights near 1 may count rows; the scale of others is that of the penalty too.
        self.alpha = first * (1.0 if is_usual_weight(size) else size)

    def features(self, asked: Candidate, scale: float, most: int) -> Candidate:
        """Return the settings of features: gamma, then a metric, the number of components, and which to keep.

        `scale` is 1 / (columns times variance), or what stands for it in the norm of the kernel; `most` the most
        components that may be chosen. Of a few rows gamma and the number of components are what they start from.
        """
        free, is_told = asked.n_components == "auto", len(self.judges.keys) >= _TOO_FEW
        m = min(most, _SEARCHED) if free else asked.n_components
        found = replace(asked, metric=None, drawn=None, n_components=m)
        if asked.gamma == "auto":
            found = replace(found, gamma=_FIRST_GAMMA * scale)
            found = self._with_gamma(found, _FARTHEST_GAMMA) if is_told else found
        if asked.metric is not None:
            found = self._with_metric(found, asked)
        if free:
            found = self._with_components(found, most) if is_told else replace(found, n_components=min(most, _FEWEST))
        return found if asked.drawn is None else self._with_kept(found, asked.drawn)

    def strength(self, found: Candidate) -> float:
        """Return the penalty alpha of features, by rows that did not teach them."""
        judged = self._judged(found, self.judges)
        share = _share(self.judges.rows)
        walk = choose_strength(judged.left_out, judged.judged_mixed, share, self.alpha, self._farthest)
        self.trials += trials_of("alpha", walk)
        return walk.chosen

    def _losses(self, candidate: Candidate) -> Array:
        """Return the left-out losses of the judges; of a candidate that was tried before, those of then."""
        key = (candidate.gamma, candidate.n_components, id(candidate.metric), id(candidate.kept))
        if key not in self._known:
            # The candidate is kept, so that no other is found under its identities.
            self._known[key] = candidate, self._judged(candidate, self.judges).losses(self.alpha)
        return self._known[key][1]

    def _judged(self, candidate: Candidate, judges: CalibrationRows) -> _Judged:
        problem = self._problem(self._encoder(candidate).fit(rows_as_they_came(judges.rows)), judges.rows)
        return _Judged(problem, judges.keys, self._judge)

    def _with_gamma(self, start: Candidate, farthest: int) -> Candidate:
        """Return the candidate with the gamma of clearly least loss."""

        def losses(gamma: float) -> Array:
            return self._losses(replace(start, gamma=gamma))

        walk = Walk(losses, _share(self.judges.rows), start.gamma, _GAMMA_FACTOR, _CERTAINTY, farthest)
        self.trials += trials_of("gamma" if start.metric is None else "gamma, metric", walk)
        return replace(start, gamma=walk.chosen)

    def _with_metric(self, found: Candidate, asked: Candidate) -> Candidate:
        """Return the candidate with a metric, if one is asked for or clearly better on rows that did not teach it."""
        n_columns = self.sample.rows.train.shape[1]
        kinds: list[MetricKind] = ["diagonal"]
        if self._mixes and n_columns <= _FEW_COLUMNS:
            kinds.append("full")
        if asked.metric != "auto":
            kinds = [asked.metric]
        best, losses = found, None
        if asked.metric == "auto":
            if n_columns < 2 or len(self.sample.keys) < _FEWEST_ROWS:
                return found
            losses = self._losses(found)
            self._try("metric", None, losses, None)
        chosen: str | None = None
        for kind, metric in self._metrics(found, self._teachers, kinds).items():
            learned = replace(found, metric=metric)
            tried = self._losses(learned)
            self._try("metric", kind, tried, losses)
            if losses is None or is_better(losses, tried, _share(self.judges.rows), _CERTAINTY):
                best, losses, chosen = learned, tried, kind
        self._mark("metric", chosen)
        # Fewer columns count, so another gamma may be better; it is not far.
        return self._with_gamma(best, 1) if chosen is not None and asked.gamma == "auto" else best

    def taught(self, found: Candidate) -> Candidate:
        """Return what was chosen, with a metric that all rows teach where they are few."""
        if len(self._teachers.keys) >= _TAUGHT // 2 or found.kind is None:
            return found
        learned = self._metrics(replace(found, metric=None), self.sample, [found.kind])
        return replace(found, metric=learned[found.kind])

    def _metrics(
        self, found: Candidate, teachers: CalibrationRows, kinds: list[MetricKind]
    ) -> dict[MetricKind, NDArray[np.float64]]:
        rows = (teachers if len(teachers.keys) else self.sample).first(_TAUGHT).rows
        features = self._encoder(found)
        return learn_metrics(
            dense_rows(rows_as_they_came(rows)),
            rows.targets,
            rows.weights,
            kinds=kinds,
            kernel=features.kernel,
            projection=features.projection,
            gamma=1.0 if found.gamma is None else found.gamma,
            alpha=self.alpha,
            seed=_SEED,
            power=self._power,
        )

    def _with_components(self, found: Candidate, most: int) -> Candidate:
        """Return the candidate with as many components as are worth it: twice as many would gain no hundredth."""

        def losses(m: int) -> Array:
            tried = self._losses(replace(found, n_components=m))
            self._try("n_components", m, tried, None if m == found.n_components else losses_of[found.n_components])
            losses_of[m] = tried
            return tried

        def is_worth(few: int, many: int) -> bool:
            less, more = (losses_of[m] if m in losses_of else losses(m) for m in (few, many))
            gain, error = paired_gain(less[:, 0], more[:, 0], share)
            return gain > max(_CERTAINTY * error, _WORTH * _mean(less, share))

        losses_of: dict[int, Array] = {}
        m, share = found.n_components, _share(self.judges.rows)
        losses(m)
        while m < most and is_worth(m, min(most, 2 * m)):
            m = min(most, 2 * m)
        if m == found.n_components:
            while m > _FEWEST and not is_worth(max(_FEWEST, m // 2), m):
                m = max(_FEWEST, m // 2)
        self._mark("n_components", m)
        return replace(found, n_components=m)

    def _with_kept(self, found: Candidate, drawn: int | str) -> Candidate:
        """Return the candidate with the best of more frequencies, if that is asked for or clearly better.

        Which are best is learned from rows that do not judge it.
        """
        if drawn == "auto" and len(self.sample.keys) < _FEWEST_ROWS:
            return found
        times = _DRAWN if drawn == "auto" else int(drawn)
        losses = self._losses(found)
        self._try("prune", None, losses, None)
        kept = self._kept(found, times)
        tried = self._losses(kept)
        self._try("prune", times, tried, losses)
        is_taken = drawn != "auto" or is_better(losses, tried, _share(self.judges.rows), _CERTAINTY)
        self._mark("prune", times if is_taken else None)
        return kept if is_taken else found

    def _kept(self, found: Candidate, times: int) -> Candidate:
        rows = (self._teachers if len(self._teachers.keys) else self.sample).first(_TAUGHT)
        many = replace(found, n_components=times * found.n_components)
        coef = self._judged(many, rows).system.solve(self.alpha).coef
        return replace(found, drawn=times, kept=best_frequencies(coef, (found.n_components + 1) // 2))

    def _try(self, setting: str, value: Value, losses: Array, before: Array | None) -> None:
        share = _share(self.judges.rows)
        error = 0.0 if before is None else paired_gain(before[:, 0], losses[:, 0], share)[1]
        self.trials.append(Trial(setting, value, _mean(losses, share), error))

    def _mark(self, setting: str, value: Value) -> None:
        """Say which of the candidates of a setting was chosen."""
        for i, trial in enumerate(self.trials):
            if trial.setting == setting:
                self.trials[i] = replace(trial, chosen=trial.value == value)


@dataclass
class _Judged:
    """Rows on the sides of some features, and the losses that they have if left out."""

    rows: Problem
    keys: Array
    judge: Callable[[Array, Problem, Array | None], Array]

    @cached_property
    def system(self) -> DualSystem:
        return DualSystem.of(self.rows, exact=False)

    def left_out(self, alpha: float) -> Array:
        return self.system.solve(alpha).left_out(self.rows, np.arange(len(self.keys)), self.rows.weights, exact=True)

    def losses(self, alpha: float) -> Array:
        scores = self.left_out(alpha)
        with suitable_threads(1):
            return self.judge(scores, self.rows, None)

    def judged_mixed(self, scores: Array) -> Array:
        """Return losses of scores that may be mixed."""
        with suitable_threads(1):
            return self.judge(scores, self.rows, self.keys)


def warn_when_columns_differ(owner: str, X: Any) -> None:
    """Warn about rows whose distances are those of a few columns: these have far larger units than the others."""
    some = dense_rows(some_rows(X, _JUDGES))
    with np.errstate(over="ignore", invalid="ignore"):
        variance = np.sort(some.var(axis=0, dtype=np.float64))[::-1]
    varying = int(np.count_nonzero(variance))
    if varying < 2 or not np.isfinite(variance).all():
        return
    needed = int(np.searchsorted(np.cumsum(variance), _MOST_VARIANCE * variance.sum())) + 1
    if needed <= max(1.0, _FEW_SCALES * varying):
        warnings.warn(
            f"{owner}: {needed} of {varying} columns have {_MOST_VARIANCE:.0%} of the variance, so the others hardly "
            "count in the kernel. Put StandardScaler before it, as in make_pipeline(StandardScaler(), model).",
            ScaleWarning,
            stacklevel=_level_outside(),
        )


def _level_outside() -> int:
    """Return the stack level, for a warning of the caller of this, of who called the library or scikit-learn."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals["__name__"].partition(".")[0] in ("lowtide", "sklearn"):
        level, frame = level + 1, frame.f_back
    return level


def can_choose_loss(labels: Array, keys: Array) -> bool:
    """Return whether rows are enough to tell losses of two classes apart, and both halves of them have both."""
    half = (keys & np.uint64(1)).astype(bool)
    return len(keys) >= _TOO_FEW and all(len(np.unique(labels[part])) == 2 for part in (half, ~half))


class ChosenLoss(NamedTuple):
    """A loss by its name, its C, and the losses that were tried."""

    name: str
    C: float
    trials: list[Trial]


def choose_loss(
    rows: Problem, keys: Array, C: float, judge: Callable[[Array, Problem], Array], *, walks: bool
) -> ChosenLoss:
    """Return the loss of two classes whose left-out rows are clearly best: "squared", unless another is.

    Each half of the rows is scored by a machine of the other half; all losses are treated alike. The rows must be
    such that `can_choose_loss`.

    Parameters
    ----------
    rows : Problem
        Some rows of two classes on their sides.
    keys : ndarray of uint64 (n,)
        Their hashes, which part them.
    C : float
        Of the squared loss.
    judge : callable
        Takes left-out scores and rows; returns losses (n, q).
    walks : bool
        Whether a loss may have another C than this.
    """
    first, share = (keys & np.uint64(1)).astype(bool), _share(rows)
    if first.all() or not first.any():
        return ChosenLoss("squared", C, [])  # too few different rows to part
    halves = [_in_span(rows, np.flatnonzero(part), np.flatnonzero(~part)) for part in (first, ~first)]
    best, name, strength, trials = None, "squared", C, []
    for other in ("squared", "squared_hinge", "logistic"):
        loss = LOSSES.resolve(other)

        def losses(penalty: float, loss: Loss = loss) -> Array:
            scores = np.empty((len(keys), 1))
            for train, held, places in halves:
                # The same weight of the data as in the whole.
                objective = Objective(train, loss, 2.0 / penalty, np.float64)
                fit = minimize(objective, start=None, max_iter=_STEPS, tolerance=_TOLERANCE)
                scores[places] = held @ fit.coef + fit.intercept
            return judge(scores, rows)

        # Products with some hundred rows wait longer for a second thread than it saves them.
        with suitable_threads(1):
            walk = Walk(losses, share, 1.0 / C, _C_FACTOR, farthest=_FARTHEST_C if walks and other != "squared" else 0)
        tried = walk.tried[walk.chosen]
        error = 0.0 if best is None else paired_gain(best[:, 0], tried[:, 0], share)[1]
        trials.append(Trial("loss", other, walk.mean(walk.chosen), error))
        if best is None or is_better(best, tried, share, _LOSS_CERTAINTY):
            name, strength, best = other, 1.0 / walk.chosen, tried
    return ChosenLoss(name, strength, [replace(trial, chosen=trial.value == name) for trial in trials])


def _in_span(rows: Problem, learned: Array, held: Array) -> tuple[Problem, Array, Array]:
    """Return some rows in coordinates of the space that they span, others in the same, and the places of these."""
    train = rows.take(learned)
    factor = Factor(np.asfortranarray(train.train.kernel(train.train, np.float64)), 0.0)
    along = train.train.kernel(rows.take(held).predict, np.float64)
    inner = dense_design(np.ascontiguousarray(factor.lower))
    return replace(train, train=inner, predict=inner), np.ascontiguousarray(factor.lower_solve(along).T), held


def rows_as_they_came(rows: Problem) -> Any:
    """Return the rows of a problem on no side of any features."""
    return cast(FullDesign, rows.train).rows


def _share(rows: Problem) -> Array:
    """Return how many rows each one stands for, one on average."""
    return np.asarray(rows.weights * (len(rows.weights) / rows.total_weight))


def _mean(losses: Array, share: Array) -> float:
    """Return the mean of the losses that decide."""
    return float(share @ losses[:, 0]) / float(share.sum() or 1.0)
