"""Least-squares classification with both sides of an asymmetric kernel."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.linalg import lapack
from scipy.sparse.linalg import LinearOperator, eigs
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import validate_data

from lowtide._checks import check_option, check_positive, fail, host_array
from lowtide.cancel import aside, matmul, poll
from lowtide.encoders import AsymmetricFeatures, DrawnEncoder, Encoder
from lowtide.learners.cholesky import lu_factors
from lowtide.learners.classes import ClassCounts, ClassIndex, ClassTargets, check_classes, class_weights
from lowtide.learners.decision import Decision, RightWeights, Side
from lowtide.learners.design import Design, encoded_design, is_source
from lowtide.learners.learner import Learner
from lowtide.learners.machine import unchanged_if_stopped
from lowtide.learners.rules import ArgMax
from lowtide.learners.strength import lowest

Array = NDArray[Any]
_ROLES = ("both", "source", "target")
# g in units of the inverse of the largest singular value: within the range where AsK-LS is positive definite, and where
# ridge damps components below a thirtieth of the largest.
_STABLE = {"ask_ls": 0.9, "ridge": 30.0}
# What C="auto" chooses from, in the same unit, around what "stable" takes: AsK-LS stays positive definite.
_CANDIDATES = {"ask_ls": 0.9 * 10.0 ** np.arange(-3.0, 0.1, 0.5), "ridge": 30.0 * 10.0 ** np.arange(-3.0, 4.1, 0.5)}
_FOLDS = 3
_BLOCK_ROWS = 4096
# Below this the solution is rounding.
_SMALLEST_RCOND = 1e-13
_DENSE_BELOW = 32
_NO_SPREAD = 1e-12
# Numbers of a matrix that are read between two polls: 20 ms.
_READ = 1 << 24


@dataclass(eq=False, repr=False)
class AsymmetricLSSVC(ClassifierMixin, Learner):
    """Learn classes from a kernel with a direction: by least squares on k(x, y) and on k(y, x).

    It regresses the labels on the columns of the kernel matrix and on its rows, or solves the AsK-LS system
    [0 0 y' 0; 0 0 0 y'; y 0 I/g H; 0 y H' I/g] with H_ij = y_i k(x_i, x_j) y_j and g = 2 C, in both cases
    through the two maps of an encoder, so no n x n matrix exists. A row has a score as a source, sum_j k(x, x_j) c_j +
    b1, and one as a target, sum_j k(x_j, x) a_j + b2.

    Parameters
    ----------
    features : Encoder or None, default=None
        Cloned and fitted on the rows; a `FrozenEstimator` around a fitted encoder is used as it is. None is
        `AsymmetricFeatures` of its default kernel with `n_components` and no coded side. An encoder without a right
        side counts as symmetric.
    C : float, "stable" or "auto", default="stable"
        Inverse regularization, g = 2 C. With a symmetric kernel AsK-LS is `KernelClassifier` of that C. "stable"
        is 0.9 of the largest at which AsK-LS is positive definite, see Notes; for ridge 33 times as much. "auto" is
        the one of least squared error on held-out rows, of the scores that decide, see Notes.
    system : {"ridge", "ask_ls"}, default="ridge"
        Ridge regression of the labels on the columns of the kernel matrix and on its rows, or the AsK-LS system, a
        saddle that is erratic unless the kernel is nearly symmetric.
    role : {"both", "source", "target"}, default="both"
        Which score of a row decides; "both" is their mean.
    n_components : int, default=1024
        Of the default features.
    side : {"codes", "full"} or None, default=None
        What both maps are taken from; None is "codes", or "full" for features without a coded side.
    class_weight : dict, "balanced" or None, default=None
    random_state : int, RandomState or None, default=None
        Passed to the default features.

    Attributes
    ----------
    classes_ : ndarray (n_classes,)
    source_coef_, target_coef_ : ndarray (1 or n_classes, n_features_out)
    intercept_ : ndarray (2, 1 or n_classes)
        b1 and b2.
    features_ : Encoder
    decision_ : Decision
        What was learned, frozen.
    C_ : float

    Notes
    -----
    More than two classes: one against the rest, in one solve. AsK-LS is positive definite while 1/g is above every
    singular value of the centered kernel matrix. Beyond that it is a saddle point, singular where 1/g is one of them
    (fit raises there). A component of singular value sigma that the kernel turns by an angle theta is learned with the
    gain g sigma (cos theta - g sigma)/(1 - g^2 sigma^2), of the wrong sign between cos theta and 1; with ridge it is
    g^2 sigma^2/(1 + g^2 sigma^2) whatever the angle.

    "auto" walks downhill from "stable" by decades, then by half ones: at most three decades down, for ridge four up.
    Each third of the rows is scored by a fit on the others, as a source, a target or both, as `role` says; about
    fifteen solves in all. Which third a row belongs to follows from its values alone: no random number is drawn, equal
    rows are held out together, and a row of weight 2 counts as two rows.

    References
    ----------
    AsK-LS (He, He, Shi, Huang and Suykens), learning with asymmetric kernels: least squares and feature interpretation.

    Examples
    --------
    >>> import numpy as np
    >>> from lowtide import AsymmetricFeatures, AsymmetricLSSVC
    >>> from lowtide.kernels import ShiftGaussian
    >>> X = np.random.default_rng(0).standard_normal((200, 2))
    >>> y = np.where(X[:, 0] * X[:, 1] > 0, "in", "out")
    >>> features = AsymmetricFeatures(ShiftGaussian(shift=0.3), n_components=256, bits=None, random_state=0)
    >>> model = AsymmetricLSSVC(features).fit(X[:150], y[:150])
    >>> bool(model.score(X[150:], y[150:]) > 0.85)
    True
    """

    fitted_numbers = ("C_",)
    features: Encoder | None = None
    _: KW_ONLY
    C: float | Literal["stable", "auto"] = "stable"
    system: Literal["ridge", "ask_ls"] = "ridge"
    role: Literal["both", "source", "target"] = "both"
    n_components: int = 1024
    side: Side | None = None
    class_weight: dict[Any, float] | Literal["balanced"] | None = None
    random_state: int | np.random.RandomState | None = None
    C_: float = field(init=False)

    def fit(self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit on rows.

        Parameters
        ----------
        X : array, CSR matrix or data frame (n, n_features)
        y : array (n,) of classes
        sample_weight : array (n,), optional
        """
        if self.C not in ("stable", "auto"):
            check_positive("AsymmetricLSSVC", "C", self.C, "Or let it be derived: C='stable', or chosen: C='auto'.")
        check_option("AsymmetricLSSVC", "role", self.role, _ROLES)
        check_option("AsymmetricLSSVC", "system", self.system, tuple(_SOLVERS))
        _refuse_codes(X)
        with unchanged_if_stopped(self):
            X = named = host_array("AsymmetricLSSVC", X)
            rows, labels = validate_data(self, X, y, accept_sparse="csr", dtype="numeric")
            weight = self._check_weight(sample_weight, len(labels))
            found = ClassCounts.of(labels, weight)
            check_classes("AsymmetricLSSVC", found.classes)
            factor = class_weights(self.class_weight, found.classes, found.totals, owner="AsymmetricLSSVC")
            index, weight = ClassIndex(found.classes, factor)(labels, weight)
            encoder = self.fit_features(rows, None, named).drawn_
            side = self._resolve_side(encoder)
            makes = (partial(make, side=side) for make in (encoder.left, encoder.right))
            left, right = (encoded_design(make, rows, encoder.n_outputs) for make in makes)
            targets = ClassTargets(len(found.classes), one_hot=False).targets(index)
            # In units of the largest weight, so that no product over- or underflows.
            unit = 1.0 if weight is None else float(weight.max())
            data = TwoSidedData(left, right, targets, None if weight is None else weight / unit)
            system = data.system()
            strength = self._strength(system, data, rows) if isinstance(self.C, str) else float(self.C) * unit
            u, v, rcond = _SOLVERS[self.system](system, 2.0 * strength)
            if rcond < _SMALLEST_RCOND:
                raise fail(
                    "AsymmetricLSSVC", "C must give a system that is not singular", self.C, _REMEDIES[self.system]
                )
            self.C_ = strength / unit
            names = self.__dict__.get("feature_names_in_")
            columns = None if names is None else tuple(map(str, names))
            own = RightWeights(v, system.mean - system.right.mean @ v, self.role)
            made = (encoder, None, side, u, system.mean - system.left.mean @ u, ArgMax())
            self.decision_ = Decision(*made, classes=found.classes, columns=columns, right=own)
        return self

    def _strength(self, system: TwoSidedSystem, data: TwoSidedData, rows: Any) -> float:
        """Return the C that is derived or chosen."""
        largest = system.largest_singular_value()
        if not largest > 0:
            return 1.0
        if self.C == "stable":
            return 0.5 * _STABLE[self.system] / largest
        candidates = 0.5 * _CANDIDATES[self.system] / largest
        folds = [(data.take(fold != i), data.take(fold == i)) for fold in (content_folds(rows),) for i in range(_FOLDS)]
        parts = [(train, train.system(), held) for train, held in folds if train.total > 0 and held.total > 0]

        def error(i: int) -> float:
            # The same g times singular value as in the whole fit.
            strengths = (2.0 * candidates[i] * data.total / train.total for train, _, _ in parts)
            return sum(self._held_out_error(part, held, g) for (_, part, held), g in zip(parts, strengths))

        start = int(np.argmin(np.abs(_CANDIDATES[self.system] - _STABLE[self.system])))
        return float(candidates[lowest(error, len(candidates), start, strides=(-2, -1))])

    def _held_out_error(self, system: TwoSidedSystem, held: TwoSidedData, g: float) -> float:
        """Return the weighted squared error of the scores that decide, of rows that were not learned from."""
        u, v, rcond = _SOLVERS[self.system](system, g)
        if rcond < _SMALLEST_RCOND:
            return np.inf
        source = held.left.matmul(u) + (system.mean - system.left.mean @ u)
        target = held.right.matmul(v) + (system.mean - system.right.mean @ v)
        scores = {"source": source, "target": target, "both": (source + target) / 2}[self.role]
        return float(held.weights @ np.sum((held.targets - scores) ** 2, axis=1))

    def decision_function(self, X: Any) -> Array:
        """Return scores, (n,) for two classes and (n, n_classes) for more."""
        return self._decision().values(self._input(X), checked=True)

    def source_scores(self, X: Any) -> Array:
        """Return the scores of rows as sources, through k(x, .), shape (n, 1 or n_classes)."""
        return self._decision().map_scores(self._rows(X), "source")

    def target_scores(self, X: Any) -> Array:
        """Return the scores of rows as targets, through k(., x), shape (n, 1 or n_classes)."""
        return self._decision().map_scores(self._rows(X), "target")

    def predict(self, X: Any) -> Array:
        """Return the class of the largest score, (n,)."""
        return self._decision().predict(self._input(X), checked=True)

    @property
    def source_coef_(self) -> Array:
        """Weights of the left map, u = sum_j c_j right(x_j), (k, m)."""
        return self.coef_

    @property
    def target_coef_(self) -> Array:
        """Weights of the right map, v = sum_j a_j left(x_j), (k, m)."""
        return self._right().weights.T

    @property
    def intercept_(self) -> Array:
        """Intercepts b1 and b2 of both maps, (2, k)."""
        return np.vstack([self._decision().intercept, self._right().intercept])

    def _right(self) -> RightWeights:
        right = self._decision().right
        assert right is not None
        return right

    def _rows(self, X: Any) -> Any:
        _refuse_codes(X)
        return self._input(X)

    def _default_features(self, X: Any, weight: Any, labels: Any, most: int) -> Encoder:
        """Return the encoder that stands for features=None, not fitted."""
        # Masses fitted to some rows would tell a row of weight 2 from two rows.
        size, seed = self.n_components, self.random_state
        return AsymmetricFeatures(n_components=size, masses="exact", bits=None, random_state=seed)

    def _resolve_side(self, encoder: DrawnEncoder) -> Side:
        side = ("codes" if encoder.has_codes else "full") if self.side is None else self.side
        check_option("AsymmetricLSSVC", "side", side, ("codes", "full"))
        if side == "codes" and not encoder.has_codes:
            raise fail("AsymmetricLSSVC", "side must be 'full' for features without a coded side", side)
        return side


def _refuse_codes(X: Any) -> None:
    """Refuse codes, which would be read as rows where there are as many of their columns."""
    if is_source(X):
        raise fail("AsymmetricLSSVC", "X must be rows, which have two sides", "Codes of one", "Pass the rows.")


def content_folds(rows: Any) -> Array:
    """Return the fold of each row (n,), a hash of its values: equal rows share one, dense or sparse, in any order."""
    factors = np.random.Generator(np.random.PCG64(0)).bit_generator.random_raw(rows.shape[1]) | np.uint64(1)
    folds = np.empty(rows.shape[0], dtype=np.int64)
    for start in range(0, rows.shape[0], _BLOCK_ROWS):
        block = rows[start : start + _BLOCK_ROWS]
        dense = np.asarray(block.toarray() if sparse.issparse(block) else block, dtype=np.float64)
        bits = (dense + 0.0).view(np.uint64)  # -0 becomes 0
        mixed = np.sum((bits ^ (bits >> np.uint64(32))) * factors, axis=1, dtype=np.uint64)
        folds[start : start + _BLOCK_ROWS] = (mixed >> np.uint64(32)) % np.uint64(_FOLDS)
    return folds


@dataclass(frozen=True)
class TwoSidedData:
    """Rows on both sides of an encoder, with targets (n, k) and weights (n,), None for ones."""

    left: Design
    right: Design
    targets: Array
    weight: Array | None

    @property
    def weights(self) -> Array:
        """Weights, ones where none were given."""
        return np.ones(len(self.targets)) if self.weight is None else self.weight

    @property
    def total(self) -> float:
        """Sum of the weights."""
        return float(self.weights.sum())

    def take(self, rows: Array) -> TwoSidedData:
        """Return the rows of a mask."""
        where = np.flatnonzero(rows)
        weight = None if self.weight is None else self.weight[where]
        return TwoSidedData(self.left.take(where), self.right.take(where), self.targets[where], weight)

    def system(self) -> TwoSidedSystem:
        """Return the equations of these rows."""
        return TwoSidedSystem(self.left, self.right, self.targets, self.weight)


class TwoSidedSystem:
    """Least squares with an asymmetric kernel K = L R', from m x m sums: the AsK-LS system without its n x n matrix.

    For targets t the system asks for a, c (n,) and b1, b2 with

        a_i/(g s_i) + (K c)_i + b1 = t_i,   sum a = 0,        c_i/(g s_i) + (K' a)_i + b2 = t_i,   sum c = 0.

    In u = R'c and v = L'a, with C_L, C_R the weighted Gram matrices of centered rows and p_L, p_R their products with
    the targets,

        u + g C_R v = g p_R,        v + g C_L u = g p_L,

    so (I - g^2 C_R C_L) u = g p_R - g^2 C_R p_L is all there is to solve. With singular vectors of K that are turned
    against each other, as those of a skew kernel are, the minus lets components near 1/g run away. Ridge regression on
    the columns of K, and of K', has the same sums and a plus.

    The sums take O(n m^2) time, and O(m^2) memory beside the two sides.
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
            square = aside(np.linalg.eigvals, C_R @ C_L).real.max(initial=0.0)
        else:
            product = LinearOperator((m, m), matvec=lambda x: _times(C_R, _times(C_L, x)), dtype=np.float64)
            start = np.random.default_rng(0).standard_normal(m)
            square = eigs(product, k=1, which="LM", v0=start, tol=1e-12, return_eigenvectors=False)[0].real
        return float(np.sqrt(max(square, 0.0)))

    def solve_ask_ls(self, g: float) -> tuple[Array, Array, float]:
        """Return u and v (m, k) of the AsK-LS system, and its reciprocal condition number; O(m^3), g is 2 C."""
        L, R = self.left, self.right
        keep, once, gain = _parts_of(g)
        matrix = keep * np.eye(len(L.gram)) - gain * matmul(R.gram, L.gram)
        return _solve(matrix, once * R.cross - gain * (R.gram @ L.cross), once * L.cross - gain * (L.gram @ R.cross))

    def solve_ridge(self, g: float) -> tuple[Array, Array, float]:
        """Return the same for the least |t - K c - b1|^2 + |c|^2/g^2 and |t - K'a - b2|^2 + |a|^2/g^2, O(m^3).

        In u and v these are (I + g^2 C_R C_L) u = g^2 C_R p_L and (I + g^2 C_L C_R) v = g^2 C_L p_R, never singular.
        """
        L, R = self.left, self.right
        keep, _, gain = _parts_of(g)
        matrix = keep * np.eye(len(L.gram)) + gain * matmul(R.gram, L.gram)
        return _solve(matrix, gain * (R.gram @ L.cross), gain * (L.gram @ R.cross))


def _times(matrix: Array, x: Array) -> Array:
    """Return a matrix times a vector, some rows at a time: reading a large matrix takes long."""
    step = max(1, _READ // len(x))
    parts = []
    for i in range(0, len(matrix), step):
        poll()
        parts.append(matrix[i : i + step] @ x)
    return np.concatenate(parts)


def _parts_of(g: float) -> tuple[float, float, float]:
    """Return 1, g and g^2, divided by g^2 where that is above 1: nothing overflows however large g is."""
    return (1.0, g, g * g) if g <= 1.0 else (1.0 / g / g, 1.0 / g, 1.0)


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


def _solve(matrix: Array, right: Array, right_of_transpose: Array) -> tuple[Array, Array, float]:
    """Return the solutions with the matrix and with its transpose by LU, and the reciprocal condition number.

    That is 0 when the matrix is singular.
    """
    norm = float(np.abs(matrix).sum(axis=0).max())
    lu, pivots, info = lu_factors(matrix)
    if info > 0:
        return np.zeros_like(right), np.zeros_like(right), 0.0
    rcond, _ = aside(lapack.dgecon, lu, norm)
    u, _ = aside(lapack.dgetrs, lu, pivots, right)
    v, _ = aside(lapack.dgetrs, lu, pivots, right_of_transpose, trans=1)
    return np.asarray(u), np.asarray(v), float(rcond)


_SOLVERS = {"ask_ls": TwoSidedSystem.solve_ask_ls, "ridge": TwoSidedSystem.solve_ridge}
_REMEDIES = {
    "ask_ls": "Change C a little: the system is singular where 1/(2C) is a singular value of the kernel matrix.",
    "ridge": "Lower C: nothing is left of the regularization but rounding.",
}
