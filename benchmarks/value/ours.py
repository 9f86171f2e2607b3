"""lowtide's codes at a number of bytes an item. A new encoder is one more entry of `ENCODERS`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lowtide as lt
from benchmarks.value.method import Answer, Method, Split
from benchmarks.value.quantization import fit_uniform

__all__ = ["ENCODERS", "METHODS", "machine_on_rows"]

Array = NDArray[Any]
# Multiples of the usual gamma that are compared on rows left out.
_FACTORS = (0.25, 0.5, 1.0, 2.0)
_LEFT_OUT = 0.2
# Components that decoded rows are read with, in full precision: they are made when rows are read and kept nowhere.
_READ_COMPONENTS = 2048

# An encoder by bytes an item, gamma and seed.
ENCODERS: dict[str, Callable[[int, float, int], Any]] = {
    "random, 1 bit": lambda n_bytes, gamma, seed: lt.RandomFeatures(
        gamma=gamma, n_components=8 * n_bytes, bits=1, random_state=seed
    ),
    "sketch, 2 bits": lambda n_bytes, gamma, seed: lt.Sketch(
        gamma=gamma, n_components=4 * n_bytes, bits=2, random_state=seed
    ),
    "ternary": lambda n_bytes, gamma, seed: lt.TernaryFeatures(
        gamma=gamma, n_components=4 * n_bytes, sparsity="auto", random_state=seed
    ),
}


def _best_fit(build: Callable[[float], lt.KernelClassifier], rows: Array, labels: Array, usual: float) -> Any:
    """Return the machine whose gamma does best on a fifth of the rows, fitted on all."""
    order = np.random.default_rng(0).permutation(len(rows))
    cut = max(1, int(_LEFT_OUT * len(rows)))
    tried, rest = order[:cut], order[cut:]
    gammas = [factor * usual for factor in _FACTORS]
    scores = [build(gamma).fit(rows[rest], labels[rest]).score(rows[tried], labels[tried]) for gamma in gammas]
    return build(gammas[int(np.argmax(scores))]).fit(rows, labels)


def _on_codes(name: str, split: Split, n_bytes: int) -> Answer | None:
    """Train and predict on the codes of an encoder."""

    def build(gamma: float) -> lt.KernelClassifier:
        return lt.KernelClassifier(ENCODERS[name](n_bytes, gamma, split.seed), C="auto")

    # A sketch has unit rows, whose usual gamma is 1.
    usual = 1.0 if isinstance(ENCODERS[name](n_bytes, 1.0, 0), lt.Sketch) else split.scale
    model = _best_fit(build, split.rows, split.labels, usual)
    codes = model.features_.encode(split.others)
    return Answer(model.predict(codes), codes.nbytes / len(codes), model.decision_.nbytes)


def machine_on_rows(rows: Array, labels: Array, others: Array, seed: int) -> tuple[Array, int]:
    """Return the predictions of lowtide's machine on decoded rows, and its bytes."""

    def build(gamma: float) -> lt.KernelClassifier:
        return lt.KernelClassifier(gamma=gamma, n_components=_READ_COMPONENTS, bits=None, C="auto", random_state=seed)

    rows, others = np.asarray(rows, dtype=np.float32), np.asarray(others, dtype=np.float32)
    usual = 1.0 / (rows.shape[1] * max(float(rows.var(dtype=np.float64)), 1e-12))
    model = _best_fit(build, rows, labels, usual)
    return model.predict(others), model.decision_.nbytes


def _on_bytes(split: Split, n_bytes: int) -> Answer | None:
    """Keep each column in a byte, where that fits."""
    width = split.rows.shape[1]
    if width > n_bytes:
        return None
    steps = fit_uniform(split.rows, 8)
    predictions, model_bytes = machine_on_rows(steps(split.rows), split.labels, steps(split.others), split.seed)
    return Answer(predictions, width, model_bytes + steps.nbytes)


METHODS = (
    *(Method(name, "lowtide", partial(_on_codes, name)) for name in ENCODERS),
    Method("rows in int8", "lowtide", _on_bytes),
)
