"""What scikit-learn and faiss make of the same bytes: a code that decodes to coordinates, and a default machine on it.

Models are counted in the peers' favor: float32 throughout, and support vectors as codes, never as decoded rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA, KernelPCA
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import RidgeClassifierCV
from sklearn.svm import SVC

from benchmarks.value.method import Answer, Method, Split
from benchmarks.value.ours import machine_on_rows
from benchmarks.value.quantization import fit_product, fit_rotation, fit_uniform

__all__ = ["CODES", "METHODS", "MIXED", "Coded"]

Array = NDArray[Any]
# Kernel principal components that are computed at most; a code of more bytes takes these.
_MOST_KERNEL_COMPONENTS = 512
# Columns that a word of a product quantizer stands for, where there are as many.
_WORD_COLUMNS = 4
_STRENGTHS = np.logspace(-3.0, 3.0, 7)


@dataclass(frozen=True, eq=False)
class Coded:
    """Decoded rows, and what the code and its encoder take."""

    rows: Array
    others: Array
    item_bytes: float
    encoder_bytes: int


@dataclass(frozen=True, eq=False)
class _Coordinates:
    """Coordinates of all rows, by falling variance, and the bytes of the map to the first r of them."""

    rows: Array
    others: Array
    n_bytes: Callable[[int], int]

    @property
    def width(self) -> int:
        return self.rows.shape[1]

    def first(self, n_columns: int) -> tuple[Array, Array]:
        return self.rows[:, :n_columns], self.others[:, :n_columns]


def _principal(split: Split) -> _Coordinates:
    n, width = split.rows.shape
    pca = PCA(min(n, width), svd_solver="full").fit(split.rows)
    return _Coordinates(pca.transform(split.rows), pca.transform(split.others), lambda r: 4 * width * (r + 1))


def _kernel_principal(split: Split) -> _Coordinates:
    n, width = split.rows.shape
    pca = KernelPCA(
        min(n - 1, _MOST_KERNEL_COMPONENTS),
        kernel="rbf",
        gamma=split.scale,
        eigen_solver="randomized",
        random_state=split.seed,
    ).fit(split.rows)
    return _Coordinates(pca.transform(split.rows), pca.transform(split.others), lambda r: 4 * n * (width + r + 1))


_SPACES: dict[str, Callable[[Split], _Coordinates]] = {"PCA": _principal, "kernel PCA": _kernel_principal}


def _coordinates(space: str, split: Split) -> _Coordinates:
    return split.kept(space, lambda: _SPACES[space](split))


def _raw(split: Split, n_bytes: int) -> Coded | None:
    width = split.rows.shape[1]
    if width > n_bytes:
        return None
    steps = fit_uniform(split.rows, 8)
    return Coded(steps(split.rows), steps(split.others), width, steps.nbytes)


def _scalar(space: str, bits: int, split: Split, n_bytes: int) -> Coded | None:
    """As many leading coordinates as fit, in equal bits."""
    coordinates = _coordinates(space, split)
    n_columns = min(8 * n_bytes // bits, coordinates.width)
    rows, others = coordinates.first(n_columns)
    steps = fit_uniform(rows, bits)
    return Coded(steps(rows), steps(others), n_columns * bits / 8, coordinates.n_bytes(n_columns) + steps.nbytes)


def _words(space: str, split: Split, n_bytes: int) -> Coded | None:
    """Words of some coordinates each, a byte a word; of few coordinates, a word each."""
    coordinates = _coordinates(space, split)
    n_words = min(coordinates.width, n_bytes)
    n_columns = min(coordinates.width, _WORD_COLUMNS * n_words) // n_words * n_words
    if len(split.rows) < 256:
        return None
    rows, others = coordinates.first(n_columns)
    decoded, table_bytes = fit_product(rows, n_words, split.seed)
    return Coded(decoded(rows), decoded(others), n_words, coordinates.n_bytes(n_columns) + table_bytes)


def _signs(split: Split, n_bytes: int) -> Coded | None:
    """Signs of rotated coordinates: principal ones, or kernel ones where rows have too few columns."""
    n_bits = 8 * n_bytes
    space = "PCA" if split.rows.shape[1] >= n_bits else "kernel PCA"
    coordinates = _coordinates(space, split)
    if coordinates.width < n_bits:
        return None
    rows, others = coordinates.first(n_bits)
    rotation = fit_rotation(rows, split.seed)
    return Coded(np.sign(rows @ rotation), np.sign(others @ rotation), n_bytes, coordinates.n_bytes(n_bits))


def _half_floats(split: Split, n_bytes: int) -> Coded | None:
    """Random Fourier features in float16."""
    n_components = n_bytes // 2
    sampler = RBFSampler(gamma=split.scale, n_components=n_components, random_state=split.seed).fit(split.rows)
    rows, others = (sampler.transform(part).astype(np.float16) for part in (split.rows, split.others))
    encoder_bytes = 4 * n_components * (split.rows.shape[1] + 1)
    return Coded(rows.astype(np.float32), others.astype(np.float32), 2 * n_components, encoder_bytes)


CODES: dict[str, Callable[[Split, int], Coded | None]] = {
    "rows in int8": _raw,
    "PCA + int8": partial(_scalar, "PCA", 8),
    "PCA + int4": partial(_scalar, "PCA", 4),
    "PCA + PQ": partial(_words, "PCA"),
    "kernel PCA + SQ4": partial(_scalar, "kernel PCA", 4),
    "kernel PCA + PQ": partial(_words, "kernel PCA"),
    "ITQ": _signs,
    "RFF fp16": _half_floats,
}


def _coded(name: str, split: Split, n_bytes: int) -> Coded | None:
    return split.kept((name, n_bytes), lambda: CODES[name](split, n_bytes))


def _by_svc(coded: Coded, split: Split) -> tuple[Array, int]:
    model = SVC().fit(coded.rows, split.labels)
    n_support = len(model.support_)
    model_bytes = n_support * coded.item_bytes + 4 * (model.dual_coef_.size + model.intercept_.size)
    return model.predict(coded.others), int(np.ceil(model_bytes))


def _by_ridge(coded: Coded, split: Split) -> tuple[Array, int]:
    # Columns of one scale, which kernel coordinates are far from, so that the same strengths suit all codes.
    scale = float(coded.rows.std()) or 1.0
    model = RidgeClassifierCV(_STRENGTHS * len(coded.rows) / 100.0).fit(coded.rows / scale, split.labels)
    return model.predict(coded.others / scale), 4 * (model.coef_.size + model.intercept_.size)


def _by_our_machine(coded: Coded, split: Split) -> tuple[Array, int]:
    return machine_on_rows(coded.rows, split.labels, coded.others, split.seed)


def _answer(code: str, read: Callable[[Coded, Split], tuple[Array, int]], split: Split, n_bytes: int) -> Answer | None:
    coded = _coded(code, split, n_bytes)
    if coded is None:
        return None
    predictions, machine_bytes = read(coded, split)
    return Answer(predictions, coded.item_bytes, coded.encoder_bytes + machine_bytes)


def _methods(read: Callable[[Coded, Split], tuple[Array, int]], ending: str, side: str) -> tuple[Method, ...]:
    return tuple(
        Method(f"{code}, {ending}", side, partial(_answer, code, read), "faiss" if code.endswith("PQ") else None)
        for code in CODES
    )


METHODS = _methods(_by_svc, "SVC", "peer") + _methods(_by_ridge, "ridge", "peer")
MIXED = _methods(_by_our_machine, "lowtide's machine", "mixed")
