"""How classes are fitted: the loss, C, one model for all classes or one per pair, and what left-out rows ask for."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from lowtide._checks import fail
from lowtide.learners.automatic import can_choose_loss, choose_loss
from lowtide.learners.borders import class_losses, settled
from lowtide.learners.calibration import CalibrationRows, Machine
from lowtide.learners.choice import Choice, trials_of
from lowtide.learners.classes import ClassCounts, ClassIndex, check_classes, class_pairs, class_weights
from lowtide.learners.decision import Decision
from lowtide.learners.losses import LOSSES, Loss
from lowtide.learners.machine import FIRST_ALPHA, Sides, Step
from lowtide.learners.problem import Problem, SummedProblem
from lowtide.learners.ridge import Form
from lowtide.learners.rules import ArgMax, Calibration, Rule, Votes
from lowtide.learners.smooth import left_out_scores
from lowtide.learners.strength import Walk
from lowtide.learners.training import RidgeFit, fit_smooth

Array = NDArray[Any]
# Rows that judge a loss.
_JUDGES = 1024


def settled_loss(given: str | Loss) -> Loss:
    """Return the loss that was asked for; of one that is chosen, what it is unless another is better."""
    if isinstance(given, str) and given not in ("auto", *LOSSES):
        listed = ", ".join(map(repr, ("auto", *LOSSES)))
        raise fail("KernelClassifier", f"loss must be one of {listed} or a Loss object", given)
    return LOSSES.resolve("squared" if given == "auto" else given)


@dataclass
class ClassFit:
    """The parameters of a fit of classes, and what it came to.

    Attributes
    ----------
    loss, C, multi_class, class_weight, fit_intercept, solver, max_iter, tol
        As in `KernelClassifier`.
    choice : Choice
        What has been chosen so far.
    strength, n_iter, form
        The C of the weights, the steps that they took and how they were found, after the fit.
    """

    loss: str | Loss
    C: float | Literal["auto"]
    multi_class: str
    class_weight: Any
    fit_intercept: bool
    solver: str
    max_iter: int
    tol: float
    choice: Choice
    strength: float = field(init=False)
    n_iter: int = field(init=False, default=1)
    form: Form = field(init=False, default="primal")

    def __call__(
        self, problem: SummedProblem, sides: Sides, rng: np.random.Generator, step: Step, start: Callable[..., Any]
    ) -> Decision:
        """Return the decision on validated rows with their labels; `start` gives weights to start from, or None."""
        loss = settled_loss(self.loss)
        found = problem.tally(ClassCounts.of)
        check_classes("KernelClassifier", found.classes)
        classes, n = found.classes, len(found.classes)
        factor = class_weights(self.class_weight, classes, found.totals)
        problem = problem.relabel(ClassIndex(classes, factor), loss.targets(n))
        step("encode")
        pairs = class_pairs(n) if self.multi_class == "ovo" and n > 2 else []
        # The pair of the heaviest classes comes first: it chooses C for all.
        order = sorted(range(len(pairs)), key=lambda p: -found.totals[[pairs[p].first, pairs[p].second]].sum())
        machines: dict[int, Machine] = {}
        C, steps, form = self.C, 1, None
        sample = cache(lambda: CalibrationRows.with_more(None, problem))
        if self.loss == "auto" and n == 2:
            loss, C = self._choose_loss(sample())
        for place in order or [0]:
            part = pairs[place].rows(problem, loss.targets(2)) if pairs else problem
            if loss.has_normal_equations:
                kept = CalibrationRows.with_more(None, part) if pairs else sample()
                solution, alpha, walk = self._ridge()(part, "auto" if C == "auto" else 0.5 / C, partial(_itself, kept))
                self.strength, self.n_iter, self.form = float(0.5 / alpha), solution.n_iter, solution.form
                self._note(walk)
                machines[place] = Machine.of_ridge(solution, kept)
                step("solve")
            else:
                machines[place] = self._minimize(part, C, sides, None if pairs else classes, loss, rng, step, start)
            C, steps, form = self.strength, max(steps, self.n_iter), form or self.form
        self.n_iter, self.form = steps, form or self.form
        self._settle(loss)
        machine, rule = machines[0], cast(Rule, ArgMax())
        if pairs:
            rule, kept = Votes(break_ties=True), CalibrationRows.with_more(None, problem)
            machine = Machine.of_pairs([machines[p] for p in range(len(pairs))], pairs, kept, rule, n)
        return self.decided(machine, sides, classes, rule, loss)

    def _ridge(self) -> RidgeFit:
        """Return how least squares are to be fitted."""
        mixes = self.multi_class in ("auto", "joint")

        def judge(scores: Array, rows: Problem) -> Array:
            return class_losses(scores, rows.labels, rows.weights, rows.keys() if mixes else None)

        return RidgeFit("KernelClassifier", self.solver, self.tol, self.max_iter, FIRST_ALPHA, judge)

    def _choose_loss(self, kept: CalibrationRows) -> tuple[Loss, float | Literal["auto"]]:
        """Return the loss of two classes and its C, by some of their rows."""
        few, ridge = kept.first(_JUDGES), self._ridge()
        if not can_choose_loss(few.rows.labels, few.keys):
            return settled_loss(self.loss), self.C
        few = replace(few, places=np.arange(len(few.keys)))
        _, alpha, walk = ridge(few.rows, "auto" if self.C == "auto" else 0.5 / self.C, lambda: few)
        found = choose_loss(few.rows, few.keys, 0.5 / alpha, ridge.judge, walks=self.C == "auto")
        self.choice = self.choice.with_more({}, found.trials, len(few.keys))
        if found.name != "squared":
            return LOSSES.resolve(found.name), found.C
        if len(few.keys) < len(kept.keys):
            return settled_loss(self.loss), self.C
        self._note(walk)  # by all rows there are: no need to walk again
        return settled_loss(self.loss), float(0.5 / alpha)

    def _note(self, walk: Walk | None) -> None:
        """Keep how C was chosen."""
        if walk is not None:
            trials = trials_of("C", walk, lambda alpha: 0.5 / alpha)
            self.choice = self.choice.with_more({}, trials, len(walk.weights))

    def _settle(self, loss: Loss) -> None:
        """Keep which loss and which C were taken."""
        name = next((name for name in LOSSES if type(loss) is LOSSES[name]), type(loss).__name__)
        self.choice = self.choice.with_more({"loss": name, "C": self.strength})

    def choose_by_block(self, problem: Problem) -> None:
        """Choose C by the rows of a first block, where it is left to the data."""
        self.choice = replace(self.choice, source=f"{self.choice.source} of the first block")
        alpha, walk = 0.5 if self.C == "auto" else 0.5 / self.C, None
        if self.C == "auto":
            _, alpha, walk = self._ridge()(problem, "auto", lambda: CalibrationRows.of(problem))
        self.strength = float(0.5 / alpha)
        self._note(walk)
        self._settle(settled_loss(self.loss))

    def smooth_machine(
        self,
        parameters: Array,
        kept: CalibrationRows | None,
        weight: float,
        loss: Loss,
        view: Callable[[Problem, Array], tuple[Problem, Array]] | None = None,
    ) -> Machine:
        """Return weights above an intercept, with left-out scores of the rows that were kept.

        `weight` is that of all rows; `view` gives rows and weights on fewer columns.
        """
        coef, intercept = np.asfortranarray(parameters[:-1]), parameters[-1]
        if kept is None or not len(kept.keys):
            return Machine(coef, intercept)
        rows, unit = kept.for_scores(coef.shape[1])
        share = unit * rows.total_weight / weight
        seen = (rows, coef) if view is None else view(rows, kept.places[: len(rows.labels)])
        scores = left_out_scores(seen[0], loss, seen[1], intercept, unit * self.strength, share)
        return Machine(coef, intercept, rows, scores)

    def decided(self, machine: Machine, sides: Sides, classes: Array, rule: Rule, loss: Loss) -> Decision:
        """Return the decision of weights, with what scores of rows as if left out ask for."""
        moves = self.fit_intercept and not loss.keeps_border
        mixes = {"auto": None, "joint": True}.get(self.multi_class, False) if moves and rule.is_by_largest else False
        coef, intercept, curve = settled(machine, moves=moves, mixes=mixes)
        return sides.decision(coef, intercept, rule, classes=classes, calibration=curve)

    def _minimize(
        self,
        problem: SummedProblem,
        C: float | Literal["auto"],
        sides: Sides,
        classes: Array | None,
        loss: Loss,
        rng: np.random.Generator,
        step: Step,
        start: Callable[..., Any],
    ) -> Machine:
        """Return the minimum of a smooth loss, and warn when it is not one yet; `classes` where it decides alone."""
        stopped = False

        def decision_at(theta: Array) -> dict[str, Decision]:
            """Return what makes a copy of this estimator predict as if the fit ended here; for callbacks."""
            parameters = theta.reshape(-1, problem.n_targets)
            coef, intercept = parameters[:-1], parameters[-1].copy()
            return {"decision_": sides.decision(coef, intercept, ArgMax(), classes=classes, calibration=Calibration())}

        def report(current: Callable[[], Array]) -> None:
            nonlocal stopped
            stopped = step("iteration", None if classes is None else lambda: decision_at(current()))
            if stopped:
                raise StopIteration

        limits = {"max_iter": self.max_iter, "tolerance": self.tol}
        sample = cache(lambda: CalibrationRows.with_more(None, problem))
        how: dict[str, Any] = {"solver": self.solver, "start": start(problem), "each_iteration": report, **limits}
        fit = fit_smooth(problem, loss, C, rng, sample, **how)
        solution, self.strength, self.form = fit.solution, fit.C, fit.form
        self.n_iter = solution.n_iter
        parameters = np.vstack([solution.coef, solution.intercept])
        kept = None if loss.is_calibrated and classes is not None else sample()
        machine = self.smooth_machine(parameters, kept, problem.total_weight, loss, fit.view)
        if not solution.converged and not stopped:
            short = solution.n_iter < self.max_iter
            where = f"iteration {solution.n_iter}, for rounding," if short else f"max_iter={self.max_iter}"
            change = "Raise max_iter or tol, or lower C."
            text = f"{fit.steps} stopped at {where} before {fit.measure} fell below tol={self.tol}. {change}"
            warnings.warn(text, ConvergenceWarning, stacklevel=6)  # the caller of fit, past scikit-learn's wrapper
        return machine


def _itself(rows: CalibrationRows) -> CalibrationRows:
    """Return the rows: as a function of none, what a fit asks for some of its rows."""
    return rows
