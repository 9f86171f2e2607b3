"""Random Fourier features with a full and a coded side."""

from __future__ import annotations

import hashlib
from copy import copy
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property, partial
from typing import Any, ClassVar, Literal, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lowtide._checks import check_integer, fail
from lowtide.codes import Codes
from lowtide.encoders.encoder import (
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
from lowtide.encoders.metric import MultipliedRows, check_kept, check_metric, check_places, kept_metric, multiplied
from lowtide.encoders.rows import (
    check_weight,
    dense_rows,
    encode_rows,
    feature_rows,
    phase_noise,
    projected_rows,
    score_rows,
    some_rows,
    turn_rows,
    warn_when_phases_lose_their_fraction,
)
from lowtide.encoders.sides import FourierEncoder, describe_quantizer, kept_offset, kept_quantizer
from lowtide.errors import FingerprintMismatchError
from lowtide.kernels import KERNELS, Kernel, resolve_gamma
from lowtide.maps import FEATURE_MAPS, FeatureMap
from lowtide.projections import PROJECTIONS, DrawnProjection, Projection
from lowtide.quantizers import (
    QUANTIZERS,
    ContinuousQuantizer,
    DrawnQuantizer,
    Quantizer,
    count_levels,
    resolve_quantizer,
)
from lowtide.spec import Registry, State

# The kernels that have one block of frequencies and no phase.
SYMMETRIC = KERNELS.of(Kernel)
# Phases that are looked at, at the most, for one that float32 cannot hold.
_LOOKED_AT = 1 << 20
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
        return None if self.seed is None else _streams(self.seed)[2]

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


@dataclass(eq=False, repr=False)
class RandomFeatures(FourierEncoder):
    """Turn rows into random Fourier features of a kernel, as float32 and as a few packed bits each.

    With frequencies omega_j of the kernel and dither xi_j uniform, the full side of x is
    sqrt(2/m) cos(omega_j . x + xi_j) (and its sine), m the number of components. The coded side keeps a b-bit level of
    each, and decodes to values such that E[decode(encode(x)) . transform(y)] = kernel(x, y).

    With a metric, rows are multiplied by it before all else, and the kernel is kernel(x*s, y*s) or kernel(x A, y A):
    all that is said of the kernel, of estimates, errors and distances is about the multiplied rows, in their units.

    Parameters
    ----------
    kernel : str or Kernel, default="rbf"
        "rbf", "laplacian", "matern" with `gamma`, or an object of `lowtide.kernels`, which has its own scale.
    gamma : "scale", "median" or float, default="scale"
        As in scikit-learn: exp(-gamma |x-y|^2), exp(-gamma |x-y|_1). "median" takes the median distance.
    n_components : int, default=1024
        Features out. "cos_sin" uses half as many frequencies; an odd number drops the last sine.
    projection : {"hadamard", "orthogonal", "haar", "iid"} or Projection, default="hadamard"
    feature_map : {"cos_sin", "cosine"} or FeatureMap, default="cos_sin"
    bits : int or None, default=1
        Bits a level, 1 to 8; None for no coded side. A quantizer object's own bits win.
    quantizer : {"lloyd_max", "phase", "stochastic", "uniform"} or Quantizer, default="lloyd_max"
        "phase" keeps one level a frequency, so for two components.
    metric : array (n_features,) or (n_features, r), optional
        What rows are multiplied by: s, a factor of at least 0 a column, or a matrix A. A column of factor 0 does not
        matter. Factors leave the projection what it is. With a matrix the frequencies W_r are drawn for r columns and
        A W_r is kept as a dense matrix, also with projection="hadamard".
    kept : int array (n_frequencies,), optional
        Places of the frequencies to keep, rising, among those that an encoder of more components has; as many as
        n_components needs. Blocks of the Hadamard layout without one are not computed. Chosen for a task, they are no
        random sample: means, errors and distances are refused.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    kernel_ : Kernel
        The kernel with its scale.
    gamma_ : float or None
        The resolved gamma; None when the kernel was an object.
    projection_, quantizer_ : drawn objects
        `projection_` is that of rows as they come, metric included.
    feature_map_ : FeatureMap
    metric_ : ndarray of float32 or None
    random_weights_ : ndarray of float32, shape (n_features, n_frequencies)
        Built on request: the Hadamard layout stores signs, angles and lengths only.
    random_offset_ : ndarray of float32, shape (n_frequencies,)
    drawn_ : DrawnFeatures
        All that was drawn, one frozen value; the other attributes are read from it.
    fingerprint_ : bytes
        Identity of the frequencies; codes also carry that of their quantizer.
    n_features_in_ : int

    Notes
    -----
    Encoding a row costs O(m log d) additions with "hadamard" and O(m d) multiplications otherwise; a code takes
    ceil(m b / 8) bytes rounded up to 8. Bits of the Hadamard layout depend on the seed and the version only.

    References
    ----------
    Schellekens and Jacques, Breaking the waves: asymmetric random periodic features for low-bitrate kernel machines.

    Examples
    --------
    >>> import numpy as np
    >>> import lowtide as lt
    >>> X = np.random.default_rng(0).standard_normal((100, 20))
    >>> enc = lt.RandomFeatures("rbf", gamma=0.05, n_components=4096, random_state=0).fit(X)
    >>> C = enc.encode(X)
    >>> C.shape, C.nbytes                       # 512 bytes a row in place of 16384
    ((100, 4096), 51200)
    >>> K, std = enc.kernel_estimate(X[:2], X[2:4], sides=("codes", "full"), return_std=True)
    >>> bool(np.all(np.abs(K - enc.kernel_.gram(X[:2], X[2:4])) < 5 * std))
    True
    """

    kernel: str | Kernel = "rbf"
    _: KW_ONLY
    gamma: float | Literal["scale", "median"] = "scale"
    n_components: int = 1024
    projection: str | Projection = "hadamard"
    feature_map: str | FeatureMap = "cos_sin"
    bits: int | None = 1
    quantizer: str | Quantizer = "lloyd_max"
    metric: ArrayLike | None = None
    kept: ArrayLike | None = None
    random_state: int | np.random.RandomState | None = None
    drawn_: DrawnFeatures = field(init=False)
    parts: ClassVar[dict[str, Registry[Any]]] = {
        "kernel": SYMMETRIC,
        "projection": PROJECTIONS,
        "feature_map": FEATURE_MAPS,
        "quantizer": QUANTIZERS,
    }

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Resolve gamma on X and draw frequencies, dither and quantizer, each from a generator of its own.

        Parameters
        ----------
        X : array, CSR matrix or data frame (n_samples, n_features)
        y : ignored
        sample_weight : array (n_samples,), optional
            Weights of the rows in gamma="scale".
        """
        rows, n_components, seed = self.start_fit(X)
        weight = check_weight(sample_weight, rows)
        for_gamma, for_projection, for_dither, for_quantizer = map(np.random.Generator, _streams(seed))
        metric = None if self.metric is None else check_metric("RandomFeatures", self.metric, rows.shape[1])
        seen = rows if metric is None else MultipliedRows(rows, metric)
        kernel, gamma = self._resolve_kernel(seen, for_gamma, weight)
        feature_map = FEATURE_MAPS.resolve(self.feature_map)
        quantizer = resolve_quantizer("RandomFeatures", self.bits, self.quantizer)
        drawn = None if quantizer is None else quantizer.draw(feature_map, for_quantizer)
        count_levels("RandomFeatures", quantizer, drawn, feature_map, n_components)
        places = np.arange(feature_map.n_frequencies(n_components))
        if self.kept is not None:
            places = check_kept("RandomFeatures", self.kept, len(places), n_components)
        layout = PROJECTIONS.resolve(self.projection)
        # Those before a frequency decide nothing of it, but a stream goes through them.
        projection = layout.draw(kernel, seen.shape[1], int(places[-1]) + 1, for_projection)
        offset = for_dither.random(projection.n_frequencies, dtype=np.float32)
        if len(places) < projection.n_frequencies:
            projection, offset = projection.keep(places), offset[places]
        if metric is not None:
            projection = projection.scaled_by(metric)
        self.drawn_ = DrawnFeatures(
            kernel=kernel,
            gamma=gamma,
            layout=copy(layout),
            projection=projection,
            offset=offset,
            feature_map=copy(feature_map),
            quantizer_spec=quantizer,
            quantizer=drawn,
            n_components=n_components,
            n_features=rows.shape[1],
            seed=seed,
            metric=metric,
        )
        few = max(1, min(64, _LOOKED_AT // projection.n_frequencies))
        warn_when_phases_lose_their_fraction(projected_rows(some_rows(rows, few), projection))
        return self

    def to_state(self) -> State:
        """Return what a file keeps; arrays among the parameters are kept once, with what was drawn."""
        bare = self.with_drawn(self.drawn_, metric=None, kept=None) if "drawn_" in self.__dict__ else self
        return super(RandomFeatures, bare).to_state()

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Return the fitted estimator of what `to_state` gave."""
        self = super().from_state(state)
        self.metric, self.kept = self.drawn_.metric, self.drawn_.kept
        return self

    def _resolve_kernel(
        self, rows: Any, rng: np.random.Generator, weight: NDArray[np.float64] | None
    ) -> tuple[Kernel, float | None]:
        """Return the kernel with its scale, and gamma when it came by name."""
        if isinstance(self.kernel, Kernel):
            return copy(self.kernel), None  # a later set_params(kernel__bandwidth=...) must not reach what was fitted
        family = SYMMETRIC[self.kernel]
        gamma = resolve_gamma(self.gamma, rows, family().norm, rng, weight)
        return family.from_gamma(gamma), gamma


def _streams(seed: int) -> list[np.random.PCG64]:
    """Return a stream of its own for each stage: changing the quantizer moves no frequency."""
    return [np.random.PCG64(child) for child in np.random.SeedSequence(seed).spawn(4)]
