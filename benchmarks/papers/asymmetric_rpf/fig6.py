"""Fig. 6: classes of hyperspectral pixels against the bits a pixel that are sent for them.

Sent are the raw bands, full features of 64 bits each, or 1 bit a feature: 30 draws of the frequencies as in the paper,
sigma and C by five folds of the whole training part, once for each strategy. Beyond the paper: raw bands rounded to
fewer bits, and a machine trained on the codes (10 draws, 2 above 1280 features, for time). The paper names no scaling
beyond the choice of bands; here each band is centered and scaled by the training part. Features have the squared hinge
loss (`LOSS`), one class against the rest, in at most `max_iter` steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.model_selection import KFold, train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import lowtide as lt
from benchmarks.datasets import load
from benchmarks.papers.asymmetric_rpf.sides import encoder, train_on_codes, train_on_features
from benchmarks.papers.plotting import BLACK, BLUE, GRAY, GREEN, RED, panels
from benchmarks.papers.study import Run, Study, main

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]
Correct = NDArray[np.bool_]  # (draws, pixels)
Curves = dict[str, dict[int, Correct]]  # by strategy and number of features

WORD = 64  # bits of a number at full precision
LOSS = "squared_hinge"  # of machines on features
ROUNDED = 6  # the most whole bits a band below a tenth of the raw rate
# What cross-validation chooses from: gamma = 1/(2 sigma^2) times the number of bands, and C, the weight of the loss.
GRIDS = {
    "raw": [[1.0, 2.0], [100.0, 1000.0]],
    "full": [[0.5, 2.0], [10.0, 100.0, 1000.0]],
    "1 bit": [[2.0, 4.0], [1.0, 3.0, 10.0]],
    "codes": [[2.0, 4.0], [1.0, 3.0, 10.0]],
}
PAIRWISE = (2.0, 10.0)  # the same of machines of pairs of classes: best on the test rows of one draw, of six settings
WORDS = {
    "full": "64 bits a feature, trained on these",
    "1 bit": "1 bit a feature, trained on full features",
    "codes": "1 bit a feature, trained on codes",
}
COLORS = {"full": BLACK, "1 bit": GREEN, "codes": BLUE}
ABOUT_FOUR: dict[str, Any] = {
    "equals": 4,
    "slack": 1,
    "why": "the paper says 'about'",
}


@dataclass(frozen=True)
class Part:
    """Rows with their labels."""

    X: Floats
    y: Labels

    def take(self, rows: NDArray[np.intp]) -> Part:
        """Return some of the rows."""
        return Part(self.X[rows], self.y[rows])


# What a strategy answers: labels of the queries, from (training part, queries, scale, C).
Answer = Callable[[Part, Floats, float, float], Labels]


def split(run: Run) -> tuple[Part, Part]:
    """Return a training part and a fifth for testing, each band with mean 0 and variance 1 in training."""
    if run.quick:
        X, y = load_digits(return_X_y=True)
    else:
        pixels = load("indian_pines")
        X, y = pixels.X, pixels.y
    X_train, X_test, y_train, y_test = train_test_split(
        X.astype(np.float64), y.astype(np.int64), test_size=0.2, random_state=run.seed
    )
    scaler = StandardScaler().fit(X_train)
    return Part(scaler.transform(X_train), y_train), Part(scaler.transform(X_test), y_test)


def fit_raw(train: Part, scale: float, C: float) -> SVC:
    return SVC(C=C, gamma=scale / train.X.shape[1], cache_size=500).fit(train.X, train.y)


def answer_raw(train: Part, queries: Floats, scale: float, C: float) -> Labels:
    return np.asarray(fit_raw(train, scale, C).predict(queries))


def answer_features(name: str, m: int, seed: int, max_iter: int) -> Answer:
    """Return the strategy of this name with m features."""

    def answer(train: Part, queries: Floats, scale: float, C: float) -> Labels:
        d = train.X.shape[1]
        enc = encoder(lt.kernels.Gaussian.from_gamma(scale / d), d, m, seed)
        if name == "codes":
            machine = train_on_codes(enc.encode(train.X), train.y, C, max_iter, LOSS)
        else:
            machine = train_on_features(enc.transform(train.X), train.y, C, max_iter, LOSS)
        return machine.predict(enc.transform(queries) if name == "full" else enc.encode(queries))

    return answer


def answer_pairwise(m: int, seed: int) -> Answer:
    """Return the paper's 1-bit strategy with scikit-learn's SVC: hinge loss, one class against one, on the features."""

    def answer(train: Part, queries: Floats, scale: float, C: float) -> Labels:
        d = train.X.shape[1]
        enc = encoder(lt.kernels.Gaussian.from_gamma(scale / d), d, m, seed)
        Z = enc.transform(train.X).astype(np.float64)
        machine = SVC(C=C, kernel="precomputed", cache_size=500).fit(Z @ Z.T, train.y)
        return np.asarray(machine.predict(enc.encode(queries) @ Z.T))

    return answer


def cross_validate(run: Run, train: Part, name: str, answer: Answer) -> tuple[float, float]:
    """Return the scale of gamma and the C that are best in five folds of the training part."""
    folds = list(KFold(run.settings["folds"], shuffle=True, random_state=run.seed).split(train.X))

    def hits(setting: tuple[float, float]) -> int:
        (scale, C), total = setting, 0
        for kept, held in folds:
            total += int(np.sum(answer(train.take(kept), train.X[held], scale, C) == train.y[held]))
        return total

    return max(product(*run.settings["grids"][name]), key=hits)


def round_bands(train: Floats, X: Floats, bits: int) -> Floats:
    """Return each band rounded to the middle of one of 2^bits equal steps over its range in training."""
    low, step = train.min(axis=0), np.ptp(train, axis=0) / 2**bits
    level = np.clip(np.floor((X - low) / np.where(step > 0, step, 1.0)), 0, 2**bits - 1)
    return low + (level + 0.5) * step


def send_raw(run: Run, train: Part, test: Part) -> tuple[Correct, dict[int, Correct]]:
    """Return which pixels are right with raw queries, and with rounded ones by bits a band."""
    scale, C = cross_validate(run, train, "raw", answer_raw)
    run.settings["chosen"]["raw"] = [scale, C]
    exact = fit_raw(train, scale, C)
    rounded = {B: round_bands(train.X, test.X, B) for B in run.settings["band_bits"]}
    correct = {B: (exact.predict(X) == test.y)[None] for B, X in rounded.items()}
    return (exact.predict(test.X) == test.y)[None], correct


def send_features(run: Run, name: str, train: Part, test: Part) -> dict[int, Correct]:
    """Return which pixels are right with one strategy, by m; the setting is chosen at one m."""
    max_iter, tuned, draws = run.settings["max_iter"][name], run.settings["tuned"][name], run.settings["draws"]
    first, *seeds = run.seeds(draws[name] + 1, 4)
    run.progress(f"{name}: cross-validation at m = {tuned}")
    setting = cross_validate(run, train, name, answer_features(name, tuned, first, max_iter))
    run.settings["chosen"][name] = list(setting)
    curve = {}
    for m in run.settings["m"][name]:
        run.progress(f"{name}: m = {m}")
        some = seeds[: draws["large"]] if m > WORD * train.X.shape[1] / 2 else seeds
        answers = [answer_features(name, m, seed, max_iter)(train, test.X, *setting) for seed in some]
        curve[m] = np.array([labels == test.y for labels in answers])
    return curve


def send_pairwise(run: Run, train: Part, test: Part) -> Correct:
    """Return which pixels are right with the 1-bit strategy and scikit-learn's SVC, at a tenth of the raw rate."""
    m = run.settings["tenth"]["1 bit"]
    _, *seeds = run.seeds(run.settings["draws"]["pairwise"] + 1, 4)
    run.progress(f"SVC on features: m = {m}")
    return np.array([answer_pairwise(m, seed)(train, test.X, *PAIRWISE) == test.y for seed in seeds])


def difference(better: Correct, worse: Correct) -> tuple[float, float]:
    """Return the mean difference of accuracy in points, and its error over draws and over the pixels tested.

    Draws with the same number share their seed; where one side has fewer (a single one: no draws), those are taken.
    """
    if min(len(better), len(worse)) > 1:
        better, worse = better[: len(worse)], worse[: len(better)]
    gap = 100.0 * (better.astype(np.float64) - worse.astype(np.float64))
    over_pixels = gap.mean(axis=0).var(ddof=1) / gap.shape[1]
    over_draws = gap.mean(axis=1).var(ddof=1) / len(gap) if len(gap) > 1 else 0.0
    return float(gap.mean()), float(np.sqrt(over_pixels + over_draws))


def judge(run: Run, raw: Correct, rounded: dict[int, Correct], curves: Curves, pairwise: Correct | None = None) -> None:
    m = run.settings["tenth"]
    full, one, codes = (curves[name][m[name]] for name in ("full", "1 bit", "codes"))
    lost = "points lost at a tenth of the raw rate"
    words = f"{lost}, {m['full']} features of 64 bits"
    run.claim("loss_full", words, "more than 10", *difference(raw, full), above=10)
    words = "points gained at a tenth of the raw rate by 1 bit a feature over 64 bits"
    run.claim("gain_1bit", words, "better", *difference(one, full), above=0)
    words = "points lost by training on codes instead of full features, 1 bit queries at a tenth of the raw rate"
    equal = {"equals": 0, "slack": 1, "why": "a point is what the choice of C moves", "source": "corrected"}
    run.claim("loss_codes", words, "0", *difference(one, codes), **equal)
    words = f"points gained over 1 bit a feature, by raw bands rounded to {ROUNDED} bits and so sent in less"
    run.claim("gain_rounded", words, "-", *difference(rounded[ROUNDED], one), above=0, source="corrected")
    if pairwise is not None:  # what the paper says of these pixels
        words, by_pairs = f"{lost}, {m['1 bit']} features of 1 bit", difference(raw, pairwise)
        if_not = (
            f"With hinge loss and one class against one (next row) it is {by_pairs[0]:.1f}. The paper gives no "
            f"accuracies; its raw machine would have to be worse than ours, which is right in {100 * raw.mean():.1f}%."
        )
        run.claim("loss_1bit", words, "about 4", *difference(raw, one), **ABOUT_FOUR, if_not=if_not)
        words += ", scikit-learn's SVC on the same features"
        run.claim("loss_pairwise", words, "about 4", *by_pairs, **ABOUT_FOUR, if_not=if_not, source="corrected")
        best = max((curve[max(curve)] for curve in curves.values()), key=np.mean)
        words = "points lost by the best of all feature queries, at any rate up to the raw one"
        run.claim("raw_best", words, "above 0", *difference(raw, best), above=0)


def tabulate(run: Run, raw: Correct, rounded: dict[int, Correct], curves: Curves) -> None:
    """Put the accuracies into the guide, a row a strategy."""
    d = run.settings["bands"]
    parts = {"raw bands": {WORD * d: raw}, "raw bands, rounded": {d * B: correct for B, correct in rounded.items()}}
    for name, curve in curves.items():
        parts[WORDS[name]] = {m * (WORD if name == "full" else 1): correct for m, correct in curve.items()}
    rows = [
        [name, " / ".join(f"{bits:,}" for bits in part), " / ".join(f"{100 * c.mean():.1f}" for c in part.values())]
        for name, part in parts.items()
    ]
    run.table("accuracy", ["sent for a pixel", "bits", "right, %"], rows)


def draw_plot(run: Run, raw: Correct, rounded: dict[int, Correct], curves: Curves) -> Figure:
    figure, axes = panels(1, 1, f"{run.settings['data']}: accuracy against the bits sent for a row")
    figure.set_size_inches(6.6, 4.2)
    axis, d = axes[0, 0], run.settings["bands"]
    for name, curve in curves.items():
        bits = np.array(list(curve)) * (WORD if name == "full" else 1)
        draws = [correct.mean(axis=1) for correct in curve.values()]
        low, middle, high = np.array([np.quantile(shares, (0, 0.5, 1)) for shares in draws]).T
        axis.fill_between(bits, low, high, color=COLORS[name], alpha=0.2, lw=0)
        axis.plot(bits, middle, ".-", color=COLORS[name], label=WORDS[name])
    bits = d * np.array(list(rounded))
    axis.plot(bits, [correct.mean() for correct in rounded.values()], ".--", color=RED, label="raw bands, rounded")
    axis.plot(WORD * d, raw.mean(), "o", color=RED, label="raw bands, 64 bits each")
    axis.axvline(WORD * d / 10, color=GRAY, ls=":", lw=1)
    axis.text(WORD * d / 10, 0.03, "a tenth of raw ", rotation=90, ha="right", transform=axis.get_xaxis_transform())
    axis.set(xscale="log", xlabel="bits sent", ylabel="test accuracy")
    axis.legend(loc="lower right")
    return figure


def measure(run: Run) -> Figure:
    train, test = split(run)
    d = train.X.shape[1]
    tenth = {"full": d // 10, "1 bit": WORD * d // 10, "codes": WORD * d // 10}
    run.settings |= {"data": run.size("Indian Pines", "digits"), "bands": d, "n_train": len(train.y), "tenth": tenth}
    if run.quick:
        train = train.take(np.arange(600))
    run.settings["draws"] = run.size(
        {"full": 30, "1 bit": 30, "codes": 10, "large": 2, "pairwise": 4}, dict.fromkeys((*WORDS, "large"), 3)
    )
    run.settings["max_iter"] = run.size({"full": 60, "1 bit": 30, "codes": 50}, dict.fromkeys(WORDS, 40))
    run.settings |= {"folds": run.size(5, 2), "loss": LOSS}
    run.settings |= {"grids": run.size(GRIDS, {name: [[0.5, 1.0], [3.0, 30.0]] for name in GRIDS}), "chosen": {}}
    run.settings["band_bits"] = run.size([1, 2, 3, 4, 5, 6, 8, 10], [1, 2, 4, 6])
    coded = [*run.size([160, 640], [100]), tenth["codes"]]
    large = run.size([12800], [800])
    run.settings["m"] = {
        "full": run.size([5, 20, 50, 200], [3, 6, 20]),
        "1 bit": coded,
        "codes": [*coded, *large],
    }
    run.settings["tuned"] = run.size({"full": 50, "1 bit": 320, "codes": 320}, tenth)
    run.progress("raw")
    raw, rounded = send_raw(run, train, test)
    curves = {name: send_features(run, name, train, test) for name in WORDS}
    judge(run, raw, rounded, curves, None if run.quick else send_pairwise(run, train, test))
    tabulate(run, raw, rounded, curves)
    return draw_plot(run, raw, rounded, curves)


STUDY = Study(
    "asymmetric_rpf.fig6", "Asymmetric RPF", "Fig. 6", "pixel classes against the bits sent for them", measure
)

if __name__ == "__main__":
    main(STUDY)
