"""What the experiments of AsK-RFF share: kernels, data scaled to [0, 1], encoders of M frequencies a block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lowtide as lt
from benchmarks.datasets import load
from benchmarks.papers.plotting import BLUE, GREEN, RED
from benchmarks.papers.study import Run

__all__ = ["COLORS", "SUBSET", "Data", "datasets", "encoder", "kernels"]

Floats = NDArray[np.float64]
COLORS = {"shift": BLUE, "sinh": RED, "cosh": GREEN}
# Rows that Algorithm 2 fits masses to.
SUBSET = 50
# Rows of the training and of the test part; the table of the paper has those of ijcnn1 and letter exchanged.
_SIZES = {"spambase": (2760, 1841), "letter": (12_000, 6000)}


def kernels(d: int) -> dict[str, Any]:
    """Return the paper's kernels: r = (2/d) 1, sigma = 2, beta = (pi/2d) 1."""
    return {
        "shift": lt.kernels.ShiftGaussian(2 / d, 2.0),
        "sinh": lt.kernels.SinhGaussian(np.pi / (2 * d), 2.0),
        "cosh": lt.kernels.CoshGaussian(np.pi / (2 * d), 2.0),
    }


def encoder(
    kernel: lt.kernels.MeasureKernel, M: int, d: int, seed: int, form: str = "blocks", rows: Floats | None = None
) -> lt.AsymmetricFeatures:
    """Return a fitted encoder of M independent frequencies a block, as the paper counts them.

    Given rows, masses are fitted as Algorithm 2 does, to 50 of them; else they are exact.
    """
    n_blocks = 1 if form == "phase" else len(kernel.measures(d))
    size = 2 * M * n_blocks
    made = lt.AsymmetricFeatures(
        kernel, n_components=size, form=form, masses="exact", projection="iid", bits=None, random_state=seed
    ).fit(np.zeros((1, d)))
    if rows is None or n_blocks == 1:
        return made
    some = rows[np.random.default_rng(seed).choice(len(rows), SUBSET, replace=False)]
    return made.with_drawn(made.drawn_.with_fitted_masses(some), masses="fitted")


@dataclass(frozen=True)
class Data:
    """Rows in [0, 1]^d with labels, and how many train and test; the official split when the sizes are None."""

    X: Floats
    y: NDArray[Any]
    n_train: int | None
    sizes: tuple[int, int] | None

    def split(self, rng: np.random.Generator) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the rows to train and to test on, drawn where the data have no official split of the paper's size."""
        if self.sizes is None:
            return np.arange(self.n_train or 0), np.arange(self.n_train or 0, len(self.X))
        order = rng.permutation(len(self.X))
        return order[: self.sizes[0]], order[self.sizes[0] : sum(self.sizes)]


def datasets(run: Run) -> dict[str, Data]:
    """Return the paper's four, or two that scikit-learn makes in the quick form, every column scaled to [0, 1]."""
    if run.quick:
        from sklearn.datasets import make_gaussian_quantiles

        shapes = {"three rings": (6, 3), "two rings": (4, 2)}
        parts = {
            name: make_gaussian_quantiles(n_samples=900, n_features=d, n_classes=k, random_state=run.seed)
            for name, (d, k) in shapes.items()
        }
        return {name: Data(_scaled(X), y, None, (600, 300)) for name, (X, y) in parts.items()}
    found = {name: load(name) for name in ("spambase", "letter", "ijcnn1", "cod_rna")}
    return {name: Data(_scaled(data.X), data.y, data.n_train, _SIZES.get(name)) for name, data in found.items()}


def _scaled(X: NDArray[Any]) -> Floats:
    rows = X.astype(np.float64)
    spread = np.ptp(rows, axis=0)
    return np.asarray((rows - rows.min(axis=0)) / np.where(spread > 0, spread, 1.0))
