"""Kernel machines from raw rows to predictions, against scikit-learn's random features with its linear models."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import cache, partial

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import RBFSampler
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.svm import SVC, LinearSVC
from threadpoolctl import threadpool_limits

import lowtide as lt
from benchmarks.datasets import load
from benchmarks.peers.duel import Duel
from lowtide import _core

__all__ = ["DUELS", "GAMMA", "LARGE", "LARGE_GAMMA", "mnist", "our_model", "peer_model"]

COMPONENTS, GAMMA = 4096, 0.02
ITERATIONS = 20
# Rows of the fits whose peers would take minutes with all.
SOME = 10_000
# Rows of the fits with more components than rows, and components of the fit where both are many; as many tell apart
# digits that are closer to each other, so its kernel is narrower.
FEW, LARGE, LARGE_GAMMA = 3000, 65_536, 0.03
Side = Callable[[], object]


@cache
def mnist() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return training and test digits, pixels from 0 to 1 in float32."""
    X_train, X_test, y_train, y_test = load("mnist").split()
    scale = np.float32(1 / 255)
    return X_train.astype(np.float32) * scale, X_test.astype(np.float32) * scale, y_train, y_test


def our_model(loss: str, n_components: int = COMPONENTS) -> lt.KernelClassifier:
    """Return a one-bit machine with a fixed number of iterations."""
    return lt.KernelClassifier(
        gamma=GAMMA,
        n_components=n_components,
        loss=loss,
        C=1.0,
        metric=None,
        max_iter=ITERATIONS,
        tol=1e-12,
        random_state=0,
    )


def peer_model(model: object) -> Pipeline:
    """Return full-precision random features in front of a linear model."""
    return make_pipeline(RBFSampler(gamma=GAMMA, n_components=COMPONENTS, random_state=0), model)


def _quietly(fit: Callable[[], object]) -> object:
    """Fit without the warning that a fixed number of iterations is not convergence."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return fit()


def _fit(loss: str, model: object) -> tuple[Side, Side]:
    X, _, y, _ = mnist()
    ours, theirs = partial(our_model(loss).fit, X, y), partial(peer_model(model).fit, X, y)
    return partial(_quietly, ours), partial(_quietly, theirs)


def _choose_strength(loss: str, n: int, n_components: int) -> tuple[Side, Side]:
    """C="auto" against the plain fit with the C that it finds."""
    X, _, y, _ = mnist()
    features = lt.RandomFeatures(gamma=GAMMA, n_components=n_components, random_state=0)
    auto = lt.KernelClassifier(features, loss=loss, multi_class="ovr", C="auto", random_state=0)
    chosen = _quietly(partial(clone(auto).fit, X[:n], y[:n])).C_
    plain = lt.KernelClassifier(features, loss=loss, multi_class="ovr", C=chosen, random_state=0)
    return partial(_quietly, partial(auto.fit, X[:n], y[:n])), partial(_quietly, partial(plain.fit, X[:n], y[:n]))


@cache
def _fitted() -> tuple[lt.KernelClassifier, Pipeline]:
    X, _, y, _ = mnist()
    return our_model("squared").fit(X, y), peer_model(RidgeClassifier(solver="cholesky")).fit(X[:10_000], y[:10_000])


def _predict() -> tuple[Side, Side]:
    _, X, _, _ = mnist()
    ours, theirs = _fitted()
    return partial(ours.predict, X), partial(theirs.predict, X)


def _predict_one() -> tuple[Side, Side]:
    """A hundred rows, one call a row."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((3000, 64), dtype=np.float32), rng.integers(0, 10, 3000)
    ours = lt.KernelClassifier(
        gamma=0.01, n_components=COMPONENTS, C=1.0, loss="squared", metric=None, random_state=0
    ).fit(X, y)
    theirs = make_pipeline(RBFSampler(gamma=0.01, n_components=COMPONENTS, random_state=0), RidgeClassifier()).fit(X, y)
    rows = [X[i : i + 1] for i in range(100)]

    def each(model: object) -> list[np.ndarray]:
        return [model.predict(row) for row in rows]

    return partial(each, ours), partial(each, theirs)


def _fit_squared_hinge() -> tuple[Side, Side]:
    X, _, y, _ = mnist()
    ours = lt.KernelClassifier(
        gamma=GAMMA, n_components=COMPONENTS, loss="squared_hinge", C=1.0, metric=None, random_state=0
    )
    theirs = peer_model(LinearSVC(dual=False, random_state=0))
    return partial(ours.fit, X[:SOME], y[:SOME]), partial(_quietly, partial(theirs.fit, X[:SOME], y[:SOME]))


@cache
def _decoded() -> tuple[np.ndarray, np.ndarray]:
    """Return the one-bit features that our machine learns from, as floats, and labels."""
    X, _, y, _ = mnist()
    features = lt.RandomFeatures(gamma=GAMMA, n_components=COMPONENTS, random_state=0).fit(X[:SOME])
    return np.asarray(features.encode(X[:SOME]), dtype=np.float64), y[:SOME]


def _fit_hinge(peer: str) -> tuple[Side, Side]:
    """Support vector machines one against the rest, to tolerances that users have."""
    X, _, y, _ = mnist()
    ours = lt.KernelClassifier(gamma=GAMMA, n_components=COMPONENTS, loss="hinge", C=1.0, metric=None, random_state=0)
    if peer == "sampler":
        theirs = partial(peer_model(LinearSVC(loss="hinge", random_state=0)).fit, X[:SOME], y[:SOME])
    else:
        theirs = partial(LinearSVC(loss="hinge", random_state=0).fit, *_decoded())
    return partial(ours.fit, X[:SOME], y[:SOME]), partial(_quietly, theirs)


def _fit_pairs() -> tuple[Side, Side]:
    """Machines of pairs against libsvm's on the same features, decoded."""
    X, _, y, _ = mnist()
    ours = lt.KernelClassifier(
        gamma=GAMMA,
        n_components=COMPONENTS,
        loss="hinge",
        C=1.0,
        metric=None,
        multi_class="ovo",
        tol=1e-3,
        random_state=0,
    )
    return partial(ours.fit, X[:SOME], y[:SOME]), partial(SVC(kernel="linear").fit, *_decoded())


def _fit_exact(what: str) -> tuple[Side, Side]:
    X, X_test, y, _ = mnist()
    ours = lt.KernelClassifier(gamma=GAMMA, n_components=COMPONENTS, C=1.0, loss="squared", metric=None, random_state=0)
    theirs = SVC(gamma=GAMMA)
    if what == "fit":
        return partial(ours.fit, X[:SOME], y[:SOME]), partial(theirs.fit, X[:SOME], y[:SOME])
    ours.fit(X[:SOME], y[:SOME]), theirs.fit(X[:SOME], y[:SOME])
    return partial(ours.predict, X_test), partial(theirs.predict, X_test)


def _at_best_threads(fit: Side) -> Side:
    """Run with as many threads of BLAS as are fastest: one, or all."""
    seconds = {}
    for limit in (1, None):
        with threadpool_limits(limit, user_api="blas"):
            start = time.perf_counter()
            fit()
            seconds[limit] = time.perf_counter() - start
    best = min(seconds, key=seconds.__getitem__)

    def run() -> object:
        with threadpool_limits(best, user_api="blas"):
            return fit()

    return run


def _fit_wide(n_components: int, peer: str) -> tuple[Side, Side]:
    """Few rows of many components, against exact kernels of the same rows."""
    X, _, y, _ = mnist()
    X, y = X[:FEW], y[:FEW]
    ours = lt.KernelClassifier(
        gamma=GAMMA, n_components=n_components, C=1.0, loss="squared", metric=None, random_state=0
    )
    if peer == "svc":
        theirs = partial(SVC(gamma=GAMMA).fit, X, y)
    else:
        targets = np.where(y[:, None] == np.unique(y), 1.0, -1.0).astype(np.float32)
        theirs = partial(KernelRidge(alpha=0.5, kernel="rbf", gamma=GAMMA).fit, X, targets)
    return partial(ours.fit, X, y), _at_best_threads(theirs)


def _fit_large() -> tuple[Side, Side]:
    X, _, y, _ = mnist()
    ours = lt.KernelClassifier(
        gamma=LARGE_GAMMA, n_components=LARGE, C=1.0, loss="squared", metric=None, random_state=0
    )
    return partial(ours.fit, X, y), partial(SVC(gamma=LARGE_GAMMA).fit, X, y)


DUELS = [
    Duel(
        "fit-squared",
        "squared, MNIST 60,000, m=4096, 1 bit, raw to model",
        "RBFSampler + RidgeClassifier",
        partial(_fit, "squared", RidgeClassifier(solver="cholesky")),
        must=8,
        goal=14,
        repeats=2,
    ),
    Duel(
        "fit-logistic",
        f"logistic, the same, {ITERATIONS} iterations",
        "RBFSampler + LogisticRegression",
        partial(_fit, "logistic", LogisticRegression(max_iter=ITERATIONS, tol=1e-12)),
        must=5,
        goal=8,
        repeats=1,
    ),
    *(
        Duel(
            f"auto-{loss.replace('_', '-')}-{n // 1000}k",
            f'{loss} with C="auto", {n:,} digits, m={m}',
            "the plain fit",
            partial(_choose_strength, loss, n, m),
            must=1 / 3,
            repeats=3,
        )
        for loss, n, m in (
            ("squared", 4_000, 4096),
            ("squared", 60_000, 4096),
            ("logistic", 30_000, 1024),
            ("squared_hinge", 30_000, 1024),
        )
    ),
    *(
        Duel(
            f"fit-wide-{m // 1024}k-{peer}",
            f"squared, {FEW:,} digits, m={m}",
            name,
            partial(_fit_wide, m, peer),
            must=must,
            repeats=3,
        )
        for m, must in ((16_384, 1.0), (65_536, 1 / 3 if _core.isa() == "avx2" else 1.0))
        for peer, name in (("svc", 'SVC(kernel="rbf")'), ("ridge", 'KernelRidge(kernel="rbf")'))
    ),
    Duel(
        "fit-large",
        f"squared, MNIST 60,000, m={LARGE}, 1 bit",
        'SVC(kernel="rbf")',
        _fit_large,
        must=5,
        repeats=1,
        warm=False,
    ),
    Duel("predict", "10,000 rows, MNIST model", "the same pipeline", _predict, must=18, goal=30),
    Duel(
        "predict-one",
        "100 rows one by one, d=64, m=4096",
        "the same pipeline",
        _predict_one,
        must=12,
        goal=40,
    ),
    Duel(
        "fit-squared-hinge",
        f"squared hinge, {SOME:,} digits, m=4096, to its own tolerance",
        "RBFSampler + LinearSVC",
        _fit_squared_hinge,
        must=8,
        repeats=1,
        warm=False,
    ),
    *(
        Duel(
            f"fit-hinge-{peer}",
            f"hinge, {SOME:,} digits, m=4096, one against the rest, to its own tolerance",
            name,
            partial(_fit_hinge, peer),
            repeats=1,
            warm=False,
        )
        for peer, name in (
            ("sampler", 'RBFSampler + LinearSVC(loss="hinge")'),
            ("decoded", 'LinearSVC(loss="hinge") on decoded codes'),
        )
    ),
    Duel(
        "fit-hinge-pairs",
        f"hinge, {SOME:,} digits, m=4096, one against one",
        'SVC(kernel="linear") on decoded codes',
        _fit_pairs,
        repeats=1,
        warm=False,
    ),
    Duel(
        "fit-exact",
        f"squared, {SOME:,} digits, m=4096",
        'SVC(kernel="rbf")',
        partial(_fit_exact, "fit"),
        repeats=1,
        warm=False,
    ),
    Duel(
        "predict-exact",
        f"10,000 rows, model of {SOME:,} digits",
        'SVC(kernel="rbf")',
        partial(_fit_exact, "predict"),
        repeats=1,
    ),
]
