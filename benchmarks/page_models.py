"""Models to look at the server's page with: digits to draw, and spectra of Indian Pines to pick.

python -m benchmarks.page_models FOLDER, then lowtide serve FOLDER/mnist.lowtide FOLDER/pines.lowtide
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lowtide as lt
from benchmarks.datasets import load

_N_TRAIN = 20_000
_N_EXAMPLES = 10


def examples(X: NDArray[Any], y: NDArray[Any], seed: int = 0) -> list[dict[str, Any]]:
    """Return one row of each class, of some classes, as the page shows them."""
    rng = np.random.default_rng(seed)
    classes = np.unique(y)[:_N_EXAMPLES]
    rows = [rng.choice(np.flatnonzero(y == label)) for label in classes]
    return [{"name": str(y[i]), "row": np.round(X[i], 4).tolist()} for i in rows]


def mnist(folder: Path) -> None:
    X_train, X_test, y_train, y_test = load("mnist").split()
    rows = X_train[:_N_TRAIN].astype(np.float32) / 255
    model = lt.KernelClassifier(gamma=0.02, n_components=4096, C=1.0, loss="squared", metric=None, random_state=0).fit(
        rows, y_train[:_N_TRAIN]
    )
    print(f"mnist: {model.score(X_test.astype(np.float32) / 255, y_test):.4f} on the test digits")
    image = {"width": 28, "height": 28, "fit": 20, "high": 1}
    shown = examples(X_test / 255, y_test)
    lt.save(model, folder / "mnist.lowtide", metadata={"page": {"image": image, "examples": shown}})


def pines(folder: Path) -> None:
    data = load("indian_pines")
    rng = np.random.default_rng(0)
    order = rng.permutation(len(data.X))
    mean, std = data.X.mean(), data.X.std()
    rows = ((data.X - mean) / std).astype(np.float32)
    train, test = order[: len(order) // 2], order[len(order) // 2 :]
    model = lt.KernelClassifier(n_components=4096, gamma=0.05, C=1.0, loss="squared", metric=None, random_state=0).fit(
        rows[train], data.y[train]
    )
    print(f"pines: {model.score(rows[test], data.y[test]):.4f} on the other half of the pixels")
    shown = examples(rows[test], data.y[test])
    lt.save(model, folder / "pines.lowtide", metadata={"page": {"examples": shown}})


if __name__ == "__main__":
    mnist(Path(sys.argv[1]))
    pines(Path(sys.argv[1]))
