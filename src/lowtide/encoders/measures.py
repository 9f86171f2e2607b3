"""What is measured of a row before it is rounded: its coordinates in learned directions, or those of a kernel."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from lowtide import _core
from lowtide._checks import fail
from lowtide.cancel import aside, matmul
from lowtide.encoders.drawn.base import Arrays
from lowtide.encoders.fields import DIGITS, rounded
from lowtide.encoders.rows import float32_blocks, projected_rows, row_keys_of
from lowtide.kernels import Kernel, distances
from lowtide.projections import Blocks, DenseProjection

if TYPE_CHECKING:
    from lowtide.encoders.learned import Sample

Array = NDArray[np.float32]
Floats = NDArray[np.float64]
# Columns up to which their covariance is decomposed; of more the products of as many rows are.
MOST_COLUMNS = 2048
# Strength of the ridge and least size of a direction in the metric of targets, as shares of what is typical.
_RELEVANCE = 0.1
# Weights that tell less than this share of the targets are rounding.
_NOTHING = 1e-12
# Directions in which rows are shorter than this share of the largest, squared, are rounding.
_SURE = 1e-12
# Eigenvalues of a kernel matrix below this share of the largest are lost in the rounding of float32.
_RANK = 1e-6


class Measures(ABC):
    """Learned measurements of a row: z (n_fields,) float32, by sums in one order whatever the batch and the threads."""

    name: ClassVar[str]  # as users and files know it
    projection: DenseProjection

    @property
    def n_fields(self) -> int:
        """Measurements per row."""
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
        return replace(self, projection=dense(matrix))  # type: ignore[type-var]

    @classmethod
    @abstractmethod
    def restore(cls, owner: str, kernel: Kernel, n_features: int, n_fields: int, arrays: Arrays) -> Self:
        """Return the measurements of kept arrays, which may be anything; shapes are compared first."""


class Learned(NamedTuple):
    """Measurements to choose from: what they are of a sample, (n, n_fields), and the mean square of all there is.

    `back` are the rows (n_fields, p) that measurements stand for; None where their distances are those of rows already.
    """

    measures: Measures
    Z: Floats
    whole: float
    back: Floats | None = None


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
        """A multiplication and an addition per entry of P."""
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
        root = np.sqrt(sample.weight)[:, None]
        metric = Relevance.of(centered * root, None if sample.targets is None else sample.targets * root)
        scale = np.sqrt(metric.diagonal)
        power = sample.weight @ (centered * scale) ** 2
        columns = np.sort(np.argsort(-np.round(power, DIGITS), kind="stable")[:n_fields])
        scaled = metric.times(centered)
        principal = principal_directions(scaled * root, n_fields)
        whole = float(sample.weight @ np.einsum("ij,ij->i", scaled, scaled))
        found = []
        for matrix, back, all_there_is in (
            (
                np.eye(len(power))[:, columns] * scale[columns],
                (np.eye(len(power)) / scale)[columns],
                float(power.sum()),
            ),
            (metric.times(principal.T).T, metric.inverse_times(principal.T), whole),
        ):
            exact = rounded(matrix)
            center = rounded(sample.mean @ exact).astype(np.float32)
            measures = cls(dense(exact.astype(np.float32)), center)
            found.append(Learned(measures, centered @ exact, all_there_is, back if metric.vectors.size else None))
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
        return dense(np.ascontiguousarray(self.landmarks.T))

    @cached_property
    def _squares(self) -> Floats:
        return np.sum(self.landmarks.astype(np.float64) ** 2, axis=1)

    @property
    def row_cost(self) -> int:
        """A distance and a kernel value per landmark, and the projection of these."""
        return self.projection.row_cost + self.landmarks.size * 2 + 8 * len(self.landmarks)

    @classmethod
    def learn(cls, sample: Sample, n_fields: int, kernel: Kernel, n_landmarks: int) -> list[Learned]:
        """Return the kernel's principal components about 0, from landmarks of smallest hash; the whole is k(x, x)."""
        landmarks = sample.rows[np.unique(row_keys_of(sample.rows), return_index=True)[1][:n_landmarks]]
        center = rounded(landmarks.mean(axis=0)).astype(np.float32)
        moved = np.ascontiguousarray(landmarks - center, dtype=np.float32)
        made = cls(dense(np.zeros((len(moved), 1), dtype=np.float32)), kernel, moved, center)
        values, vectors = aside(np.linalg.eigh, made.kernel.gram(moved.astype(np.float64)))
        sure = values > _RANK * values[-1]
        whiten = vectors[:, sure] / np.sqrt(values[sure])
        K = made.kernel_values(sample.rows).astype(np.float64)
        features = K @ whiten
        turn = principal_directions(features * np.sqrt(sample.weight)[:, None], n_fields)
        matrix = rounded(whiten @ turn)
        return [Learned(replace(made, projection=dense(matrix.astype(np.float32))), K @ matrix, 1.0)]

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


class Relevance(NamedTuple):
    """A mild metric of what targets depend on: T = s_0 I + U diag(s - s_0) U', which decides bits and no distance.

    With W the ridge weights of the targets, strength a tenth of the columns' mean variance, and W W' = U diag(l) U' up
    to a factor that makes the largest l one, s = (l + 1/10)^(1/4). So T stretches directions by less than a factor of
    two: stronger metrics fit the labels of the rows they saw.
    """

    vectors: Floats  # U, (p, k); none of them where there is nothing to be told apart
    sizes: Floats  # s
    rest: float  # s_0, of all other directions

    @classmethod
    def of(cls, rows: Floats, targets: Floats | None) -> Self:
        """Return the metric of centered rows (n, p) and targets (n, k), both times the roots of weights; I for none."""
        n, p = rows.shape
        none = cls(np.empty((p, 0)), np.empty(0), 1.0)
        strength = _RELEVANCE * float(np.sum(rows**2)) / p
        if targets is None or not targets.size or strength == 0.0:
            return none
        if p <= n:
            weights = aside(np.linalg.solve, matmul(rows.T, rows) + strength * np.eye(p), rows.T @ targets)
        else:
            weights = rows.T @ aside(np.linalg.solve, matmul(rows, rows.T) + strength * np.eye(n), targets)
        vectors, lengths, _ = aside(np.linalg.svd, weights, full_matrices=False)
        if lengths[0] ** 2 * float(np.sum(rows**2)) <= _NOTHING * float(np.sum(targets**2)):
            return none
        return cls(vectors, ((lengths / lengths[0]) ** 2 + _RELEVANCE) ** 0.25, _RELEVANCE**0.25)

    @property
    def diagonal(self) -> Floats:
        """The diagonal of T T', (p,)."""
        return np.asarray(self.rest**2 + self.vectors**2 @ (self.sizes**2 - self.rest**2))

    def times(self, rows: Floats) -> Floats:
        """Return rows T."""
        return np.asarray(self.rest * rows + rows @ self.vectors * (self.sizes - self.rest) @ self.vectors.T)

    def inverse_times(self, rows: Floats) -> Floats:
        """Return rows T^-1."""
        away = 1.0 / self.sizes - 1.0 / self.rest
        return np.asarray(rows / self.rest + rows @ self.vectors * away @ self.vectors.T)


def mixing(back: Floats) -> Array:
    """Return what makes distances of measurements those of the rows that they stand for: (back back')^(1/2)."""
    values, vectors = aside(np.linalg.eigh, back @ back.T)
    return rounded((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T).astype(np.float32)


def principal_directions(rows: Floats, n: int) -> Floats:
    """Return the n directions in which rows (m, p) are largest, orthonormal columns (p, min(n, p)), largest first."""
    p = rows.shape[1]
    n = min(n, p)
    if p <= MOST_COLUMNS or p <= len(rows):
        vectors = aside(np.linalg.eigh, matmul(rows.T, rows))[1][:, ::-1][:, :n]
    else:
        values, turns = (part[..., ::-1][..., :n] for part in aside(np.linalg.eigh, matmul(rows, rows.T)))
        sure = values > _SURE * values[0]
        sure[0] = values[0] > 0
        vectors = rows.T @ turns[:, sure] / np.sqrt(values[sure]) if sure[0] else np.eye(p, 1)
    # Either sign of a direction is right: the largest entry is to be positive.
    largest = np.take_along_axis(vectors, np.argmax(np.abs(np.round(vectors, DIGITS)), axis=0)[None], axis=0)
    return np.asarray(vectors * np.where(largest < 0, -1.0, 1.0))


def dense(matrix: Array) -> DenseProjection:
    """Return a matrix as a projection, whose sums are in one order whatever the batch and the threads."""
    return DenseProjection(np.ascontiguousarray(matrix), Blocks("iid", matrix.shape[0], (1,) * matrix.shape[1]))


def _kept(owner: str, name: str, array: NDArray[Any], shape: tuple[int, ...]) -> Array:
    """Return a kept array as float32 of its own, or refuse it."""
    if array.dtype != np.float32 or array.shape != shape or not np.isfinite(array).all():
        raise fail(owner, f"{name} must be finite float32 of shape {shape}", f"{array.dtype} {array.shape}")
    return np.array(array, order="C")
