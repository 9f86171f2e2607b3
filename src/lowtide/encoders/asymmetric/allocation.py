"""How many frequencies each block of a kernel gets, and which of its two forms has less variance on some rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import check_option
from lowtide.kernels import MeasureBlock, MeasureKernel
from lowtide.theory import block_variance, measure_blocks

__all__ = ["allocate", "choose_form"]

_SOME_ROWS = 64


def allocate(blocks: tuple[MeasureBlock, ...], n_frequencies: int, rule: str) -> tuple[int, ...]:
    """Return frequencies a block, at least one each: equally many, or as many as its mass is worth.

    Far away a block's variance is M^2/2 over its frequencies, which frequencies in proportion to M make least.
    """
    check_option("AsymmetricFeatures", "allocation", rule, ("equal", "optimal"))
    masses = np.array([block.mass for block in blocks])
    wish = masses / masses.sum() if rule == "optimal" else np.full(len(blocks), 1.0 / len(blocks))
    spare = max(n_frequencies - len(blocks), 0)
    # One each, and the rest by largest remainder, so that the counts add up; heavier blocks win ties.
    share = np.maximum(wish * max(n_frequencies, len(blocks)) - 1.0, 0.0)
    share *= spare / share.sum() if spare else 0.0
    counts = 1 + np.floor(share + 1e-9).astype(int)
    left = max(n_frequencies, len(blocks)) - int(counts.sum())
    order = np.lexsort((-masses, -np.round(share - np.floor(share + 1e-9), 9)))
    counts[order[:left]] += 1
    return tuple(int(count) for count in counts)


def choose_form(kernel: MeasureKernel, rows: NDArray[np.float64], n_frequencies: int, rule: str) -> str:
    """Return the form of less mean variance over pairs of rows, in closed form; blocks where there is no choice."""
    d = rows.shape[1]
    if kernel.phase_measure(d) is None:
        return "blocks"
    difference = (rows[:, None] - rows[None]).reshape(-1, d)
    mean = {}
    for form in ("blocks", "phase"):
        blocks = measure_blocks(kernel, d, form)
        counts = allocate(blocks, n_frequencies, rule)
        mean[form] = sum(float(block_variance(b, difference).mean()) / p for b, p in zip(blocks, counts))
    return "phase" if mean["phase"] < mean["blocks"] else "blocks"
