"""Further sides of an encoder of random Fourier features, on the same frequencies and dither."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from lowtide._checks import check_integer, fail
from lowtide.encoders.encoder import Encoder
from lowtide.encoders.estimation import two_sides
from lowtide.kernels import Kernel
from lowtide.maps import N_HARMONICS
from lowtide.quantizers import PeriodicMap, Quantizer, quantizer_by_name
from lowtide.theory import DistanceMap, PairMoments

if TYPE_CHECKING:
    from lowtide.encoders.drawn.fourier import DrawnFourier


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
