"""How many features an error needs: the closed-form variance turned around."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import ndtri

from lowtide._checks import check_integer, check_interval, check_option, check_positive, fail
from lowtide.kernels import KERNELS, Kernel
from lowtide.maps import FEATURE_MAPS, FeatureMap
from lowtide.quantizers import Quantizer, quantizer_by_name
from lowtide.theory.pairs import Curve, PairMoments, kernel_reach


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
    **settings : kernel, kappa, distance, bits, feature_map, quantizer, sides, confidence, n_features
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
    sides: tuple[str, str] = ("codes", "full"),
    confidence: float = 0.95,
    n_features: int | None = None,
) -> FeaturePlan:
    """Plan how many features keep a kernel entry within `error` at this confidence.

    The standard error sqrt(v/p) of p independent frequencies, v the closed-form variance of one, times the normal
    quantile of the confidence must not exceed `error`. By default v is the largest over all distances.

    Parameters
    ----------
    error : float
        Half width of the interval around the kernel value, above 0.
    kernel : str or Kernel, default "rbf"
        A name ("rbf", "laplacian", "matern") or an object; scale does not matter unless `distance` is given.
    kappa : float, optional
        Plan for pairs with this exact kernel value instead of the worst case.
    distance : float, optional
        Plan for pairs at this distance, in X's units, instead of the worst case.
    bits : int or None, default 1
        Bits a level of the coded side, 1 to 8; None for full precision on both sides.
    feature_map : str or FeatureMap, default "cos_sin"
        "cos_sin" or "cosine".
    quantizer : str or Quantizer, default "lloyd_max"
        "lloyd_max", "phase", "stochastic", "uniform", or an object, whose own bits then count.
    sides : (str, str), default ("codes", "full")
        What stands left and right. Codes against codes is not unbiased: the error is then around
        `expected_kernel`, on its own scale (pi^2/8 at x = y for one bit).
    confidence : float, default 0.95
        Two-sided, inside (0, 1).
    n_features : int, optional
        Dimension of X; needed by the Bessel kernel only.

    Returns
    -------
    n_components : int
        The fewest features out, as `RandomFeatures` takes them: two a frequency for "cos_sin".
    n_frequencies : int
        Independent frequencies behind them.
    bits_per_item : int
        Bits of the coded side of one row (of the full side, 32 a component, when no side is coded).
    standard_error : float
        Of one kernel entry, at `distance`.
    distance : float
        Where the error is largest, or the one asked for; infinite for points far apart.

    Notes
    -----
    Frequencies are taken as independent. Orthogonal and Hadamard layouts have less variance at short distances and
    the same far away, where the worst case is. The bounds of the papers (`uniform_features`) hold for all
    pairs at once and are hundreds of times larger.

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
    for side in sides:
        check_option(owner, "each of sides", side, ("full", "codes"))
    kernel = KERNELS.of(Kernel)[kernel]() if isinstance(kernel, str) else kernel
    if n_features is None and kernel.law == "sphere":
        raise fail(owner, f"n_features must be given for {kernel!r}", n_features)
    dim = 1 if n_features is None else check_integer(owner, "n_features", n_features, low=1)
    chosen_map = FEATURE_MAPS[feature_map]() if isinstance(feature_map, str) else feature_map
    moments, bits_per_frequency = {"full": chosen_map.moments()}, 32 * chosen_map.width
    moments["codes"] = moments["full"]
    if bits is not None:
        spec = quantizer_by_name(quantizer, bits) if isinstance(quantizer, str) else quantizer
        drawn = spec.draw(chosen_map, np.random.default_rng(0))
        moments["codes"] = drawn.moments()
        if drawn.bits is not None and "codes" in sides:
            bits_per_frequency = len(drawn.shifts) * drawn.bits
    pair = PairMoments(*(moments[side] for side in sides))
    variance, where = _variance(pair, kernel, dim, kappa, distance)
    quantile = float(ndtri((1 + confidence) / 2))
    p = max(1, math.ceil(variance * (quantile / error) ** 2 * (1 - 1e-12)))
    return FeaturePlan(chosen_map.width * p, p, p * bits_per_frequency, math.sqrt(variance / p), where)


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
    best = minimize_scalar(lambda x: -float(pair.variance(kernel, x, dim)), bounds=ends, method="bounded")
    value, where = max((float(values[i]), float(s[i])), (-float(best.fun), float(best.x)))
    far = pair.second_series.limit - pair.mean_series.limit**2
    if far >= value - 1e-9:
        value, where = far, math.inf
    return pair.scale**2 * value, where
