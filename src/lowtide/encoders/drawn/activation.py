"""Drawn features of an activation: projections, and the values that their levels stand for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import check_integer, check_positive, fail
from lowtide.codes import Codes
from lowtide.encoders.blocks import PLAUSIBLE
from lowtide.encoders.drawn.base import (
    NO_SIDE,
    Arrays,
    DrawnEncoder,
    arrays_of,
    fingerprint,
    kept_sizes,
    prefixed,
)
from lowtide.encoders.estimation import Pair, Side, Two, product
from lowtide.encoders.rows import dense_rows, projected_rows, scaled_levels
from lowtide.kernels import Gaussian
from lowtide.projections import PROJECTIONS, DrawnProjection, Projection
from lowtide.quantizers import LineSteps, normal_steps
from lowtide.theory import TARGETS, Activation, FourierPair, GivenMoments

Array = NDArray[np.float32]
Floats = NDArray[np.float64]

# Nodes a cell of the quantizer, within which an activation is smooth: its kinks are at 0, which is a border.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(64)
# The outermost cells end here, in standard deviations: the law has 1e-23 beyond.
_END = 10.0
# Values of float64 features in flight: 16 MB.
_BLOCK_VALUES = 1 << 21


@dataclass(frozen=True, eq=False)
class DrawnActivation(DrawnEncoder):
    """Drawn projections, an activation of them, and the quantizer of their levels."""

    kind: ClassVar[str] = "ActivationFeatures"
    activation: Activation
    layout: Projection  # the spec of `projection`
    projection: DrawnProjection
    steps: LineSteps | None  # None for no coded side
    tau: float  # mean squared length of the training rows
    n_features: int

    def transform(self, rows: Any) -> Array:
        """Return sigma(w.x)/sqrt(m), float32 (n, n_components)."""
        out = np.empty((rows.shape[0], self.n_outputs), dtype=np.float32)
        step = max(1, _BLOCK_VALUES // self.n_outputs)
        for start in range(0, len(out), step):
            block = slice(start, start + step)
            # Projections come in turns.
            t = projected_rows(rows[block], self.projection).astype(np.float64) * (2 * math.pi)
            with np.errstate(over="ignore"):
                out[block] = self.activation(t) / math.sqrt(self.n_outputs)
            if not np.isfinite(out[block]).all():
                must, remedy = (
                    f"{self.activation!r} of the projections must be within float32",
                    "Scale the columns down.",
                )
                raise fail(self.kind, must, "larger values", remedy)
        return out

    def encode(self, rows: Any) -> Codes:
        """Return Codes of the levels, decoded to the mean of the activation within each."""
        codes = self.required_template
        assert self.steps is not None
        return codes.with_rows(scaled_levels(rows, self.projection, self.steps, math.sqrt(self.tau)))

    @property
    def n_outputs(self) -> int:
        """Columns of either side."""
        return self.projection.n_frequencies

    @property
    def has_codes(self) -> bool:
        """Whether there is a coded side."""
        return self.steps is not None

    @cached_property
    def template(self) -> Codes | None:
        """Codes of zero rows, with codebook and identity."""
        if self.steps is None:
            return None
        book = cell_means(self.activation, self.steps, self.tau) / math.sqrt(self.n_outputs)
        return self.new_template(self.steps.bits, self.n_outputs, book)

    @property
    def row_cost(self) -> int:
        """Additions and multiplications of the projection, and some for each component."""
        return self.projection.row_cost + 4 * self.n_outputs

    @cached_property
    def fingerprint(self) -> bytes:
        """Identity of the projections; the activation changes no level."""
        spec = {
            "encoder": self.kind,
            "projection": self.layout.to_config(),
            "n_components": self.n_outputs,
            "n_features": self.n_features,
        }
        return fingerprint(spec, self.projection.arrays())

    @cached_property
    def side(self) -> bytes:
        """Identity of the quantizer and of its unit."""
        if self.steps is None:
            return NO_SIDE
        spec = {"quantizer": "normal", "bits": self.steps.bits, "tau": self.tau}
        return fingerprint(spec, {"borders": np.asarray(self.steps.mirrored)})

    @property
    def random_weights(self) -> Array:
        """Projections in columns, built on request."""
        return self.projection.weights()

    def pair(self, sides: tuple[Side, Side]) -> Pair:
        """Return the mean of two full sides, the activation's kernel; the variance is what the components show."""

        def mean(X: Any, Y: Any) -> Floats:
            if "codes" in sides:
                remedy = "The mean of rounded projections has no closed form; kernel_estimate and its errors hold."
                raise fail(self.kind, "expected values need sides=('full', 'full')", sides, remedy)
            left, right = dense_rows(X), dense_rows(Y)
            squares = [np.einsum("ij,ij->i", rows, rows) for rows in (left, right)]
            return self.activation.kernel(squares[0][:, None], squares[1], left @ right.T)

        def at_typical_length() -> float:
            square = np.full((1, 1), self.tau)
            if "codes" not in sides:
                return float(self.activation.kernel(square, square[0], square)[0, 0])
            # A row of the typical length has levels as often as the law of the quantizer.
            assert self.steps is not None
            return float(self.steps.mean(cell_means(self.activation, self.steps, self.tau) ** 2))

        return Pair(mean, None, self._spread, at_typical_length)

    def _spread(self, _given: Two, made: Two, K: NDArray[Any]) -> Floats:
        """Return the variance of a sum of products, taken as independent, from the sum of their squares.

        A few components more may differ than are seen to: as many as in `plausible_variance`, each by its mean square.
        """
        squared = (
            side.with_codebook(side.codebook**2) if isinstance(side, Codes) else np.asarray(side) ** 2 for side in made
        )
        square, m = product(*squared).astype(np.float64), self.n_outputs
        spread = np.maximum(square - K.astype(np.float64) ** 2 / m, 0.0) * (m / max(m - 1, 1))
        return np.asarray(spread + PLAUSIBLE**2 * square / m)

    def describe(self) -> tuple[dict[str, Any], Arrays]:
        """Return what a file keeps: the projection; the quantizer follows from bits and tau."""
        spec = {
            "activation": TARGETS.to_config(self.activation),
            "projection": PROJECTIONS.to_config(self.layout),
            "n_components": self.n_outputs,
            "n_features": self.n_features,
            "bits": None if self.steps is None else self.steps.bits,
            "tau": self.tau,
        }
        return spec, prefixed("projection", self.projection.arrays())

    @classmethod
    def restore(cls, spec: dict[str, Any], arrays: Arrays) -> Self:
        """Return the features that were described."""
        owner, (n_features, n_components) = cls.kind, kept_sizes(cls.kind, spec)
        layout = PROJECTIONS.from_config(spec["projection"])
        projection = layout.restore(Gaussian(), n_features, n_components, arrays_of("projection", arrays))
        activation = check_activation(owner, TARGETS.from_config(spec["activation"]))
        bits = None if spec["bits"] is None else check_integer(owner, "bits", spec["bits"], 1, 8)
        steps = None if bits is None else normal_steps(bits)
        return cls(activation, layout, projection, steps, check_positive(owner, "tau", spec["tau"]), n_features)


def check_activation(owner: str, activation: Activation) -> Activation:
    """Return an activation of one value a projection, or refuse it."""
    if isinstance(activation, FourierPair):
        raise fail(owner, "activation must have one value a projection", "'rbf'", "Use RandomFeatures('rbf').")
    if isinstance(activation, GivenMoments):
        raise fail(owner, "activation must have values", activation, "Moments alone are for TernaryFeatures.")
    return activation


def cell_means(activation: Activation, steps: LineSteps, tau: float) -> Floats:
    """Return E[sigma(sqrt(tau) z) | z in the cell] of every level, z ~ N(0, 1)."""
    z, weight = _cell_nodes(steps)
    with np.errstate(over="ignore", invalid="ignore"):
        values = np.sum(activation(math.sqrt(tau) * z) * weight, axis=1) / weight.sum(axis=1)
    if not np.abs(values).max() <= np.finfo(np.float32).max:
        remedy = "Scale the columns down."
        raise fail("ActivationFeatures", f"{activation!r} must be within float32 at tau = {tau:g}", "larger", remedy)
    return np.asarray(values)


def _cell_nodes(steps: LineSteps) -> tuple[Floats, Floats]:
    """Return nodes and weights of the normal law within each cell, (levels, nodes)."""
    edges = np.concatenate([[-_END], steps.borders, [_END]])
    half, middle = np.diff(edges) / 2, (edges[:-1] + edges[1:]) / 2
    z = middle[:, None] + half[:, None] * _NODES
    return z, half[:, None] * _WEIGHTS * np.exp(-z * z / 2) / math.sqrt(2 * math.pi)
