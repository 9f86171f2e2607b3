"""Fig. 4b: the largest error over all pairs of 200 points falls as the square root of the number of features."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from benchmarks.papers.asymmetric_rpf.uniform_error import (
    NORMAL,
    ROUGHLY,
    predicted_cost,
    spread_points,
    uniform_errors,
)
from benchmarks.papers.plotting import BLUE, RED, panels
from benchmarks.papers.sampling import mean_and_error
from benchmarks.papers.study import Run, Study, main

DIMENSION = 5
NAMES = {"1 bit": "1 bit against full", "full": "full against full", "codes": "codes against codes, from kappa_qq"}


def slopes(errors: NDArray[np.float64], sizes: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return each draw's slope of log error against log m."""
    x = np.log(sizes) - np.log(sizes).mean()
    return np.asarray(np.log(errors) @ x / (x @ x))


def measure(run: Run) -> Figure:
    n, n_draws = run.size(200, 60), run.size(50, 40)
    sizes = np.geomspace(100, run.size(10_000, 1600), run.size(9, 5)).round().astype(int)
    run.settings |= {"dimension": DIMENSION, "n": n, "draws": n_draws, "m": sizes.tolist(), "bandwidth": 0.25}
    X = spread_points(run.generator(), n, DIMENSION)
    largest = [uniform_errors(X, sizes, seed)[0] for seed in run.seeds(n_draws)]
    errors = {name: np.array([draw[name] for draw in largest]) for name in NAMES}
    for name, words in NAMES.items():
        source = "paper" if name == "1 bit" else "corrected"
        slope = mean_and_error(slopes(errors[name], sizes))
        words = f"{words}: slope of log error against log m"
        half = {"equals": -0.5, "slack": 0.005, "why": "sums of 100 bounded terms have lighter tails than normal ones"}
        run.claim("slope_" + name.replace(" ", ""), words, "-1/2", *slope, source=source, **half)
    ratios = np.mean(np.log(errors["1 bit"] / errors["full"]), axis=1)
    ratio, error = mean_and_error(2 * ratios)
    cost, predicted = np.expm1(ratio), predicted_cost(n)
    words = f"more features for the same error over all ordered pairs of {n} points"
    run.claim("cost", words, "about 33%", cost, (1 + cost) * error, equals=0.33, slack=0.03, why=ROUGHLY)
    words += ", against Gaussian errors of variance pi^2/8 with two estimates a pair"
    target = {"equals": predicted, "slack": 0.01, "why": NORMAL, "source": "corrected"}
    run.claim("cost_predicted", words, f"{predicted:.3f}", cost, (1 + cost) * error, **target)
    figure, ((axis,),) = panels(1, 1, f"Largest error over all pairs of {n} points")
    axis.boxplot(errors["1 bit"], positions=sizes, widths=0.3 * sizes, manage_ticks=False, flierprops={"ms": 2})
    middle = np.exp(np.mean(np.log(errors["1 bit"])))
    axis.plot(sizes, middle * np.sqrt(np.exp(np.log(sizes).mean()) / sizes), "--", color=RED, label="slope -1/2")
    axis.plot(sizes, np.median(errors["full"], axis=0), ".", color=BLUE, label="full against full, median")
    axis.set(xscale="log", yscale="log", xlabel="features m", ylabel="largest error", title="1 bit against full")
    axis.legend()
    return figure


STUDY = Study("asymmetric_rpf.fig4b", "Asymmetric RPF", "Fig. 4b", "uniform error against features", measure)

if __name__ == "__main__":
    main(STUDY)
