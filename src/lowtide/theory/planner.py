"""How many features an error needs: by the closed-form variance, or by bounds that hold for certain.

`features_needed` is the front. The variance plans for one entry at a time; a `Guarantee` bounds the probability of a
larger error, for a pair, for finitely many, or for all pairs of a set at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
import scipy
from numpy.typing import NDArray

from lowtide._checks import check_integer, check_interval, check_option, check_positive, fail
from lowtide.kernels import KERNELS, Kernel
from lowtide.maps import FEATURE_MAPS, FeatureMap
from lowtide.quantizers import DrawnQuantizer, Quantizer, quantizer_by_name
from lowtide.spec import Spec
from lowtide.theory.bounds import Side
from lowtide.theory.pairs import Curve, PairMoments, kernel_reach
from lowtide.theory.signals import FiniteSet, SignalSet

Floats = NDArray[np.float64]

_FORMS = ("corrected", "printed", "sharp")
# Shares of the error that the radius of a covering may take in the sharp form: each is valid, the best is taken.
_SHARES = np.geomspace(1e-3, 0.9, 300)


class FeaturePlan(NamedTuple):
    """What `plan_features` returns."""

    n_components: int
    n_frequencies: int
    bits_per_item: int
    standard_error: float
    distance: float


def features_needed(error: float, **settings: Any) -> int:
    """Return the smallest `n_components` that keeps a kernel entry within `error` at a confidence.

    Parameters
    ----------
    error : float
        Half width of the interval around the kernel value, above 0.
    **settings : kernel, kappa, distance, bits, feature_map, quantizer, sides, confidence, n_features, guarantee, ...
        As in `plan_features`, which gives bits and the distance too.

    Returns
    -------
    int
        Two components a frequency for feature_map="cos_sin", the default.

    Examples
    --------
    >>> from lowtide.theory import features_needed
    >>> features_needed(0.05)
    1896
    >>> features_needed(0.05, bits=None), features_needed(0.05, bits=4)
    (1538, 1542)
    >>> features_needed(0.05, kappa=0.9)
    200
    >>> from lowtide.theory import Ball, FiniteSet
    >>> features_needed(0.05, guarantee="pairwise")
    7282
    >>> features_needed(0.05, guarantee="pairwise", signals=FiniteSet(1000))
    34554
    >>> features_needed(0.05, guarantee="uniform", signals=Ball(5))
    4549868
    """
    return plan_features(error, **settings).n_components


def plan_features(
    error: float,
    *,
    kernel: str | Kernel = "rbf",
    kappa: float | None = None,
    distance: float | None = None,
    bits: int | None = 1,
    feature_map: str | FeatureMap = "cos_sin",
    quantizer: str | Quantizer = "lloyd_max",
    sides: tuple[str | Quantizer, str | Quantizer] = ("codes", "full"),
    confidence: float = 0.95,
    n_features: int | None = None,
    guarantee: str | None = None,
    signals: SignalSet | None = None,
) -> FeaturePlan:
    """Plan how many features keep a kernel entry within `error` at this confidence.

    The standard error sqrt(v/p) of p independent frequencies, v the closed-form variance of one, times the normal
    quantile of the confidence must not exceed `error`. By default v is the largest over all distances.

    Parameters
    ----------
    error : float
        Half width of the interval around the kernel value, above 0.
    kernel : str or Kernel, default "rbf"
        A name ("rbf", "laplacian", "matern") or an object; its scale matters where `distance` or `signals` are given.
    kappa : float, optional
        Plan for pairs with this exact kernel value instead of the worst case.
    distance : float, optional
        Plan for pairs at this distance, in X's units, instead of the worst case.
    bits : int or None, default 1
        Bits a level of the coded side, 1 to 8; None for full precision on both sides.
    feature_map : str or FeatureMap, default "cos_sin"
        "cos_sin" or "cosine".
    quantizer : str or Quantizer, default "lloyd_max"
        "lloyd_max", "phase", "stochastic", "uniform", "modulo", or an object, whose own bits then count.
    sides : (str or Quantizer, str or Quantizer), default ("codes", "full")
        What stands left and right: "codes" of `quantizer` and `bits`, "full", or another quantizer. Two coded sides are
        not unbiased: the error is then around `expected_kernel`, on its own scale (pi^2/8 at x = y for one bit).
    confidence : float, default 0.95
        Two-sided, inside (0, 1).
    n_features : int, optional
        Dimension of X; needed by the Bessel kernel only.
    guarantee : {None, "pairwise", "uniform"}, default None
        None takes errors as normal with the variance above. "pairwise" bounds the probability of a larger error for one
        pair of points, or all pairs of a `FiniteSet`; "uniform" for all pairs of `signals` at once: a `Guarantee`.
    signals : SignalSet, optional
        The set of the points, such as ``Ball(5)`` or ``FiniteSet(1000)``, for a guarantee.

    Returns
    -------
    n_components : int
        The fewest features out, as `RandomFeatures` takes them: two a frequency for "cos_sin".
    n_frequencies : int
        Independent frequencies behind them.
    bits_per_item : int
        Bits of one row of the coded side, the left one of two (of the full side, 32 a component, when none is coded).
    standard_error : float
        Of one kernel entry, at `distance`, with so many frequencies.
    distance : float
        Where the error is largest, or the one asked for; infinite for points far apart.

    Notes
    -----
    Frequencies are taken as independent. Orthogonal and Hadamard layouts have less variance at short distances and
    the same far away, where the worst case is. Uniform guarantees are hundreds of times larger than plans.

    Examples
    --------
    >>> from lowtide.theory import plan_features
    >>> plan = plan_features(0.05, bits=3, quantizer="phase")
    >>> plan.n_components, plan.bits_per_item
    (1620, 2430)
    """
    owner = "features_needed"
    error = check_positive(owner, "error", error)
    confidence = check_interval(owner, "confidence", confidence, 1e-12, 1 - 1e-12)
    kernel = KERNELS.of(Kernel)[kernel]() if isinstance(kernel, str) else kernel
    _check_guarantee(guarantee, signals, kappa, distance)
    if n_features is None and signals is not None and not isinstance(signals, FiniteSet):
        n_features = signals.dimension
    if n_features is None and kernel.law == "sphere":
        raise fail(owner, f"n_features must be given for {kernel!r}", n_features)
    dim = 1 if n_features is None else check_integer(owner, "n_features", n_features, low=1)
    chosen_map = FEATURE_MAPS[feature_map]() if isinstance(feature_map, str) else feature_map
    coded: FeatureMap | DrawnQuantizer = chosen_map
    if bits is not None:
        spec = quantizer_by_name(quantizer, bits) if isinstance(quantizer, str) else quantizer
        coded = spec.draw(chosen_map, np.random.default_rng(0))
    left, right = (_side(side, chosen_map, coded) for side in sides)
    pair = PairMoments(left.moments(), right.moments())
    level_bits = (
        len(side.shifts) * side.bits for side in (left, right) if not isinstance(side, FeatureMap) and side.bits
    )
    bits_per_frequency = next(level_bits, 32 * chosen_map.width)
    variance, where = _variance(pair, kernel, dim, kappa, distance)
    if guarantee is None:
        count = variance * (float(scipy.special.ndtri((1 + confidence) / 2)) / error) ** 2
    else:
        bound = Guarantee(left, right, signals, kernel, scale=pair.scale)
        count = bound.features(error, 1 - confidence)
    p = max(1, math.ceil(count * (1 - 1e-12)))
    return FeaturePlan(chosen_map.width * p, p, p * bits_per_frequency, math.sqrt(variance / p), where)


def _side(side: str | Quantizer, full: FeatureMap, coded: FeatureMap | DrawnQuantizer) -> FeatureMap | DrawnQuantizer:
    """Return the map of a side given by name, or of a quantizer."""
    if isinstance(side, Quantizer):
        return side.draw(full, np.random.default_rng(0))
    name = check_option("features_needed", "each of sides that is no quantizer", side, ("full", "codes"))
    return full if name == "full" else coded


def _check_guarantee(
    guarantee: str | None, signals: SignalSet | None, kappa: float | None, distance: float | None
) -> None:
    """Refuse settings that do not go with the kind of guarantee."""
    owner = "features_needed"
    if guarantee is None:
        if signals is not None:
            raise fail(owner, "signals must be None without a guarantee", signals, "Ask for guarantee='uniform'.")
        return
    check_option(owner, "guarantee", guarantee, ("pairwise", "uniform"))
    if kappa is not None or distance is not None:
        raise fail(owner, "kappa and distance must be None with a guarantee, which holds at all", (kappa, distance))
    if guarantee == "uniform" and not isinstance(signals, SignalSet):
        raise fail(owner, "signals of a uniform guarantee must be a set such as Ball(5) or FiniteSet(1000)", signals)
    if guarantee == "pairwise" and not isinstance(signals, FiniteSet | None):
        raise fail(
            owner, "signals of a pairwise guarantee must be a FiniteSet", signals, "Ask for guarantee='uniform'."
        )


def _variance(
    pair: PairMoments, kernel: Kernel, dim: int, kappa: float | None, distance: float | None
) -> tuple[float, float]:
    """Return the variance of one frequency's estimate, and the distance it belongs to: the one asked for or the worst.

    The worst is found on a grid, then in the best cell; far away when the supremum is approached there.
    """
    if kappa is not None and distance is not None:
        raise fail("features_needed", "at most one of kappa and distance may be given", (kappa, distance))
    half, _ = kernel_reach(kernel, dim)
    if kappa is not None:
        kappa = check_interval("features_needed", "kappa", kappa, -1.0, 1.0)
        distance = float(Curve(lambda s: kernel.radial(s, dim), half).inverse(kappa))
        if math.isnan(distance):
            must = f"kappa must be a value that {kernel!r} takes"
            raise fail("features_needed", must, kappa, "Use distance instead.")
    if distance is not None:
        where = check_interval("features_needed", "distance", distance, 0.0, math.inf)
        return pair.scale**2 * float(pair.variance(kernel, where, dim)), where
    s = half * np.concatenate([np.linspace(0, 8, 801), np.linspace(8, 32, 601)[1:]])
    values = pair.variance(kernel, s, dim)
    i = int(np.argmax(values))
    ends = s[max(i - 1, 0)], s[min(i + 1, s.size - 1)]
    best = scipy.optimize.minimize_scalar(
        lambda x: -float(pair.variance(kernel, x, dim)), bounds=ends, method="bounded"
    )
    value, where = max((float(values[i]), float(s[i])), (-float(best.fun), float(best.x)))
    far = pair.second_series.limit - pair.mean_series.limit**2
    if far >= value - 1e-9:
        value, where = far, math.inf
    return pair.scale**2 * value, where


class _Scheme(NamedTuple):
    """What a bound is made of once the maps have sup-norm 1: errors count in `unit`, failures `times` over."""

    unit: float
    times: int
    smoothness: float
    real: bool


@dataclass(frozen=True, repr=False)
class Guarantee:
    """Bound how far an estimate can be off, but for a small probability: two sides times a set of signals.

    For m independent frequencies with uniform dither, and sides f, g of sup-norm 1 (others only scale eps):

    - one pair: P(|error| > eps) <= 2 exp(-m eps^2/2), or 4 exp(-m eps^2/4) for complex products;
    - a finite set: the same for each of its pairs;
    - any other set: m >= 128 eps^-2 H(eps/c), c = 4[(L_f + L_g) E|omega| + 2 min(L_f, L_g) C_Lambda], keeps all pairs
      within eps but for a probability of 4 exp(-m eps^2/64); for complex products 256, and 6 exp(-m eps^2/128).

    Parameters
    ----------
    left, right : Side, or what `Side.of` takes
        The two maps: names ("cosine", "cos_sin", "exponential", "square_wave"), feature maps, quantizers, functions.
    signals : SignalSet, optional
        All pairs of this set at once; one pair, fixed before the frequencies are drawn, unless given.
    kernel : Kernel, optional
        Needed for sets that are not finite. Its frequencies must have a mean, E|omega| (in the dimension of the pieces
        that the set is made of, where their law allows) and C_Lambda, the largest E|omega.u|.
    scale : float, default 1.0
        Factor of the estimate: errors are those of scale <z_f(x), z_g(y)>. 2 over the components a frequency for the
        estimates of an encoder; pi/2 for the square wave against the cosine.
    of : {"kernel", "distance"}, default "kernel"
        What is estimated: the expected kernel of the two sides, or the squared distance scale |z_f(x) - z_g(y)|^2,
        around its mean, a `DistanceMap`, which needs three kernels within a quarter of the error each.
    form : {"corrected", "printed", "sharp"}, default "corrected"
        The bounds above; those of the paper as printed, whose proofs have gaps; or the proof of the corrected one with
        its four shares of the error chosen best, which takes a third to a seventh of the features.

    Notes
    -----
    As printed, C_Lambda stands in place of E|omega| (its proof moves a supremum out of an expectation; a factor sqrt(d)
    for the Gaussian), 3 in place of 4 before the exponential, the real constants for complex maps too, 1 for L_cos, the
    root of the largest variance of a frequency for C_Lambda, and in Corollary 2 the constant of (f, g) alone.
    Orthogonal and Hadamard frequencies are not independent: these bounds do not cover them.

    References
    ----------
    Asymmetric RPF (Schellekens and Jacques), Propositions 4 and 5, Corollaries 1 (`between`), 2 (of="distance") and 3
    (the example).

    Examples
    --------
    >>> import math
    >>> from lowtide.kernels import Gaussian
    >>> from lowtide.theory import Ball, Guarantee
    >>> math.ceil(Guarantee("square_wave", "cosine", scale=math.pi / 2).features(0.1, failure=0.05))
    1821
    >>> one_bit = Guarantee("square_wave", "cosine", Ball(5), Gaussian(), scale=math.pi / 2)
    >>> [round(one_bit.with_form(form).features(0.1, failure=0.05)) for form in ("corrected", "printed", "sharp")]
    [1041373, 992936, 283455]
    """

    left: Any
    right: Any
    signals: SignalSet | None = None
    kernel: Kernel | None = None
    scale: float = field(default=1.0, kw_only=True)
    of: str = field(default="kernel", kw_only=True)
    form: str = field(default="corrected", kw_only=True)

    def __post_init__(self) -> None:
        """Refuse what has no guarantee."""
        check_positive("Guarantee", "scale", self.scale)
        check_option("Guarantee", "of", self.of, ("kernel", "distance"))
        check_option("Guarantee", "form", self.form, _FORMS)
        if self.signals is not None and not isinstance(self.signals, SignalSet):
            raise fail("Guarantee", "signals must be a set such as Ball(5) or FiniteSet(1000)", self.signals)
        _ = self._scheme

    def __repr__(self) -> str:
        settings = f"scale={self.scale:g}, of={self.of!r}, form={self.form!r}"
        return f"Guarantee({_name(self.left)}, {_name(self.right)}, {self.signals}, {self.kernel}, {settings})"

    @classmethod
    def between(cls, first: Any, second: Any, other: Any, *args: Any, **settings: Any) -> Self:
        """Return the guarantee that <z_first, z_other> and <z_second, z_other>, of one kernel, are near each other.

        The error is that of their difference around the difference of their means, 0 when both have the same. It needs
        the constants of the map first - second, whose sup-norm need not be 1.
        """
        return cls(Side.of(first, minus=second), other, *args, **settings)

    def with_form(self, form: str) -> Self:
        """Return the same guarantee by another bound."""
        return replace(self, form=form)

    def features(self, error: float, failure: float = 0.05) -> float:
        """Return how many frequencies keep the error but for a probability, not rounded."""
        eps = check_positive("Guarantee", "error", error) / self._scheme.unit
        delta = check_interval("Guarantee", "failure", check_positive("Guarantee", "failure", failure), 0.0, 1.0)
        delta /= self._scheme.times
        if self._pairs:
            factor, divisor = self._exponential
            return divisor / eps**2 * math.log(factor * self._pairs / delta)
        if self.form == "sharp":
            return self._sharp(eps, delta, self._entropies(eps))
        factor, divisor = self._exponential
        return max(2 * divisor * self._entropy(eps / 4), divisor * math.log(factor / delta)) / eps**2

    def failure(self, error: float, n_frequencies: float) -> float:
        """Return the probability that bounds a larger error, 1 where the bound says nothing."""
        eps = check_positive("Guarantee", "error", error) / self._scheme.unit
        check_interval("Guarantee", "n_frequencies", n_frequencies, 0.0, math.inf)
        if not self._pairs and self.form == "sharp":
            H, times = self._entropies(eps), self._scheme.times
            # ln delta falls with the count; below e^-700 there is no number.
            enough = lambda log: self._sharp(eps, math.exp(log) / times, H) <= n_frequencies  # noqa: E731
            return math.exp(_smallest(enough, -700.0, 0.0))
        factor, divisor = self._exponential
        if not self._pairs and n_frequencies * eps**2 < 2 * divisor * self._entropy(eps / 4):
            return 1.0
        total = self._scheme.times * factor * (self._pairs or 1)
        return min(1.0, total * math.exp(-n_frequencies * eps**2 / divisor))

    def error(self, n_frequencies: float, failure: float = 0.05) -> float:
        """Return the error that so many frequencies keep but for a probability; the largest one there is at most."""
        count = check_positive("Guarantee", "n_frequencies", n_frequencies)
        log_most = math.log(self._scheme.unit * (2 if self.of == "kernel" else 1))
        within = _smallest(lambda log: self.features(math.exp(log), failure) <= count, log_most - 50, log_most)
        return math.exp(within)

    def explain(self, error: float, failure: float = 0.05) -> str:
        """Return in words what is guaranteed, how many frequencies it takes, and what makes up that number."""
        where = "for one fixed pair" if self.signals is None else f"for all pairs of {self.signals!r}"
        what = "kernel" if self.of == "kernel" else "squared distance"
        sides = f"{_name(self.left)} and {_name(self.right)}, times {self.scale:g},"
        words = [
            f"The {what} estimate from {sides} is within {error:g} of its mean {where},",
            f"with probability {1 - failure:g} at least, from {math.ceil(self.features(error, failure)):,} independent "
            f"frequencies on ({self.form} bound).",
        ]
        if not self._pairs and self.form != "sharp":
            share = error / self._scheme.unit / 4
            eta = share / max(self._scheme.smoothness, 1e-300)
            words.append(f"e^{self._entropy(share):.1f} balls of radius {eta:.3g} cover the set.")
        return "\n".join(words)

    @property
    def _pairs(self) -> int:
        """Pairs that a union bound goes over; 0 for a set that must be covered."""
        if self.signals is None:
            return 1
        return self.signals.pairs if isinstance(self.signals, FiniteSet) else 0

    @property
    def _exponential(self) -> tuple[int, int]:
        """Factor a and divisor b of the failure probability a exp(-m eps^2/b)."""
        as_real = self._scheme.real or self.form == "printed"
        if self._pairs:
            return (2, 2) if as_real else (4, 4)
        if self.form == "printed":
            return 3, 64
        return (4, 64) if as_real else (6, 128)

    @cached_property
    def _scheme(self) -> _Scheme:
        """The maps brought to sup-norm 1."""
        f, g = Side.of(self.left), Side.of(self.right)
        if None not in (f.width, g.width) and f.width != g.width:
            raise fail(
                "Guarantee", "left and right must be sides of one width", (f.width, g.width), "Use one feature map."
            )
        printed = self.form == "printed"
        L_f, L_g = (s.printed_lipschitz or s.lipschitz if printed else s.lipschitz for s in (f, g))
        if self.of == "kernel":
            unit, times, real = f.sup_norm * g.sup_norm, 1, f.real and g.real
            L_f, L_g = L_f / f.sup_norm, L_g / g.sup_norm
        else:
            # |z_f - z_g|^2 = <f, f> + <g, g> - 2 Re <f, g>: four errors of three kernels, for maps of one unit.
            largest = max(f.sup_norm, g.sup_norm)
            unit, times, real = 4 * largest**2, 3, True
            L_f, L_g = L_f / largest, L_g / largest
            if not printed:
                L_f = L_g = max(L_f, L_g)
        signals = self.signals
        smoothness = 0.0 if signals is None or isinstance(signals, FiniteSet) else self._smoothness(signals, L_f, L_g)
        return _Scheme(self.scale * unit, times, smoothness, real)

    def _smoothness(self, signals: SignalSet, L_f: float, L_g: float) -> float:
        """Return (L_f + L_g) E|omega| + 2 min(L_f, L_g) C_Lambda: what a step of 1 changes in estimate and mean."""
        kernel = self.kernel
        if not isinstance(kernel, Kernel):
            raise fail("Guarantee", f"kernel must be given for all pairs of {signals!r}", kernel)
        if math.isinf(L_f + L_g):
            remedy = "Use a quantizer without randomness, or a FiniteSet."
            raise fail("Guarantee", "a uniform guarantee needs maps with a mean Lipschitz constant", "infinity", remedy)
        d = signals.dimension
        projection = kernel.mean_projection(d)
        if self.form == "printed":
            if kernel.law != "joint" and math.isfinite(spread := kernel.second_moment(d)):
                projection = math.sqrt(spread / d)
            norm = projection
        else:
            # Where balls lie in a flat piece, only the part of omega in it counts; these laws say how long that is.
            closed = kernel.law == "gaussian_mixture" or (kernel.law == "independent" and signals.along_axes)
            norm = kernel.mean_frequency_norm(signals.piece_dimension if closed else d)
        if math.isinf(norm + projection):
            remedy = "Use a FiniteSet or one pair, which every kernel has bounds for; or a kernel such as Gaussian."
            raise fail("Guarantee", "a uniform guarantee needs frequencies with a finite mean", kernel, remedy)
        return (L_f + L_g) * norm + 2 * min(L_f, L_g) * projection

    def _entropy(self, share: float) -> float:
        """Return H at the radius that changes an estimate and its mean by `share` in the mean."""
        step = self._scheme.smoothness
        return 0.0 if self.signals is None else self.signals.entropy(share / step if step else math.inf)

    def _entropies(self, eps: float) -> Floats:
        """Return H at the radius that belongs to each share of the error."""
        return np.array([self._entropy(share * eps) for share in _SHARES.tolist()])

    def _sharp(self, eps: float, delta: float, H: Floats) -> float:
        """Return the least count over the shares of the error in the proof of Proposition 5.

        Steps within the balls around x and around y may exceed their means by e1 each, e^H centers; estimates at
        centers are off by e3, e^2H pairs of them; and the means change by the rest. With delta/2 for each of the two
        kinds, e1 = sqrt(2(H + ln(4/delta))/m) and e3 = sqrt(b(2H + ln(2a/delta))/m); they must add up.
        """
        a, b = (2, 2) if self._scheme.real else (4, 4)
        within, centers = np.sqrt(2 * (H + math.log(4 / delta))), np.sqrt(b * (2 * H + math.log(2 * a / delta)))
        return float(np.min(((2 * within + centers) / ((1 - _SHARES) * eps)) ** 2))


def _name(side: Any) -> str:
    """Return a side in a word or a line; drawn quantizers hold arrays, and functions print where they are."""
    if isinstance(side, (str, Spec, Side)):
        return repr(side)
    return getattr(side, "__name__", type(side).__name__)


def _smallest(holds: Callable[[float], bool], low: float, high: float) -> float:
    """Return the smallest number up to `high` from which on a statement holds, by halving; `high` if it never does."""
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
