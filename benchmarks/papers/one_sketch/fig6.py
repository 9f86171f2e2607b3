"""Fig. 6 on isolet: accuracy over the number of random features, sketch against StocQ, LM-RFF and full precision."""

from __future__ import annotations

from matplotlib.figure import Figure

from benchmarks.papers.one_sketch.accuracy import Data
from benchmarks.papers.one_sketch.comparison import compare, judge_one_bit, rows_of, split
from benchmarks.papers.study import Run, Study, main


def isolet(run: Run) -> Data:
    """Return isolet, or in the quick form scikit-learn's digits."""
    if run.quick:
        from sklearn.datasets import load_digits

        X, y = load_digits(return_X_y=True)
        return split(rows_of(X[:600]), y[:600], gammas=(0.5, 1.0))
    from benchmarks.datasets import load

    data = load("isolet")
    return split(rows_of(data.X), data.y, gammas=(0.5, 1.0, 2.0))


def measure(run: Run) -> Figure:
    run.settings |= {"draws": run.size(5, 4), "projections": run.size([32, 128, 512, 1024], [16, 64])}
    figure, outcomes = compare(run, {run.size("isolet", "digits"): isolet(run)})
    if not run.quick:
        judge_one_bit(run, *outcomes)
    return figure


STUDY = Study("one_sketch.fig6", "One-Sketch", "Fig. 6", "accuracy on isolet over random features", measure)

if __name__ == "__main__":
    main(STUDY)
