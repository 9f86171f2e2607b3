"""Drawn features of an asymmetric kernel: a block of frequencies a positive measure, with a left and a right map."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import check_integer, check_option, fail
from lowtide.codes import Codes
from lowtide.encoders.blocks import (
    SideBySide,
    block_layout,
    fit_block_masses,
    kept_masses,
    pair_of_fitted_masses,
)
from lowtide.encoders.drawn.base import Arrays, arrays_of, fingerprint, kept_sizes, prefixed
from lowtide.encoders.drawn.fourier import DrawnFourier, describe_quantizer, kept_offset, kept_quantizer
from lowtide.encoders.estimation import LaidBlock, Pair, feature_pair, is_unbiased
from lowtide.encoders.rows import phase_noise
from lowtide.kernels import KERNELS, MeasureBlock, MeasureKernel
from lowtide.maps import CosSin, FeatureMap
from lowtide.projections import PROJECTIONS, DrawnProjection, Projection
from lowtide.quantizers import DrawnQuantizer, Quantizer, count_levels
from lowtide.theory import measure_blocks


@dataclass(frozen=True, eq=False)
class DrawnAsymmetric(DrawnFourier):
    """Drawn blocks of a kernel's measure: the layout of each, the dither, and the phases of the left side."""

    kind: ClassVar[str] = "AsymmetricFeatures"
    kernel: MeasureKernel  # with masses where they had to be fitted; blocks follow from it in closed form
    form: str
    layout: Projection  # of the blocks whose law it can carry
    projections: tuple[DrawnProjection, ...]  # one a block
    offset: NDArray[np.float32]  # dither of the right side, in turns
    left_offset: NDArray[np.float32]  # that of the left side, with the phases added
    quantizer_spec: Quantizer | None
    quantizer: DrawnQuantizer | None  # None for no coded sides
    n_components: int
    n_features: int
    masses: NDArray[np.float64] | None = None  # those fitted on the drawn frequencies, one a block; None for the exact
    feature_map: ClassVar[FeatureMap] = CosSin()  # type: ignore[misc]

    def transform(self, rows: Any) -> NDArray[np.float32]:
        """Return the full left side."""
        return self._together.features(rows, self.left_offset, self._column_scale)

    def transform_right(self, rows: Any) -> NDArray[np.float32]:
        """Return the full right side."""
        return self._together.features(rows, self.offset, self._column_scale)

    def encode(self, rows: Any) -> Codes:
        """Return the codes of the left side."""
        return self._left_template.with_rows(self._packed(rows, self.left_offset))

    def encode_right(self, rows: Any) -> Codes:
        """Return the codes of the right side."""
        return self._right_template.with_rows(self._packed(rows, self.offset))

    def right(self, rows: Any, side: Any) -> Any:
        """Return one side of rows that stand right in a product."""
        if isinstance(side, DrawnAsymmetric):
            return side.encode_right(rows)
        return self.transform_right(rows) if side == "full" else self.encode_right(rows)

    def embed(self, rows: Any) -> NDArray[np.float32]:
        """Return the right features of every block, and the left ones of those whose sides differ."""
        right = self.transform_right(rows)
        skew = self._skew_columns
        return np.hstack([right, self.transform(rows)[:, skew]]) if skew.any() else right

    @property
    def n_embedded(self) -> int:
        """Columns of `embed`."""
        return self.n_outputs + int(self._skew_columns.sum())

    @cached_property
    def exact_blocks(self) -> tuple[MeasureBlock, ...]:
        """The blocks of the kernel's measure."""
        return measure_blocks(self.kernel, self.n_features, self.form)

    @cached_property
    def blocks(self) -> tuple[MeasureBlock, ...]:
        """The same with the masses that the features have, which may have been fitted."""
        if self.masses is None:
            return self.exact_blocks
        return tuple(replace(block, mass=float(mass)) for block, mass in zip(self.exact_blocks, self.masses))

    def with_fitted_masses(self, rows: NDArray[np.float64]) -> Self:
        """Return the same frequencies with the masses that suit exact kernel values of some rows best, k(0) kept."""
        exact = replace(self, masses=None)
        sides = (exact.transform(rows), exact.transform_right(rows))
        ends = np.cumsum(self.block_columns)[:-1]
        products = [L @ R.T for L, R in zip(*(np.split(side.astype(np.float64), ends, axis=1) for side in sides))]
        at_zero = float(self.kernel.at(np.zeros((1, self.n_features)))[0])
        return replace(self, masses=fit_block_masses(self.exact_blocks, products, self.kernel.gram(rows), at_zero))

    @property
    def n_frequencies(self) -> tuple[int, ...]:
        """Frequencies per block."""
        return tuple(projection.n_frequencies for projection in self.projections)

    @cached_property
    def block_columns(self) -> tuple[int, ...]:
        """Columns per block, two per frequency; an odd number drops the last sine."""
        columns = [2 * count for count in self.n_frequencies]
        columns[-1] -= sum(columns) - self.n_components
        return tuple(columns)

    @cached_property
    def template(self) -> Codes | None:
        """Codes of zero rows of the left side; None where codes are no levels."""
        return None if self.quantizer is None or self.quantizer.codebook is None else self._left_template

    @cached_property
    def _left_template(self) -> Codes:
        return self._template_of(self.side)

    @cached_property
    def _right_template(self) -> Codes:
        return self._template_of(self.side_right)

    def _template_of(self, side: bytes) -> Codes:
        quantizer, scale = self.coded_by, self._column_scale
        if quantizer.codebook is None or quantizer.bits is None:
            remedy = "Use a quantizer of few levels."
            raise fail(self.kind, "the coded sides must be levels", "continuous values", remedy)
        n_levels = count_levels(self.kind, self.quantizer_spec, quantizer, CosSin(), self.n_components)
        # One factor for all columns is the codebook's: the fastest arithmetic counts bits without factors.
        if np.all(scale == scale[0]):
            return self.new_template(quantizer.bits, n_levels, quantizer.codebook * float(scale[0]), side=side)
        return self.new_template(quantizer.bits, n_levels, quantizer.codebook, side=side, scale=scale)

    def _packed(self, rows: Any, offset: NDArray[np.float32]) -> NDArray[np.uint8]:
        return self._together.encode(rows, offset, self.coded_by, CosSin().width // len(self.coded_by.shifts))

    @cached_property
    def _together(self) -> SideBySide:
        return SideBySide.of(list(self.projections), self.n_components)

    def phases(self, rows: Any) -> NDArray[np.float32]:
        """Return phases of rows in turns without dither, (n, n_frequencies)."""
        return self._together.phases(rows)

    def phase_noise(self, rows: Any) -> NDArray[np.float64]:
        """Return how far float32 has the phases of validated rows off, in radians, (n,)."""
        return phase_noise(self.phases(rows), max(projection.rounding for projection in self.projections))

    @cached_property
    def _column_scale(self) -> NDArray[np.float32]:
        each = [np.sqrt(2.0 * block.mass / n) for block, n in zip(self.blocks, self.block_columns)]
        return np.repeat(each, self.block_columns).astype(np.float32)

    @property
    def _skew_columns(self) -> NDArray[np.bool_]:
        """Columns of blocks whose two sides differ by more than a sign."""
        return np.repeat([block.is_skew for block in self.blocks], self.block_columns)

    @property
    def row_cost(self) -> int:
        """Additions and multiplications of the projections, and some for each component."""
        return sum(projection.row_cost for projection in self.projections) + 4 * self.n_components

    @cached_property
    def fingerprint(self) -> bytes:
        """Identity of the frequencies and of the dither of both sides."""
        spec = {
            "encoder": self.kind,
            "form": self.form,
            "n_frequencies": list(self.n_frequencies),
            "n_components": self.n_components,
            "n_features": self.n_features,
            # A kernel of callables has no configuration; its frequencies and phases tell it from others.
            "kernel": self.kernel.to_config() if self.kernel.closed_form else type(self.kernel).__name__,
        }
        arrays: Arrays = {"offset": self.offset, "left_offset": self.left_offset, **self._mass_arrays}
        for i, projection in enumerate(self.projections):
            arrays |= prefixed(f"block{i}", projection.arrays())
        return fingerprint(spec, arrays)

    @property
    def _mass_arrays(self) -> Arrays:
        """Fitted masses by the name under which files and the identity have them."""
        return {} if self.masses is None else {"masses": self.masses}

    @cached_property
    def side(self) -> bytes:
        """Identity of the quantizer on the left."""
        return self.identity_of(side="left")

    @cached_property
    def side_right(self) -> bytes:
        """Identity of the quantizer on the right."""
        return self.identity_of(side="right")

    def pair(self, sides: tuple[Any, Any]) -> Pair:
        """Return what the moments of the left and the right side say of their product."""
        laid = zip(self.exact_blocks, (projection.blocks for projection in self.projections), self.block_columns)
        parts = tuple(LaidBlock(*part) for part in laid)
        rules = self.rules_of(sides)
        exact = self.kernel.gram if is_unbiased(rules) else None
        pair = feature_pair(parts, rules, self.n_features, exact, closed_form=self.kernel.closed_form)
        if self.masses is None:
            return pair
        each = [block.mass / fitted.mass for block, fitted in zip(self.exact_blocks, self.blocks)]
        make = (partial(self.left, side=sides[0]), partial(self.right, side=sides[1]))
        return pair_of_fitted_masses(pair, np.repeat(each, self.block_columns), make)

    def describe(self) -> tuple[dict[str, Any], Arrays]:
        """Return what a file keeps: the layout of each block, the dither, and the left side's phases."""
        quantizer, of_quantizer = describe_quantizer(self)
        spec = {
            "kernel": KERNELS.to_config(self.kernel),
            "form": self.form,
            "projection": PROJECTIONS.to_config(self.layout),
            "quantizer": quantizer,
            "n_frequencies": list(self.n_frequencies),
            "n_components": self.n_components,
            "n_features": self.n_features,
        }
        arrays = {"offset": self.offset, "left_offset": self.left_offset, **self._mass_arrays}
        for i, projection in enumerate(self.projections):
            arrays |= prefixed(f"block{i}.projection", projection.arrays())
        return spec, arrays | of_quantizer

    @classmethod
    def restore(cls, spec: dict[str, Any], arrays: Arrays) -> Self:
        """Return the blocks that were described."""
        owner, (n_features, n_components) = cls.kind, kept_sizes(cls.kind, spec)
        counts = [check_integer(owner, "n_frequencies", count, 1) for count in spec["n_frequencies"]]
        # The dither bounds the number of frequencies by the size of the file, before anything is made of that size.
        offset, left = (kept_offset(owner, arrays[name], sum(counts)) for name in ("offset", "left_offset"))
        # The projections bound the number of columns likewise: each has a sign or a number for every one.
        room = 8 * sum(array.nbytes for name, array in arrays.items() if name.startswith("block"))
        if n_features > room:
            raise fail(owner, f"n_features must be at most {room}, which the projections have room for", n_features)
        kernel, layout = KERNELS.from_config(spec["kernel"]), PROJECTIONS.from_config(spec["projection"])
        form = check_option(owner, "form", spec["form"], ("blocks", "phase"))
        blocks = measure_blocks(kernel, n_features, form)
        if len(counts) != len(blocks) or n_components not in (2 * sum(counts), 2 * sum(counts) - 1):
            need = f"n_frequencies must be {len(blocks)} counts for {n_components} components"
            raise fail(owner, need, counts)
        kept = (arrays_of(f"block{i}.projection", arrays) for i in range(len(blocks)))
        projections = tuple(
            block_layout(block, layout).restore(block.frequencies, n_features, count, own)
            for block, count, own in zip(blocks, counts, kept)
        )
        quantizer, drawn = kept_quantizer(owner, spec, arrays, CosSin(), n_components)
        return cls(
            kernel=kernel,
            form=form,
            layout=layout,
            projections=projections,
            offset=offset,
            left_offset=left,
            quantizer_spec=quantizer,
            quantizer=drawn,
            n_components=n_components,
            n_features=n_features,
            masses=kept_masses(owner, arrays["masses"], len(blocks)) if "masses" in arrays else None,
        )
