"""Random Fourier features with a full and a coded side."""

from __future__ import annotations

from copy import copy
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from lowtide._checks import check_integer, fail
from lowtide.codes import Codes, row_bytes
from lowtide.encoders.base import Encoder
from lowtide.encoders.drawn_state import DrawnState
from lowtide.encoders.estimation import KernelEstimation
from lowtide.encoders.fingerprint import fingerprint
from lowtide.encoders.fused import encode_rows, feature_rows, projected_rows, turn_rows
from lowtide.encoders.precision import (
    some_rows,
    warn_when_float32_loses_the_signal,
    warn_when_phases_lose_their_fraction,
)
from lowtide.encoders.quantizing import count_levels, resolve_quantizer
from lowtide.encoders.rows import check_weight, check_within_float32
from lowtide.kernels import KERNELS, Kernel, resolve_gamma
from lowtide.maps import FEATURE_MAPS, FeatureMap
from lowtide.projections import PROJECTIONS, Projection
from lowtide.quantizers import DrawnQuantizer, Quantizer

__all__ = ["RandomFeatures"]


class RandomFeatures(KernelEstimation, DrawnState, Encoder):
    """Random Fourier features in float32 and in a few packed bits, on the same frequencies.

    With frequencies omega_j of the kernel and dither xi_j uniform, the full side of x is
    sqrt(2/m) cos(omega_j . x + xi_j) (and its sine), m the number of components. The coded side keeps a b-bit level of
    each, and decodes to values such that E[decode(encode(x)) . transform(y)] = kernel(x, y).

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
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    kernel_ : Kernel
        The kernel with its scale.
    gamma_ : float or None
        The resolved gamma; None when the kernel was an object.
    projection_, quantizer_ : drawn objects
    random_weights_ : ndarray of float32, shape (n_features, n_frequencies)
        Built on request: the Hadamard layout stores signs and lengths only.
    random_offset_ : ndarray of float32, shape (n_frequencies,)
    fingerprint_ : bytes
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

    def __init__(
        self,
        kernel: str | Kernel = "rbf",
        *,
        gamma: float | Literal["scale", "median"] = "scale",
        n_components: int = 1024,
        projection: str | Projection = "hadamard",
        feature_map: str | FeatureMap = "cos_sin",
        bits: int | None = 1,
        quantizer: str | Quantizer = "lloyd_max",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.n_components = n_components
        self.projection = projection
        self.feature_map = feature_map
        self.bits = bits
        self.quantizer = quantizer
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Resolve gamma on X and draw frequencies, dither and quantizer, each from a generator of its own.

        Parameters
        ----------
        X : array, CSR matrix or data frame (n_samples, n_features)
        y : ignored
        sample_weight : array (n_samples,), optional
            Weights of the rows in gamma="scale".
        """
        rows = self._rows(X, reset=True)
        for stale in ("fingerprint_", "_no_codes"):
            self.__dict__.pop(stale, None)
        check_within_float32(rows)
        warn_when_float32_loses_the_signal(rows)
        weight = check_weight(sample_weight, rows)
        n_components = check_integer("RandomFeatures", "n_components", self.n_components, 1)
        self._seed: int | None = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        for_gamma, for_projection, for_dither, for_quantizer = map(np.random.Generator, _streams(self._seed))
        self.kernel_, self.gamma_ = self._resolve_kernel(rows, for_gamma, weight)
        self.feature_map_ = FEATURE_MAPS.resolve(self.feature_map)
        self.quantizer_spec_ = resolve_quantizer("RandomFeatures", self.bits, self.quantizer)
        self.quantizer_: DrawnQuantizer | None = None
        if self.quantizer_spec_ is not None:
            self.quantizer_ = self.quantizer_spec_.draw(self.feature_map_, for_quantizer)
        self._n_levels = count_levels(
            "RandomFeatures", self.quantizer_spec_, self.quantizer_, self.feature_map_, n_components
        )
        n_frequencies = self.feature_map_.n_frequencies(n_components)
        self._layout = PROJECTIONS.resolve(self.projection)
        self.projection_ = self._layout.draw(self.kernel_, rows.shape[1], n_frequencies, for_projection)
        self._offset = for_dither.random(n_frequencies, dtype=np.float32)
        self._n_components = n_components
        self.fingerprint_ = self._fingerprint(self._layout)
        warn_when_phases_lose_their_fraction(projected_rows(some_rows(rows, 64), self.projection_))
        return self

    def _transform(self, rows: Any) -> NDArray[np.float32]:
        return feature_rows(rows, self.projection_, self._offset, self.feature_map_.shifts, self._n_components)

    def _encode(self, rows: Any) -> Codes | NDArray[np.float32]:
        quantizer = self._coded_side()
        if quantizer.codebook is None:
            values = quantizer.values(turn_rows(rows, self.projection_, self._offset))
            return values * np.float32(np.sqrt(2.0 / self._n_components))
        packed = encode_rows(rows, self.projection_, self._offset, quantizer, self._n_levels)
        return self._no_codes.with_rows(packed)

    @cached_property
    def _no_codes(self) -> Codes:
        """Zero rows of this encoder: codebook and fingerprint for the rows to come."""
        quantizer = self._coded_side()
        return Codes(
            np.empty((0, row_bytes(self._n_levels, quantizer.bits)), dtype=np.uint8),
            bits=quantizer.bits,
            n_levels=self._n_levels,
            codebook=quantizer.codebook * np.sqrt(2.0 / self._n_components),
            fingerprint=self.fingerprint_,
        )

    @property
    def _dither_stream(self) -> np.random.PCG64 | None:
        """Where the dither was drawn from, at its start; None when a file does not know."""
        return None if self._seed is None else _streams(self._seed)[2]

    @property
    def random_weights_(self) -> NDArray[np.float32]:
        """Frequencies in columns, built on request."""
        check_is_fitted(self)
        return self.projection_.weights()

    @property
    def random_offset_(self) -> NDArray[np.float32]:
        """Dither in radians."""
        check_is_fitted(self)
        return self._offset * np.float32(2 * np.pi)

    @property
    def _ops_refuse_not_finite(self) -> bool:
        # What is not finite spreads to every projected value, and the op looks at one.
        return True

    @property
    def _has_codes(self) -> bool:
        return self.quantizer_ is not None

    @property
    def _n_features_out(self) -> int:
        return self._n_components

    def _coded_side(self) -> Any:
        if self.quantizer_ is None:
            raise fail("RandomFeatures", "a coded side needs bits from 1 to 8", self.bits, "Fit with bits=1, say.")
        return self.quantizer_

    def _resolve_kernel(
        self, rows: Any, rng: np.random.Generator, weight: NDArray[np.float64] | None
    ) -> tuple[Kernel, float | None]:
        """Return the kernel with its scale, and gamma when it came by name."""
        if isinstance(self.kernel, Kernel):
            return copy(self.kernel), None  # a later set_params(kernel__bandwidth=...) must not reach what was fitted
        family = KERNELS[self.kernel]
        gamma = resolve_gamma(self.gamma, rows, family().norm, rng, weight)
        return family.from_gamma(gamma), gamma

    def _fingerprint(self, layout: Projection) -> bytes:
        """Hash the resolved configuration and what was drawn; not the codebook."""
        quantizer = self.quantizer_
        spec = {
            "encoder": type(self).__name__,
            "kernel": self.kernel_.to_config(),
            "projection": layout.to_config(),
            "feature_map": self.feature_map_.to_config(),
            "n_components": self._n_components,
            "n_features": self.n_features_in_,
            "quantizer": quantizer and [type(self.quantizer_spec_).__name__, quantizer.bits],
        }
        arrays = {"offset": self._offset, **self.projection_.arrays()}
        for i, array in enumerate((quantizer.shifts, *quantizer.op_arguments) if quantizer else ()):
            arrays[f"quantizer_{i}"] = np.asarray(array)
        return fingerprint(spec, arrays)


def _streams(seed: int) -> list[np.random.PCG64]:
    """Return a stream of its own for each stage: changing the quantizer moves no frequency."""
    return [np.random.PCG64(child) for child in np.random.SeedSequence(seed).spawn(4)]
