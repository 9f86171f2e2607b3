"""Fig. 6 on more data: letter, spambase, Indian Pines and a subset of MNIST."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from benchmarks.papers.one_sketch.accuracy import Data
from benchmarks.papers.one_sketch.comparison import compare, rows_of, split
from benchmarks.papers.study import Run, Study, main

GAMMAS = (0.5, 1.0, 2.0, 4.0)
# Columns of different units are standardized first: as they are, the largest would be all there is of a row.
STANDARDIZED = {"letter", "spambase", "indian_pines"}
MOST_ROWS = 5000


def datasets(run: Run) -> dict[str, Data]:
    """Return rows of norm 1 by name, at most 5000 of each, or a set of scikit-learn's in the quick form."""
    if run.quick:
        from sklearn.datasets import load_breast_cancer

        X, y = load_breast_cancer(return_X_y=True)
        return {"breast_cancer": split(rows_of(X, standardize=True), y, gammas=(0.5, 1.0))}
    from benchmarks.datasets import load

    out, rng = {}, run.generator()
    for name in ("letter", "spambase", "indian_pines", "mnist"):
        data = load(name)
        some = rng.permutation(len(data.X))[:MOST_ROWS]
        X = rows_of(np.asarray(data.X[some], dtype=np.float64), standardize=name in STANDARDIZED)
        out[name] = split(X, data.y[some], GAMMAS)
    return out


def measure(run: Run) -> Figure:
    run.settings |= {"draws": run.size(5, 12), "projections": run.size([32, 128, 512], [16, 64]), "rows": MOST_ROWS}
    figure, _ = compare(run, datasets(run))
    return figure


STUDY = Study("one_sketch.fig6_more", "One-Sketch", "Fig. 6", "the same on four more datasets", measure)

if __name__ == "__main__":
    main(STUDY)
