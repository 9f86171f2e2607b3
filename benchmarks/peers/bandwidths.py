"""A search over bandwidths: one sketch against features made anew for every candidate and fold."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import normalize

import lowtide as lt
from benchmarks.datasets import load
from benchmarks.peers.duel import Duel

__all__ = ["DUELS", "FEATURES", "full_precision_search", "isolet", "sketch_search"]

GAMMAS = np.logspace(-1.0, 1.5, 16)
STRENGTHS = np.logspace(-1, 3, 5)
FEATURES = 2048
FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)


@cache
def isolet() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the official split, rows of norm 1: what a sketch makes of them by itself."""
    X, X_test, y, y_test = load("isolet").split()
    return normalize(X.astype(np.float32)), normalize(X_test.astype(np.float32)), y, y_test


@cache
def sketch_search() -> lt.SketchSearchCV:
    """Search on one 4-bit sketch."""
    X, _, y, _ = isolet()
    sketch = lt.Sketch(FEATURES // 2, bits=4, random_state=0)
    grid = {"gamma": GAMMAS, "C": STRENGTHS}
    return lt.SketchSearchCV(param_grid=grid, sketch=sketch, cv=FOLDS).fit(X, y)


@cache
def full_precision_search() -> GridSearchCV:
    """Search with scikit-learn's random features and ridge, on the same folds."""
    X, _, y, _ = isolet()
    model = make_pipeline(RBFSampler(n_components=FEATURES, random_state=0), RidgeClassifier())
    grid = {"rbfsampler__gamma": GAMMAS, "ridgeclassifier__alpha": 0.5 / STRENGTHS}
    return GridSearchCV(model, grid, cv=FOLDS).fit(X, y)


def _searches() -> tuple[Callable[[], object], Callable[[], object]]:
    isolet()
    return sketch_search, full_precision_search


DUELS = [
    # Minutes a run, so one run, and what it found is kept for the note.
    Duel(
        "gamma-search",
        "16 gammas x 5 C, 5 folds, isolet, 1024 projections, 4 bits",
        "GridSearchCV of RBFSampler(2048) + RidgeClassifier",
        _searches,
        must=8,
        goal=20,
        repeats=1,
        warm=False,
    ),
]
