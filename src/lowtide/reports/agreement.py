"""How well kernel values of codes agree with the exact kernel, and with the errors that are predicted for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Pairs = NDArray[np.float64]  # (3, n_pairs): exact kernel values, estimates, predicted standard errors

_EDGES = np.linspace(-4.0, 4.0, 41)
_SHOWN_BINS, _SHOWN_PER_BIN = 24, 4


@dataclass(frozen=True)
class Agreement:
    """Whether the error bars of codes hold: a few pairs to look at, and the z-scores of all.

    `exact`, `estimate` and `std` are of pairs of the first draw, spread evenly over the range of the kernel; `density`
    is the histogram of (estimate - exact) / std over all pairs and draws, between `edges`.
    """

    exact: NDArray[np.float64]
    estimate: NDArray[np.float64]
    std: NDArray[np.float64]
    edges: NDArray[np.float64]
    density: NDArray[np.float64]


def estimate_pairs(encoder: Any, rows: Any) -> Pairs:
    """Return exact values, estimates and their predicted standard errors of all pairs i < j of rows.

    Estimates are of codes against float features, or of these on both sides without codes. Given codes, the encoder has
    no way to the exact distance: their standard errors come from the estimate itself. The exact value is the one that
    the estimate has in the mean, for random features the kernel.
    """
    has_codes = encoder.drawn_.has_codes
    left = encoder.encode(rows) if has_codes else rows
    estimate, std = encoder.kernel_estimate(left, rows, return_std=True)
    exact = encoder.expected_kernel(rows, rows, sides=("codes" if has_codes else "full", "full"))
    pairs = np.triu_indices(len(rows), 1)
    return np.stack([values[pairs].astype(np.float64) for values in (exact, estimate, std)])


def kernel_error(draws: list[Pairs]) -> dict[str, float]:
    """Return root mean squares of measured and predicted errors, and the share of pairs within two of the latter."""
    exact, estimate, std = np.stack(draws, axis=1)
    error = estimate - exact
    return {
        "measured": float(np.sqrt(np.mean(error**2))),
        "predicted": float(np.sqrt(np.mean(std**2))),
        "coverage": float(np.mean(np.abs(error) <= 2.0 * std)),
    }


def agree(draws: list[Pairs], seed: int) -> Agreement:
    """Return pairs to look at, spread over the range of the kernel, and the histogram of all z-scores."""
    exact, estimate, std = draws[0][:, _spread(draws[0][0], np.random.default_rng(seed))]
    errors = [(k - truth, s) for truth, k, s in draws]
    # Equal rows have the exact value and no error.
    scores = np.concatenate([np.divide(e, s, out=np.zeros_like(e), where=s > 0.0) for e, s in errors])
    counts, _ = np.histogram(scores, _EDGES)
    # Divided by all scores, also those beyond the edges, so that bars compare with the normal density.
    return Agreement(exact, estimate, std, _EDGES, counts / (scores.size * np.diff(_EDGES)))


def _spread(values: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.intp]:
    """Pick a few indices at random from each of equal bins of the values' range."""
    borders = np.linspace(values.min(), values.max(), _SHOWN_BINS + 1)[1:-1]
    home = np.digitize(values, borders)
    members = (np.flatnonzero(home == i) for i in range(_SHOWN_BINS))
    return np.concatenate([rng.permutation(found)[:_SHOWN_PER_BIN] for found in members])
