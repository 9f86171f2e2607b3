"""What is to be learned, and from which rows, wherever they are."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide.cli.models import split
from lowtide.cli.recipe import Target
from lowtide.cli.tables import TableError
from lowtide.cli.terminal import counted

__all__ = ["Lesson"]

Index = NDArray[np.intp]


@dataclass
class Lesson:
    """A target, and the rows to learn it from.

    Attributes
    ----------
    file : str
    target : Target
    target_name : str
    read_seconds : float
    train, held : ndarray of int
        Rows to learn from and rows held out.
    """

    file: str
    target: Target
    target_name: str
    read_seconds: float
    train: Index = field(init=False)
    held: Index = field(init=False)

    def __post_init__(self) -> None:
        self.train, self.held = np.arange(len(self.target.values)), np.arange(0)

    def hold_out(self, share: float, seed: int) -> None:
        """Keep a share of the rows from learning, to score on."""
        self.train, self.held = split(self.target, share, seed)

    def learnable(self) -> NDArray[Any]:
        """Return what to learn from the rows that are not held out; one class is nothing to learn."""
        values = self.target.values[self.train] if len(self.held) else self.target.values
        if self.target.task == "classification" and len(np.unique(values)) < 2:
            raise TableError(
                f"target {self.target_name!r}: two classes or more are needed, got {values[0]!s} alone in "
                f"{counted(len(values), 'row')}. Choose another column."
            )
        return values
