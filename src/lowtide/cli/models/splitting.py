"""Rows to learn from and rows to test on."""

from __future__ import annotations

import click
import numpy as np
from numpy.typing import NDArray

from lowtide.cli.recipe import Target

__all__ = ["split"]

Index = NDArray[np.intp]


def split(target: Target, share: float, seed: int) -> tuple[Index, Index]:
    """Return rows to learn from and a share of rows held out, of every class alike where there are enough."""
    from sklearn.model_selection import train_test_split

    rows = np.arange(len(target.values))
    if share == 0.0:
        return rows, rows[:0]
    n_held = max(1, round(share * len(rows)))
    if len(rows) - n_held < 2:
        problem = f"must leave two rows or more to learn from, got {share} of {len(rows)} rows."
        raise click.BadParameter(problem, param_hint="'--validate'")
    stratify = None
    if target.task == "classification":
        _, counts = np.unique(target.values, return_counts=True)
        if counts.min() >= 2 and len(counts) <= min(n_held, len(rows) - n_held):
            stratify = target.values
    train, held = train_test_split(rows, test_size=n_held, random_state=seed, stratify=stratify)
    return np.sort(train), np.sort(held)
