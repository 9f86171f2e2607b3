"""Draws of kernel estimates over distance, for one layout of frequencies.

The paper's three layouts are: `haar`, columns of a Haar matrix, for the Bessel kernel; `orthogonal`, the same with chi
lengths, for the Gaussian; `iid`, for the Gaussian (RFF). The pair of cosine and sine makes an estimate of
(1/p) sum_j cos(w_j . (x - y)) whatever the dither.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import lowtide as lt

__all__ = ["Floats", "encoder", "estimates"]

Floats = NDArray[np.float64]


def encoder(kernel: lt.kernels.Kernel, projection: str, n_frequencies: int, seed: int) -> lt.RandomFeatures:
    """Return an encoder of cosine and sine pairs without a coded side, not fitted."""
    return lt.RandomFeatures(
        kernel, n_components=2 * n_frequencies, projection=projection, bits=None, random_state=seed
    )


def estimates(
    kernel: lt.kernels.Kernel, projection: str, dimension: int, n_frequencies: int, z: Floats, seeds: list[int]
) -> Floats:
    """Return estimates at distances z, one row a draw; the points lie on a line, which all layouts are blind to."""
    points = np.zeros((len(z) + 1, dimension))
    points[1:, 0] = z
    out = np.empty((len(seeds), len(z)))
    for row, seed in zip(out, seeds):
        features = encoder(kernel, projection, n_frequencies, seed).fit_transform(points).astype(np.float64)
        row[:] = features[1:] @ features[0]
    return out
