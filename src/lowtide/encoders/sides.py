"""Sides of random Fourier features: rules that make values of the same frequencies and dither."""

from __future__ import annotations

import hashlib
from copy import copy
from dataclasses import replace
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from lowtide._checks import check_integer, fail
from lowtide.encoders.encoder import NO_SIDE, Arrays, DrawnEncoder, Encoder, arrays_of, fingerprint, prefixed
from lowtide.encoders.estimation import Rule, two_sides
from lowtide.errors import FingerprintMismatchError
from lowtide.kernels import Kernel
from lowtide.maps import N_HARMONICS, FeatureMap
from lowtide.quantizers import QUANTIZERS, DrawnQuantizer, PeriodicMap, Quantizer, quantizer_by_name
from lowtide.theory import DistanceMap, PairMoments

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

    @property
    def quantizer_config(self) -> dict[str, Any] | None:
        """The quantizer, ready for JSON."""
        return None if self.quantizer_spec is None else QUANTIZERS.to_config(self.quantizer_spec)

    @property
    def quantizer_arrays(self) -> Arrays:
        """What was drawn for the quantizer, under names of its own."""
        return {} if self.quantizer is None else prefixed("quantizer", self.quantizer.arrays())

    @classmethod
    def kept_quantizer(
        cls, spec: dict[str, Any], arrays: Arrays, feature_map: FeatureMap, n_components: int
    ) -> tuple[Quantizer | None, DrawnQuantizer | None]:
        """Return the quantizer that was kept and what was drawn for it, or None and None for no coded side."""
        if spec["quantizer"] is None:
            return None, None
        quantizer = QUANTIZERS.from_config(spec["quantizer"])
        drawn = quantizer.restore(feature_map, arrays_of("quantizer", arrays))
        count_levels(cls.kind, quantizer, drawn, feature_map, n_components)
        return quantizer, drawn

    def identity_of(self, **more: Any) -> bytes:
        """Return the identity of a coded side: the quantizer and all that decides a level, not the codebook."""
        if self.quantizer is None:
            return NO_SIDE
        drawn = self.quantizer
        arrays = {str(i): np.asarray(array) for i, array in enumerate((drawn.shifts, *drawn.op_arguments))}
        return fingerprint({"quantizer": type(self.quantizer_spec).__name__, "bits": drawn.bits, **more}, arrays)


class FourierEncoder(Encoder):
    """An encoder of random Fourier features, which hands out further sides of itself."""

    drawn_: DrawnFourier

    def side(self, quantizer: str | Quantizer, *, bits: int = 1) -> Self:
        """Return this encoder with another coded side, on the same frequencies and dither.

        Any two sides may meet: codes of b and of other bits in `Codes.dot`, `Codes.top_k` and `kernel_estimate`, a
        sensor's own response with the full features. f and g on the same phases have products of the mean
        sum_k F_k conj(G_k) kappa(k (x - y)), F_k and G_k their Fourier coefficients: `expected_kernel`.

        Parameters
        ----------
        quantizer : {"lloyd_max", "phase", "stochastic", "uniform", "modulo"} or Quantizer
            `PeriodicMap(f)` for any function of the phase.
        bits : int, default=1
            With a quantizer by name.

        Returns
        -------
        encoder of the same class
            Its `encode` gives the further side, its `transform` the same full side; `fingerprint_` is the same.

        Examples
        --------
        >>> import numpy as np
        >>> import lowtide as lt
        >>> X = np.random.default_rng(0).standard_normal((50, 10))
        >>> store = lt.RandomFeatures(gamma=0.05, n_components=2048, bits=4, random_state=0).fit(X)
        >>> query = store.side("lloyd_max", bits=1)
        >>> C4, C1 = store.encode(X), query.encode(X[:5])       # 1024 and 256 bytes a row
        >>> K, std = store.kernel_estimate(C1, C4, sides=(query, "codes"), return_std=True)
        >>> bool(np.all(np.abs(K - store.expected_kernel(X[:5], X, sides=(query, "codes"))) < 5 * std))
        True
        """
        check_is_fitted(self)
        drawn = self.drawn_.with_side(quantizer_by_name(quantizer, bits) if isinstance(quantizer, str) else quantizer)
        return self.with_drawn(drawn, quantizer=drawn.quantizer_spec, bits=drawn.coded_by.bits or 1)

    def is_positive_definite(self, sides: tuple[Any, Any] = ("codes", "codes")) -> bool:
        """Return whether `expected_kernel` of two sides is a positive definite kernel: F_k conj(G_k) >= 0 for every k.

        A machine on both sides' products is sure to be convex only then. Equal sides always are.

        Parameters
        ----------
        sides : as in `kernel_estimate`
        """
        return self._moments(sides).is_positive_definite

    def harmonic(self, order: int) -> Self:
        """Return the side that reads this encoder's codes at another scale: cos(k t) in place of cos t.

        A code holds every harmonic of its quantizer, so one code serves several bandwidths: its product with this side
        is unbiased for kernel(k (x - y)), gamma times k^2 for "rbf". The error grows as the share F_k of the harmonic
        falls; one bit has the odd ones, F_k = 1/k of the first.

        Parameters
        ----------
        order : int
            k, 1 or more; one that the codes carry.

        Returns
        -------
        encoder of the same class
            Its `encode` gives float32 features, its `transform` the full side as before.

        References
        ----------
        Asymmetric RPF (Schellekens and Jacques), section 6, the remark on harmonics.

        Examples
        --------
        >>> import numpy as np
        >>> import lowtide as lt
        >>> X = np.random.default_rng(0).standard_normal((50, 10))
        >>> enc = lt.RandomFeatures(gamma=0.01, n_components=4096, random_state=0).fit(X)
        >>> C = enc.encode(X)
        >>> K, std = enc.kernel_estimate(C, X, sides=("codes", enc.harmonic(3)), return_std=True)
        >>> bool(np.all(np.abs(K - lt.kernels.Gaussian.from_gamma(0.09).gram(X, X)) < 6 * std))
        True
        """
        check_is_fitted(self)
        order = check_integer(self.drawn_.kind, "order", order, 1, N_HARMONICS)
        drawn = self.drawn_
        mean = drawn.coded_by.moments().mean
        F = mean[:, order] if order < mean.shape[1] else np.zeros(len(mean))
        if np.sum(np.abs(F) ** 2) < 1e-12 * np.sum(np.abs(mean[:, 1]) ** 2):
            carried = np.flatnonzero(np.abs(mean).max(axis=0) > 1e-6 * np.abs(mean[:, 1]).max())
            few = ", ".join(str(k) for k in carried[carried > 0][:4])
            raise fail(drawn.kind, f"order must be a harmonic of the codes: {few} and so on", order)
        rows = np.zeros((len(F), order + 1), dtype=complex)
        rows[:, order] = F * len(F) / (4.0 * np.sum(np.abs(F) ** 2))
        return self.side(PeriodicMap(rows if len(F) == 2 else rows[0], aligned=False))

    def distance_map(self, sides: tuple[Any, Any] = ("codes", "codes")) -> DistanceMap:
        """Return the map from the distance of two rows to the mean of their `feature_distances`, with its inverse.

        Parameters
        ----------
        sides : as in `kernel_estimate`
        """
        pair, drawn = self._moments(sides), self.drawn_
        if not isinstance(drawn.kernel, Kernel):
            raise fail(drawn.kind, "distances need a symmetric kernel", type(drawn.kernel).__name__)
        drawn.check_drawn_by_chance()
        return DistanceMap(pair, drawn.kernel, drawn.n_kernel_features, pair.scale)

    def feature_distances(
        self, X: Any, Y: Any = None, *, sides: tuple[Any, Any] = ("codes", "codes")
    ) -> NDArray[np.float32]:
        """Return the squared distances of the features of two sides, |f(x)|^2 + |g(y)|^2 - 2 f(x) . g(y).

        Parameters
        ----------
        X, Y : array, CSR matrix, data frame or Codes; Y defaults to X
        sides : as in `kernel_estimate`

        Returns
        -------
        ndarray of float32, shape (n, n_y)
            Its mean is `distance_map(sides)` of the rows' distance, whose inverse reads it back.

        Examples
        --------
        >>> import numpy as np
        >>> import lowtide as lt
        >>> X = np.random.default_rng(0).standard_normal((5, 8))
        >>> enc = lt.RandomFeatures(gamma=0.05, n_components=16384, random_state=0).fit(X)
        >>> read = enc.distance_map(("codes", "full")).inverse(enc.feature_distances(X, sides=("codes", "full")))
        >>> bool(np.abs(read[0, 1] - np.linalg.norm(X[0] - X[1])) < 0.3)
        True
        """
        X, Y, sides = self._operands(X, Y, sides)
        left, right = two_sides(self.drawn_, X, Y, sides)
        lengths = [np.sum(np.asarray(side, dtype=np.float64) ** 2, axis=1) for side in (left, right)]
        return np.maximum(lengths[0][:, None] + lengths[1] - 2.0 * self.drawn_.product(left, right), 0.0).astype(
            np.float32
        )

    def _moments(self, sides: tuple[Any, Any]) -> PairMoments:
        check_is_fitted(self)
        rules = self.drawn_.rules_of((self._side(sides[0], False), self._side(sides[1], False)))
        return PairMoments(*(rule.moments() for rule in rules))


def count_levels(
    owner: str, spec: Quantizer | None, quantizer: DrawnQuantizer | None, feature_map: FeatureMap, n_components: int
) -> int:
    """Return the levels of a row: a level holds one component, or both of a frequency."""
    if quantizer is None:
        return 0
    per_level = feature_map.width // len(quantizer.shifts)
    if n_components % per_level:
        need = f"n_components must be a multiple of {per_level} with {spec!r}"
        raise fail(owner, need, n_components)
    return n_components // per_level


def kept_offset(owner: str, kept: NDArray[Any], n_frequencies: int) -> NDArray[np.float32]:
    """Return kept dither as an array of its own, or refuse it."""
    if kept.dtype != np.float32 or kept.shape != (n_frequencies,) or not np.all((kept >= 0) & (kept < 1)):
        raise fail(owner, f"offset must be {n_frequencies} float32 in [0, 1)", f"{kept.dtype} {kept.shape}")
    return np.array(kept)


def resolve_quantizer(owner: str, bits: int | None, quantizer: str | Quantizer) -> Quantizer | None:
    """Return the quantizer with its bits, or None when there is no coded side."""
    if bits is None:
        return None
    if isinstance(quantizer, Quantizer):
        return copy(quantizer)  # a later set_params must not reach what was fitted
    check_integer(owner, "bits", bits, 1, 8, "For float features alone: bits=None.")
    return quantizer_by_name(quantizer, bits)
