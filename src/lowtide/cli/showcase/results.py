"""What the comparison measured, as plain values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["FLOAT32", "WIDTHS", "Calibration", "Comparison", "KernelError", "Outcome", "Plan", "fitting_components"]

FLOAT32 = 32
WIDTHS = (FLOAT32, 4, 2, 1)  # bits a feature, from the full side to the smallest code


@dataclass(frozen=True)
class Plan:
    """What to run: features, the seed of split and frequencies, how often frequencies are drawn, the ridge."""

    n_components: int = 2048
    seed: int = 0
    n_draws: int = 3
    alpha: float = 0.1


@dataclass(frozen=True)
class KernelError:
    """Estimated against exact kernel over all pairs of test rows and all draws.

    Attributes
    ----------
    measured : float
        Root mean square of estimate - exact.
    predicted : float
        Root mean square of the closed-form standard error of the same pairs.
    coverage : float
        Share of the pairs within two predicted standard errors.
    """

    measured: float
    predicted: float
    coverage: float


@dataclass(frozen=True)
class Outcome:
    """One classifier.

    Attributes
    ----------
    bits : int or None
        Bits a feature, `FLOAT32` for float features, None for the exact kernel.
    n_components : int
        Features; the pixels themselves for the exact kernel.
    bytes_per_item : float
        What a row takes in memory in the form that the classifier reads.
    correct : ndarray of float64, shape (n_test,)
        For each test row, the share of draws in which its class was right.
    fit_seconds, predict_seconds : float
        From raw rows, encoding included; the best of all draws.
    kernel_error : KernelError or None
        None where it was not measured or is zero by definition.
    """

    bits: int | None
    n_components: int
    bytes_per_item: float
    correct: NDArray[np.float64]
    fit_seconds: float
    predict_seconds: float
    kernel_error: KernelError | None = None

    @property
    def accuracy(self) -> float:
        """Share of test rows with the right class, averaged over draws."""
        return float(self.correct.mean())

    @property
    def name(self) -> str:
        """Say the width in words."""
        names = {None: "exact SVM", FLOAT32: "float32", 1: "1 bit"}
        return names.get(self.bits, f"{self.bits} bits")

    def gain_over(self, other: Outcome) -> tuple[float, float]:
        """Return the mean difference of accuracy, row by row, and its standard error over the test rows."""
        difference = self.correct - other.correct
        return float(difference.mean()), float(difference.std(ddof=1) / np.sqrt(difference.size))


@dataclass(frozen=True)
class Calibration:
    """Do the error bars of one-bit codes hold? A few pairs to look at, and the z-scores of all.

    Attributes
    ----------
    exact, estimate, std : ndarray of float64, shape (n_pairs,)
        Pairs of the first draw, spread evenly over the range of the kernel.
    edges, density : ndarray of float64, shapes (n_bins + 1,) and (n_bins,)
        Histogram of (estimate - exact) / std over all pairs and draws, as a density.
    """

    exact: NDArray[np.float64]
    estimate: NDArray[np.float64]
    std: NDArray[np.float64]
    edges: NDArray[np.float64]
    density: NDArray[np.float64]


@dataclass(frozen=True)
class Comparison:
    """Everything the demo measured: the exact machine, and each width at each number of components."""

    plan: Plan
    n_train: int
    n_test: int
    n_features: int
    gamma: float
    exact: Outcome
    outcomes: tuple[Outcome, ...]
    calibration: Calibration
    seconds: float

    def at(self, bits: int, n_components: int) -> Outcome:
        """Return the outcome of a width at a number of components."""
        return next(o for o in self.outcomes if (o.bits, o.n_components) == (bits, n_components))

    def curve(self, bits: int) -> tuple[Outcome, ...]:
        """Return the outcomes of a width, from the fewest components to the most."""
        return tuple(sorted((o for o in self.outcomes if o.bits == bits), key=lambda o: o.n_components))

    @property
    def one_bit(self) -> Outcome:
        """The one-bit classifier at the planned number of components."""
        return self.at(1, self.plan.n_components)

    @property
    def same_components(self) -> tuple[Outcome, ...]:
        """Each width at the planned number of components."""
        return tuple(self.at(bits, self.plan.n_components) for bits in WIDTHS)

    @property
    def same_bytes(self) -> tuple[Outcome, ...]:
        """Each width at as many components as fit in the bytes of the one-bit code."""
        budget = int(self.one_bit.bytes_per_item)
        return (*(self.at(bits, fitting_components(budget, bits)) for bits in WIDTHS[:-1]), self.one_bit)


def fitting_components(n_bytes: int, bits: int) -> int:
    """Return how many features of a width fit in a number of bytes."""
    return n_bytes * 8 // bits
