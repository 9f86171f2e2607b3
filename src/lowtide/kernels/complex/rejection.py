"""Frequencies of a user's density by acceptance and rejection, with a bound that is checked on every proposal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lowtide._checks import fail
from lowtide.errors import ParameterError
from lowtide.kernels.base import Kernel
from lowtide.kernels.measure import FrequencyLaw

__all__ = ["RejectionLaw", "proposal_ratios"]

Floats = NDArray[np.float64]
Part = Callable[[NDArray[np.complex128]], Floats]
_BATCH = 16_384
# Proposals for one frequency before a loop is given up: a bound a thousand times too large still passes.
_MOST_PROPOSALS = 20_000


def proposal_ratios(
    density: Callable[[Floats], ArrayLike], proposal: Kernel, bound: float, W: Floats
) -> NDArray[np.complex128]:
    """Return density / proposal at frequencies in columns; raise where its modulus is above the bound.

    A violated bound would thin out the law where it is largest, a bias that nothing else shows.
    """
    rows = np.ascontiguousarray(W.T)
    value = np.asarray(density(rows), dtype=np.complex128)
    if value.shape != (len(rows),) or not np.isfinite(value).all():
        need = "density must map frequencies (n, n_features) to n finite complex numbers"
        raise fail("ComplexMeasureKernel", need, f"{value.dtype} {value.shape}")
    ratio = np.asarray(value / proposal.density(rows))
    largest = float(np.abs(ratio).max(initial=0.0))
    if largest > bound * (1 + 1e-9):
        raise ParameterError(
            f"ComplexMeasureKernel: bound must be at least |density| / proposal everywhere, got {bound:g} where the "
            f"ratio is {largest:g}. Raise bound, or use a proposal with heavier tails."
        )
    return ratio


@dataclass(frozen=True)
class RejectionLaw:
    """Frequencies with density part(mu(w)), drawn from a proposal g and kept with probability part / (bound g)."""

    density: Callable[[Floats], ArrayLike]
    proposal: Kernel
    bound: float
    part: Part
    law: ClassVar[FrequencyLaw] = "joint"

    def sample(self, rng: np.random.Generator, n_features: int, size: int) -> Floats:
        """Draw independent frequencies, shape (n_features, size); raise on a violated bound, or one far too large."""
        found: list[Floats] = []
        n_found = n_proposed = 0
        while n_found < size:
            if n_proposed > _MOST_PROPOSALS * max(size, 1) or (n_proposed > 100 * _BATCH and n_found == 0):
                raise ParameterError(
                    f"ComplexMeasureKernel: the bound must let proposals through, got {n_found} of {n_proposed} with "
                    f"bound {self.bound:g}. Lower it, or propose where the density is."
                )
            W = self.proposal.sample(rng, n_features, _BATCH)
            ratio = proposal_ratios(self.density, self.proposal, self.bound, W)
            kept = W[:, rng.random(_BATCH) * self.bound < self.part(ratio)]
            found.append(kept)
            n_found, n_proposed = n_found + kept.shape[1], n_proposed + _BATCH
        return np.concatenate([np.empty((n_features, 0)), *found], axis=1)[:, :size]

    def length_quantile(self, q: ArrayLike, dimension: int) -> Floats:
        """Refuse: the law need not be invariant to rotation."""
        raise fail("ComplexMeasureKernel", "lengths exist only for rotation-invariant frequencies", self.law)

    def characteristic(self, difference: ArrayLike) -> NDArray[Any]:
        """Refuse: a user's density has no closed form."""
        raise fail("ComplexMeasureKernel", "a characteristic function must be known in closed form", "a callable")

    def second_moment(self, n_features: int) -> float:
        """Return E|w|^2 over 65536 frequencies of a fixed seed."""
        W = self.sample(np.random.default_rng(0), n_features, 4 * _BATCH)
        return float(np.mean(np.sum(W * W, axis=0)))
