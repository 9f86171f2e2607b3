"""What is not a duel: peaks of memory, growth with the rows, accuracy."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import lowtide as lt
from benchmarks.peers.bandwidths import FEATURES, full_precision_search, isolet, sketch_search
from benchmarks.peers.learning import GAMMA, mnist
from benchmarks.peers.memory import (
    blocks_peak_mb,
    encoding_peak_mb,
    fit_peaks_mb,
    large_fit,
    store_peak_mb,
    wide_peak_mb,
)
from benchmarks.search import OWN, RABITQ, behind, rows_of
from benchmarks.value.study import short

__all__ = ["NOTES", "Note"]


@dataclass(frozen=True)
class Note:
    """A measured sentence, and whether what the project promises held."""

    text: str
    met: bool


def memory() -> Note:
    """Encode rows in a fresh process."""
    peak = encoding_peak_mb()
    text = f"Encoding 20,000 x 784 to 4096 bits adds {peak:.0f} MB at its peak; must stay below 64 MB."
    return Note(text, peak < 64)


def memory_fit() -> Note:
    """Fit MNIST with both sides, each in a fresh process."""
    ours, theirs = fit_peaks_mb()
    text = (
        f"A squared fit on MNIST, m=4096, adds {ours:.0f} MB at its peak, RBFSampler + RidgeClassifier "
        f"{theirs:.0f} MB: 1/{theirs / ours:.1f}; must be at most 1/5."
    )
    return Note(text, ours <= theirs / 5)


def memory_large() -> Note:
    """Fit where both rows and components are many, and where components are very many, each in a fresh process."""
    (large, accuracy), wide = large_fit(), wide_peak_mb()
    text = (
        f"A process that fits MNIST with 65,536 one-bit components peaks at {large:.0f} MB (must 2048) and gets "
        f"{accuracy:.2f}% of the test digits right (must 98.0); one that fits 100 rows of 10,000,000 components peaks "
        f"at {wide:.0f} MB (must 2048)."
    )
    return Note(text, large <= 2048 and accuracy >= 98.0 and wide < 2048)


def vectors_recall() -> Note:
    """Search text embeddings and images by `VectorCodes` and by faiss' RaBitQ of as many bits, three rotations each."""
    found = [row for name in ("text", "mnist", "fashion") for row in rows_of(name, 1000, {OWN, RABITQ}.__contains__)]
    told = behind(found)
    own = ", ".join(f"{row.recall_10:.3f}" for row in found if row.method == OWN)
    theirs = ", ".join(f"{row.recall_10:.3f}" for row in found if row.method == RABITQ)
    text = (
        f"Recall@10 at 1, 2, 4 and 8 bits of text embeddings, MNIST and Fashion-MNIST: {own}; faiss RaBitQ {theirs}; "
        f"at 1, 2 and 4 bits none may be lower by more than two standard errors: {'; '.join(told) or 'none is'}."
    )
    return Note(text, not told)


def memory_blocks() -> Note:
    """Fit from an iterator of blocks, with a number of rows and with four times as many."""
    once, four_times = blocks_peak_mb(100_000), blocks_peak_mb(400_000)
    text = (
        f"A squared fit from blocks adds {once:.0f} MB for 100,000 rows and {four_times:.0f} MB for 400,000 "
        "(37 MB of codes more); must be flat to 4 MB."
    )
    return Note(text, four_times <= once + 4)


def memory_store() -> Note:
    """Encode two million rows into a store in a fresh process."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/codes.zarr"
        peak = store_peak_mb(path, 2_000_000)
        store = lt.CodeStore.open(path)
        store.verify()
        size = store.nbytes / 1e6
    text = (
        f"Encoding 2,000,000 x 64 to 4096 bits in a store ({size:.0f} MB) peaks at {peak:.0f} MB; must stay below 1200."
    )
    return Note(text, peak < 1200)


def growth() -> Note:
    """Fit a growing number of rows."""
    X, _, y, _ = mnist()
    seconds = {}
    for n in (7_500, 15_000, 30_000, 60_000):
        model = lt.KernelClassifier(gamma=GAMMA, n_components=1024, C=1.0, loss="squared", metric=None, random_state=0)
        model.fit(X[:1000], y[:1000])
        times = []
        for _ in range(5):
            start = time.perf_counter()
            model.fit(X[:n], y[:n])
            times.append(time.perf_counter() - start)
        seconds[n] = min(times)
    power = float(np.polyfit(np.log(list(seconds)), np.log(list(seconds.values())), 1)[0])
    listed = ", ".join(f"{n:,} rows {value * 1e3:.0f} ms" for n, value in seconds.items())
    return Note(f"Squared fit, m=1024: {listed}; time grows as n^{power:.2f}, must be at most linear.", power <= 1.05)


def accuracy() -> Note:
    """Score one-bit machines on the MNIST test digits."""
    X_train, X_test, y_train, y_test = mnist()
    scores = {}
    for n_components in (4096, 16_384):
        model = lt.KernelClassifier(
            gamma=GAMMA, n_components=n_components, C=1.0, loss="squared", metric=None, random_state=0
        ).fit(X_train, y_train)
        scores[n_components] = 100 * model.score(X_test, y_test)
    text = (
        f"One-bit accuracy on MNIST: {scores[4096]:.2f}% with 4096 components (must 95.5), "
        f"{scores[16_384]:.2f}% with 16,384 (must 97.4)."
    )
    return Note(text, scores[4096] >= 95.5 and scores[16_384] >= 97.4)


def search() -> Note:
    """Compare what the two searches of the row `gamma-search` found, and what they keep."""
    _, X_test, _, y_test = isolet()
    ours, theirs = sketch_search(), full_precision_search()
    share = len(ours.codes_) * FEATURES * 4 / ours.codes_.nbytes
    text = (
        f"Best cross-validated accuracy on isolet: sketch {100 * ours.best_score_:.2f}%, full precision "
        f"{100 * theirs.best_score_:.2f}% (must be within 0.5 points); on the test rows "
        f"{100 * ours.score(X_test, y_test):.2f}% and {100 * theirs.score(X_test, y_test):.2f}%. The sketch takes "
        f"1/{share:.0f} of the float32 features of one gamma, must be at most 1/8."
    )
    return Note(text, ours.best_score_ >= theirs.best_score_ - 0.005 and share >= 8)


def accuracy_trits() -> Note:
    """Score ridge on ternary features and on full-precision ones, with the regularization that suits each."""
    X_train, X_test, y_train, y_test = mnist()
    encoders = {
        "full": lt.RandomFeatures(gamma=GAMMA, n_components=4096, bits=None, random_state=0),
        "trits": lt.TernaryFeatures(gamma=GAMMA, n_components=4096, random_state=0),
    }
    scores = {}
    for name, encoder in encoders.items():
        machines = [lt.KernelClassifier(encoder, loss="squared", C=C) for C in (1.0, 10.0)]
        scores[name] = max(100 * model.fit(X_train, y_train).score(X_test, y_test) for model in machines)
    text = (
        f"Ridge on MNIST: {scores['full']:.2f}% with 4096 float32 random Fourier features, {scores['trits']:.2f}% with "
        "4096 trits; must be within 0.5 points."
    )
    return Note(text, scores["trits"] >= scores["full"] - 0.5)


def value() -> Note:
    """Compare codes of 16 and 32 bytes with what scikit-learn and faiss make of them."""
    text, is_ahead = short()
    return Note(f"Accuracy at 16 and 32 bytes an item on letter and isolet: {text} Must be most.", is_ahead)


NOTES: dict[str, Callable[[], Note]] = {
    "memory": memory,
    "memory-fit": memory_fit,
    "memory-large": memory_large,
    "memory-blocks": memory_blocks,
    "memory-store": memory_store,
    "growth": growth,
    "accuracy": accuracy,
    "gamma-search-accuracy": search,
    "accuracy-trits": accuracy_trits,
    "vectors-recall": vectors_recall,
    "value": value,
}
