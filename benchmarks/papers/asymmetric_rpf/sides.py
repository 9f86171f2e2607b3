"""Machines on random features, trained on one side and used on another: the pairs of the paper's Table 1."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

import lowtide as lt
from benchmarks.papers.plotting import BLACK, BLUE, GREEN, RED
from lowtide.encoders import DrawnEncoder

__all__ = ["COLORS", "PAIRS", "LinearMachine", "encoder", "scores_by_pair", "train_on_codes", "train_on_features"]

Floats = NDArray[np.float64]

# Query first, then support, in the order and colors of Table 1.
PAIRS = {
    "full, full": ("full", "full"),
    "1 bit, full": ("codes", "full"),
    "full, 1 bit": ("full", "codes"),
    "1 bit, 1 bit": ("codes", "codes"),
}
COLORS = dict(zip(PAIRS, (BLACK, GREEN, BLUE, RED)))


@dataclass(frozen=True)
class LinearMachine:
    """Scores D weights + intercept; `dual` holds the support coefficients, weights = D_train' dual, where known."""

    weights: Floats  # (m, k)
    intercept: Floats  # (k,)
    dual: Floats  # (n, k); (0, k) for a loss other than the squared hinge
    classes: NDArray[Any]  # (k,)

    def predict(self, rows: Any) -> NDArray[Any]:
        """Return the classes of features or Codes."""
        return np.asarray(self.classes[np.argmax(rows @ self.weights + self.intercept, axis=1)])


@dataclass(frozen=True, eq=False)
class DrawnGiven(DrawnEncoder):
    """The identity of n_features columns: a full side alone, that no file keeps."""

    kind: ClassVar[str] = "GivenFeatures"
    fingerprint: ClassVar[bytes] = b"given features".ljust(16)
    side: ClassVar[bytes] = bytes(16)
    template: ClassVar[None] = None
    row_cost: ClassVar[int] = 0
    has_codes: ClassVar[bool] = False
    n_features: int

    @property
    def n_outputs(self) -> int:
        return self.n_features

    def transform(self, rows: Any) -> Any:
        return rows

    def encode(self, rows: Any) -> Any:
        raise NotImplementedError("GivenFeatures have no coded side")

    def pair(self, sides: Any) -> Any:
        raise NotImplementedError("GivenFeatures stand for no kernel")

    def describe(self) -> tuple[dict[str, Any], dict[str, Any]]:
        return {"n_features": self.n_features}, {}

    @classmethod
    def restore(cls, spec: dict[str, Any], arrays: dict[str, Any]) -> Self:
        return cls(spec["n_features"])


class GivenFeatures(lt.encoders.Encoder):
    """The full side of rows that are features already, so that each is computed once and not in every iteration."""

    def fit(self, X: Any, y: Any = None) -> Self:
        rows = self.check_rows(X, reset=True)
        self.drawn_ = DrawnGiven(rows.shape[1])
        return self


def encoder(kernel: lt.kernels.Kernel, n_features: int, n_components: int, seed: int) -> lt.RandomFeatures:
    """Return the paper's z_cos as full side and z_q as coded side, up to their scale."""
    options = {"projection": "iid", "feature_map": "cosine", "bits": 1}
    return lt.RandomFeatures(kernel, n_components=n_components, random_state=seed, **options).fit(
        np.zeros((1, n_features))
    )


def train_on_features(
    Z: NDArray[Any], y: NDArray[Any], C: float, max_iter: int, loss: str = "squared_hinge"
) -> LinearMachine:
    """Return the machine with this loss, one class against the rest, on features (n, m)."""
    model = lt.KernelClassifier(GivenFeatures(), loss=loss, C=C, multi_class="ovr", max_iter=max_iter)
    return _machine(_fit(model, Z.astype(np.float64), y), Z, y)


def train_on_codes(
    codes: lt.Codes, y: NDArray[Any], C: float, max_iter: int, loss: str = "squared_hinge"
) -> LinearMachine:
    """Return the same machine trained on packed codes."""
    model = lt.KernelClassifier(loss=loss, C=C, multi_class="ovr", max_iter=max_iter)
    return _machine(_fit(model, codes, y), codes, y)


def _fit(model: lt.KernelClassifier, rows: Any, y: NDArray[Any]) -> lt.KernelClassifier:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the limit on iterations is the study's choice
        return model.fit(rows, y)


def _machine(model: lt.KernelClassifier, rows: Any, y: NDArray[Any]) -> LinearMachine:
    """Read the support coefficients off the margins: at the minimum w = sum_i 2 C max(0, 1 - y_i f_i) y_i D_i."""
    if model.loss != "squared_hinge":
        return LinearMachine(model.coef_.T, model.intercept_, np.empty((0, len(model.classes_))), model.classes_)
    signs = np.where(y[:, None] == model.classes_, 1.0, -1.0)
    margins = signs * (rows @ model.coef_.T + model.intercept_)
    dual = 2 * model.C_ * np.maximum(0.0, 1 - margins) * signs
    return LinearMachine(model.coef_.T, model.intercept_, dual, model.classes_)


def scores_by_pair(machine: LinearMachine, enc: lt.RandomFeatures, support: Any, queries: Any) -> dict[str, Floats]:
    """Return the scores of queries through each pair; the weights on the full side are those that were trained."""
    sides = {"full": enc.transform(queries).astype(np.float64), "codes": enc.encode(queries)}
    weights = {"full": machine.weights, "codes": enc.encode(support).T @ machine.dual}
    origin = np.zeros((1, enc.n_features_in_))
    at_zero = float(enc.expected_kernel(origin, sides=("codes", "codes"))[0, 0])
    scale = {pair: at_zero if pair == ("codes", "codes") else 1.0 for pair in PAIRS.values()}
    return {
        name: np.asarray(sides[pair[0]] @ weights[pair[1]]) / scale[pair] + machine.intercept
        for name, pair in PAIRS.items()
    }
