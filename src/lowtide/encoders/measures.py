"""What is measured of a row before it is rounded: its coordinates in learned directions, or those of a kernel."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from lowtide import _core
from lowtide._checks import fail
from lowtide.encoders.encoder import Arrays
from lowtide.encoders.rows import dense_rows, float32_blocks, projected_rows, row_keys_of
from lowtide.kernels import Kernel, distances
from lowtide.projections import Blocks, DenseProjection

Array = NDArray[np.float32]
Floats = NDArray[np.float64]
# Digits that a learned number keeps: what the order of a sum moves is rounded away.
_DIGITS = 9
# Numbers that directions are learned from: 128 MB of float64.
_LEARNED_FROM = 1 << 24
# Rows that do as well as all: 128 for each of 256 levels.
_MOST_ROWS = 1 << 15
# Columns up to which their covariance is decomposed; of more the products of as many rows are.
_MOST_COLUMNS = 2048
# Eigenvalues of a kernel matrix below this share of the largest are lost in the rounding of float32.
_RANK = 1e-6


class Measures(ABC):
    """Learned measurements of a row: z (n_fields,) float32, by sums in one order whatever the batch and the threads."""

    name: ClassVar[str]  # as users and files know it
    projection: DenseProjection

    @property
    def n_fields(self) -> int:
        """Measurements a row."""
        return self.projection.n_frequencies

    @abstractmethod
    def coordinates(self, rows: Any) -> Array:
        """Return the measurements of validated rows, float32 (n, n_fields)."""

    @property
    @abstractmethod
    def row_cost(self) -> int:
        """Additions and multiplications, about, that one row takes."""

    @abstractmethod
    def arrays(self) -> Arrays:
        """Return what was learned."""

    @classmethod
    @abstractmethod
    def learn(cls, sample: Sample, n_fields: int, kernel: Kernel, n_landmarks: int) -> list[Learned]:
        """Return choices of at most n_fields measurements; of those that tell as much the first is to be taken."""

    def kept(self, fields: NDArray[np.intp]) -> Self:
        """Return some of the measurements."""
        matrix = np.ascontiguousarray(self.projection.matrix[:, fields])
        return replace(self, projection=_dense(matrix))  # type: ignore[type-var]

    @classmethod
    @abstractmethod
    def restore(cls, owner: str, kernel: Kernel, n_features: int, n_fields: int, arrays: Arrays) -> Self:
        """Return the measurements of kept arrays, which may be anything; shapes are compared first."""


class Learned(NamedTuple):
    """Measurements to choose from: what they are of a sample, (n, n_fields), and the mean square of all there is."""

    measures: Measures
    Z: Floats
    whole: float


class Sample:
    """Rows to learn from in float64, with weights that sum to one: all of them, or as many as are quickly dealt with.

    Those are the rows of smallest hash, so that neither their order nor their repetition matters.
    """

    def __init__(self, rows: Any, weight: Floats | None, y: Any = None) -> None:
        n, d = rows.shape
        w = np.ones(n) if weight is None else weight
        most = max(1, min(_LEARNED_FROM // d, _MOST_ROWS if d <= _MOST_COLUMNS else _MOST_COLUMNS))
        chosen = np.flatnonzero(w > 0)
        if len(chosen) > most:
            keys = row_keys_of(rows)[chosen]
            chosen = chosen[keys <= np.partition(keys, most - 1)[most - 1]]
        if not len(chosen):
            raise fail("LearnedFeatures", "some weight must be above 0", "none")
        self.rows, self.y = dense_rows(rows[chosen]), None if y is None else np.asarray(y)[chosen]
        self.weight = w[chosen] / w[chosen].sum()
        self.mean = self.weight @ self.rows


@dataclass(frozen=True, eq=False)
class RowMeasures(Measures):
    """Coordinates of the row itself in some directions: z = P'x - center."""

    name: ClassVar[str] = "rows"
    projection: DenseProjection
    center: Array

    def coordinates(self, rows: Any) -> Array:
        """Return P'x - center, float32 (n, n_fields)."""
        out = projected_rows(rows, self.projection)
        out -= self.center
        return out

    @property
    def row_cost(self) -> int:
        """A multiplication and an addition an entry of P."""
        return self.projection.row_cost

    def arrays(self) -> Arrays:
        """Return P and the center."""
        return {**self.projection.arrays(), "center": self.center}

    @classmethod
    def learn(cls, sample: Sample, n_fields: int, kernel: Kernel, n_landmarks: int) -> list[Learned]:
        """Return the columns of most variance as they are, and the principal directions; the whole is their variance.

        Columns of few values are told exactly in few bits, where a direction across them has many.
        """
        centered = sample.rows - sample.mean
        power = sample.weight @ centered**2
        columns = np.sort(np.argsort(-np.round(power, _DIGITS), kind="stable")[:n_fields])
        principal = principal_directions(centered * np.sqrt(sample.weight)[:, None], n_fields)
        found = []
        for matrix in (np.eye(len(power))[:, columns], rounded(principal)):
            center = rounded(sample.mean @ matrix).astype(np.float32)
            measures = cls(_dense(matrix.astype(np.float32)), center)
            found.append(Learned(measures, centered @ matrix, float(power.sum())))
        return found

    def kept(self, fields: NDArray[np.intp]) -> Self:
        """Return some of the measurements."""
        return replace(super().kept(fields), center=self.center[fields])

    @classmethod
    def restore(cls, owner: str, kernel: Kernel, n_features: int, n_fields: int, arrays: Arrays) -> Self:
        """Return the measurements of kept arrays."""
        projection = DenseProjection.kept(owner, arrays, n_features, n_fields)
        return cls(projection, _kept(owner, "center", arrays["center"], (n_fields,)))


@dataclass(frozen=True, eq=False)
class KernelMeasures(Measures):
    """Coordinates of kernel PCA through landmarks l: z = P'(k(x, l_1), ..., k(x, l_q))."""

    name: ClassVar[str] = "kernel"
    projection: DenseProjection  # of kernel values
    kernel: Kernel
    landmarks: Array  # (q, n_features), less their mean
    center: Array  # their mean

    def coordinates(self, rows: Any) -> Array:
        """Return P'k(x, landmarks), float32 (n, n_fields)."""
        out = np.empty((rows.shape[0], self.n_fields), dtype=np.float32)
        for part, block in float32_blocks(rows, n_columns=max(len(self.landmarks), rows.shape[1])):
            out[part] = projected_rows(self.kernel_values(block), self.projection)
        return out

    def kernel_values(self, rows: NDArray[Any]) -> Array:
        """Return k(x, l) of rows, float32 (n, q): each from sums in one order."""
        moved = np.asarray(rows, dtype=np.float32) - self.center
        if self.kernel.norm == 2.0:
            inner = projected_rows(moved, self._products)
            norms = np.empty(len(moved), dtype=np.float32)
            _core.norms(moved, norms)
            square = norms.astype(np.float64)[:, None] ** 2 + self._squares - 2.0 * inner
            distance = np.sqrt(np.maximum(square, 0.0))
        else:
            distance = distances(moved, self.landmarks, self.kernel.norm)
        return np.asarray(self.kernel.radial(distance, rows.shape[1]), dtype=np.float32)

    @cached_property
    def _products(self) -> DenseProjection:
        return _dense(np.ascontiguousarray(self.landmarks.T))

    @cached_property
    def _squares(self) -> Floats:
        return np.sum(self.landmarks.astype(np.float64) ** 2, axis=1)

    @property
    def row_cost(self) -> int:
        """A distance and a kernel value a landmark, and the projection of these."""
        return self.projection.row_cost + self.landmarks.size * 2 + 8 * len(self.landmarks)

    @classmethod
    def learn(cls, sample: Sample, n_fields: int, kernel: Kernel, n_landmarks: int) -> list[Learned]:
        """Return the kernel's principal components about 0, from landmarks of smallest hash; the whole is k(x, x)."""
        landmarks = sample.rows[np.unique(row_keys_of(sample.rows), return_index=True)[1][:n_landmarks]]
        center = rounded(landmarks.mean(axis=0)).astype(np.float32)
        moved = np.ascontiguousarray(landmarks - center, dtype=np.float32)
        made = cls(_dense(np.zeros((len(moved), 1), dtype=np.float32)), kernel, moved, center)
        values, vectors = np.linalg.eigh(made.kernel.gram(moved.astype(np.float64)))
        sure = values > _RANK * values[-1]
        whiten = vectors[:, sure] / np.sqrt(values[sure])
        K = made.kernel_values(sample.rows).astype(np.float64)
        features = K @ whiten
        turn = principal_directions(features * np.sqrt(sample.weight)[:, None], n_fields)
        matrix = rounded(whiten @ turn)
        return [Learned(replace(made, projection=_dense(matrix.astype(np.float32))), K @ matrix, 1.0)]

    def arrays(self) -> Arrays:
        """Return P, the landmarks and their mean."""
        return {**self.projection.arrays(), "landmarks": self.landmarks, "center": self.center}

    @classmethod
    def restore(cls, owner: str, kernel: Kernel, n_features: int, n_fields: int, arrays: Arrays) -> Self:
        """Return the measurements of kept arrays."""
        landmarks = _kept(owner, "landmarks", arrays["landmarks"], (len(arrays["landmarks"]), n_features))
        projection = DenseProjection.kept(owner, arrays, len(landmarks), n_fields)
        return cls(projection, kernel, landmarks, _kept(owner, "center", arrays["center"], (n_features,)))


MEASURES: dict[str, type[Measures]] = {cls.name: cls for cls in (RowMeasures, KernelMeasures)}


def principal_directions(rows: Floats, n: int) -> Floats:
    """Return the n directions in which rows (m, p) are largest, orthonormal columns (p, min(n, p)), largest first."""
    p = rows.shape[1]
    n = min(n, p)
    if p <= _MOST_COLUMNS or p <= len(rows):
        vectors = eigh(rows.T @ rows, subset_by_index=(p - n, p - 1))[1][:, ::-1]
    else:
        n = min(n, len(rows))
        values, turns = eigh(rows @ rows.T, subset_by_index=(len(rows) - n, len(rows) - 1))
        vectors = (rows.T @ turns / np.sqrt(np.maximum(values, np.finfo(float).tiny)))[:, ::-1]
    # Either sign of a direction is right: the largest entry is to be positive.
    largest = np.take_along_axis(vectors, np.argmax(np.abs(np.round(vectors, _DIGITS)), axis=0)[None], axis=0)
    return np.asarray(vectors * np.where(largest < 0, -1.0, 1.0))


def rounded(values: Floats) -> Floats:
    """Return numbers with the digits that do not depend on the order of sums, relative to the largest."""
    largest = float(np.max(np.abs(values), initial=0.0))
    unit = 2.0 ** math.ceil(math.log2(largest)) if largest else 1.0
    return np.asarray(np.round(values / unit, _DIGITS) * unit)


def _dense(matrix: Array) -> DenseProjection:
    return DenseProjection(np.ascontiguousarray(matrix), Blocks("iid", matrix.shape[0], (1,) * matrix.shape[1]))


def _kept(owner: str, name: str, array: NDArray[Any], shape: tuple[int, ...]) -> Array:
    """Return a kept array as float32 of its own, or refuse it."""
    if array.dtype != np.float32 or array.shape != shape or not np.isfinite(array).all():
        raise fail(owner, f"{name} must be finite float32 of shape {shape}", f"{array.dtype} {array.shape}")
    return np.array(array, order="C")
