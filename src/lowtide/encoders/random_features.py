"""Random Fourier features with a full and a coded side."""

from __future__ import annotations

from copy import copy
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lowtide.encoders.drawn.fourier import SYMMETRIC, DrawnFeatures, streams
from lowtide.encoders.encoder import check_weight
from lowtide.encoders.metric import MultipliedRows, check_kept, check_metric
from lowtide.encoders.rows import (
    projected_rows,
    some_rows,
    warn_when_phases_lose_their_fraction,
)
from lowtide.encoders.sides import FourierEncoder
from lowtide.kernels import Kernel, resolve_gamma
from lowtide.maps import FEATURE_MAPS, FeatureMap
from lowtide.projections import PROJECTIONS, Projection
from lowtide.quantizers import (
    QUANTIZERS,
    Quantizer,
    count_levels,
    resolve_quantizer,
)
from lowtide.spec import Registry, State

# Phases that are looked at, at the most, for one that float32 cannot hold.
_LOOKED_AT = 1 << 20


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
    projection : {"hadamard", "rotation", "orthogonal", "haar", "iid"} or Projection, default="hadamard"
    feature_map : {"cos_sin", "cosine"} or FeatureMap, default="cos_sin"
    bits : int or None, default=1
        Bits a level, 1 to 8; None for no coded side. A quantizer object's own bits win.
    quantizer : {"lloyd_max", "phase", "stochastic", "uniform", "modulo"} or Quantizer, default="lloyd_max"
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
    Encoding a row costs O(m log d) additions with "hadamard" or "rotation", else O(m d) multiplications; a code takes
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
        for_gamma, for_projection, for_dither, for_quantizer = map(np.random.Generator, streams(seed))
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
