"""`python -m benchmarks.strength`: whether C="auto" of `KernelClassifier` is ever worse than C=1.

A cell is a dataset, a number of training rows and a number of one-bit components. Both models of a split have the same
features, training rows and test rows. A cell is met when C="auto" is not worse than C=1 by more than 0.2 points of
accuracy or one standard error of the difference over splits; all must be, and the mean over cells above zero.
The exit code is 1 when that does not hold.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler

import lowtide as lt
from benchmarks.datasets import load

__all__ = ["Cell", "compare", "main", "report", "summarize"]

Array = NDArray[Any]
_DATASETS = ("letter", "isolet", "spambase", "cod_rna", "ijcnn1", "mnist", "covtype")
# Points of accuracy that C="auto" may lose in any cell.
_ALLOWED = 0.2
# Fewer test rows say too little of a split.
_LEAST_TEST = 1000


@dataclass(frozen=True)
class Cell:
    """Accuracies of the splits of one cell.

    Attributes
    ----------
    name, n_train, n_components : what was learned
    fixed, auto : ndarray (splits,), accuracy with C=1 and with C="auto", from 0 to 1
    chosen : ndarray (splits,), the C that "auto" chose
    """

    name: str
    n_train: int
    n_components: int
    fixed: Array
    auto: Array
    chosen: Array

    @property
    def difference(self) -> float:
        """Mean points of accuracy that C="auto" gains."""
        return float(100.0 * np.mean(self.auto - self.fixed))

    @property
    def error(self) -> float:
        """Standard error of the difference over splits; 0 of a single one."""
        if len(self.auto) < 2:
            return 0.0
        return float(100.0 * np.std(self.auto - self.fixed, ddof=1) / np.sqrt(len(self.auto)))

    @property
    def is_met(self) -> bool:
        """Whether C="auto" is not worse than allowed."""
        return self.difference >= -max(_ALLOWED, self.error)


def compare(
    name: str, X: Array, y: Array, n_train: int, n_test: int, n_splits: int, n_components: int, **settings: Any
) -> Cell:
    """Return a cell: columns are standardized by the training rows, other rows are tested on."""
    fixed, auto, chosen = np.empty((3, n_splits))
    for seed in range(n_splits):
        order = np.random.default_rng(seed).permutation(len(X))
        train, test = order[:n_train], order[n_train : n_train + n_test]
        scaler = StandardScaler().fit(X[train].astype(np.float64))
        rows, others = (scaler.transform(X[part].astype(np.float64)).astype(np.float32) for part in (train, test))
        given = {"gamma": "scale", "metric": None, "loss": "squared", "multi_class": "ovr"}
        common = {"n_components": n_components, "random_state": seed, **given, **settings}
        fixed[seed] = lt.KernelClassifier(C=1.0, **common).fit(rows, y[train]).score(others, y[test])
        model = lt.KernelClassifier(C="auto", **common).fit(rows, y[train])
        auto[seed], chosen[seed] = model.score(others, y[test]), model.C_
    return Cell(name, n_train, n_components, fixed, auto, chosen)


def report(cell: Cell) -> str:
    """Return a line of the table."""
    chosen = " ".join(f"{C:.2g}" for C in cell.chosen)
    return (
        f"| {cell.name} | {cell.n_train} | {cell.n_components} | {100 * cell.fixed.mean():.2f} | "
        f"{100 * cell.auto.mean():.2f} | {chosen} | {cell.difference:+.2f} | {cell.error:.2f} | "
        f"{'yes' if cell.is_met else 'NO'} |"
    )


def summarize(cells: list[Cell]) -> tuple[str, bool]:
    """Return what the cells say together, and whether all that is asked for holds."""
    differences = np.array([cell.difference for cell in cells])
    worst = cells[int(np.argmin(differences))]
    n_met, mean = sum(cell.is_met for cell in cells), float(differences.mean())
    holds = n_met == len(cells) and mean > 0.0
    text = (
        f"{n_met} of {len(cells)} cells met; mean difference {mean:+.3f} points, better in {np.sum(differences > 0)}, "
        f"worse in {np.sum(differences < 0)}; worst {worst.difference:+.2f} (error {worst.error:.2f}): {worst.name}, "
        f"{worst.n_train} rows, {worst.n_components} components. {'Holds.' if holds else 'Does NOT hold.'}"
    )
    return text, holds


def _cells(options: argparse.Namespace) -> Iterator[Cell]:
    for name in options.datasets:
        data = load(name)
        for n_train in options.rows:
            if len(data.X) < n_train + min(_LEAST_TEST, options.test):
                continue
            for n_components in options.components:
                sizes = (n_train, options.test, options.splits, n_components)
                yield compare(name, data.X, data.y, *sizes, loss=options.loss)


def main(arguments: list[str] | None = None) -> int:
    """Print the table and the summary; return 0 when what is asked for holds, else 1."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.strength", description=__doc__)
    parser.add_argument("--datasets", nargs="+", default=list(_DATASETS))
    parser.add_argument(
        "--rows", nargs="+", type=int, default=[1000, 3000, 10_000], help="to train on, where there are"
    )
    parser.add_argument("--components", nargs="+", type=int, default=[256, 2048])
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--test", type=int, default=10_000, help="most rows to test on")
    parser.add_argument("--loss", default="squared")
    print("| data | rows | components | C=1 | auto | chosen C | difference | error | met |")
    print("| --- " * 9 + "|", flush=True)
    cells = []
    for cell in _cells(parser.parse_args(arguments)):
        cells.append(cell)
        print(report(cell), flush=True)
    if not cells:
        parser.error("no dataset has as many rows: lower --rows")
    text, holds = summarize(cells)
    print(text)
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
