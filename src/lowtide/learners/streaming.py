"""Classification of rows that come in blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets

from lowtide._checks import fail
from lowtide.codes import Codes, concatenate
from lowtide.learners.class_sums import ClassSums
from lowtide.learners.class_targets import ClassIndex
from lowtide.learners.class_weights import class_weights
from lowtide.learners.losses import LOSSES
from lowtide.learners.problem import Problem
from lowtide.learners.progress import FitProgress
from lowtide.learners.solvers import MinibatchSteps

__all__ = ["StreamingClassifier"]

Array = NDArray[Any]
Block = tuple[Any, Array, Array | None]


class StreamingClassifier:
    """`partial_fit`, and `fit` on an iterator of blocks, for a classifier."""

    classes_: Array
    _stream: ClassSums | MinibatchSteps

    def partial_fit(
        self: Any,
        X: Any,
        y: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Any:
        """Take in more rows: "squared" adds to the normal equations and solves, the others take small steps.

        Parameters
        ----------
        X : array, CSR matrix or data frame (n, n_features), or Codes, or a CodeSource
            The first call after construction or `fit` starts anew and fits the encoder. Probabilities of "squared" and
            "squared_hinge" are scaled on this block alone: give it a few hundred rows.
        y : array (n,); of a source with columns also the name of one, "y" when None
        classes : array, needed in the first call
            All classes that will come; those of a `fit` before, if there was one. Later calls: None, or the same.
        sample_weight : array (n,), optional
        """
        self._check_parameters(blocks=True)
        first = "_stream" not in self.__dict__
        if first and classes is None:
            classes = getattr(self, "classes_", None)
        if first and classes is None:
            raise fail("KernelClassifier", "classes must be given in the first call of partial_fit", None)
        if not first and classes is not None and not np.array_equal(np.unique(np.asarray(classes)), self.classes_):
            need = f"classes must stay those of the first call of partial_fit, {self.classes_.tolist()}"
            raise fail("KernelClassifier", need, classes, "Start anew: call partial_fit of a clone.")
        rows, labels, weight = self._start_block(X, y, sample_weight, first)
        if first:
            self.classes_ = np.unique(np.asarray(classes))
            self._check_classes()
        factor = class_weights(self.class_weight, self.classes_, None)
        problem = self._with_targets(self._problem(rows, labels, weight, self.fit_intercept), factor)
        if self.loss == "squared":
            self._add_sums(problem, first)
        else:
            self._add_steps(problem, first)
        return self

    def _add_sums(self: Any, problem: Problem, first: bool) -> None:
        if first:
            self._stream = ClassSums(problem.shape[1], self.classes_)
        for part in problem.parts():
            self._stream.add(part.train, self.classes_[part.labels], part.weight)
        _, equations = self._stream.problem()
        solution = equations.solve(0.5 / self.C, fit_intercept=self.fit_intercept)
        self._keep_ridge(solution, problem, self.C)

    def _add_steps(self: Any, problem: Problem, first: bool) -> None:
        if first:
            self._stream = MinibatchSteps(problem.shape[1], problem.n_targets)
            self._keep(self._stream.parameters[:-1], self._stream.parameters[-1])
        self.C_, self.n_iter_ = float(self.C), 1
        for part in problem.parts():
            # Of rows that have not been learned from yet; in the first block there is nothing to score with.
            before = part.predict.matmul(self._weights) + self.intercept_
            self._stream.add(part, LOSSES[self.loss][len(self.classes_) > 2], self.C_)
            self._keep(self._stream.parameters[:-1].copy(), self._stream.parameters[-1].copy())
            scores = part.predict.matmul(self._weights) + self.intercept_ if first else before
            self._slope, first = self._slope_of(scores, part), False

    def _fit_blocks(self: Any, blocks: Iterator[Any]) -> Any:
        """Fit on an iterator of (rows, y) or (rows, y, sample_weight): sums for "squared", codes for the others."""
        progress = FitProgress(self, n_steps=None)
        gather = self._gather_sums if self.loss == "squared" else self._gather_codes
        with progress.running(None, None):
            gather(self._started(blocks, progress), progress)
        return self

    def _started(self: Any, blocks: Iterator[Any], progress: FitProgress) -> Iterator[Block]:
        """Yield the blocks validated; the encoder is fitted on the first."""
        first = True
        for X, y, sample_weight in blocks:
            rows, labels, weight = self._start_block(X, y, sample_weight, first)
            check_classification_targets(labels)
            yield rows, labels, weight
            progress.step("block")
            first = False
        if first:
            raise fail("KernelClassifier", "blocks must hold at least one (rows, y)", "none")

    def _gather_sums(self: Any, blocks: Iterator[Block], progress: FitProgress) -> None:
        sums: ClassSums | None = None
        largest: Block | None = None
        for rows, labels, weight in blocks:
            known = np.unique(labels)
            _, weight = ClassIndex(known, class_weights(self.class_weight, known, None, more=True))(labels, weight)
            design = self._design(rows, self._train_on)
            sums = ClassSums(design.shape[1], known) if sums is None else sums
            sums.add(design, labels, weight)
            if largest is None or len(labels) > len(largest[1]):
                largest = rows, labels, weight
        assert sums is not None
        assert largest is not None
        self.classes_, equations = sums.problem()
        self._check_classes()
        class_weights(self.class_weight, self.classes_, None)  # refuses names that did not come
        solution = equations.solve(0.5 / self.C, fit_intercept=self.fit_intercept)
        problem = self._with_targets(self._problem(*largest, self.fit_intercept), None)
        self._keep_ridge(solution, problem, self.C)
        progress.step("solve")

    def _gather_codes(self: Any, blocks: Iterator[Block], progress: FitProgress) -> None:
        parts = []
        for rows, labels, weight in blocks:
            codes = rows if isinstance(rows, Codes) or self._train_on == "full" else self.features_._encode(rows)
            if not isinstance(codes, Codes):
                remedy = "Or fit on all rows at once, or take loss='squared'."
                raise fail("KernelClassifier", "blocks must be trained on as packed codes", self._train_on, remedy)
            parts.append((codes, labels, np.ones(len(labels)) if weight is None else weight))
        codes, targets, weights = zip(*parts)
        rows = concatenate(codes), np.concatenate(targets), np.concatenate(weights)
        self._fit_problem(self._problem(*rows, self.fit_intercept), progress)
