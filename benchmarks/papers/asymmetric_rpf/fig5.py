"""Fig. 5: a mixture of five classes, with the query, the support vectors or both on one bit a feature.

Three machines: an exact SVM whose kernel sums are replaced afterwards, and machines trained on the full features or, what
the paper leaves for later, on the codes. The paper has one mixture, which it does not state, and 25 draws of the
frequencies; here every draw has a mixture of its own. One against the rest throughout; squared hinge loss on features.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from sklearn.svm import SVC

import lowtide as lt
from benchmarks.papers.asymmetric_rpf.sides import (
    COLORS,
    PAIRS,
    encoder,
    scores_by_pair,
    train_on_codes,
    train_on_features,
)
from benchmarks.papers.plotting import GRAY, panels
from benchmarks.papers.sampling import bootstrap_error, mean_and_error
from benchmarks.papers.study import Run, Study, main

Floats = NDArray[np.float64]
Points = tuple[Floats, NDArray[np.intp]]
# Accuracies by (training, R, pair of sides): an array (draws, sizes).
Curves = dict[tuple[str, float, str], Floats]

KERNEL = lt.kernels.Gaussian(2.0)
N_CLASSES, N_PER_CLASS = 5, 4
# Chosen so that the exact machine is right in about 99%: half the side of the square, spread, least distance of centers.
SQUARE, SPREAD, APART = 10.0, 0.7, 3.0
WEAK, STRONG = 5.0, 0.25
LEVEL = 0.975
TRAINED_ON = {"kernel": "exact SVM, approximated", "full": "trained on full features", "codes": "trained on codes"}


def draw_mixture(rng: np.random.Generator, n: int) -> Points:
    """Return points and classes: 20 equal Gaussians in the plane, four for each class."""
    centers: list[Floats] = []
    while len(centers) < N_CLASSES * N_PER_CLASS:
        center = rng.uniform(-SQUARE, SQUARE, 2)
        if all(np.linalg.norm(center - other) >= APART for other in centers):
            centers.append(center)
    component = rng.integers(len(centers), size=n)
    return np.array(centers)[component] + SPREAD * rng.standard_normal((n, 2)), component // N_PER_CLASS


def accuracy(scores: Floats, labels: NDArray[np.intp]) -> float:
    return float(np.mean(np.argmax(scores, axis=1) == labels))


def fit_exact(train: Points, R: float) -> list[SVC]:
    """Return a machine a class, against the rest."""
    X, y = train
    return [SVC(C=R, gamma=1 / (2 * KERNEL.bandwidth**2)).fit(X, y == c) for c in range(N_CLASSES)]


def decide(machines: list[SVC] | list[lt.learners.CompressedClassifier], X: Floats) -> Floats:
    return np.column_stack([machine.decision_function(X) for machine in machines])


def compress_all(machines: list[SVC], pair: str, m: int, seed: int) -> list[lt.learners.CompressedClassifier]:
    """Return the machines through one pair of sides, all on the same frequencies."""
    query, support = PAIRS[pair]
    options = {"projection": "iid", "feature_map": "cosine", "query": query, "support": support, "random_state": seed}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # noise above the signal is what the left of the plot shows
        return [lt.compress(machine, n_components=m, X=np.zeros((1, 2)), **options) for machine in machines]


def approximate(run: Run, curves: Curves, exact: Curves, draw: int, train: Points, test: Points) -> None:
    """Fill in one draw of the exact machines and of what is left of them through each pair of sides."""
    seed = run.seeds(run.settings["draws_kernel"], 1)[draw]
    for R in (WEAK, STRONG):
        machines = fit_exact(train, R)
        exact["kernel", R, "exact"][draw] = accuracy(decide(machines, test[0]), test[1])
        for pair in PAIRS:
            for i, m in enumerate(run.settings["m_kernel"]):
                small = compress_all(machines, pair, m, seed)
                curves["kernel", R, pair][draw, i] = accuracy(decide(small, test[0]), test[1])


def train(run: Run, curves: Curves, draw: int, train: Points, test: Points) -> None:
    """Fill in one draw of the machines trained on the full features and on the codes."""
    seed, max_iter = run.seeds(run.settings["draws_trained"], 2)[draw], run.settings["max_iter"]
    for i, m in enumerate(run.settings["m_trained"]):
        enc = encoder(KERNEL, 2, m, seed)
        full, codes = enc.transform(train[0]), enc.encode(train[0])
        for R in (WEAK, STRONG):
            machine = train_on_features(full, train[1], R, max_iter)
            for pair, scores in scores_by_pair(machine, enc, train[0], test[0]).items():
                curves["full", R, pair][draw, i] = accuracy(scores, test[1])
            machine = train_on_codes(codes, train[1], R, max_iter)
            for pair, side in {"1 bit, 1 bit": enc.encode(test[0]), "full, 1 bit": enc.transform(test[0])}.items():
                scores = side @ machine.weights + machine.intercept
                curves["codes", R, pair][draw, i] = accuracy(scores, test[1])


def features_for(curve: Floats, sizes: list[int]) -> Callable[[NDArray[np.intp]], float]:
    """Return a function of draws: the m at which their median reaches the level, at most the largest m."""

    def crossing(draws: NDArray[np.intp]) -> float:
        median = np.median(curve[draws], axis=0)
        if median.max() < LEVEL:
            return float(sizes[-1])
        i = int(np.argmax(median >= LEVEL))
        if i == 0:
            return float(sizes[0])
        share = (LEVEL - median[i - 1]) / (median[i] - median[i - 1])
        return float(sizes[i - 1] * (sizes[i] / sizes[i - 1]) ** share)

    return crossing


def claim_features(run: Run, curves: Curves, which: tuple[str, float, str], words: str, **relation: object) -> None:
    curve, sizes = curves[which], run.settings["m_kernel" if which[0] == "kernel" else "m_trained"]
    crossing = features_for(curve, sizes)
    measured, error = crossing(np.arange(len(curve))), bootstrap_error(crossing, len(curve), run.generator(7))
    pair = which[2].replace(", ", "_").replace(" ", "")
    run.claim(f"features_{which[0]}_{pair}_R{which[1]:g}", f"features for 97.5%: {words}", measured=measured, error=error, **relation)


def measure(run: Run) -> Figure:
    raise NotImplementedError


STUDY = Study("asymmetric_rpf.fig5", "Asymmetric RPF", "Fig. 5", "a mixture of five classes on one bit a feature", measure)

if __name__ == "__main__":
    main(STUDY)
