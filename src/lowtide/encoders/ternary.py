"""Ternary random features: additions only, thresholds from the data."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lowtide._checks import check_integer, check_interval, check_option, check_positive, fail
from lowtide.codes import Codes
from lowtide.encoders.blocks import PLAUSIBLE
from lowtide.encoders.encoder import Arrays, DrawnEncoder, Encoder, fingerprint, kept_gamma, kept_sizes
from lowtide.encoders.estimation import Pair, Side, Two, product
from lowtide.encoders.rows import check_weight, dense_rows
from lowtide.encoders.trits import Spread, Thresholds, Trits, trit_rows
from lowtide.errors import LayoutWarning
from lowtide.kernels import resolve_gamma
from lowtide.projections import SparseTernary, SparseTernaryProjection
from lowtide.spec import Registry
from lowtide.theory import (
    TARGETS,
    Activation,
    FourierPair,
    TernaryMap,
    TernaryMatch,
    match_moments,
    resolve_target,
    ternary_kernel,
)

Floats = NDArray[np.float64]

# Terms of a sum from which on it counts as normal.
_ENOUGH_TERMS = 30
_MOST_SPARSE = 0.9
# Entropy of trits in bits below which a feature is the same on 995 of 1000 rows.
_LEAST_ENTROPY = 0.05
# Share of the target's variance that moments must stand for; for "rbf" less from tau = 2.5 on.
_LEAST_KEPT = 0.5
# Different values of a row up to which they count as multiples of one step.
_FEW_VALUES = 32
# 2 gamma |x - mean|^2 below which one feature in ten thousand is not 0; fewer as its root.
_SMALLEST_TAU = 1e-8


@dataclass(frozen=True, eq=False)
class DrawnTernary(DrawnEncoder):
    """Drawn signs of columns, and thresholds on their sums."""

    kind: ClassVar[str] = "TernaryFeatures"
    target: Activation
    gamma: float | None  # of target "rbf"
    match: TernaryMatch  # the map that was solved for
    tau: float  # mean squared length of centered, scaled training rows
    mean: Floats
    sparsity: float
    seed: int  # what W follows from, in raw words
    projection: SparseTernaryProjection
    thresholds: Thresholds
    n_features: int

    def transform(self, rows: Any) -> NDArray[np.float32]:
        """Return the decoded trits, float32 (n, n_components): both sides have the same values."""
        return np.asarray(self.encode(rows))

    def encode(self, rows: Any) -> Codes:
        """Return Codes of the trits."""
        return self.template.with_rows(trit_rows(rows, self.projection, self.thresholds, self.trits))

    @property
    def n_outputs(self) -> int:
        """Columns of either side."""
        return self.projection.n_outputs

    @property
    def trits(self) -> Trits:
        """The trit of a sum below, between and above its thresholds."""
        return Trits.of(self.match.map)

    @property
    def scale(self) -> float:
        """Factor of centered rows."""
        return _scale_of(self.gamma)

    @cached_property
    def template(self) -> Codes:
        """Codes of zero rows, with codebook and identity."""
        value = self.match.map.alpha / math.sqrt(self.n_outputs)
        return self.new_template(2, self.n_outputs, [0.0, value, -value, 0.0])

    @property
    def row_cost(self) -> int:
        """Additions of the sums, and a comparison or two for each."""
        return self.projection.row_cost + 2 * self.n_outputs

    @cached_property
    def fingerprint(self) -> bytes:
        """Identity of W."""
        spec = {"encoder": self.kind, "n_components": self.n_outputs, "n_features": self.n_features}
        return fingerprint(spec, self.projection.arrays())

    @cached_property
    def side(self) -> bytes:
        """Identity of the thresholds, not of the values."""
        spec = {"even": self.trits.below == self.trits.above} | ({"inside": True} if self.trits.between else {})
        return fingerprint(spec, {"upper": self.thresholds.upper, "lower": self.thresholds.lower})

    @property
    def random_weights(self) -> NDArray[np.float32]:
        """Frequencies in columns, built on request."""
        return self.projection.weights()

    def pair(self, sides: tuple[Side, Side]) -> Pair:
        """Return mean and variance of the product of two rows: alpha^2 E[sigma(w.z) sigma(w.z')] for normal w.

        Normal centers of windows are one more column of all rows, their spread. Sums of many terms are close to normal,
        whatever the sparsity. Of codes, and of rows whose sums have few terms, the variance is what the components
        show, which are independent draws.
        """

        def moments(left: Floats, right: Floats) -> tuple[Floats, Floats]:
            column = self.match.spread**2
            squares = [np.einsum("ij,ij->i", rows, rows) + column for rows in (left, right)]
            return ternary_kernel(self.match.map, squares[0], squares[1], left @ right.T + column)

        def mean(X: Any, Y: Any) -> Floats:
            few = self._few_terms(X, Y)
            if few:
                remedy = "The mean of such sums is not known; kernel_estimate and its errors hold. Lower the sparsity."
                raise fail(self.kind, "expected values need sums of many terms", few, remedy)
            return moments(self._centered(X), self._centered(Y))[0]

        def variance(X: Any, Y: Any) -> Floats | None:
            if self._few_terms(X, Y):
                return None
            first, second = moments(self._centered(X), self._centered(Y))
            return np.maximum(second - first**2, 0.0) / self.n_outputs

        def at_typical_length() -> float:
            length = np.array([[math.sqrt(self.tau)]])
            return float(moments(length, length)[0][0, 0])

        return Pair(mean, variance, self._spread, at_typical_length)

    def _centered(self, rows: Any) -> Floats:
        return (dense_rows(rows) - self.mean) * self.scale

    def _spread(self, _given: Two, made: Two, K: NDArray[Any]) -> Floats:
        """Return the variance of a sum of products that are 0 or +-v, from how many are which.

        A few components more may differ than are seen to: as many as in `plausible_variance`.
        """
        size, value = float(np.abs(self.template.codebook).max()), self.match.map.alpha**2 / self.n_outputs
        book = np.array([0.0, size, size, 0.0], dtype=np.float32)
        sizes = (side.with_codebook(book) if isinstance(side, Codes) else np.abs(side) for side in made)
        square = value * product(*sizes).astype(np.float64)
        spread = np.maximum(square - K.astype(np.float64) ** 2 / self.n_outputs, 0.0)
        return np.asarray(spread + (PLAUSIBLE * value) ** 2)

    def _few_terms(self, X: Any, Y: Any) -> str:
        """Return which rows, or differences of rows, have sums too far from normal ones; empty for none.

        A sum of n terms of one size is off the normal law by about 0.025/n, and one that takes values h of its standard
        deviations apart by up to h/5; a quarter of a standard error is allowed.
        """
        allowed = 0.125 / math.sqrt(self.n_outputs)
        fewest, density = max(3.0, 0.025 / allowed), self.projection.density
        left, right, unit = self._centered(X), self._centered(Y), self.scale / math.sqrt(density)
        for raw, rows in ((X, left), (Y, right)):
            least, terms = _fewest_terms(rows, density)
            if terms < fewest:
                return f"row {least} with about {terms:.2g}, fewer than {fewest:.3g}"
            coarsest, step = _coarsest(dense_rows(raw) * unit, rows)
            if step / 5.0 > allowed:
                return f"row {coarsest} whose sums take few values, {step:.2g} standard deviations apart"
        for i, row in enumerate(left):
            apart = row - right
            least, terms = _fewest_terms(apart, density)
            if terms < 3.0:
                return f"rows {i} and {least} whose difference has about {terms:.2g}, fewer than 3"
            # Sums of a difference that is small beside the row itself decide too little for their values to matter.
            far = np.flatnonzero(np.sum(apart**2, axis=1) > 0.25 * float(row @ row))
            coarsest, step = _coarsest(apart[far] * (unit / self.scale), apart[far])
            if step / 5.0 > allowed:
                other = far[coarsest]
                return f"rows {i} and {other}: sums of their difference are {step:.2g} standard deviations apart"
        return ""

    def describe(self) -> tuple[dict[str, Any], Arrays]:
        """Return what a file keeps: the seed of W, the mean, the map and the thresholds."""
        spec = {
            "target": TARGETS.to_config(self.target),
            "gamma": self.gamma,
            "tau": self.tau,
            "case": self.match.case,
            "sparsity": self.sparsity,
            "seed": self.seed,
            "n_components": self.n_outputs,
            "n_features": self.n_features,
        }
        sigma = self.match.map
        windows = (sigma.middle,) if sigma.middle else ()
        arrays = {
            "mean": self.mean,
            "map": np.array([sigma.s_minus, sigma.s_plus, sigma.low, sigma.high, *windows]),
            "upper": self.thresholds.upper,
            "lower": self.thresholds.lower,
        }
        return spec, arrays

    @classmethod
    def restore(cls, spec: dict[str, Any], arrays: Arrays) -> Self:
        """Return the features that were described; W is made again from raw words of the seed."""
        owner, (n_features, n_components) = cls.kind, kept_sizes(cls.kind, spec)
        target, tau = TARGETS.from_config(spec["target"]), check_positive(owner, "tau", spec["tau"])
        sparsity = check_interval(owner, "sparsity", spec["sparsity"], 0.0, 0.999)
        seed = check_integer(owner, "seed", spec["seed"], 0, 2**63)
        # These bound W by the size of the file before it is drawn.
        mean = _kept(owner, arrays, "mean", n_features)
        thresholds = Thresholds(*(_kept(owner, arrays, name, n_components) for name in ("upper", "lower")))
        case = check_option(owner, "case", spec["case"], ("exact", "scaled", "even", "windows"))
        sigma = TernaryMap(*_kept(owner, arrays, "map", 5 if case == "windows" else 4).tolist())
        pairs = (mean, 0.0), (thresholds.lower, sigma.s_minus), (thresholds.upper, sigma.s_plus)
        if any(np.isfinite(kept).all() != np.isfinite(origin) for kept, origin in pairs):
            raise fail(owner, "the mean, and thresholds where those of the map are, must be finite", "others")
        if case == "windows":
            match = replace(match_moments(target, tau, method=case), map=sigma)
        else:
            match = replace(match_moments(target, tau), case=case, map=sigma, moments=sigma.moments(tau))
        return cls(
            target=target,
            gamma=kept_gamma(owner, spec),
            match=match,
            tau=tau,
            mean=mean,
            sparsity=sparsity,
            seed=seed,
            projection=SparseTernary(sparsity).draw(n_features, n_components, seed),
            thresholds=thresholds,
            n_features=n_features,
        )


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
        spread, scale = Spread.of(rows, weight), _scale_of(gamma)
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


def _scale_of(gamma: float | None) -> float:
    """Return the factor of centered rows."""
    return 1.0 if gamma is None else math.sqrt(2.0 * gamma)


def _fewest_terms(rows: Floats, density: float) -> tuple[int, float]:
    """Return which row's sums have the fewest terms of one size, as many as its fourth powers tell, and how many."""
    square, fourth = np.sum(rows**2, axis=1), np.sum(rows**4, axis=1)
    terms = density * np.divide(square**2, fourth, out=np.full(len(rows), np.inf), where=fourth > 0.0)
    least = int(np.argmin(terms)) if len(terms) else 0
    return least, float(terms[least]) if len(terms) else np.inf


def _coarsest(raw: Floats, centered: Floats) -> tuple[int, float]:
    """Return which row's sums take the fewest values, and how far apart these are, in their standard deviations.

    Rows of a few different values, whole numbers for example, have sums that are multiples of their least difference.
    """
    steps = np.zeros(len(raw))
    for i, (row, spread) in enumerate(zip(raw, np.linalg.norm(centered, axis=1))):
        values = np.unique(np.round(np.append(np.abs(row), 0.0), 9))
        if len(values) <= _FEW_VALUES and len(values) > 1 and spread > 0.0:
            steps[i] = np.diff(values).min() / spread
    worst = int(np.argmax(steps)) if len(steps) else 0
    return worst, float(steps[worst]) if len(steps) else 0.0


def _kept(owner: str, arrays: Arrays, name: str, size: int) -> Floats:
    """Return a kept vector; thresholds may be infinite, nothing is missing."""
    array = arrays[name]
    if array.dtype != np.float64 or array.shape != (size,) or np.isnan(array).any():
        raise fail(owner, f"{name} must be {size} float64 without NaN", f"{array.dtype} {array.shape}")
    return np.array(array)
