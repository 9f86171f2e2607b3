"""Ternary random features: additions only, thresholds from the data."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from lowtide._checks import check_integer, check_interval, check_option, fail
from lowtide.codes import Codes, row_bytes
from lowtide.encoders.base import Encoder
from lowtide.encoders.fingerprint import fingerprint
from lowtide.encoders.precision import warn_when_float32_loses_the_signal
from lowtide.encoders.rows import check_weight, check_within_float32
from lowtide.encoders.ternary.estimation import TernaryEstimation
from lowtide.encoders.ternary.spread import Spread
from lowtide.encoders.ternary.state import TernaryState
from lowtide.encoders.ternary.thresholds import Thresholds
from lowtide.encoders.ternary.trits import trit_rows
from lowtide.errors import LayoutWarning
from lowtide.kernels import resolve_gamma
from lowtide.projections import SparseTernary
from lowtide.theory import Activation, FourierPair, TernaryMatch, match_moments, resolve_target

__all__ = ["TernaryFeatures"]

# Terms of a sum from which on it counts as normal.
_ENOUGH_TERMS = 30
_MOST_SPARSE = 0.9
# Variance of trits below which a feature changes once in a thousand rows.
_LEAST_VARIANCE = 1e-3


class TernaryFeatures(TernaryEstimation, TernaryState, Encoder):
    """Random features of three values from sums of -x, 0 and +x, matched to the kernel of a target.

    With W of entries 0 (probability eps) and +-(1 - eps)^(-1/2), and z the centered rows (times sqrt(2 gamma) for
    "rbf"), a feature is alpha sigma(w_j . z)/sqrt(m), sigma(t) = 1[t > s_plus] - 1[t < s_minus]. On data of many
    columns a kernel matrix depends on its activation through two moments (d1, d2) alone, up to its diagonal; thresholds
    and alpha are solved so that those of sigma are the target's. Both sides have the same values: `transform` as
    float32, `encode` as trits of 2 bits.

    Parameters
    ----------
    target : str, Activation, callable or (d1, d2), default="rbf"
        "rbf", "relu", "leaky_relu", "abs", "quadratic", "linear", "bump", "exp", "cos", "sin", "sign", "step", an
        object of `lowtide.theory`, a function of an array, or the moments themselves.
    gamma : "scale", "median" or float, default="scale"
        Of target="rbf", exp(-gamma |x-y|^2), as in scikit-learn; the others take the columns in their own units.
    n_components : int, default=4096
        Features out.
    diagonal : {"least", "target"}, default="least"
        Which map, where thresholds alone do not match and there is a choice: the one with the least d0, the weight of
        the kernel matrix's diagonal, or the one whose d0 is nearest to the target's. A diagonal is noise to a learner,
        and its regularization adds any.
    sparsity : float from 0 to 0.999 or "auto", default=0.9
        eps, the share of zeros in W. "auto" takes 0.9 or less, so that sums have 30 terms where there are as many
        columns.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    match_ : TernaryMatch
        Which map was taken: `case` ("exact", "scaled", "even"), `map` with its thresholds and alpha, `residuals` of d1
        and d2, `diagonal_shift`.
    tau_ : float
        Mean |z|^2 of the training rows, 1 where they are all equal.
    mean_ : ndarray of float64, shape (n_features,)
        Training mean, rounded to float32.
    gamma_ : float or None
        The resolved gamma; None for other targets than "rbf".
    target_ : Activation
    sparsity_ : float
    projection_ : SparseTernaryProjection
    thresholds_ : Thresholds
        On sums of the columns as they come: center and scale are in them.
    random_weights_ : ndarray of float32, shape (n_features, n_components)
        Built on request; what is kept are lists of columns.
    fingerprint_ : bytes
    n_features_in_ : int

    Notes
    -----
    Encoding a row costs (1 - eps) m d additions and no multiplication; a code takes 2 m bits, 1.6 m with `pack_trits`.
    Sums of uint8, int8, int16 and bool are exact, others are float32 in a fixed order: codes depend neither on the
    batch nor on threads or instruction set. W takes 2 bytes an entry that is not zero, in a file only its seed.

    References
    ----------
    Tiomoko Ali, Liao and Couillet, Random matrices in service of ML footprint: ternary random features with no
    performance loss.

    Examples
    --------
    >>> import numpy as np
    >>> import lowtide as lt
    >>> X = np.random.default_rng(0).integers(0, 256, (200, 784), dtype=np.uint8)
    >>> enc = lt.TernaryFeatures("rbf", n_components=4096, random_state=0).fit(X)
    >>> C = enc.encode(X)
    >>> C.shape, C.nbytes                       # 1024 bytes a row in place of 16384
    ((200, 4096), 204800)
    >>> enc.match_.case, max(map(abs, enc.match_.residuals)) < 1e-9
    ('scaled', True)
    """

    def __init__(
        self,
        target: str | Activation | Callable[..., Any] | tuple[float, float] = "rbf",
        *,
        gamma: float | Literal["scale", "median"] = "scale",
        n_components: int = 4096,
        diagonal: Literal["least", "target"] = "least",
        sparsity: float | Literal["auto"] = 0.9,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.target = target
        self.gamma = gamma
        self.n_components = n_components
        self.diagonal = diagonal
        self.sparsity = sparsity
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Estimate mean and tau of X, solve for the thresholds and draw the projection.

        Parameters
        ----------
        X : array, CSR matrix or data frame (n_samples, n_features)
        y : ignored
        sample_weight : array (n_samples,), optional
            Weights of the rows in mean, tau and gamma="scale".
        """
        rows = self._rows(X, reset=True)
        self.__dict__.pop("fingerprint_", None)
        check_within_float32(rows)
        warn_when_float32_loses_the_signal(rows)
        weight = check_weight(sample_weight, rows)
        self._n_components = check_integer("TernaryFeatures", "n_components", self.n_components, 1)
        self.sparsity_ = self._resolve_sparsity(rows.shape[1])
        self._seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        self.target_ = resolve_target(self.target)
        self.gamma_ = self._resolve_gamma(rows, weight)
        spread = Spread.of(rows, weight)
        # Rounded, so that the order of a sum does not move thresholds.
        self.mean_ = spread.mean.astype(np.float32).astype(np.float64)
        self.tau_ = float(f"{self._scale**2 * spread.per_row:.10g}") or 1.0
        self.match_ = self._solve()
        self._warn_when_one_level_is_all()
        self._draw()
        self.thresholds_ = Thresholds.of(self.match_.map, self.projection_, self.mean_, self._scale)
        self._finish()
        return self

    def _transform(self, rows: Any) -> NDArray[np.float32]:
        return np.asarray(self._encode(rows))

    def _encode(self, rows: Any) -> Codes:
        return self._no_codes.with_rows(trit_rows(rows, self.projection_, self.thresholds_, self._even))

    def _finish(self) -> None:
        """Make the fingerprint, and zero rows that hold it with the codebook for the rows to come."""
        value, made = self.match_.map.alpha / math.sqrt(self._n_components), self._fingerprint()
        self._no_codes = Codes(
            np.empty((0, row_bytes(self._n_components, 2)), dtype=np.uint8),
            bits=2,
            n_levels=self._n_components,
            codebook=[0.0, value, -value, 0.0],
            fingerprint=made,
        )
        self.fingerprint_ = made

    @property
    def random_weights_(self) -> NDArray[np.float32]:
        """Frequencies in columns, built on request."""
        check_is_fitted(self)
        return self.projection_.weights()

    @property
    def _ops_refuse_not_finite(self) -> bool:
        return True

    @property
    def _n_features_out(self) -> int:
        return self._n_components

    @property
    def _scale(self) -> float:
        """Factor of centered rows."""
        return 1.0 if self.gamma_ is None else math.sqrt(2.0 * self.gamma_)

    @property
    def _even(self) -> bool:
        """Whether both outer levels have one value, and so one trit."""
        return self.match_.map.low == self.match_.map.high

    def _draw(self) -> None:
        self.projection_ = SparseTernary(self.sparsity_).draw(self.n_features_in_, self._n_components, self._seed)

    def _resolve_sparsity(self, n_features: int) -> float:
        """Return the share of zeros; warn when sums are left with few terms."""
        auto = max(0.0, min(_MOST_SPARSE, 1.0 - _ENOUGH_TERMS / n_features))
        if isinstance(self.sparsity, str) and self.sparsity == "auto":
            return auto
        if isinstance(self.sparsity, str):
            raise fail("TernaryFeatures", "sparsity must be a number from 0 to 0.999 or 'auto'", self.sparsity)
        sparsity = check_interval("TernaryFeatures", "sparsity", self.sparsity, 0.0, 0.999, "Or sparsity='auto'.")
        terms = n_features * (1.0 - sparsity)
        if terms < _ENOUGH_TERMS and sparsity > auto:
            warnings.warn(
                f"TernaryFeatures sums about {terms:.3g} columns an output ({n_features} columns, sparsity "
                f"{sparsity:g}); below {_ENOUGH_TERMS} sums are not close to normal, and the kernel strays from the "
                f"target's. Take sparsity={auto:.3g} or 'auto'.",
                LayoutWarning,
                stacklevel=3,
            )
        return sparsity

    def _solve(self) -> TernaryMatch:
        """Return the map: exact thresholds, of several those nearest in d0, or else the scaled or even map."""
        diagonal = check_option("TernaryFeatures", "diagonal", self.diagonal, ("least", "target"))
        nearest = match_moments(self.target_, self.tau_)
        if nearest.case == "exact" or diagonal == "target":
            return nearest
        return match_moments(self.target_, self.tau_, diagonal=diagonal)

    def _warn_when_one_level_is_all(self) -> None:
        """Warn when features are constant on nearly all rows: the target's kernel is then one of near neighbors."""
        match = self.match_
        if match.moments.variance(self.tau_) < _LEAST_VARIANCE * match.map.alpha**2:
            warnings.warn(
                f"Ternary features of this target have one value on nearly all rows: tau is {self.tau_:.3g}, thresholds"
                f" are {match.map.s_minus:.3g} and {match.map.s_plus:.3g}. Decrease gamma, or scale the data down.",
                LayoutWarning,
                stacklevel=3,
            )

    def _resolve_gamma(self, rows: Any, weight: NDArray[np.float64] | None) -> float | None:
        if not isinstance(self.target_, FourierPair):
            return None
        # A stream of its own: "median" moves no entry of W.
        rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(self._seed).spawn(1)[0]))
        return resolve_gamma(self.gamma, rows, 2.0, rng, weight, owner=type(self).__name__)

    def _fingerprint(self) -> bytes:
        """Hash the resolved configuration and what was drawn and solved; not the values."""
        spec = {
            "encoder": type(self).__name__,
            "even": self._even,
            "n_components": self._n_components,
            "n_features": self.n_features_in_,
        }
        thresholds = {"upper": self.thresholds_.upper, "lower": self.thresholds_.lower}
        return fingerprint(spec, {**thresholds, **self.projection_.arrays()})
