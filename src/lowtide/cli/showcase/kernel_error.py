"""Kernel estimates of pairs of test rows against the exact kernel, collected over draws of the frequencies."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide.cli.showcase.results import Calibration, KernelError
from lowtide.encoders import RandomFeatures

__all__ = ["PairErrors"]

_EDGES = np.linspace(-4.0, 4.0, 41)
_SHOWN_BINS, _SHOWN_PER_BIN = 24, 4


class PairErrors:
    """Exact values, estimates and predicted standard errors of all pairs i < j, a row of each a draw."""

    def __init__(self) -> None:
        self._draws: list[tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]] = []

    def add(self, encoder: RandomFeatures, rows: Any) -> None:
        """Estimate the kernel between all rows: codes against float features, or these on both sides without codes.

        Given codes, the encoder has no way to the exact distance: their standard errors come from the estimate itself.
        """
        left = rows if encoder.bits is None else encoder.encode(rows)
        estimate, std = encoder.kernel_estimate(left, rows, return_std=True)
        pairs = np.triu_indices(len(rows), 1)
        exact = encoder.kernel_.gram(rows)
        self._draws.append((exact[pairs], estimate[pairs].astype(np.float64), std[pairs].astype(np.float64)))

    def summary(self) -> KernelError:
        """Return measured and predicted root mean squares, and the share of pairs within two standard errors."""
        exact, estimate, std = (np.stack(column) for column in zip(*self._draws))
        error = estimate - exact
        return KernelError(
            measured=float(np.sqrt(np.mean(error**2))),
            predicted=float(np.sqrt(np.mean(std**2))),
            coverage=float(np.mean(np.abs(error) <= 2.0 * std)),
        )

    def calibration(self, seed: int) -> Calibration:
        """Return pairs to look at, spread over the range of the kernel, and the histogram of all z-scores."""
        exact, estimate, std = self._draws[0]
        shown = _spread(exact, np.random.default_rng(seed))
        scores = np.concatenate([(k - truth) / s for truth, k, s in self._draws])
        counts, _ = np.histogram(scores, _EDGES)
        # Divided by all scores, also those beyond the edges, so that bars compare with the normal density.
        density = counts / (scores.size * np.diff(_EDGES))
        return Calibration(exact[shown], estimate[shown], std[shown], _EDGES, density)


def _spread(values: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.intp]:
    """Pick a few indices at random from each of equal bins of the values' range."""
    borders = np.linspace(values.min(), values.max(), _SHOWN_BINS + 1)[1:-1]
    home = np.digitize(values, borders)
    members = (np.flatnonzero(home == i) for i in range(_SHOWN_BINS))
    return np.concatenate([rng.permutation(found)[:_SHOWN_PER_BIN] for found in members])
