"""The real datasets of the benchmarks, from a folder of npz archives or from OpenML."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["FOLDER_VARIABLE", "Dataset", "load"]

FOLDER_VARIABLE = "LOWTIDE_DATA"


@dataclass(frozen=True)
class Dataset:
    """Rows and labels, training rows first.

    Attributes
    ----------
    X : ndarray (n, d), in the source's units and dtype
    y : ndarray (n,)
    n_train : int or None
        Rows of the official training part; None when the dataset has no official split.
    extra : dict
        Further arrays of the archive, by name.
    """

    X: NDArray[Any]
    y: NDArray[Any]
    n_train: int | None
    extra: dict[str, NDArray[Any]]

    def split(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Return X_train, X_test, y_train, y_test of the official split."""
        if self.n_train is None:
            raise ValueError("Dataset.split needs an official split, this dataset has none. Split X and y yourself.")
        cut = self.n_train
        return self.X[:cut], self.X[cut:], self.y[:cut], self.y[cut:]


@dataclass(frozen=True)
class _OpenML:
    name: str
    version: int
    n_train: int | None = None


# Only sources with the rows and columns of the archive; the others have none on OpenML in the same form.
_OPENML = {
    "ionosphere": _OpenML("ionosphere", 1),
    "isolet": _OpenML("isolet", 1, n_train=6238),
    "letter": _OpenML("letter", 1, n_train=16_000),
    "mnist": _OpenML("mnist_784", 1, n_train=60_000),
    "spambase": _OpenML("spambase", 1),
}


def load(name: str) -> Dataset:
    """Return a dataset by name.

    `<name>.npz` in the folder that the environment variable LOWTIDE_DATA names wins; it holds `X`, `y`, or `X_train`,
    `y_train`, `X_test`, `y_test`. Without that file the data come from OpenML, through scikit-learn's cache.

    Parameters
    ----------
    name : str
        The archive's name without its ending: "ionosphere", "mnist", ...
    """
    folder = os.environ.get(FOLDER_VARIABLE)
    if folder and (Path(folder) / f"{name}.npz").is_file():
        with np.load(Path(folder) / f"{name}.npz") as archive:
            return _from_arrays(dict(archive))
    if name in _OPENML:
        return _fetch(name, _OPENML[name])
    raise FileNotFoundError(
        f"Dataset {name!r} must be an archive {name}.npz in the folder that {FOLDER_VARIABLE} names, "
        f"got {FOLDER_VARIABLE}={folder!r}. OpenML has only {', '.join(_OPENML)} in this form: set {FOLDER_VARIABLE}."
    )


def _from_arrays(arrays: dict[str, NDArray[Any]]) -> Dataset:
    if "X" in arrays:
        return Dataset(arrays.pop("X"), arrays.pop("y"), None, arrays)
    X_train, y_train = arrays.pop("X_train"), arrays.pop("y_train")
    X, y = np.concatenate([X_train, arrays.pop("X_test")]), np.concatenate([y_train, arrays.pop("y_test")])
    return Dataset(X, y, len(X_train), arrays)


def _fetch(name: str, source: _OpenML) -> Dataset:
    from sklearn.datasets import fetch_openml

    try:
        bunch = fetch_openml(source.name, version=source.version, as_frame=False, parser="liac-arff")
    except OSError as error:
        raise FileNotFoundError(
            f"Dataset {name!r} must come from OpenML ({source.name}, version {source.version}) or from a folder, and "
            f"OpenML did not answer: {error}. Set {FOLDER_VARIABLE} to a folder with {name}.npz."
        ) from error
    X = np.asarray(bunch.data.toarray() if hasattr(bunch.data, "toarray") else bunch.data, dtype=np.float32)
    return Dataset(X, _integer_labels(bunch.target), source.n_train, {})


def _integer_labels(target: NDArray[Any]) -> NDArray[np.int64]:
    """Return labels that are numbers as integers, others by their place in sorted order."""
    try:
        return np.asarray(target, dtype=np.float64).astype(np.int64)
    except ValueError:
        return np.unique(target, return_inverse=True)[1].astype(np.int64)
