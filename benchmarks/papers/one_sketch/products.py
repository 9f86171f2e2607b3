"""Products of the features of two rows, one a projection, over the correlation of the rows.

In these figures gamma is the paper's, 1/bandwidth; `sklearn_gamma` turns it into that of the functions called.
"""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

import lowtide as lt

__all__ = [
    "Floats",
    "cosine_products",
    "dithered_products",
    "rows_at",
    "sketch_products",
    "sketches",
    "sklearn_gamma",
    "variance_and_error",
]

Floats = NDArray[np.float64]
DIMENSION = 8


def sklearn_gamma(gamma: float) -> float:
    """Return scikit-learn's gamma of the paper's."""
    return gamma**2 / 2


def rows_at(rho: Floats) -> Floats:
    """Return a row of norm 1, and one at each correlation with it."""
    rows = np.zeros((len(rho) + 1, DIMENSION))
    rows[0, 0] = 1
    rows[1:, 0], rows[1:, 1] = rho, np.sqrt(1 - rho**2)
    return rows


def sketches(X: Floats, bits: int, n_projections: int, seed: int) -> tuple[lt.Sketch, lt.Codes]:
    """Return a sketch with independent projections and the codes of the rows: all that every gamma needs."""
    sketch = lt.Sketch(n_projections, bits=bits, projection="iid", random_state=seed).fit(X)
    return sketch, sketch.encode(X)


def sketch_products(sketch: lt.Sketch, codes: lt.Codes, gamma: float) -> Floats:
    """Return the products of the first row with the others at the paper's gamma, (rows, projections)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lt.errors.BiasWarning)  # the bias is what the figures show
        F = np.asarray(sketch.fourier(codes, sklearn_gamma(gamma)), dtype=np.float64)
    k = F.shape[1] // 2
    return (F[:1] * F[1:]).reshape(len(F) - 1, k, 2).sum(axis=2) * k


def dithered_products(sketch: lt.Sketch, codes: lt.Codes, gamma: float) -> Floats:
    """Return the same in the other form, sqrt2 cos(w.x + tau), a cosine for each projection."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lt.errors.BiasWarning)
        F = np.asarray(sketch.dithered(codes, sklearn_gamma(gamma)), dtype=np.float64)
    return F[:1] * F[1:] * F.shape[1]


def cosine_products(X: Floats, bits: int | None, gamma: float, n_projections: int, seed: int) -> Floats:
    """Return the same for dithered cosines, stochastically rounded; for full cos and sin pairs when bits is None."""
    width = 2 if bits is None else 1
    encoder = lt.RandomFeatures(
        lt.kernels.Gaussian(1 / gamma),
        n_components=width * n_projections,
        projection="iid",
        feature_map="cos_sin" if bits is None else "cosine",
        bits=bits,
        quantizer="stochastic",
        random_state=seed,
    ).fit(X)
    F = np.asarray(encoder.transform(X) if bits is None else encoder.encode(X), dtype=np.float64)
    return (F[:1] * F[1:]).reshape(len(F) - 1, n_projections, width).sum(axis=2) * n_projections


def variance_and_error(sample: Floats) -> tuple[Floats, Floats]:
    """Return the variance along the last axis, and its standard error from the measured fourth moment."""
    centered = sample - sample.mean(axis=-1, keepdims=True)
    variance = (centered**2).mean(axis=-1)
    return variance, np.sqrt(np.maximum((centered**4).mean(axis=-1) - variance**2, 0) / sample.shape[-1])
