"""lowtide's codes at a number of bytes an item. A new encoder is one more entry of `ENCODERS`, or of `MACHINES`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lowtide as lt
from benchmarks.value.method import Answer, Method, Split
from benchmarks.value.quantization import fit_uniform

__all__ = ["ENCODERS", "MACHINES", "METHODS", "machine_on_rows"]

Array = NDArray[Any]
# Multiples of the usual gamma that are compared on rows left out, for encoders that are given.
_FACTORS = (0.25, 0.5, 1.0, 2.0)
_LEFT_OUT = 0.2
# Components that decoded rows are read with, in full precision: they are made when rows are read and kept nowhere.
_READ_COMPONENTS = 2048

# Machines by bytes an item and seed, which choose all that is not said from the data.
MACHINES: dict[str, Callable[[int, int], lt.KernelClassifier]] = {
    "random, 1 bit": lambda n_bytes, seed: lt.KernelClassifier(
        n_components=8 * n_bytes, metric=None, prune=None, random_state=seed
    ),
    "random, 1 bit, automatic": lambda n_bytes, seed: lt.KernelClassifier(budget=n_bytes, random_state=seed),
}

# Encoders by bytes an item, gamma and seed.
ENCODERS: dict[str, Callable[[int, float, int], Any]] = {
    "learned": lambda n_bytes, gamma, seed: lt.LearnedFeatures(n_bytes=n_bytes, gamma=gamma, random_state=seed),
    "sketch, 2 bits": lambda n_bytes, gamma, seed: lt.Sketch(
        gamma=gamma, n_components=4 * n_bytes, bits=2, random_state=seed
    ),
    "ternary": lambda n_bytes, gamma, seed: lt.TernaryFeatures(
        gamma=gamma, n_components=4 * n_bytes, sparsity="auto", random_state=seed
    ),
}


def _on_codes(model: lt.KernelClassifier, split: Split) -> Answer:
    """Predict from codes that the machine's encoder makes of rows."""
    codes = model.features_.encode(split.others)
    return Answer(model.predict(codes), codes.nbytes / len(codes), model.decision_.nbytes)


def _by_machine(name: str, split: Split, n_bytes: int) -> Answer:
    return _on_codes(MACHINES[name](n_bytes, split.seed).fit(split.rows, split.labels), split)


def _by_encoder(name: str, split: Split, n_bytes: int) -> Answer:
    """Take the gamma that does best on a fifth of the rows, and fit on all."""

    def build(factor: float) -> lt.KernelClassifier:
        # The cosine is all that a sketch keeps: its rows have length 1, whose usual gamma is 1.
        usual = 1.0 if name.startswith("sketch") else split.scale
        return lt.KernelClassifier(ENCODERS[name](n_bytes, factor * usual, split.seed))

    order = np.random.default_rng(split.seed).permutation(len(split.rows))
    cut = max(1, int(_LEFT_OUT * len(order)))
    tried, rest = order[:cut], order[cut:]
    scores = []
    for factor in _FACTORS:
        model = build(factor).fit(split.rows[rest], split.labels[rest])
        scores.append(model.score(split.rows[tried], split.labels[tried]))
    return _on_codes(build(_FACTORS[int(np.argmax(scores))]).fit(split.rows, split.labels), split)


def machine_on_rows(rows: Array, labels: Array, others: Array, seed: int) -> tuple[Array, int]:
    """Return the predictions of lowtide's machine on decoded rows, and its bytes."""
    model = lt.KernelClassifier(n_components=_READ_COMPONENTS, bits=None, random_state=seed)
    model.fit(np.asarray(rows, dtype=np.float32), labels)
    return model.predict(np.asarray(others, dtype=np.float32)), model.decision_.nbytes


def _on_bytes(split: Split, n_bytes: int) -> Answer | None:
    """Keep each column in a byte, where that fits."""
    width = split.rows.shape[1]
    if width > n_bytes:
        return None
    steps = fit_uniform(split.rows, 8)
    predictions, model_bytes = machine_on_rows(steps(split.rows), split.labels, steps(split.others), split.seed)
    return Answer(predictions, width, model_bytes + steps.nbytes)


METHODS = (
    *(Method(name, "lowtide", partial(_by_machine, name)) for name in MACHINES),
    *(Method(name, "lowtide", partial(_by_encoder, name)) for name in ENCODERS),
    Method("rows in int8", "lowtide", _on_bytes),
)
