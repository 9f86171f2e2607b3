"""Encoders, models and rows to export."""

from __future__ import annotations

from typing import Any

import numpy as np
from given import given_classifier

import lowtide as lt
from lowtide.tables import Recipe


def float_rows(n: int, d: int, seed: int = 0) -> np.ndarray:
    """Return rows of many sizes, with zeros of both signs, subnormal numbers and phases of many turns among them."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-3, 4, (n, 1))
    rows[0], rows[1], rows[2], rows[3] = 0.0, -0.0, 1e-42, 0.5
    rows[4] *= 1e12 / np.abs(rows[4]).max()  # phases so large that every float is a whole number
    return rows.astype(np.float32)


def integer_rows(n: int, d: int, dtype: str, seed: int = 0) -> np.ndarray:
    """Return rows of a whole integer type, its ends included."""
    limits = np.iinfo(dtype)
    rows = np.random.default_rng(seed).integers(limits.min, limits.max, (n, d), dtype=dtype, endpoint=True)
    rows[0], rows[1], rows[2] = limits.min, limits.max, 0
    return rows


def phases(d: int, m: int, bits: int = 1, **options: Any) -> lt.RandomFeatures:
    """Return features on the Hadamard layout, fitted on rows near unit size."""
    X = np.random.default_rng(1).standard_normal((20, d))
    return lt.RandomFeatures(gamma=0.5 / d, n_components=m, bits=bits, random_state=m, **options).fit(X)


def rows_on_borders(encoder: lt.RandomFeatures) -> np.ndarray:
    """Return rows of one column that bring each frequency to quarters of a turn, where a bit turns over."""
    turns = encoder.projection_.weights()[0].astype(np.float64) / (2 * np.pi)
    quarters = np.arange(-8, 9) / 4
    return ((quarters[:, None] - encoder.drawn_.offset) / turns).reshape(-1, 1).astype(np.float32)


def trits(d: int, m: int, dtype: str = "int16", **options: Any) -> lt.TernaryFeatures:
    """Return ternary features, fitted on integers."""
    options = {"sparsity": "auto", "random_state": m, **options}
    return lt.TernaryFeatures(n_components=m, **options).fit(integer_rows(50, d, dtype, seed=5))


def classifier(features: Any, n_classes: int, rows: np.ndarray, **options: Any) -> lt.KernelClassifier:
    """Return a classifier of the rows by their first columns."""
    labels = np.argmax(rows[:, :n_classes], axis=1) if n_classes > 2 else (rows[:, 0] > rows[:, 1]).astype(int)
    return given_classifier(features, C=1.0, **options).fit(rows, labels)


def model_of(recipe: Recipe, n_components: int = 300) -> lt.KernelClassifier:
    """Return a classifier that takes rows through a recipe."""
    X = np.random.default_rng(0).standard_normal((60, recipe.n_features))
    model = given_classifier(n_components=n_components, C=1.0, random_state=0).fit(X, X[:, 0] > 0)
    model.decision_ = model.decision_.with_recipe(recipe)
    return model


def as_c(text: str) -> str:
    """Return a text as a literal of C."""
    return '"' + "".join(f"\\{byte:03o}" for byte in text.encode()) + '"'
