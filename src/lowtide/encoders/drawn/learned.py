"""Drawn learned features: measurements of a row, their levels, and how decoded ones are read."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import check_integer, check_interval, check_option, fail
from lowtide.codes import Codes, empty_rows
from lowtide.encoders.drawn.base import Arrays, DrawnEncoder, arrays_of, fingerprint, kept_gamma, prefixed
from lowtide.encoders.drawn.fourier import SYMMETRIC, DrawnFeatures
from lowtide.encoders.estimation import Pair, product
from lowtide.encoders.fields import FieldSteps
from lowtide.encoders.measures import MEASURES, Measures, RowMeasures
from lowtide.encoders.reading import FourierReading, LinearReading, Reading, row_parts
from lowtide.kernels import Kernel
from lowtide.projections import DenseProjection

Array = NDArray[np.float32]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class DrawnLearned(DrawnEncoder):
    """Learned measurements, the steps that round them, and how decoded measurements are read."""

    kind: ClassVar[str] = "LearnedFeatures"
    expands: ClassVar[bool] = True
    measures: Measures
    steps: FieldSteps
    kernel: Kernel  # of the coordinates, or of the rows where the measurements are those of a kernel
    gamma: float | None  # None when the kernel came as an object
    reading: Reading
    reconstruction_error: float
    seed: int
    n_features: int

    def transform(self, rows: Any) -> Array:
        """Return features of the coordinates as they are, float32 (n, n_outputs)."""
        out = np.empty((rows.shape[0], self.n_outputs), dtype=np.float32)
        for part in row_parts(rows.shape[0], max(self.n_outputs, self.n_features)):
            out[part] = self.reading.features(self.measures.coordinates(rows[part]))
        return out

    def encode(self, rows: Any) -> Codes:
        """Return Codes of the rounded coordinates."""
        template = self.template
        out = empty_rows(rows.shape[0], template.packed.shape[1])
        for part in row_parts(rows.shape[0], max(self.measures.n_fields, self.n_features)):
            out[part] = self.steps.packed(self.measures.coordinates(rows[part]))
        return template.with_rows(out)

    def expand(self, codes: Codes) -> Codes:
        """Return codes of the features that the decoded coordinates have; the codes themselves for measure="kernel"."""
        return self.reading.expand(codes)

    def scores(self, rows: Any, weights: Floats, intercept: Floats) -> Floats:
        """Return D w + b of a few validated rows, (n, k), with D their expanded codes."""
        return self.expand(self.encode(rows)) @ weights + intercept

    def seen(self, rows: Any, side: Any) -> Array:
        """Return the coordinates that a side has of validated rows: as they are, or decoded; float32 (n, n_fields)."""
        return self.measures.coordinates(rows) if side == "full" else np.asarray(self.encode(rows))

    def product(self, left: Any, right: Any) -> Array:
        """Return the products of two sides, codes expanded."""
        return product(*(self.expand(side) if isinstance(side, Codes) else side for side in (left, right)))

    def pair(self, sides: tuple[Any, Any]) -> Pair:
        """Return what is known of the product of two sides."""
        return self.reading.pair(sides, self)

    def phase_noise(self, rows: Any) -> Floats:
        """Return how far float32 has the phases of validated rows off, in radians, (n,)."""
        return self.reading.noise(self.measures.coordinates(rows))

    @property
    def n_outputs(self) -> int:
        """Columns of the full side and of expanded codes."""
        return self.reading.n_outputs

    @property
    def is_linear(self) -> bool:
        """Whether measurements are sums of the row's columns: then they have the same bits on every machine."""
        return isinstance(self.measures, RowMeasures)

    @property
    def bits(self) -> tuple[int, ...]:
        """Bits of each measurement."""
        return self.steps.bits

    @property
    def directions(self) -> Array:
        """Directions of the measurements in columns: of rows, or of kernel values with the landmarks."""
        return self.measures.projection.matrix

    @cached_property
    def template(self) -> Codes:
        """Codes of zero rows, with codebook and identity."""
        return self.new_template(self.steps.bits, len(self.steps.bits), self.steps.values)

    @property
    def row_cost(self) -> int:
        """That of the measurements, and of reading them."""
        return self.measures.row_cost + self.reading.row_cost

    @cached_property
    def fingerprint(self) -> bytes:
        """Identity of the measurements and of the seed; not of what they are read as, which changes no level."""
        sizes = {"n_features": self.n_features, "n_fields": self.measures.n_fields, "seed": self.seed}
        return fingerprint({"encoder": self.kind, "measure": self.measures.name, **sizes}, self.measures.arrays())

    @property
    def side(self) -> bytes:
        """Identity of the steps."""
        return self.steps.identity

    def describe(self) -> tuple[dict[str, Any], Arrays]:
        """Return what a file keeps: measurements, steps, and what was drawn to read them."""
        spec: dict[str, Any] = {
            "measure": self.measures.name,
            "kernel": SYMMETRIC.to_config(self.kernel),
            "gamma": self.gamma,
            "reconstruction_error": self.reconstruction_error,
            "seed": self.seed,
            "n_features": self.n_features,
            "n_components": self.n_outputs,
            "reader": None,
            "mixed": False,
        }
        arrays = prefixed("measures", self.measures.arrays()) | prefixed("steps", self.steps.arrays())
        if isinstance(self.reading, FourierReading):
            spec["reader"], drawn = self.reading.drawn.describe()
            arrays |= prefixed("reader", drawn)
            spec["mixed"] = self.reading.mix is not None
            arrays |= {} if self.reading.mix is None else prefixed("mix", self.reading.mix.arrays())
        return spec, arrays

    @classmethod
    def restore(cls, spec: dict[str, Any], arrays: Arrays) -> Self:
        """Return the features that were described."""
        owner, n_features = cls.kind, check_integer(cls.kind, "n_features", spec["n_features"], 1)
        steps = FieldSteps.restore(owner, arrays_of("steps", arrays))
        kernel, gamma = SYMMETRIC.from_config(spec["kernel"]), kept_gamma(owner, spec)
        measure = MEASURES[check_option(owner, "measure", spec["measure"], tuple(MEASURES))]
        kept = arrays_of("measures", arrays)
        measures = measure.restore(owner, kernel, n_features, len(steps.bits), kept)
        reading: Reading = LinearReading(len(steps.bits))
        mix = arrays_of("mix", arrays)
        if bool(mix) is not spec["mixed"]:
            raise fail(owner, "what mixes coordinates must be there where the spec says so", spec["mixed"])
        if (spec["reader"] is None) is isinstance(measures, RowMeasures):
            raise fail(owner, "random features must be there exactly with measure='rows'", spec["measure"])
        if spec["reader"] is not None:
            drawn = DrawnFeatures.restore(spec["reader"], arrays_of("reader", arrays))
            if drawn.n_features != len(steps.bits):
                raise fail(owner, f"random features must take {len(steps.bits)} coordinates", drawn.n_features)
            drawn.required_template  # noqa: B018 - codes must be something to expand to
            n = len(steps.bits)
            reading = FourierReading(drawn, DenseProjection.kept(owner, mix, n, n) if mix else None)
        if spec["n_components"] != reading.n_outputs:
            raise fail(owner, f"n_components must be {reading.n_outputs}, as it is read", spec["n_components"])
        error = check_interval(owner, "reconstruction_error", spec["reconstruction_error"], 0.0, 1.0)
        seed = check_integer(owner, "seed", spec["seed"], 0, 2**63)
        return cls(measures, steps, kernel, gamma, reading, error, seed, n_features)
