"""Fig. 6 on isolet: accuracy over the number of random features, sketch against StocQ, LM-RFF and full precision.

2000 rows to train on and 2000 to test, four splits, least squares in place of the hinge loss, up to 4096 projections.
"""

from __future__ import annotations

from matplotlib.figure import Figure

from benchmarks.papers.one_sketch.accuracy import Data
from benchmarks.papers.one_sketch.comparison import compare, judge_one_bit, rows_of, split
from benchmarks.papers.study import Run, Study, main

ROWS = 2000, 2000  # to train on and to test, drawn anew for each split; the paper has 4678 and 3119


def isolet(run: Run) -> Data:
    """Return isolet, or in the quick form scikit-learn's digits."""
    if run.quick:
        from sklearn.datasets import load_digits

        X, y = load_digits(return_X_y=True)
        return split(rows_of(X[:600]), y[:600], gammas=(0.5, 1.0), projections=[16, 64])
    from benchmarks.datasets import load

    data = load("isolet")
    return split(rows_of(data.X), data.y, (0.5, 1.0, 2.0), [128, 1024, 2048, 4096], ROWS)


def measure(run: Run) -> Figure:
    data = isolet(run)
    run.settings |= {"draws": 4, "projections": data.projections}
    figure, outcomes = compare(run, {run.size("isolet", "digits"): data})
    if not run.quick:
        judge_one_bit(run, data, *outcomes)
    return figure


STUDY = Study("one_sketch.fig6", "One-Sketch", "Fig. 6", "accuracy on isolet over random features", measure)

if __name__ == "__main__":
    main(STUDY)
