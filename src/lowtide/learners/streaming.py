"""Classification of rows that come in blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lowtide._checks import fail
from lowtide.codes import Codes, concatenate
from lowtide.learners.class_sums import ClassSums
from lowtide.learners.class_weights import class_weights
from lowtide.learners.design import Design
from lowtide.learners.losses import LOSSES
from lowtide.learners.solvers import MinibatchSteps

__all__ = ["StreamingClassifier"]

Array = NDArray[Any]


class StreamingClassifier:
    """`partial_fit`, and `fit` on an iterator of blocks, for a classifier."""

    classes_: Array
    _stream: ClassSums | MinibatchSteps

    def partial_fit(
        self: Any, X: Any, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Any:
        """Take in more rows: "squared" adds to the normal equations and solves, the others take small steps.

        Parameters
        ----------
        X : array, CSR matrix or data frame (n, n_features), or Codes
            The first call fits the encoder.
        y : array (n,)
        classes : array, needed in the first call
            All classes that will come.
        sample_weight : array (n,), optional
        """
        self._check_parameters()
        first = "_stream" not in self.__dict__
        if first and classes is None:
            raise fail("KernelClassifier", "classes must be given in the first call of partial_fit", None)
        rows, labels, weight = self._start_block(X, y, sample_weight, first)
        if first:
            self.classes_ = np.unique(np.asarray(classes))
        index = self._class_index(labels)
        weight = class_weights(self.class_weight, self.classes_, index, weight, some=True)
        design = self._design(rows, self._train_on)
        if self.loss == "squared":
            self._add_sums(design, labels, weight, first)
        else:
            self._add_steps(design, index, weight, first)
        seen = self._design(rows, self._predict_on)
        self._slope = self._fit_slope(seen, index, np.ones(len(labels)) if weight is None else weight)
        return self

    def _class_index(self, labels: Array) -> Array:
        """Return the position of each label in classes_."""
        index = np.searchsorted(self.classes_, labels).clip(0, len(self.classes_) - 1)
        if not np.array_equal(self.classes_[index], labels):
            unknown = np.setdiff1d(labels, self.classes_).tolist()
            raise fail("KernelClassifier", f"y must hold the classes {self.classes_.tolist()}", unknown)
        return index

    def _add_sums(self: Any, design: Design, labels: Array, weight: Array | None, first: bool) -> None:
        if first:
            self._stream = ClassSums(design.shape[1])
            self._stream.expect(self.classes_)
        self._stream.add(design, labels, weight)
        self._solve_sums(self._stream)

    def _solve_sums(self: Any, sums: ClassSums) -> None:
        """Solve what has been gathered so far."""
        if self.C == "auto":
            raise fail("KernelClassifier", "C must be a number when rows come in blocks", "auto")
        self.classes_, equations = sums.problem()
        self.C_, self.n_iter_ = float(self.C), 1
        self._keep(*equations.solve(0.5 / self.C, fit_intercept=self.fit_intercept))

    def _add_steps(self: Any, design: Design, index: Array, weight: Array | None, first: bool) -> None:
        targets = self._targets(index)
        if first:
            self._stream = MinibatchSteps(design.shape[1], targets.shape[1])
        weights = np.ones(len(index)) if weight is None else weight
        self.C_, self.n_iter_ = (1.0 if self.C == "auto" else float(self.C)), 1
        loss = LOSSES[self.loss][len(self.classes_) > 2]
        self._stream.add(design, targets, weights, loss, self.C_, self.fit_intercept)
        self._keep(self._stream.parameters[:-1].copy(), self._stream.parameters[-1].copy())

    def _fit_blocks(self: Any, blocks: Iterator[Any]) -> Any:
        """Fit on an iterator of (rows, y) or (rows, y, sample_weight): sums for "squared", codes for the others."""
        gather = self._gather_sums if self.loss == "squared" else self._gather_codes
        gather(self._started(blocks))
        return self

    def _started(self: Any, blocks: Iterator[Any]) -> Iterator[tuple[Any, Array, Array | None]]:
        """Yield the blocks validated; the encoder is fitted on the first."""
        first = True
        for X, y, *rest in blocks:
            yield self._start_block(X, y, rest[0] if rest else None, first)
            first = False
        if first:
            raise fail("KernelClassifier", "blocks must hold at least one (rows, y)", "none")

    def _gather_sums(self: Any, blocks: Iterator[tuple[Any, Array, Array | None]]) -> None:
        sums: ClassSums | None = None
        for rows, labels, weight in blocks:
            known, index = np.unique(labels, return_inverse=True)
            weight = class_weights(self.class_weight, known, index, weight, some=True)
            design = self._design(rows, self._train_on)
            sums = ClassSums(design.shape[1]) if sums is None else sums
            sums.add(design, labels, weight)
        self._solve_sums(sums)
        seen = self._design(rows, self._predict_on)
        self._slope = self._fit_slope(seen, self._class_index(labels), np.ones(len(labels)))

    def _gather_codes(self: Any, blocks: Iterator[tuple[Any, Array, Array | None]]) -> None:
        parts = []
        for rows, labels, weight in blocks:
            codes = rows if isinstance(rows, Codes) else self.features_.encode(rows)
            parts.append((codes, labels, np.ones(len(labels)) if weight is None else weight))
        codes, labels, weights = zip(*parts)
        if self._train_on == "full" or not isinstance(codes[0], Codes):
            raise fail("KernelClassifier", "train_on must be 'codes' when rows come in blocks", self._train_on)
        with self._progress().running(None, None) as progress:
            self._fit_rows(concatenate(codes), np.concatenate(labels), np.concatenate(weights), progress)
