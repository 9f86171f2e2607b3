"""Ternary random features: additions only, thresholds from the data."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from lowtide._checks import check_interval, check_option, fail
from lowtide.encoders.drawn.ternary import DrawnTernary, scale_of
from lowtide.encoders.encoder import Encoder, check_weight
from lowtide.encoders.trits import Spread, Thresholds
from lowtide.errors import LayoutWarning
from lowtide.kernels import resolve_gamma
from lowtide.projections import SparseTernary
from lowtide.spec import Registry
from lowtide.theory import (
    TARGETS,
    Activation,
    FourierPair,
    TernaryMatch,
    match_moments,
    resolve_target,
)

# Terms of a sum from which on it counts as normal.
_ENOUGH_TERMS = 30
_MOST_SPARSE = 0.9
# Entropy of trits in bits below which a feature is the same on 995 of 1000 rows.
_LEAST_ENTROPY = 0.05
# Share of the target's variance that moments must stand for; for "rbf" less from tau = 2.5 on.
_LEAST_KEPT = 0.5
# 2 gamma |x - mean|^2 below which one feature in ten thousand is not 0; fewer as its root.
_SMALLEST_TAU = 1e-8


@dataclass(eq=False, repr=False)
class TernaryFeatures(Encoder):
    """Turn rows into features of three values by additions and comparisons alone, matched to a target kernel.

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
    form : {"auto", "matched", "windows"}, default="auto"
        "matched": thresholds from the target's moments, the same for all features. "windows", for "rbf": a feature is
        alpha where its sum lies within a window of its own, else 0; its kernel falls with the distance as the target's.
        "auto" takes windows where the moments stand for less than half of the target's variance, for "rbf" from
        tau = 2.5 on: from there matched thresholds give nearly all rows one and the same code.
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
        Which map was taken: `case` ("exact", "scaled", "even", "windows"), `map` with its thresholds and alpha,
        `residuals` of d1 and d2, `diagonal_shift`, `entropy` of the levels in bits, `kept`, the share of the target's
        variance that its moments stand for.
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
    drawn_ : DrawnTernary
        All that was drawn and solved, one frozen value; the other attributes are read from it.
    fingerprint_ : bytes
        Identity of W; codes also carry that of their thresholds.
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

    target: str | Activation | Callable[..., Any] | tuple[float, float] = "rbf"
    _: KW_ONLY
    gamma: float | Literal["scale", "median"] = "scale"
    n_components: int = 4096
    form: Literal["auto", "matched", "windows"] = "auto"
    diagonal: Literal["least", "target"] = "least"
    sparsity: float | Literal["auto"] = 0.9
    random_state: int | np.random.RandomState | None = None
    drawn_: DrawnTernary = field(init=False)
    parts: ClassVar[dict[str, Registry[Any]]] = {"target": TARGETS}

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Estimate mean and tau of X, solve for the thresholds and draw the projection.

        Parameters
        ----------
        X : array, CSR matrix or data frame (n_samples, n_features)
        y : ignored
        sample_weight : array (n_samples,), optional
            Weights of the rows in mean, tau and gamma="scale".
        """
        rows, n_components, seed = self.start_fit(X)
        weight = check_weight(sample_weight, rows)
        sparsity = self._resolve_sparsity(rows.shape[1])
        target = resolve_target(self.target)
        gamma = None
        # Streams of their own: neither "median" nor windows move an entry of W.
        for_gamma, for_centers = map(np.random.PCG64, np.random.SeedSequence(seed).spawn(2))
        if isinstance(target, FourierPair):
            rng = np.random.Generator(for_gamma)
            gamma = resolve_gamma(self.gamma, rows, 2.0, rng, weight, owner="TernaryFeatures")
        spread, scale = Spread.of(rows, weight), scale_of(gamma)
        # Rounded, so that the order of a sum does not move thresholds.
        mean = spread.mean.astype(np.float32).astype(np.float64)
        tau = float(f"{scale**2 * spread.per_row:.10g}") or 1.0
        if gamma is not None and tau < _SMALLEST_TAU:
            need = f"gamma times the rows' mean squared distance from their mean must be at least {_SMALLEST_TAU / 2:g}"
            remedy = "The features would all be 0: raise gamma, or use gamma='scale'."
            raise fail("TernaryFeatures", need, gamma * spread.per_row, remedy)
        match = self._solve(target, tau)
        projection = SparseTernary(sparsity).draw(rows.shape[1], n_components, seed)
        centers = match.spread * np.random.Generator(for_centers).standard_normal(n_components)
        self.drawn_ = DrawnTernary(
            target=target,
            gamma=gamma,
            match=match,
            tau=tau,
            mean=mean,
            sparsity=sparsity,
            seed=seed,
            projection=projection,
            thresholds=Thresholds.of(match.map, projection, mean, scale, centers),
            n_features=rows.shape[1],
        )
        return self

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

    def _solve(self, target: Activation, tau: float) -> TernaryMatch:
        """Return the map: windows where moments tell too little of the target, else exact thresholds, scaled or even.

        Refuse features that are constant on nearly all rows, and warn of those that miss most of the target.
        """
        diagonal = check_option("TernaryFeatures", "diagonal", self.diagonal, ("least", "target"))
        form = check_option("TernaryFeatures", "form", self.form, ("auto", "matched", "windows"))
        windows = match_moments(target, tau, method="windows") if isinstance(target, FourierPair) else None
        if form == "windows" and windows is None:
            raise fail("TernaryFeatures", "form='windows' is for target='rbf'", self.target, "Take form='auto'.")
        if windows is not None and form != "matched" and (form == "windows" or windows.kept < _LEAST_KEPT):
            match = windows
        else:
            match = match_moments(target, tau)
            if match.case != "exact" and diagonal != "target":
                match = match_moments(target, tau, diagonal=diagonal)
            elif match.case == "exact" and match.entropy < _LEAST_ENTROPY:
                # Rows so near that thresholds without a scale would hardly ever be passed.
                match = match_moments(target, tau, method="scaled", diagonal="least")
        if match.entropy < _LEAST_ENTROPY:
            need = f"features must have an entropy of at least {_LEAST_ENTROPY:g} bits over the rows"
            remedy = "Take form='auto'." if form == "matched" and windows is not None else "Scale the data down."
            if match is windows:
                remedy = "Windows are for tau from 1 to 10,000: change gamma, or take RandomFeatures."
            got = f"{match.entropy:.2g} at tau = {tau:.3g}"
            raise fail("TernaryFeatures", need, got, remedy)
        if match is not windows and match.kept < _LEAST_KEPT:
            remedy = "Take form='windows'." if windows is not None else "Scale the data down."
            warnings.warn(
                f"Thresholds that match this target's moments follow {match.kept:.2g} of its variance at tau = "
                f"{tau:.3g}; the rest of its kernel is lost. {remedy}",
                LayoutWarning,
                stacklevel=3,
            )
        return match
