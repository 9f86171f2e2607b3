"""Least squares with an asymmetric kernel K = L R', from m x m sums: the AsK-LS system without its n x n matrix.

For targets t the system asks for a, c (n,) and b1, b2 with

    a_i/(g s_i) + (K c)_i + b1 = t_i,   sum a = 0,        c_i/(g s_i) + (K' a)_i + b2 = t_i,   sum c = 0.

In u = R'c and v = L'a, with C_L, C_R the weighted Gram matrices of centered rows and p_L, p_R those with the targets,

    u + g C_R v = g p_R,        v + g C_L u = g p_L,

so (I - g^2 C_R C_L) u = g p_R - g^2 C_R p_L is all there is to solve. With p singular vectors of K that are turned
against each other, as those of a skew kernel are, the minus lets components near 1/g run away. Ridge regression on the
columns of K, and of K', has the same sums and a plus.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack
from scipy.sparse.linalg import LinearOperator, eigs

from lowtide.learners.design import Design

__all__ = ["TwoSidedSolution", "TwoSidedSystem"]

Array = NDArray[Any]
_DENSE_BELOW = 32
_NO_SPREAD = 1e-12


@dataclass(frozen=True)
class TwoSidedSolution:
    """u and v (m, k), their intercepts (k,), and the reciprocal condition number of what was solved."""

    source: Array
    target: Array
    source_intercept: Array
    target_intercept: Array
    rcond: float


class TwoSidedSystem:
    """The sums that the system depends on: O(n m^2) time, O(m^2) memory beside the two sides.

    Parameters
    ----------
    left, right : Design of shape (n, m)
    targets : ndarray (n, k)
    weight : ndarray (n,) or None
        Weights s of the rows; None for ones.
    """

    def __init__(self, left: Design, right: Design, targets: Array, weight: Array | None) -> None:
        s = np.ones(len(targets)) if weight is None else weight
        self.mean = targets.T @ s / s.sum()
        self.left, self.right = (_Centered.of(side, targets - self.mean, weight, s) for side in (left, right))

    def largest_singular_value(self) -> float:
        """Return that of the centered, weighted kernel matrix: below its inverse, g makes the system definite."""
        C_L, C_R = self.left.gram, self.right.gram
        m = len(C_L)
        if min(side.spread for side in (self.left, self.right)) < _NO_SPREAD:
            return 0.0  # rows that are all equal but for rounding
        if m < _DENSE_BELOW:
            square = np.linalg.eigvals(C_R @ C_L).real.max(initial=0.0)
        else:
            product = LinearOperator((m, m), matvec=lambda x: C_R @ (C_L @ x), dtype=np.float64)
            start = np.random.default_rng(0).standard_normal(m)
            square = eigs(product, k=1, which="LM", v0=start, tol=1e-12, return_eigenvectors=False)[0].real
        return float(np.sqrt(max(square, 0.0)))

    def solve_ask_ls(self, g: float) -> TwoSidedSolution:
        """Solve the AsK-LS system for all columns of the targets at once, O(m^3).

        Parameters
        ----------
        g : float
            gamma of the least-squares machine, 2 C in this library's terms.
        """
        L, R = self.left, self.right
        system = _plus_identity(-(g * g) * (R.gram @ L.gram))
        u, rcond = _solve(system, g * R.cross - g * g * (R.gram @ L.cross))
        v = g * (L.cross - L.gram @ u)
        return self._solution(u, v, rcond)

    def solve_ridge(self, g: float) -> TwoSidedSolution:
        """Minimize |t - K c - b1|^2 + |c|^2/g^2 and |t - K'a - b2|^2 + |a|^2/g^2 for all columns at once, O(m^3).

        In u and v these are (I + g^2 C_R C_L) u = g^2 C_R p_L and (I + g^2 C_L C_R) v = g^2 C_L p_R, never singular.

        Parameters
        ----------
        g : float
        """
        L, R = self.left, self.right
        system = _plus_identity(g * g * (R.gram @ L.gram))
        u, rcond = _solve(system, g * g * (R.gram @ L.cross))
        v, _ = _solve(system.T, g * g * (L.gram @ R.cross))
        return self._solution(u, v, rcond)

    def _solution(self, u: Array, v: Array, rcond: float) -> TwoSidedSolution:
        return TwoSidedSolution(u, v, self.mean - self.left.mean @ u, self.mean - self.right.mean @ v, rcond)


@dataclass(frozen=True)
class _Centered:
    """Weighted Gram matrix of centered rows, their product with the targets, mean row, and what centering left."""

    gram: Array
    cross: Array
    mean: Array
    spread: float

    @classmethod
    def of(cls, side: Design, targets: Array, weight: Array | None, s: Array) -> _Centered:
        gram = np.array(side.gram(weight, np.float64), dtype=np.float64)
        sums = side.rmatmul(np.column_stack([targets * s[:, None], s]))
        mean = sums[:, -1] / s.sum()
        whole = float(np.trace(gram))
        gram -= np.outer(mean, sums[:, -1])
        spread = float(np.trace(gram)) / whole if whole > 0 else 0.0
        return cls(gram, sums[:, :-1] - np.outer(mean, targets.T @ s), mean, spread)


def _plus_identity(matrix: Array) -> Array:
    matrix.flat[:: len(matrix) + 1] += 1.0
    return matrix


def _solve(matrix: Array, right: Array) -> tuple[Array, float]:
    """Return the solution by LU, and the reciprocal condition number; 0 when the matrix is singular."""
    norm = float(np.abs(matrix).sum(axis=0).max())
    lu, pivots, info = lapack.dgetrf(matrix)
    if info > 0:
        return np.zeros_like(right), 0.0
    rcond, _ = lapack.dgecon(lu, norm)
    solution, _ = lapack.dgetrs(lu, pivots, right)
    return np.asarray(solution), float(rcond)
