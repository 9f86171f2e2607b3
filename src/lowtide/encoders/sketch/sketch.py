"""One sketch for all bandwidths: quantized random projections."""

from __future__ import annotations

from copy import copy
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from lowtide._checks import check_integer, check_positive, fail
from lowtide.codes import Codes, row_bytes
from lowtide.encoders.base import Encoder
from lowtide.encoders.fingerprint import fingerprint
from lowtide.encoders.precision import warn_when_float32_loses_the_signal
from lowtide.encoders.rows import check_within_float32
from lowtide.encoders.sketch.codebooks import (
    fourier_codebook,
    linear_codebook,
    linear_codes,
    read_fourier,
    warn_of_bias,
)
from lowtide.encoders.sketch.estimation import SketchEstimation
from lowtide.encoders.sketch.rows import fourier_rows, linear_rows, sketch_rows
from lowtide.encoders.sketch.state import SketchState
from lowtide.kernels import Gaussian
from lowtide.projections import PROJECTIONS, Projection
from lowtide.quantizers import normal_steps

__all__ = ["Sketch"]


class Sketch(SketchEstimation, SketchState, Encoder):
    """Random projections of normalized rows in a few bits, stored once, read as features of any bandwidth.

    With w_j normal, a row keeps the b-bit Lloyd-Max level of w_j . x / |x|, k = n_components of them. From the same
    bytes, by a codebook alone, come linear features (for cosines and linear models) and, for every gamma, the random
    Fourier features of exp(-gamma |x-y|^2): neither the rows nor the projections are needed again.

    Parameters
    ----------
    n_components : int, default=1024
        Projections stored, k. Linear features out are k, Fourier features 2 k.
    bits : int, default=4
        1 to 8. Three are acceptable and four as good as full precision for most bandwidths;
        `lowtide.theory.sketch_bits_needed` says it for one.
    projection : {"hadamard", "orthogonal", "iid"} or Projection, default="hadamard"
    gamma : float or None, default=None
        None: `transform` and `encode` give the linear features. A number: the Fourier features of that gamma, so that
        `features__gamma` can be searched. Scikit-learn's: exp(-gamma |x-y|^2); the One-Sketch paper's is 1/bandwidth,
        sqrt(2 gamma). The packed levels and the fingerprint are the same for all.
    store_norms : bool, default=False
        Keep |x| beside the codes in float32, for `linear` and `kernel_estimate` of rows as they came.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    gamma_ : float or None
    projection_ : drawn projection
    steps_ : LineSteps
        Levels and borders of the quantizer.
    random_weights_ : ndarray of float32, shape (n_features, n_components)
        Built on request.
    fingerprint_ : bytes
    n_features_in_ : int

    Notes
    -----
    Encoding a row costs O(k log d) additions with "hadamard" and O(k d) multiplications otherwise; a code takes
    ceil(k b / 8) bytes rounded up to 8. A row of zeros encodes as zeros before quantizing. `transform` is
    W'x / (|x| sqrt k), and codes decode to mu_i / ((1 - D) sqrt k), D the quantizer's distortion:
    E[decode(encode(x)) . transform(y)] is the cosine of x and y.

    References
    ----------
    Li and Li, One-Sketch-for-All: non-linear random features from compressed linear measurements.

    Examples
    --------
    >>> import numpy as np
    >>> import lowtide as lt
    >>> X = np.random.default_rng(0).standard_normal((100, 20))
    >>> sketch = lt.Sketch(n_components=2048, random_state=0).fit(X)
    >>> S = sketch.encode(X)                                  # 1 KB a row; X may be thrown away
    >>> F = sketch.fourier(S, gamma=0.5)                      # the same bytes
    >>> S.nbytes, F.shape
    (102400, (100, 4096))
    >>> cosine, std = sketch.cosine_similarity(S[:2], S[2:4], return_std=True)
    >>> U = X / np.linalg.norm(X, axis=1, keepdims=True)
    >>> bool(np.all(np.abs(cosine - U[:2] @ U[2:4].T) < 5 * std))
    True
    """

    def __init__(
        self,
        n_components: int = 1024,
        *,
        bits: int = 4,
        projection: str | Projection = "hadamard",
        gamma: float | None = None,
        store_norms: bool = False,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_components = n_components
        self.bits = bits
        self.projection = projection
        self.gamma = gamma
        self.store_norms = store_norms
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw the projections for rows as wide as X's; nothing else is learned from them.

        Parameters
        ----------
        X : array, CSR matrix or data frame (n_samples, n_features)
        y : ignored
        """
        rows = self._rows(X, reset=True)
        for stale in ("fingerprint_", "_no_codes"):
            self.__dict__.pop(stale, None)
        check_within_float32(rows)
        warn_when_float32_loses_the_signal(rows)
        self._n_components = check_integer("Sketch", "n_components", self.n_components, 1)
        bits = check_integer("Sketch", "bits", self.bits, 1, 8, "For float features: RandomFeatures(bits=None).")
        self.gamma_ = self._check_gamma()
        if self.gamma_ is not None:
            warn_of_bias(bits, self.gamma_, stacklevel=2)
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        (child,) = np.random.SeedSequence(seed).spawn(1)
        self.steps_ = normal_steps(bits)
        self._store_norms = bool(self.store_norms)
        self._layout = PROJECTIONS.resolve(self.projection)
        rng = np.random.Generator(np.random.PCG64(child))
        self.projection_ = self._layout.draw(Gaussian(), rows.shape[1], self._n_components, rng)
        self.fingerprint_ = self._fingerprint()
        return self

    def fourier(self, codes: Codes, gamma: float, *, normalized: bool = True) -> Codes:
        """Return the random Fourier features of one bandwidth: the same bytes with another codebook.

        Parameters
        ----------
        codes : Codes of this sketch
        gamma : float
            Scikit-learn's, above 0; the One-Sketch paper's is 1/bandwidth, sqrt(2 gamma).
        normalized : bool, default=True
            The kernel is that of rows of norm 1; False is refused, also where norms are kept.

        Returns
        -------
        Codes of shape (n, 2 n_components), cosines and sines interleaved

        Warns
        -----
        BiasWarning
            When their kernel is further than 0.25 from the Gaussian one somewhere; it names the bits that would do.

        See Also
        --------
        lowtide.fourier_codes : the same without the sketch, for codes from a file
        """
        if not normalized:
            raise fail(
                "Sketch.fourier",
                "normalized must be True: rows of other lengths would each need a codebook of their own, and codes "
                "have one for all rows",
                normalized,
                "Use kernel_estimate, which takes the norms, or linear.",
            )
        return read_fourier("Sketch.fourier", self._own(codes), gamma)

    def linear(self, codes: Codes, *, normalized: bool | None = None) -> Codes:
        """Return the linear features: the same bytes with another codebook.

        Parameters
        ----------
        codes : Codes of this sketch
        normalized : bool, optional
            True for rows of norm 1, False for rows times their norms; None takes the norms where they are kept.

        Returns
        -------
        Codes of shape (n, n_components)

        See Also
        --------
        lowtide.linear_codes : the same without the sketch, for codes from a file
        """
        return linear_codes(self._own(codes), normalized=normalized)

    def _own(self, codes: Any) -> Any:
        """Return codes of this sketch; what is not codes is for the reader to refuse."""
        return self._codes_of(codes) if isinstance(codes, Codes) else codes

    @property
    def random_weights_(self) -> NDArray[np.float32]:
        """Projections in columns, built on request."""
        check_is_fitted(self)
        return self.projection_.weights()

    def _transform(self, rows: Any) -> NDArray[np.float32]:
        if self.gamma_ is None:
            return linear_rows(rows, self.projection_)
        return fourier_rows(rows, self.projection_, self.gamma_)

    def _encode(self, rows: Any) -> Codes:
        packed, norms = sketch_rows(rows, self.projection_, self.steps_)
        return self._no_codes.with_rows(packed, norms if self._store_norms else None)

    def _with_gamma(self, gamma: float) -> Self:
        """Return this sketch, its projections shared, with the Fourier features of one gamma on both sides."""
        other = copy(self)
        other.__dict__.pop("_no_codes", None)
        other.gamma = other.gamma_ = float(gamma)
        return other

    def _encode_with_norms(self, rows: Any) -> Codes:
        return self._no_codes.with_rows(*sketch_rows(rows, self.projection_, self.steps_))

    @cached_property
    def _no_codes(self) -> Codes:
        """Zero rows of this sketch: codebook and fingerprint for the rows to come."""
        bits, k = self.steps_.bits, self._n_components
        return Codes(
            np.empty((0, row_bytes(k, bits)), dtype=np.uint8),
            bits=bits,
            n_levels=k,
            codebook=linear_codebook(bits, k) if self.gamma_ is None else fourier_codebook(bits, k, self.gamma_),
            fingerprint=self.fingerprint_,
        )

    @property
    def _ops_refuse_not_finite(self) -> bool:
        # Norms are looked at, and one is not finite where a value is not.
        return True

    @property
    def _n_features_out(self) -> int:
        return self._n_components if self.gamma_ is None else 2 * self._n_components

    def _check_gamma(self) -> float | None:
        remedy = "None for linear features; rows are normalized, so 0.1 to 10 is the useful range."
        return None if self.gamma is None else check_positive("Sketch", "gamma", self.gamma, remedy)

    def _fingerprint(self) -> bytes:
        """Hash the resolved configuration and what was drawn; neither gamma nor norms, which change no level."""
        spec = {
            "encoder": type(self).__name__,
            "projection": self._layout.to_config(),
            "n_components": self._n_components,
            "n_features": self.n_features_in_,
            "bits": self.steps_.bits,
        }
        return fingerprint(spec, {"borders": self.steps_.borders, **self.projection_.arrays()})
