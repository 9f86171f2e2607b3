"""A drawn sketch: projections of normalized rows, and the borders of their levels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import check_integer
from lowtide.codes import Codes
from lowtide.encoders.codebooks import (
    fourier_codebook,
    linear_codebook,
    side_of_steps,
)
from lowtide.encoders.drawn.base import (
    Arrays,
    DrawnEncoder,
    arrays_of,
    fingerprint,
    kept_gamma,
    kept_sizes,
    prefixed,
)
from lowtide.encoders.estimation import Pair, Side, product
from lowtide.encoders.rows import fourier_rows, linear_rows, sketch_rows
from lowtide.encoders.sketch_pairs import (
    cosine_law,
    lengths_pair,
    norms_of,
    products_pair,
    row_norms,
    scaled_product,
    unit_pair,
)
from lowtide.kernels import Gaussian
from lowtide.projections import PROJECTIONS, DrawnProjection, Projection
from lowtide.quantizers import LINE_QUANTIZERS, LineQuantizer, LineSteps, NormalLloydMax

Array = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class DrawnSketch(DrawnEncoder):
    """Drawn projections and the quantizer of their levels, read as linear features or as those of one gamma."""

    kind: ClassVar[str] = "Sketch"
    layout: Projection  # the spec of `projection`
    projection: DrawnProjection
    quantizer: LineQuantizer  # the spec of the steps that make levels of projections
    gamma: float | None  # None for linear features; it changes no level
    store_norms: bool  # whether codes keep the lengths of rows
    n_features: int

    def transform(self, rows: Any) -> Array:
        """Return W'x / (|x| sqrt k), or its Fourier features, float32 (n, n_outputs)."""
        if self.gamma is None:
            return linear_rows(rows, self.projection)
        return fourier_rows(rows, self.projection, self.gamma)

    def encode(self, rows: Any) -> Codes:
        """Return Codes of the levels, with the codebook of `gamma`, and with norms where they are kept."""
        codes = self.encode_with_norms(rows)
        return codes if self.store_norms else codes.with_rows(codes.packed)

    def encode_with_norms(self, rows: Any) -> Codes:
        """Return Codes with the lengths of rows beside them."""
        return self.template.with_rows(*sketch_rows(rows, self.projection, self.steps))

    def with_gamma(self, gamma: float | None) -> DrawnSketch:
        """Return this sketch, its projections shared, with the Fourier features of one gamma on both sides."""
        return replace(self, gamma=gamma)

    @cached_property
    def steps(self) -> LineSteps:
        """Borders and values of the levels."""
        return self.quantizer.steps()

    @property
    def n_components(self) -> int:
        """Projections stored, k."""
        return self.projection.n_frequencies

    @property
    def n_outputs(self) -> int:
        """Columns of either side: k, or two for each projection."""
        return self.n_components if self.gamma is None else 2 * self.n_components

    @cached_property
    def template(self) -> Codes:
        """Codes of zero rows, with codebook and identity, and with norms where they are kept."""
        steps, k = self.steps, self.n_components
        book = linear_codebook(steps, k) if self.gamma is None else fourier_codebook(steps, k, self.gamma)
        norms = np.empty(0, dtype=np.float32) if self.store_norms else None
        return self.new_template(steps.bits, k, book, norms=norms)

    @property
    def row_cost(self) -> int:
        """Additions and multiplications of the projection and the length, and some for each level."""
        return self.projection.row_cost + self.n_features + 4 * self.n_components

    @cached_property
    def fingerprint(self) -> bytes:
        """Identity of the projections; neither gamma nor norms, which change no level."""
        spec = {
            "encoder": self.kind,
            "projection": self.layout.to_config(),
            "n_components": self.n_components,
            "n_features": self.n_features,
        }
        return fingerprint(spec, self.projection.arrays())

    @property
    def side(self) -> bytes:
        """Identity of the quantizer."""
        return side_of_steps(self.steps)

    @property
    def random_weights(self) -> Array:
        """Projections in columns, built on request."""
        return self.projection.weights()

    @property
    def for_distances(self) -> DrawnSketch:
        """Linear features of rows of norm 1: distances follow from their cosine, whatever gamma is."""
        return replace(self, gamma=None)

    @property
    def normalized(self) -> DrawnSketch:
        """The same levels, read as those of rows of norm 1."""
        return replace(self, store_norms=False)

    def left(self, rows: Any, side: Side) -> Any:
        """Return one side of rows in a product: of their own lengths where those are kept."""
        if side == "codes" or not self.store_norms:
            return super().left(rows, side)
        if self.gamma is None:
            return linear_rows(rows, self.projection) * row_norms(rows).astype(np.float32)[:, None]
        return fourier_rows(rows, self.projection, self.gamma, unit=False)

    def product(self, left: Any, right: Any) -> Array:
        """Return the products of two sides; codes are read with the codebook of this sketch, whatever theirs is."""
        book = self.template.codebook
        left, right = (side.with_codebook(book) if isinstance(side, Codes) else side for side in (left, right))
        if not self.store_norms:
            return product(left, right)
        if self.gamma is not None:
            return scaled_product(self.steps, left, right, self.gamma)
        for side in (left, right):
            if isinstance(side, Codes):
                norms_of(side)
        return product(*(side.times_norms() if isinstance(side, Codes) else side for side in (left, right)))

    def pair(self, sides: tuple[Side, Side]) -> Pair:
        """Return what the moments of two sides say of their product, over the cosine of two rows and their lengths."""
        law = cosine_law(self.steps, self.gamma, self.projection.blocks, sides)
        if not self.store_norms:
            return unit_pair(law, linear=self.gamma is None)
        return products_pair(law) if self.gamma is None else lengths_pair(law, self.steps, self.gamma, sides)

    def describe(self) -> tuple[dict[str, Any], Arrays]:
        """Return what a file keeps: the projection, and the quantizer where it does not follow from the bits."""
        spec: dict[str, Any] = {
            "gamma": self.gamma,
            "projection": PROJECTIONS.to_config(self.layout),
            "n_components": self.n_components,
            "bits": self.steps.bits,
            "store_norms": self.store_norms,
            "n_features": self.n_features,
        }
        if not isinstance(self.quantizer, NormalLloydMax):
            spec["quantizer"] = LINE_QUANTIZERS.to_config(self.quantizer)
        return spec, prefixed("projection", self.projection.arrays())

    @classmethod
    def restore(cls, spec: dict[str, Any], arrays: Arrays) -> Self:
        """Return the sketch that was described."""
        owner, (n_features, n_components) = cls.kind, kept_sizes(cls.kind, spec)
        layout = PROJECTIONS.from_config(spec["projection"])
        projection = layout.restore(Gaussian(), n_features, n_components, arrays_of("projection", arrays))
        quantizer: LineQuantizer = NormalLloydMax(check_integer(owner, "bits", spec["bits"], 1, 8))
        if "quantizer" in spec:
            quantizer = LINE_QUANTIZERS.from_config(spec["quantizer"])
        return cls(layout, projection, quantizer, kept_gamma(owner, spec), bool(spec["store_norms"]), n_features)
