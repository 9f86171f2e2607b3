"""The matrix of codes that are read block by block, each time they are needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import fail
from lowtide.codes import Codes, CodeSource, concatenate
from lowtide.learners.design import CodedDesign
from lowtide.learners.problem import Problem, Reading
from lowtide.learners.sources import RecodedSource, SelectedSource, first_codes, read_blocks

__all__ = ["SourceDesign", "design_of", "source_problem"]

Array = NDArray[Any]


@dataclass(frozen=True)
class SourceDesign:
    """The rows of a source; nothing of size n is made of codes."""

    source: CodeSource
    is_whole: ClassVar[bool] = False
    is_packed: ClassVar[bool] = True

    @property
    def codes(self) -> CodeSource:
        """The rows."""
        return self.source

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return self.source.shape

    def parts(self, n_columns: int = 1, at_least: int = 0) -> Iterator[CodedDesign]:
        """Yield the rows in order, block by block."""
        return map(CodedDesign, read_blocks(self.source, n_columns, at_least))

    def gathered(self) -> CodedDesign:
        """Return the rows in memory, packed."""
        return CodedDesign(concatenate([part.codes for part in self.parts()]))

    def matmul(self, W: Array) -> Array:
        """Return D W, (n, k)."""
        return np.concatenate([part.matmul(W) for part in self.parts(W.shape[1])])

    def rmatmul(self, R: Array) -> Array:
        """Return D' R."""
        total, start = np.zeros((self.shape[1], R.shape[1]), dtype=R.dtype), 0
        for part in self.parts(R.shape[1]):
            stop = start + part.shape[0]
            total += part.rmatmul(R[start:stop])
            start = stop
        return total

    def gram(self, weight: Array | None, dtype: type[np.floating[Any]]) -> Array:
        """Return D' diag(weight) D."""
        total, start = np.zeros((self.shape[1],) * 2, dtype=dtype), 0
        for part in self.parts(at_least=total.nbytes // 2):
            stop = start + part.shape[0]
            total += part.gram(None if weight is None else weight[start:stop], dtype)
            start = stop
        return total

    def squares(self) -> Array:
        """Return the sum of squares of each column."""
        return np.sum([part.squares() for part in self.parts()], axis=0)

    def recoded(self, change: Callable[[Codes], Codes]) -> SourceDesign:
        """Return the same rows with every block changed."""
        return SourceDesign(RecodedSource(self.source, change))

    def take(self, rows: Array | slice) -> SourceDesign | CodedDesign:
        """Return some of the rows: a slice, or positions in rising order."""
        n = self.source.n_rows
        positions = np.arange(n)[rows] if isinstance(rows, slice) else np.asarray(rows)
        if len(positions) == 0:
            return CodedDesign(first_codes(self.source))
        if np.any(np.diff(positions) <= 0):
            raise fail("source", "rows of a source must be taken once and in order", positions, "Load them as Codes.")
        mask = np.zeros(n, dtype=np.bool_)
        mask[positions] = True
        if isinstance(self.source, SelectedSource):
            within = self.source.chosen.copy()
            within[within] = mask
            return SourceDesign(replace(self.source, chosen=within))
        return SourceDesign(SelectedSource(self.source, mask))


def design_of(source: CodeSource) -> CodedDesign | SourceDesign:
    """Return codes as a matrix: at once when they are in memory, else block by block."""
    return CodedDesign(source) if isinstance(source, Codes) else SourceDesign(source)


def source_problem(
    source: CodeSource, labels: Array, weight: Array | None, fit_intercept: bool, reading: Reading | None = None
) -> Problem:
    """Return the rows of a source with their labels.

    Parameters
    ----------
    source : CodeSource
    labels : array (n,) or (n, k)
    weight : array (n,) or None for ones
    fit_intercept : bool
    reading : Reading, optional
        How labels stand for targets; None when they are the targets.
    """
    design = design_of(source)
    return Problem(design, design, labels, weight, fit_intercept, reading)
