"""The contract of a kernel of differences: a sum of blocks, each a positive measure of frequencies with a phase.

    k(x, y) = kappa(x - y) = sum_b M_b E_b cos(w.(x - y) + theta_b(w)),        w distributed as block b says.

A symmetric positive kernel has one block of mass kappa(0) and phase 0. A signed measure adds a block of phase half a
turn, the odd imaginary part of a complex measure one of a quarter turn; and a complex measure as a whole is one block
whose phase is its argument.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Literal, Protocol, Self

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from lowtide._checks import check_interval, check_positive, fail, is_sparse
from lowtide.spec import Spec

Floats = NDArray[np.float64]
FrequencyLaw = Literal["gaussian_mixture", "sphere", "independent", "joint"]

# Lengths beyond which frequencies, and their products with rows, leave float32. A user's data has other units there.
_SHORTEST, _LONGEST = 1e-30, 1e30
_UNITS = "Scale the columns of X: their unit is far from the kernel's."

# Rows that the median of distances is taken over, and rows in flight.
_MEDIAN_ROWS = 1000
_BLOCK_ROWS = 4096


class Frequencies:
    """A law of frequencies. A projection may ask `law`, `sample`, and lengths where the law has them.

    `law` is its family: `gaussian_mixture` (a normal vector times an independent scalar: invariant to rotation and
    closed under padding with zeros), `sphere` (uniform on a sphere of the input's dimension), `independent`
    (coordinates drawn one by one), or `joint` (only independent draws can carry it).
    """

    law: ClassVar[FrequencyLaw]

    @abstractmethod
    def sample(self, rng: np.random.Generator, n_features: int, size: int) -> Floats:
        """Draw independent frequencies, shape (n_features, size)."""

    def length_quantile(self, q: ArrayLike, dimension: int) -> Floats:
        """Return quantiles of |w|_2 in a space of `dimension` dimensions; only for laws invariant to rotation."""
        raise fail(type(self).__name__, "lengths exist only for rotation-invariant frequencies", self.law)

    def characteristic(self, difference: ArrayLike) -> NDArray[Any]:
        """Return E exp(i w.difference), differences along the last axis; where it has a closed form."""
        raise fail(type(self).__name__, "a characteristic function must be known in closed form", "none")

    def second_moment(self, n_features: int) -> float:
        """Return E|w|_2^2, infinite for heavy tails."""
        raise fail(type(self).__name__, "the second moment of the frequencies must be known", "no second_moment")


class Phase(Protocol):
    """A phase theta(w) that is no linear function of the frequency."""

    def turns(self, W: NDArray[Any]) -> Floats:
        """Return theta in turns of frequencies in columns, (n_features, size)."""

    def characteristic(self, difference: ArrayLike, order: int = 1) -> NDArray[np.complex128]:
        """Return E exp(i order (w.difference + theta(w))), differences along the last axis."""


@dataclass(frozen=True)
class MeasureBlock:
    """One term M E cos(w.Delta + theta(w)) of a kernel.

    Attributes
    ----------
    mass : float
        M > 0.
    frequencies : Frequencies
        The law of w.
    turn : float, default=0.0
        Constant part of theta, in turns: 0, 1/2 for the negative part, 1/4 for the imaginary part.
    shift : ndarray (d,), optional
        theta also has the linear part w.shift.
    carried : Phase, optional
        theta itself, in place of turn and shift.
    """

    mass: float
    frequencies: Frequencies
    turn: float = 0.0
    shift: Floats | None = None
    carried: Phase | None = None

    @property
    def is_skew(self) -> bool:
        """Whether the two sides have different features: the phase is more than a sign."""
        return self.carried is not None or self.shift is not None or self.turn not in (0.0, 0.5)

    def phases(self, W: NDArray[Any]) -> Floats:
        """Return theta in turns of frequencies in columns, (n_features, size)."""
        if self.carried is not None:
            return self.carried.turns(W)
        linear = 0.0 if self.shift is None else self.shift @ np.asarray(W, dtype=np.float64) / (2 * np.pi)
        return np.asarray(self.turn + linear + np.zeros(W.shape[1]))

    def characteristic(self, difference: ArrayLike, order: int = 1) -> NDArray[np.complex128]:
        """Return E exp(i order (w.difference + theta(w))), differences along the last axis."""
        if self.carried is not None:
            return self.carried.characteristic(difference, order)
        moved = np.asarray(difference, dtype=np.float64)
        moved = moved if self.shift is None else moved + self.shift
        value = self.frequencies.characteristic(order * moved)
        return np.asarray(value * np.exp(2j * np.pi * order * self.turn), dtype=np.complex128)


class MeasureKernel(Spec):
    """A kernel k(x, y) = kappa(x - y) of differences, symmetric or not.

    `closed_form` says whether its blocks know their characteristic functions, and so variances are exact; `positive`
    names the parameters that must be finite numbers above 0, `lengths` those among them that distances are divided by:
    they must be from 1e-30 to 1e30, so that frequencies stay within float32.
    """

    closed_form: ClassVar[bool] = True
    positive: ClassVar[tuple[str, ...]] = ()
    lengths: ClassVar[tuple[str, ...]] = ()

    def check(self) -> None:
        """Refuse parameters outside their limits."""
        owner, params = type(self).__name__, self.get_params()
        for name in self.positive:
            check_positive(owner, name, params[name])
        for name in self.lengths:
            check_interval(owner, name, params[name], _SHORTEST, _LONGEST, _UNITS)

    @abstractmethod
    def at(self, difference: ArrayLike) -> Floats:
        """Return kappa of differences x - y along the last axis."""

    @abstractmethod
    def gram(self, X: Any, Y: Any = None) -> Floats:
        """Return the exact kernel matrix of rows of X against rows of Y (X itself when None), (n, n_y)."""

    @abstractmethod
    def measures(self, n_features: int) -> tuple[MeasureBlock, ...]:
        """Return the blocks of constant phase, those of negligible mass left out and kappa(0) kept."""

    def phase_measure(self, n_features: int) -> MeasureBlock | None:
        """Return the kernel as one block that carries the phase of its measure; None where it has no such form."""
        return None

    def resolve(self, X: Any, rng: np.random.Generator) -> Self:
        """Return the kernel with what it must learn of rows X, such as masses without a closed form."""
        return self

    @classmethod
    def from_gamma(cls, gamma: float) -> Self:
        """Return the kernel of scikit-learn's gamma."""
        need, remedy = "a kernel given by name must have a gamma", "Pass the kernel as an object."
        raise fail(cls.__name__, need, cls.__name__, remedy)


class Kernel(MeasureKernel, Frequencies):
    """A stationary kernel k(x, y) = kappa(|x - y|_p), kappa(0) = 1, and the law of its frequencies omega.

    `law` and `sample` say how they are distributed, which is all a projection may ask.
    """

    @property
    def norm(self) -> float:
        """The p of the l_p norm that the kernel is a function of."""
        return 2.0

    @abstractmethod
    def radial(self, distance: ArrayLike, n_features: int) -> Floats:
        """Return kappa(distance), elementwise, for inputs of n_features dimensions."""

    @abstractmethod
    def mean_frequency_norm(self, n_features: int) -> float:
        """Return E|omega|_2, infinite for heavy tails."""

    @abstractmethod
    def mean_projection(self, n_features: int) -> float:
        """Return C_Lambda, the largest E|omega . u| over unit vectors u, infinite for heavy tails."""

    def cosine_variance(self, distance: ArrayLike, n_features: int) -> Floats:
        """Return the variance of cos(omega.u), |u| = distance: (1 + kappa(2s))/2 - kappa(s)^2, elementwise.

        The absolute error is 1e-16; a kernel that can do without the difference keeps its digits near 0.
        """
        s = np.asarray(distance, dtype=np.float64)
        value = (1.0 + self.radial(2 * s, n_features)) / 2 - self.radial(s, n_features) ** 2
        return np.asarray(np.maximum(value, 0.0))

    def density(self, W: ArrayLike) -> Floats:
        """Return the density of the frequencies at rows of W, (n, n_features); only some kernels know it."""
        raise fail(type(self).__name__, "the density of the frequencies must be known", "no density", "Use Gaussian.")

    def gram(self, X: Any, Y: Any = None) -> Floats:
        """Return the exact kernel matrix of rows of X against rows of Y (X itself when None), (n, n_y)."""
        return self.radial(distances(X, X if Y is None else Y, self.norm), np.shape(X)[1])

    def at(self, difference: ArrayLike) -> Floats:
        """Return kappa of differences x - y along the last axis."""
        delta = np.asarray(difference, dtype=np.float64)
        return self.radial(np.linalg.norm(delta, ord=self.norm, axis=-1), delta.shape[-1])

    def characteristic(self, difference: ArrayLike) -> Floats:
        """Return E exp(i omega.difference): the kernel itself."""
        return self.at(difference)

    def measures(self, n_features: int) -> tuple[MeasureBlock, ...]:
        """Return the one block: mass 1, no phase."""
        return (MeasureBlock(1.0, self),)

    def phase_measure(self, n_features: int) -> MeasureBlock:
        """Return the one block."""
        return MeasureBlock(1.0, self)


def distances(X: Any, Y: Any, norm: float) -> Floats:
    """Return |x_i - y_j|_p for every pair of rows, float64 (n_x, n_y); sparse rows and no rows are accepted.

    Examples
    --------
    >>> distances([[0.0, 0.0]], [[3.0, 4.0]], 1.0)
    array([[7.]])
    """
    if 0 in (np.shape(X)[0], np.shape(Y)[0]):
        return np.zeros((np.shape(X)[0], np.shape(Y)[0]))
    # Here, since all of scikit-learn's metrics come with it and whoever imports a kernel may want no exact one.
    from sklearn.metrics.pairwise import euclidean_distances, manhattan_distances

    left = _float64(X)
    right = left if Y is X else _float64(Y)
    if norm == 1.0:
        return np.asarray(manhattan_distances(left, right))
    if norm != 2.0:
        dense = [A.toarray() if is_sparse(A) else A for A in (left, right)]
        return np.asarray(scipy.spatial.distance.cdist(*dense, metric="minkowski", p=norm))
    if not is_sparse(left) and not is_sparse(right):
        # scikit-learn adds |x|^2 + |y|^2 - 2 x.y, where an offset common to all rows would cancel. Rows that are one
        # object stay one, so that their diagonal is 0 exactly.
        center, same = left.mean(axis=0), right is left
        left = left - center
        right = left if same else right - center
    return np.asarray(euclidean_distances(left, right))


def _float64(X: Any) -> Any:
    """Return rows in float64, an entry a column: scikit-learn rounds to float32, and squares repeated ones apart."""
    if not is_sparse(X):
        return np.asarray(X, dtype=np.float64)
    rows = X.tocsr().astype(np.float64, copy=True)
    rows.sum_duplicates()
    return rows


def length_of_gamma(owner: str, gamma: Any, norm: float) -> float:
    """Return the length that scikit-learn's gamma stands for, 1/sqrt(2 gamma) or 1/gamma for l1; refuse the extreme.

    Examples
    --------
    >>> length_of_gamma("Gaussian", 0.5, 2.0), length_of_gamma("Laplace", 0.5, 1.0)
    (1.0, 2.0)
    """
    check_positive(owner, "gamma", gamma)
    low, high = (5e-61, 5e59) if norm == 2.0 else (1e-30, 1e30)  # of the longest and the shortest length
    check_interval(owner, "gamma", gamma, low, high, _UNITS)
    length = 1.0 / math.sqrt(2.0 * gamma) if norm == 2.0 else 1.0 / gamma
    return min(max(length, _SHORTEST), _LONGEST)


def resolve_gamma(
    gamma: Any,
    X: Any,
    norm: float,
    rng: np.random.Generator,
    sample_weight: Floats | None = None,
    owner: str = "RandomFeatures",
) -> float:
    """Return gamma as a number, rounded to ten digits so that the order of a sum does not move frequencies.

    "scale" is 1/(d variance) for l2 kernels and 1/(d standard deviation) for l1, over all entries of X, weighted by
    rows; "median" is 1/(2 median^2) or 1/median of the pairwise distances of at most 1000 seeded rows. Both are 1.0
    for constant data. A gamma of which no float32 rows have a use, above 5e59 or below 5e-61 (1e30 and 1e-30 for l1),
    is refused.

    Examples
    --------
    >>> X = np.array([[0.0, 2.0], [2.0, 0.0]])
    >>> resolve_gamma("scale", X, 2.0, np.random.default_rng(0))
    0.5
    """
    if isinstance(gamma, Real) and not isinstance(gamma, bool):
        length_of_gamma(owner, gamma, norm)
        return float(gamma)
    if not isinstance(gamma, str) or gamma not in ("scale", "median"):
        raise fail(owner, "gamma must be 'scale', 'median' or a number above 0", gamma)
    if gamma == "scale":
        weight, spread = X.shape[1], _spread(X, sample_weight)
    else:
        chosen = X[np.sort(rng.choice(X.shape[0], size=min(X.shape[0], _MEDIAN_ROWS), replace=False))]
        pairs = distances(chosen, chosen, norm)[np.triu_indices(chosen.shape[0], k=1)]
        weight, spread = 2.0 if norm == 2.0 else 1.0, float(np.median(pairs)) if pairs.size else 0.0
    scale = weight * (spread**2 if norm == 2.0 else spread)
    if not scale > 0 or math.isinf(1.0 / scale):
        return 1.0
    found = float(f"{1.0 / scale:.10g}")
    length_of_gamma(owner, found, norm)
    return found


def _spread(X: Any, sample_weight: Floats | None) -> float:
    """Return the standard deviation of all entries, block by block, by merging means and squares."""
    total, mean, square = 0.0, 0.0, 0.0
    # In units of the largest weight, so that no sum overflows.
    unit = 1.0 if sample_weight is None else float(np.max(sample_weight, initial=0.0)) or 1.0
    for start in range(0, X.shape[0], _BLOCK_ROWS):
        block = X[start : start + _BLOCK_ROWS]
        rows = np.asarray(block.toarray() if is_sparse(block) else block, dtype=np.float64)
        weights = np.ones(len(rows)) if sample_weight is None else sample_weight[start : start + _BLOCK_ROWS] / unit
        size = float(weights.sum()) * rows.shape[1]
        if size <= 0:
            continue
        block_mean = float(weights @ rows.sum(axis=1)) / size
        centered = rows - block_mean
        block_square = float(weights @ np.einsum("ij,ij->i", centered, centered))
        delta, merged = block_mean - mean, total + size
        square += block_square + delta**2 * total * size / merged
        mean, total = mean + delta * size / merged, merged
    return math.sqrt(square / total) if total > 0 else 0.0
