"""Drawn random Fourier features: frequencies, dither, and the rule that makes levels of phases."""

from __future__ import annotations

import hashlib
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lowtide._checks import check_integer, fail
from lowtide.codes import Codes
from lowtide.encoders.drawn.base import (
    NO_SIDE,
    Arrays,
    DrawnEncoder,
    arrays_of,
    fingerprint,
    kept_gamma,
    kept_sizes,
    prefixed,
)
from lowtide.encoders.estimation import LaidBlock, Pair, Rule, feature_pair
from lowtide.encoders.metric import check_places, kept_metric, multiplied
from lowtide.encoders.rows import (
    dense_rows,
    encode_rows,
    feature_rows,
    phase_noise,
    projected_rows,
    score_rows,
    turn_rows,
)
from lowtide.errors import FingerprintMismatchError
from lowtide.kernels import KERNELS, Kernel
from lowtide.maps import FEATURE_MAPS, FeatureMap
from lowtide.projections import PROJECTIONS, DrawnProjection, Projection
from lowtide.quantizers import (
    QUANTIZERS,
    ContinuousQuantizer,
    DrawnQuantizer,
    Quantizer,
    count_levels,
)

# The kernels that have one block of frequencies and no phase.
SYMMETRIC = KERNELS.of(Kernel)
_HAND_OUT = "an encoder that its method side hands out"


class DrawnFourier(DrawnEncoder):
    """Random Fourier features of drawn frequencies, whose coded side is a quantizer of the full one."""

    kernel: Any
    quantizer_spec: Quantizer | None
    quantizer: DrawnQuantizer | None
    feature_map: FeatureMap
    n_components: int

    @property
    def n_outputs(self) -> int:
        """Columns of either side."""
        return self.n_components

    @property
    def n_kernel_features(self) -> int:
        """Columns of the rows that the kernel is a function of."""
        return self.n_features

    def check_drawn_by_chance(self) -> None:
        """Refuse to state means, errors or distances where the frequencies were chosen."""

    @property
    def has_codes(self) -> bool:
        """Whether there is a coded side."""
        return self.quantizer is not None

    @property
    def coded_by(self) -> DrawnQuantizer:
        """The drawn quantizer, or an error where there is no coded side."""
        if self.quantizer is None:
            raise fail(self.kind, "a coded side needs bits from 1 to 8", None, "Fit with bits=1, say.")
        return self.quantizer

    def with_side(self, side: Any) -> Self:
        """Return these frequencies with another rule as the coded side: a quantizer's, or that of another encoder."""
        if isinstance(side, DrawnFourier):
            if side.fingerprint != self.fingerprint:
                need = f"a side must be on the frequencies of this encoder, {self.fingerprint.hex()}"
                raise FingerprintMismatchError(f"{self.kind}: {need}, got {side.fingerprint.hex()}. Take {_HAND_OUT}.")
            return cast(Self, side)
        if not isinstance(side, Quantizer):
            raise fail(self.kind, f"sides must be 'full', 'codes', a quantizer, or {_HAND_OUT}", side)
        # What a further side draws follows from the frequencies and from its rule: equal sides round alike, others not.
        seed = hashlib.sha256(self.fingerprint + side.comparison_key().encode()).digest()
        drawn = side.draw(self.feature_map, np.random.default_rng(int.from_bytes(seed, "little")))
        count_levels(self.kind, side, drawn, self.feature_map, self.n_components)
        return replace(self, quantizer_spec=copy(side), quantizer=drawn)  # type: ignore[type-var]

    def rules_of(self, sides: tuple[Any, Any]) -> tuple[Rule, Rule]:
        """Return the rules that make two sides of phases."""
        left, right = (self if side == "codes" else side for side in sides)
        return self._rule(left), self._rule(right)

    def _rule(self, side: Any) -> Rule:
        if side == "full":
            return Rule(self.feature_map)
        return Rule(self.feature_map, side.quantizer_spec, side.quantizer)

    def identity_of(self, **more: Any) -> bytes:
        """Return the identity of a coded side: the quantizer and all that decides a level, not the codebook."""
        if self.quantizer is None:
            return NO_SIDE
        drawn = self.quantizer
        arrays = {str(i): np.asarray(array) for i, array in enumerate((drawn.shifts, *drawn.op_arguments))}
        return fingerprint({"quantizer": type(self.quantizer_spec).__name__, "bits": drawn.bits, **more}, arrays)


@dataclass(frozen=True, eq=False)
class DrawnFeatures(DrawnFourier):
    """Drawn random Fourier features: frequencies and dither, a feature map, and a quantizer of it.

    Hadamard layouts are kept in files as signs, angles and lengths, dense ones as W, and both with the dither and the
    metric. Quantizers without randomness are made again from their spec.
    """

    kind: ClassVar[str] = "RandomFeatures"
    kernel: Kernel  # with its scale
    gamma: float | None  # None when the kernel came as an object
    layout: Projection  # the spec of `projection`
    projection: DrawnProjection
    offset: NDArray[np.float32]  # dither in turns, a number a frequency
    feature_map: FeatureMap
    quantizer_spec: Quantizer | None
    quantizer: DrawnQuantizer | None  # None for no coded side
    n_components: int
    n_features: int
    seed: int | None = None  # what the streams of all stages follow from, where it is known
    metric: NDArray[np.float32] | None = None  # (d,) or (d, r): what rows are multiplied by; `projection` has it in it

    @property
    def n_frequencies(self) -> int:
        """Frequencies: as many as components, or half of them."""
        return self.projection.n_frequencies

    @property
    def n_kernel_features(self) -> int:
        """Columns of the rows that the kernel is a function of: those of the product with the metric."""
        return self.n_features if self.metric is None else self.metric.shape[-1]

    @property
    def kept(self) -> NDArray[np.int64] | None:
        """Places of the frequencies among all that were drawn; None where none was left out."""
        return self.projection.places

    def keep(self, places: ArrayLike) -> Self:
        """Return the same encoder with only some of its frequencies, which keep their dither.

        Parameters
        ----------
        places : int array (n,)
            Which ones, counted from 0 to n_frequencies - 1, rising. All of them are this encoder itself.

        Returns
        -------
        DrawnFeatures
            With the components of these frequencies, scaled sqrt(2/n_components) for their number. Its levels are those
            that this encoder has there, but for a quantizer that rounds at random, which counts components anew.
        """
        chosen = check_places(self.kind, "places", places, self.n_frequencies)
        if len(chosen) == self.n_frequencies:
            return self
        width = self.feature_map.width
        without = width * self.n_frequencies - self.n_components if chosen[-1] == self.n_frequencies - 1 else 0
        n_components = width * len(chosen) - without
        count_levels(self.kind, self.quantizer_spec, self.quantizer, self.feature_map, n_components)
        projection, offset = self.projection.keep(chosen), self.offset[chosen]
        return replace(self, projection=projection, offset=offset, n_components=n_components)

    def transform(self, rows: Any) -> NDArray[np.float32]:
        """Return sqrt(2/m) cos of every phase (and its sine), float32 (n, n_components)."""
        return feature_rows(rows, self.projection, self.offset, self.feature_map.shifts, self.n_components)

    def encode(self, rows: Any) -> Codes | NDArray[np.float32]:
        """Return Codes of the quantizer's levels; float32 features where it has no levels."""
        quantizer, template = self.coded_by, self.template
        if template is not None:
            return template.with_rows(encode_rows(rows, self.projection, self.offset, quantizer, template.packing))
        if not isinstance(quantizer, ContinuousQuantizer):
            return self.required_template  # which says what is missing
        values = quantizer.values(turn_rows(rows, self.projection, self.offset))[:, : self.n_components]
        return values * np.float32(np.sqrt(2.0 / self.n_components))

    def scores(self, rows: Any, weights: NDArray[np.float64], intercept: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return D w + b of a few validated rows, (n, k), without codes in between where an op takes their bits."""
        quantizer, template = self.quantizer, self.template
        if quantizer is None or template is None or template.packing[1] != template.bits:
            return super().scores(rows, weights, intercept)
        return score_rows(rows, self.projection, self.offset, quantizer, template, weights, intercept)

    @cached_property
    def template(self) -> Codes | None:
        """Codes of zero rows, with codebook and identity; None where codes are no levels."""
        quantizer = self.quantizer
        if quantizer is None or quantizer.codebook is None or quantizer.bits is None:
            return None
        n_levels = count_levels(self.kind, self.quantizer_spec, quantizer, self.feature_map, self.n_components)
        return self.new_template(quantizer.bits, n_levels, quantizer.codebook * np.sqrt(2.0 / self.n_components))

    def phase_noise(self, rows: Any) -> NDArray[np.float64]:
        """Return how far float32 has the phases of validated rows off, in radians, (n,)."""
        if self.metric is None or self.metric.ndim == 1:
            return phase_noise(projected_rows(rows, self.projection), self.projection.rounding)
        # A matrix may cancel most of a row, but not the rounding of its terms.
        squares = dense_rows(rows) ** 2 @ (self.projection.weights().astype(np.float64) / (2 * np.pi)) ** 2
        return phase_noise(np.sqrt(squares).astype(np.float32), self.projection.rounding)

    @property
    def row_cost(self) -> int:
        """Additions and multiplications of the projection, and some for each component."""
        return self.projection.row_cost + 4 * self.n_components

    @cached_property
    def fingerprint(self) -> bytes:
        """Identity of kernel, metric, projection, map and dither."""
        spec = {
            "encoder": self.kind,
            "kernel": self.kernel.to_config(),
            "projection": self.layout.to_config(),
            "feature_map": self.feature_map.to_config(),
            "n_components": self.n_components,
            "n_features": self.n_features,
        }
        return fingerprint(spec, {"offset": self.offset, **self._metric_arrays, **self.projection.arrays()})

    @property
    def _metric_arrays(self) -> Arrays:
        return {} if self.metric is None else {"metric": self.metric}

    @cached_property
    def side(self) -> bytes:
        """Identity of the quantizer."""
        return self.identity_of()

    def pair(self, sides: tuple[Any, Any]) -> Pair:
        """Return what the moments of two sides say of their product."""
        self.check_drawn_by_chance()
        (block,) = self.kernel.measures(self.n_kernel_features)
        part = LaidBlock(block, self.projection.blocks, self.n_components)
        pair = feature_pair((part,), self.rules_of(sides), self.n_kernel_features)
        return pair if self.metric is None else pair.of_rows(partial(multiplied, metric=self.metric))

    def check_drawn_by_chance(self) -> None:
        """Refuse to state means, errors or distances where only some frequencies were kept."""
        if self.kept is not None:
            need = "means, errors and distances need frequencies that were drawn by chance"
            remedy = "Products of features chosen for a task are no unbiased estimates: take an encoder without `kept`."
            raise fail(self.kind, need, f"{self.n_frequencies} that were kept of more", remedy)

    @property
    def random_weights(self) -> NDArray[np.float32]:
        """Frequencies in columns, built on request."""
        return self.projection.weights()

    @property
    def random_offset(self) -> NDArray[np.float32]:
        """Dither in radians."""
        return self.offset * np.float32(2 * np.pi)

    @property
    def dither_stream(self) -> np.random.PCG64 | None:
        """Where the dither was drawn from, at its start; None when the seed is not known."""
        return None if self.seed is None else streams(self.seed)[2]

    def describe(self) -> tuple[dict[str, Any], Arrays]:
        """Return what a file keeps: parts by their configuration, and what was drawn."""
        quantizer, arrays = describe_quantizer(self)
        spec = {
            "kernel": SYMMETRIC.to_config(self.kernel),
            "gamma": self.gamma,
            "projection": PROJECTIONS.to_config(self.layout),
            "feature_map": FEATURE_MAPS.to_config(self.feature_map),
            "quantizer": quantizer,
            "n_components": self.n_components,
            "n_features": self.n_features,
            "seed": self.seed,
        }
        drawn = prefixed("projection", self.projection.arrays()) | arrays
        return spec, {"offset": self.offset, **self._metric_arrays, **drawn}

    @classmethod
    def restore(cls, spec: dict[str, Any], arrays: Arrays) -> Self:
        """Return the features that were described."""
        owner, (n_features, n_components) = cls.kind, kept_sizes(cls.kind, spec)
        kernel, feature_map = SYMMETRIC.from_config(spec["kernel"]), FEATURE_MAPS.from_config(spec["feature_map"])
        quantizer, drawn = kept_quantizer(owner, spec, arrays, feature_map, n_components)
        # The dither bounds the number of frequencies by the size of the file, before anything is made of that size.
        offset = kept_offset(owner, arrays["offset"], feature_map.n_frequencies(n_components))
        layout, gamma = PROJECTIONS.from_config(spec["projection"]), kept_gamma(owner, spec)
        metric = kept_metric(owner, arrays.get("metric"), n_features)
        projection = layout.restore(kernel, n_features, len(offset), arrays_of("projection", arrays), metric)
        seed = None if spec["seed"] is None else check_integer(owner, "seed", spec["seed"], 0, 2**63)
        return cls(
            kernel=kernel,
            gamma=gamma,
            layout=layout,
            projection=projection,
            offset=offset,
            feature_map=feature_map,
            quantizer_spec=quantizer,
            quantizer=drawn,
            n_components=n_components,
            n_features=n_features,
            seed=seed,
            metric=metric,
        )


def streams(seed: int) -> list[np.random.PCG64]:
    """Return a stream of its own for each stage: changing the quantizer moves no frequency."""
    return [np.random.PCG64(child) for child in np.random.SeedSequence(seed).spawn(4)]


def kept_offset(owner: str, kept: NDArray[Any], n_frequencies: int) -> NDArray[np.float32]:
    """Return kept dither as an array of its own, or refuse it."""
    if kept.dtype != np.float32 or kept.shape != (n_frequencies,) or not np.all((kept >= 0) & (kept < 1)):
        raise fail(owner, f"offset must be {n_frequencies} float32 in [0, 1)", f"{kept.dtype} {kept.shape}")
    return np.array(kept)


def describe_quantizer(drawn: DrawnFourier) -> tuple[dict[str, Any] | None, Arrays]:
    """Return the quantizer ready for JSON, and what was drawn for it under names of its own."""
    if drawn.quantizer_spec is None or drawn.quantizer is None:
        return None, {}
    return QUANTIZERS.to_config(drawn.quantizer_spec), prefixed("quantizer", drawn.quantizer.arrays())


def kept_quantizer(
    owner: str, spec: dict[str, Any], arrays: Arrays, feature_map: FeatureMap, n_components: int
) -> tuple[Quantizer | None, DrawnQuantizer | None]:
    """Return the quantizer that was kept and what was drawn for it, or None and None for no coded side."""
    if spec["quantizer"] is None:
        return None, None
    quantizer = QUANTIZERS.from_config(spec["quantizer"])
    drawn = quantizer.restore(feature_map, arrays_of("quantizer", arrays))
    count_levels(owner, quantizer, drawn, feature_map, n_components)
    return quantizer, drawn
