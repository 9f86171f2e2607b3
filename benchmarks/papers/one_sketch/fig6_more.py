"""Fig. 6 on more data: letter and MNIST with up to 4096 projections, spambase and Indian Pines with up to 512.

1000 rows to train on and 1500 to test of the first two, 1500 and 1500 of the others; four splits, least squares in
place of the hinge loss.
"""

from __future__ import annotations

from matplotlib.figure import Figure

from benchmarks.papers.one_sketch.accuracy import METHODS, OF_THE_FIGURE, Data
from benchmarks.papers.one_sketch.comparison import compare, rows_of, split
from benchmarks.papers.study import Run, Study, main

GAMMAS = (1.0, 2.0, 4.0)
# Columns of different units are standardized first: as they are, the largest would be all there is of a row.
STANDARDIZED = {"letter", "spambase", "indian_pines"}
MANY, FEW = [128, 1024, 2048, 4096], [32, 128, 512]
PROJECTIONS = {"letter": MANY, "mnist": MANY, "spambase": FEW, "indian_pines": FEW}
# To train on and to test, drawn anew for each split: solvers over rows take the cube of the first.
ROWS = {"letter": (1000, 1500), "mnist": (1000, 1500), "spambase": (1500, 1500), "indian_pines": (1500, 1500)}


def datasets(run: Run) -> dict[str, Data]:
    """Return rows of norm 1 by name, or a set of scikit-learn's in the quick form."""
    if run.quick:
        from sklearn.datasets import load_breast_cancer

        X, y = load_breast_cancer(return_X_y=True)
        return {"breast_cancer": split(rows_of(X, standardize=True), y, (0.5, 1.0), [16, 64])}
    from benchmarks.datasets import load

    out = {}
    for name, projections in PROJECTIONS.items():
        data = load(name)
        X = rows_of(data.X, standardize=name in STANDARDIZED)
        methods = OF_THE_FIGURE if projections is MANY else METHODS
        out[name] = split(X, data.y, GAMMAS, projections, ROWS[name], methods)
    return out


def measure(run: Run) -> Figure:
    data = datasets(run)
    run.settings |= {"draws": run.size(4, 12), "projections": {name: each.projections for name, each in data.items()}}
    figure, _ = compare(run, data)
    return figure


STUDY = Study("one_sketch.fig6_more", "One-Sketch", "Fig. 6", "the same on four more datasets", measure)

if __name__ == "__main__":
    main(STUDY)
