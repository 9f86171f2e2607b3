"""`python -m benchmarks.tables`: what `lowtide fit FILE --target COLUMN` makes of tables as people have them.

Five raw CSV files are split by rows (seven of ten to train on, five times; of the largest 4,000 rows) and written as
CSV again, cells as they were. Ours is the command line with no other option: types of columns, missing cells, dates and
categories are its own survey's work. The peer is `SVC()` or `SVR()` behind a `ColumnTransformer` that was written by
hand for each table, the target of `SVR` standardized too. `HistGradientBoosting` with its own handling of categories
and missing values stands beside them: trees suit such tables, and the gap is said. A table is met when ours is not more
than a point below the kernel machine, or one standard error of the difference over splits; else the exit code is 1.

`--damage` takes the same files apart: ten ways in which such a file comes damaged or unusual, each through `fit`,
`predict`, `evaluate`, `tune`, `report` and `serve`. Every command must give a right result or an error of one sentence;
a traceback, an exit code that no error explains, or an accuracy that fell without a word is a failure. The files are
`<name>.csv` in `csv` of the folder that LOWTIDE_DATA names.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.datasets import FOLDER_VARIABLE
from benchmarks.tables.damage import try_all
from benchmarks.tables.raw import TABLES, RawTable, points, run, split

_SPLITS, _ALLOWED = 5, 1.0  # points


def _ours(table: RawTable, train: Path, test: Path, truth: Any, folder: Path) -> float:
    """Return the points of a model that the command line fits and predicts with."""
    model, out = folder / "model.lowtide", folder / "out.csv"
    for words in (
        ("fit", str(train), "--target", table.target, "-o", str(model), "--force", "--quiet"),
        ("predict", str(model), str(test), "-o", str(out), "--force", "--quiet"),
    ):
        code, said = run(*words)
        if code:
            raise SystemExit(f"lowtide {words[0]} on {table.name}: exit code {code}: {said}")
    return points(table, truth, pd.read_csv(out).iloc[:, 0])


def compare(folder: Path, table: RawTable, splits: int) -> list[tuple[float, float, float]]:
    """Return the points of ours, of the kernel machine by hand and of trees, a split each."""
    path, found = folder / f"{table.name}.csv", []
    frame = table.frame(path)
    for seed in range(splits):
        with tempfile.TemporaryDirectory() as name:
            train_file, test_file, train, test = split(path, table, seed, Path(name))
            known, others = frame.iloc[train], frame.iloc[test]
            truth = others[table.target]
            ours = _ours(table, train_file, test_file, truth, Path(name))
        by_hand = table.by_hand(frame).fit(known, known[table.target])
        trees = table.by_trees().fit(table.for_trees(known, known), known[table.target])
        found.append(
            (
                ours,
                points(table, truth, by_hand.predict(others)),
                points(table, truth, trees.predict(table.for_trees(others, known))),
            )
        )
    return found


def _shown(table: RawTable, found: list[tuple[float, float, float]]) -> bool:
    points = np.array(found)
    apart = points[:, 0] - points[:, 1]
    error = float(apart.std(ddof=1) / np.sqrt(len(apart))) if len(apart) > 1 else 0.0
    met = bool(apart.mean() >= -max(_ALLOWED, error))
    measure = "accuracy" if table.is_classes else "R^2 x 100"
    ours, by_hand, trees = points.mean(axis=0)
    print(
        f"{table.name:20}{measure:>10}{ours:>9.2f}{by_hand:>9.2f}{apart.mean():>+8.2f}({error:.2f})"
        f"{trees:>9.2f}{ours - trees:>+8.2f}  {'met' if met else 'NOT MET'}",
        flush=True,
    )
    return met


def main(arguments: list[str] | None = None) -> int:
    """Compare, or damage, and print the tables; return 1 when something is not met."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tables", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--tables", nargs="*", choices=[table.name for table in TABLES], help="which; all by default")
    parser.add_argument("--splits", type=int, default=_SPLITS)
    parser.add_argument("--damage", action="store_true", help="ten damaged variants of each through every command")
    options = parser.parse_args(arguments)
    folder = Path(os.environ.get(FOLDER_VARIABLE, "")) / "csv"
    if not folder.is_dir():
        raise SystemExit(f"{FOLDER_VARIABLE} must name a folder with csv/<name>.csv, got {folder}.")
    chosen = [table for table in TABLES if not options.tables or table.name in options.tables]
    if options.damage:
        return int(not try_all(folder, chosen))
    print(f"{'table':20}{'measure':>10}{'ours':>9}{'by hand':>9}{'apart':>14}{'trees':>9}{'apart':>8}")
    met = [_shown(table, compare(folder, table, options.splits)) for table in chosen]
    return int(not all(met))


if __name__ == "__main__":
    sys.exit(main())
