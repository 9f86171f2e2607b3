"""Sets of signals, known by their Kolmogorov entropy: the log of the number of balls that cover them.

A uniform guarantee holds on the centers of balls of radius eta by a union bound, and between them by smoothness; so all
that it must know of a set is H(eta). Every `entropy` is an upper bound that holds for each eta, natural logarithms.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from lowtide._checks import check_integer, check_interval, check_positive, fail


class SignalSet(ABC):
    """A set of signals, known by how many balls of each radius cover it.

    `dimension` is that of the space. A set that is a union of flat pieces, each covered by balls of its own, has their
    dimension as `piece_dimension`: a step within a ball stays in its piece, where only a part of a frequency counts.
    `along_axes` says whether the pieces are spanned by coordinate axes.
    """

    dimension: int
    along_axes: bool = False

    @property
    def piece_dimension(self) -> int:
        """Dimension of the flat pieces that the balls lie in."""
        return self.dimension

    @abstractmethod
    def entropy(self, eta: float) -> float:
        """Return a bound on the natural log of the number of balls of radius eta, above 0, that cover the set."""

    def _check_sizes(self, *sizes: str, lengths: tuple[str, ...] = ()) -> None:
        """Refuse sizes below 1 and lengths that are not above 0."""
        owner = type(self).__name__
        for name in sizes:
            check_integer(owner, name, getattr(self, name), low=1)
        for name in lengths:
            check_positive(owner, name, getattr(self, name))


@dataclass(frozen=True)
class FiniteSet(SignalSet):
    """A finite number of points, anywhere.

    Parameters
    ----------
    n_points : int
        How many.
    pairs : int, optional
        How many pairs of them are compared, n_points^2 unless given: queries times stored rows, for instance.

    Examples
    --------
    >>> from lowtide.theory import FiniteSet
    >>> FiniteSet(1000).pairs
    1000000
    """

    n_points: int
    pairs: int = 0

    def __post_init__(self) -> None:
        """Refuse an empty set, and fill in the number of pairs."""
        self._check_sizes("n_points")
        check_integer("FiniteSet", "pairs", self.pairs, low=0)
        object.__setattr__(self, "pairs", self.pairs or self.n_points**2)

    def entropy(self, eta: float) -> float:
        """Return the log of the number of points, whatever eta."""
        return math.log(self.n_points)


@dataclass(frozen=True)
class Ball(SignalSet):
    """The ball |x| <= radius: H(eta) <= d log(1 + 2 radius/eta), and 0 from eta = radius on.

    Parameters
    ----------
    dimension : int
        d.
    radius : float, default 1.0
        Above 0.

    References
    ----------
    Vershynin, High-Dimensional Probability, Corollary 4.2.13.

    Examples
    --------
    >>> from lowtide.theory import Ball
    >>> round(Ball(3).entropy(0.1), 3), Ball(3).entropy(1.0)
    (9.134, 0.0)
    """

    dimension: int
    radius: float = 1.0

    def __post_init__(self) -> None:
        """Refuse bad sizes."""
        self._check_sizes("dimension", lengths=("radius",))

    def entropy(self, eta: float) -> float:
        """Return d log(1 + 2 radius/eta): centers more than eta apart have balls of radius eta/2 that are disjoint."""
        return _flat_entropy(self.dimension, self.radius, eta)


@dataclass(frozen=True)
class Box(SignalSet):
    """The cube [0, side]^d, anywhere: H(eta) <= d log ceil(side sqrt(d)/(2 eta)), a grid of cubes inside balls.

    Parameters
    ----------
    dimension : int
        d.
    side : float, default 1.0
        Range of each column, above 0.

    Examples
    --------
    >>> from lowtide.theory import Box
    >>> round(Box(2).entropy(0.1), 4)                      # 8 x 8 squares with half diagonal 0.088
    4.1589
    """

    dimension: int
    side: float = 1.0

    def __post_init__(self) -> None:
        """Refuse bad sizes."""
        self._check_sizes("dimension", lengths=("side",))

    def entropy(self, eta: float) -> float:
        """Return d log ceil(side sqrt(d)/(2 eta))."""
        cells = self.side * math.sqrt(self.dimension) / (2 * _radius(eta))
        # Beyond 2^53 there is nothing to round up, and rounding errors must not add a cell.
        return self.dimension * math.log(max(1.0, cells if cells > 2**53 else math.ceil(cells * (1 - 1e-12))))


@dataclass(frozen=True)
class SparseSet(SignalSet):
    """Vectors with at most s entries that are not 0, in a ball: H(eta) <= log (d choose s) + s log(1 + 2 radius/eta).

    Parameters
    ----------
    dimension : int
        d.
    n_nonzero : int
        s, at most d.
    radius : float, default 1.0
        Of the ball, above 0.

    References
    ----------
    Asymmetric RPF (Schellekens and Jacques), Example 1, with its constants.

    Examples
    --------
    >>> from lowtide.theory import Ball, SparseSet
    >>> round(SparseSet(10_000, 5).entropy(0.01) / Ball(10_000).entropy(0.01), 5)
    0.00128
    """

    dimension: int
    n_nonzero: int
    radius: float = 1.0
    along_axes = True

    def __post_init__(self) -> None:
        """Refuse bad sizes."""
        self._check_sizes("dimension", lengths=("radius",))
        check_integer("SparseSet", "n_nonzero", self.n_nonzero, 1, self.dimension)

    @property
    def piece_dimension(self) -> int:
        """The entries that are not 0."""
        return self.n_nonzero

    def entropy(self, eta: float) -> float:
        """Return the log of the number of supports plus the entropy of a ball in each."""
        d, s = self.dimension, self.n_nonzero
        supports = math.lgamma(d + 1) - math.lgamma(s + 1) - math.lgamma(d - s + 1)
        return supports + _flat_entropy(s, self.radius, eta)


@dataclass(frozen=True)
class UnionOfSubspaces(SignalSet):
    """Vectors of n subspaces of dimension s, in a ball: H(eta) <= log n + s log(1 + 2 radius/eta).

    Parameters
    ----------
    n_subspaces : int
        n.
    subspace_dimension : int
        s, at most d.
    dimension : int
        d, of the space.
    radius : float, default 1.0
        Of the ball, above 0.

    References
    ----------
    Asymmetric RPF (Schellekens and Jacques), Example 1, with its constants.

    Examples
    --------
    >>> from lowtide.theory import Ball, UnionOfSubspaces
    >>> UnionOfSubspaces(1, 4, 4).entropy(0.1) == Ball(4).entropy(0.1)
    True
    """

    n_subspaces: int
    subspace_dimension: int
    dimension: int
    radius: float = 1.0

    def __post_init__(self) -> None:
        """Refuse bad sizes."""
        self._check_sizes("n_subspaces", "dimension", lengths=("radius",))
        check_integer("UnionOfSubspaces", "subspace_dimension", self.subspace_dimension, 1, self.dimension)

    @property
    def piece_dimension(self) -> int:
        """That of a subspace."""
        return self.subspace_dimension

    def entropy(self, eta: float) -> float:
        """Return log n plus the entropy of a ball in a subspace."""
        return math.log(self.n_subspaces) + _flat_entropy(self.subspace_dimension, self.radius, eta)


@dataclass(frozen=True)
class LowRank(SignalSet):
    """Matrices of rank at most r in a Frobenius ball: H(eta) <= r (rows + columns + 1) log(1 + 6 radius/eta).

    Parameters
    ----------
    rows, columns : int
        Shape of the matrices, which are compared as vectors.
    rank : int
        r, at most the smaller of the two.
    radius : float, default 1.0
        Of the ball, above 0.

    Notes
    -----
    Nets of radius eta/3 for the factors of a singular value decomposition; or the bound of the whole ball, if less.

    References
    ----------
    Candes and Plan, Tight oracle inequalities for low-rank matrix recovery (2011), Lemma 3.1.

    Examples
    --------
    >>> from lowtide.theory import LowRank
    >>> round(LowRank(50, 40, 2).entropy(0.1), 1)
    748.2
    """

    rows: int
    columns: int
    rank: int
    radius: float = 1.0

    def __post_init__(self) -> None:
        """Refuse bad sizes."""
        self._check_sizes("rows", "columns", lengths=("radius",))
        check_integer("LowRank", "rank", self.rank, 1, min(self.rows, self.columns))

    @property
    def dimension(self) -> int:  # type: ignore[override]
        """Entries of a matrix."""
        return self.rows * self.columns

    def entropy(self, eta: float) -> float:
        """Return the smaller of the two bounds."""
        factors = self.rank * (self.rows + self.columns + 1) * math.log1p(6 * self.radius / _radius(eta))
        return min(factors, _flat_entropy(self.dimension, self.radius, eta))


@dataclass(frozen=True)
class Entropy(SignalSet):
    """A set that you know the Kolmogorov entropy of.

    Parameters
    ----------
    function : callable
        eta to H(eta), the natural log of a number of balls of radius eta that cover the set, or a bound on it.
    dimension : int
        d, of the space.

    Examples
    --------
    >>> import math
    >>> from lowtide.theory import Entropy
    >>> curve = Entropy(lambda eta: math.log(math.ceil(1 / eta)), dimension=100)   # a curve of length 2
    >>> round(curve.entropy(0.01), 4)
    4.6052
    """

    function: Callable[[float], float]
    dimension: int

    def __post_init__(self) -> None:
        """Refuse what cannot be called."""
        self._check_sizes("dimension")
        if not callable(self.function):
            raise fail("Entropy", "function must be callable", self.function)

    def entropy(self, eta: float) -> float:
        """Return the function's value, which must be a number of at least 0."""
        return check_interval("Entropy", "the value of the function", float(self.function(_radius(eta))), 0.0, math.inf)


def _radius(eta: float) -> float:
    """Return a radius above 0; an infinite one covers all."""
    if not eta > 0:
        raise fail("entropy", "eta must be a number above 0", eta)
    return float(eta)


def _flat_entropy(dimension: int, radius: float, eta: float) -> float:
    """Return the entropy bound of a ball in so many dimensions."""
    return 0.0 if _radius(eta) >= radius else dimension * math.log1p(2 * radius / eta)
