"""Which columns and which frequencies a task needs, read from a first fit: a metric, and the places worth keeping."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lowtide._checks import check_integer, check_option, check_positive, fail
from lowtide.cancel import aside
from lowtide.encoders import RandomFeatures
from lowtide.kernels import Kernel
from lowtide.learners.cholesky import suitable_threads
from lowtide.learners.dual import dense_design
from lowtide.learners.ridge import NormalEquations, random_signs
from lowtide.projections import DrawnProjection, Projection

__all__ = ["average_outer_product", "best_frequencies", "learn_metrics"]

Array = NDArray[Any]
MetricKind = Literal["diagonal", "full"]

# The least share of the steepest direction that is kept of another in a round.
_FLOOR = 1e-4
# How far a round goes. Whole steps of scales gain more where bits are few and are even where they are many; of a matrix
# they lose on some tasks.
_POWERS = {"diagonal": 1.0, "full": 0.5}
# Steps up to a scale, or to the largest entry of a matrix, that they are rounded to: the order of a sum over rows must
# not move a frequency, and no kernel feels a ten-thousandth of a scale.
_STEPS = 1 << 14
# Rows whose slopes are worked on together: they stay in the second-level cache.
_ROWS_AT_ONCE = 256
# Above so many targets random sums of them stand for all. Half as many sums move scales more than other frequencies do.
_MOST_TARGETS = 32


def learn_metrics(
    rows: ArrayLike,
    targets: ArrayLike,
    weight: ArrayLike | None = None,
    *,
    kinds: Sequence[MetricKind] = ("diagonal",),
    kernel: str | Kernel = "rbf",
    gamma: float = 1.0,
    alpha: float = 1.0,
    seed: int = 0,
    projection: str | Projection = "hadamard",
    rounds: int = 2,
    power: float | None = None,
    n_components: int = 768,
) -> dict[MetricKind, NDArray[np.float64]]:
    """Learn how much each column, or each direction, matters to the targets: what to multiply rows with.

    A round fits random features of the rows to the targets by least squares, f_c(x) = sum_j w_jc phi_j(x) + b_c, and
    takes the average outer product of its gradients, M = sum_i s_i sum_c grad f_c(x_i) grad f_c(x_i)' / sum_i s_i.
    With q = (diag M)^(1/2), the scales are multiplied by (q / max q + 10^-4)^power; the matrix, by the same function of
    M^(1/2). The next round starts from rows so scaled. The first one is the same for both.

    Parameters
    ----------
    rows : array (n, d)
        Some thousand rows are enough; all of them are used.
    targets : array (n, k)
        Values, or a column a class, of any two numbers; the mean is taken out.
    weight : array (n,), default=None
        Not negative; None for ones. A row of weight 2 counts as two rows.
    kinds : sequence of "diagonal" and "full", default=("diagonal",)
        Which to learn: scales, a matrix, or both.
    kernel : str or Kernel, default="rbf"
        As in `RandomFeatures`, with `gamma` for a name and `projection` for the layout.
    gamma : float, default=1.0
        Of the kernel on the rows as they are.
    alpha : float, default=1.0
        Penalty of the fits: sum_i s_i |t_i - f(x_i)|^2 + alpha |w|^2.
    seed : int, default=0
    projection : str or Projection, default="hadamard"
    rounds : int, default=2
    power : float or None, default=None
        How far a round goes, above 0: 1 makes the scales of columns what the slopes along them are, 1/2 goes halfway.
        None is 1 for scales and 1/2 for a matrix, which has more freedom to follow noise.
    n_components : int, default=768
        Features of the fits, an even number.

    Returns
    -------
    dict of kind to ndarray of float64, (d,) or (d, r)
        Scales by which columns are multiplied, and a matrix by which rows are, r the number of columns that vary. The
        sum of the variances of all columns stays what it was, so gamma keeps its meaning, though it is worth choosing
        anew: fewer columns count. Ones, or the columns themselves, where there is nothing to learn: targets or rows
        that do not vary.

    Notes
    -----
    A round costs n m^2 multiplications for the fit, m features, and O(n k m log d) additions for the gradients, by the
    transposed transform of the Hadamard layout; "full" n k d^2 more. Above 32 targets their sums with random signs
    stand for them: the mean of their outer products is M.

    All sums are float64 and scales are rounded to 14 bits, a matrix to 14 bits of its largest entry, so the order of
    rows does not change them, and neither does whether equal rows come one by one or as one row of their joint weight.

    Examples
    --------
    The targets depend on the first of five columns:

    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((500, 5))
    >>> scales = learn_metrics(X, np.sin(2 * X[:, :1]), gamma=0.1, alpha=0.1)["diagonal"]
    >>> bool(scales[0] > 2.0 and scales[1:].max() < 0.5)
    True
    """
    owner = "learn_metrics"
    for kind in kinds:
        check_option(owner, "kind", kind, ("diagonal", "full"))
    check_positive(owner, "alpha", alpha)
    steps = {kind: check_positive(owner, "power", _POWERS[kind] if power is None else power) for kind in kinds}
    check_integer(owner, "rounds", rounds, 0)
    if check_integer(owner, "n_components", n_components, 2) % 2:
        raise fail(owner, "n_components must be even: pairs of a cosine and a sine", n_components)
    X, T, s = _checked(owner, rows, targets, weight)
    spread = _spread(X, s)
    varies, total = spread > 0.0, spread.sum()
    none: dict[MetricKind, Array] = {"diagonal": np.ones(X.shape[1]), "full": np.eye(X.shape[1])}
    if not varies.any() or not _spread(T, s).any():
        return {kind: none[kind] for kind in kinds}
    own, first = X[:, varies], None
    features = RandomFeatures(kernel, gamma=gamma, n_components=n_components, projection=projection, bits=None)

    def slopes(scaled: Array, number: int, *, diagonal: bool) -> Array:
        """Return M of a fit on rows, or its diagonal."""
        Z = features.set_params(random_state=seed + number).fit_transform(scaled.astype(np.float32))
        coef = NormalEquations.of_rows(dense_design(Z), T, s).solve(alpha).coef
        return average_outer_product(features.drawn_.projection, Z, coef, s, diagonal=diagonal)

    # Some hundred columns wait longer for a second thread than it saves them.
    with suitable_threads(1):
        if rounds:
            first = slopes(own, 0, diagonal="full" not in kinds)
        found: dict[MetricKind, Array] = {}
        for kind in kinds:
            metric = np.ones(own.shape[1]) if kind == "diagonal" else np.eye(own.shape[1])
            for number in range(rounds):
                scaled = _applied(own, metric)
                M = slopes(scaled, number, diagonal=kind == "diagonal") if number else np.asarray(first)
                metric = _stretched(metric, M, steps[kind])
                metric = _rounded(metric * np.sqrt(total / _spread(_applied(own, metric), s).sum()))
            # A column that does not vary here may elsewhere: it counts as little as one that does not matter.
            whole = np.zeros((X.shape[1], *metric.shape[1:]))
            if kind == "diagonal":
                whole += metric.max() * _FLOOR ** steps[kind]
            whole[varies] = metric
            found[kind] = whole
    return found


def _applied(rows: Array, metric: Array) -> Array:
    """Return rows with their columns multiplied by scales, or by a matrix."""
    return np.asarray(rows * metric if metric.ndim == 1 else rows @ metric)


def _stretched(metric: Array, M: Array, power: float) -> Array:
    """Return scales, or a matrix, after a round that found the outer product M, or its diagonal."""
    if metric.ndim == 1:
        return metric * _factors(M if M.ndim == 1 else np.diagonal(M), power)
    values, vectors = aside(np.linalg.eigh, M)
    return np.asarray(metric @ ((vectors * _factors(np.maximum(values, 0.0), power)) @ vectors.T))


def average_outer_product(
    projection: DrawnProjection, features: Array, coef: Array, weight: Array, *, diagonal: bool
) -> NDArray[np.float64]:
    """Return the weighted mean over rows, and the sum over columns of weights, of gradients times themselves.

    Of f(x) = sum_j a_j cos(omega_j . x + xi_j) + b_j sin(omega_j . x + xi_j) the derivative by the phase of frequency j
    is b_j cos - a_j sin, which is made of the features themselves; W' times these is the gradient.

    Parameters
    ----------
    projection : DrawnProjection
        The frequencies, p of them.
    features : ndarray of float32, (n, 2 p)
        Cosines and sines in turn.
    coef : ndarray (2 p, k)
    weight : ndarray (n,)
    diagonal : bool
        Whether only the diagonal is wanted.

    Returns
    -------
    ndarray of float64, (d,) or (d, d)

    Notes
    -----
    Costs n k pulls, O(p log d) each on the Hadamard layout, and n k d or n k d^2 products.

    Examples
    --------
    Of f(x) = cos(w . x + xi) the gradient is along w:

    >>> features = RandomFeatures(n_components=2, bits=None, random_state=0).fit([[0.0, 0.0], [1.0, 2.0]])
    >>> Z, w = features.transform([[1.0, 1.0]]), features.random_weights_[:, 0]
    >>> M = average_outer_product(features.drawn_.projection, Z, np.array([[1.0], [0.0]]), np.ones(1), diagonal=False)
    >>> bool(np.allclose(M, Z[0, 1] ** 2 * np.outer(w, w)))
    True
    """
    d, n_targets = projection.n_features, coef.shape[1]
    if n_targets > _MOST_TARGETS:
        signs = random_signs(n_targets, _MOST_TARGETS)
        coef = coef @ signs / np.sqrt(_MOST_TARGETS)
    total = np.zeros(d if diagonal else (d, d))
    for part, slopes in _gradients(projection, features, coef.astype(np.float32)):
        slopes = slopes.astype(np.float64)
        weighted = slopes * weight[part, None]
        total += np.einsum("ij,ij->j", weighted, slopes) if diagonal else weighted.T @ slopes
    return total / weight.sum()


def _gradients(projection: DrawnProjection, features: Array, coef: Array) -> Iterator[tuple[slice, Array]]:
    """Yield slices of rows and their gradients, float32 (rows, d), once for each column of weights."""
    for start in range(0, len(features), _ROWS_AT_ONCE):
        part = slice(start, start + _ROWS_AT_ONCE)
        cosines, sines = (np.ascontiguousarray(features[part, parity::2]) for parity in (0, 1))
        for own in coef.T:
            yield part, projection.pull_back(cosines * own[1::2] - sines * own[::2])


def best_frequencies(coef: ArrayLike, n_kept: int, *, width: int = 2) -> NDArray[np.int64]:
    """Return the places of the frequencies that a fit gives the most weight, in rising order.

    The weight of frequency j is the sum of w^2 over its components, a cosine and a sine, and over the columns.

    Parameters
    ----------
    coef : array (m, k)
        Weights of a first fit, the components of a frequency next to each other; the last sine may be missing.
    n_kept : int
        At most as many as there are frequencies.
    width : int, default=2
        Components of a frequency.

    Returns
    -------
    ndarray of int64, (n_kept,)

    Examples
    --------
    Of three frequencies the second has nearly no weight:

    >>> best_frequencies([[1.0], [0.0], [0.1], [0.1], [0.5], [0.5]], 2)
    array([0, 2])
    """
    weights = np.asarray(coef, dtype=np.float64)
    n_frequencies = -(-len(weights) // width)
    check_integer("best_frequencies", "n_kept", n_kept, 1, n_frequencies)
    squares = np.zeros(n_frequencies * width)
    squares[: len(weights)] = np.sum(weights**2, axis=1)
    strength = squares.reshape(n_frequencies, width).sum(axis=1)
    # Of equal ones the first.
    return np.sort(np.argsort(-strength, kind="stable")[:n_kept])


def _checked(owner: str, rows: ArrayLike, targets: ArrayLike, weight: ArrayLike | None) -> tuple[Array, Array, Array]:
    """Return rows, targets and weights in float64, those of no weight left out."""
    X, T = np.asarray(rows, dtype=np.float64), np.asarray(targets, dtype=np.float64)
    s = np.ones(len(X)) if weight is None else np.asarray(weight, dtype=np.float64)
    if X.ndim != 2 or T.ndim != 2 or not len(X) == len(T) == len(s):
        need = "rows (n, d), targets (n, k) and weight (n,) must have n in common"
        raise fail(owner, need, f"{X.shape}, {T.shape} and {s.shape}")
    if not s.min(initial=np.inf) >= 0.0 or not s.sum() > 0.0:
        raise fail(owner, "weights must not be negative, and some row must have one", s)
    has_weight = s > 0.0
    return X[has_weight], T[has_weight], s[has_weight]


def _spread(columns: Array, weight: Array) -> NDArray[np.float64]:
    """Return the weighted variance of each column, and 0 where float32 does not see any."""
    mean = weight @ columns / weight.sum()
    spread = weight @ (columns - mean) ** 2 / weight.sum()
    return np.where(spread > (np.finfo(np.float32).eps * np.abs(mean)) ** 2, spread, 0.0)


def _factors(outer: Array, power: float) -> NDArray[np.float64]:
    """Return (q / max q + floor)^power, q the square roots; ones where all are 0."""
    slopes = np.sqrt(outer)
    largest = float(slopes.max())
    return np.asarray((slopes / largest + _FLOOR) ** power) if largest > 0.0 else np.ones_like(slopes)


def _rounded(metric: Array) -> NDArray[np.float64]:
    """Return scales rounded to as many bits each, or a matrix whose entries are all rounded to one step."""
    sizes = metric if metric.ndim == 1 else np.abs(metric).max()
    step = np.ldexp(1.0 / _STEPS, np.frexp(sizes)[1])
    return np.asarray(np.rint(metric / step) * step)
