"""Exact kernel machines of scikit-learn as sums of kernel values, and how far compressing them moves these sums."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

from lowtide._checks import check_positive, fail
from lowtide.encoders import DrawnFeatures
from lowtide.kernels import KERNELS, Gaussian, Kernel, Matern
from lowtide.learners.design import CodedDesign, Design, FullDesign

Array = NDArray[Any]

_KERNELS = KERNELS.of(Kernel)
_BLOCK_VALUES = 1 << 21
_KERNEL_VALUES = 1 << 22
_WAY_OUT = (
    "Constants times, and plus, one RBF, Matern or PairwiseKernel term can be compressed, WhiteKernel beside it; for "
    "other kernels train lowtide.KernelRegressor."
)


@dataclass(frozen=True)
class KernelExpansion:
    """Values f_c(x) = sum_i coef_ic k(x_i, x / scale) + intercept_c.

    rows x_i (n, d), scaled, may be sparse; coef (n, k), float64; scale (d,) divides the columns, None where it is all
    ones. `nbytes` is what the model itself takes for rows and coefficients.
    """

    kernel: Kernel
    rows: Any
    coef: Array
    intercept: Array
    nbytes: int
    scale: Array | None = None

    def decision(self, X: Any, gram: Callable[[Any, Any], Array] | None = None) -> Array:
        """Return f at scaled rows X, float64 (n_x, k), a few megabytes of kernel values at a time.

        `gram` stands in for the exact kernel of these rows against the support rows.
        """
        gram = self.kernel.gram if gram is None else gram
        out = np.empty((X.shape[0], self.coef.shape[1]))
        step = max(1, _KERNEL_VALUES // self.rows.shape[0])
        for start in range(0, X.shape[0], step):
            part = slice(start, start + step)
            out[part] = gram(X[part], self.rows) @ self.coef
        return out + self.intercept


def expansion_of(model: Any) -> KernelExpansion:
    """Read a fitted model's kernel sums; refuse a model or a kernel that has none."""
    readers = _readers()
    read = next((read for classes, read in readers if isinstance(model, classes)), None)
    if read is None:
        names = ", ".join(cls.__name__ for classes, _ in readers for cls in classes)
        remedy = "Of a search pass best_estimator_; other models: train lowtide.KernelClassifier or KernelRegressor."
        need = f"model must be one of {names}, or a Pipeline that ends in one"
        raise fail("compress", need, type(model).__name__, remedy)
    if not (hasattr(model, "dual_coef_") or hasattr(model, "alpha_")):
        raise NotFittedError(f"compress: model must be fitted, got {type(model).__name__} before fit. Call fit first.")
    return read(model)


def _read_svm(model: Any) -> KernelExpansion:
    """Read a support vector machine with a single column: two classes, regression, one class."""
    kernel, rows, dual = _named_kernel(model, model._gamma), model.support_vectors_, model.dual_coef_
    # A model fitted on sparse rows keeps its coefficients sparse.
    coef = np.asarray(dual.toarray() if sparse.issparse(dual) else dual, dtype=np.float64).T
    return KernelExpansion(kernel, rows, coef, np.asarray(model.intercept_, dtype=np.float64), _nbytes(rows, dual))


def _read_classifier(model: Any) -> KernelExpansion:
    """Read a column for each pair of classes, in scikit-learn's order (0, 1), (0, 2), ..., (1, 2), ..."""
    single = _read_svm(model)
    if len(model.classes_) == 2:
        return single
    dual = single.coef
    ends = np.cumsum(model.n_support_)
    of_class = [slice(end - count, end) for count, end in zip(model.n_support_, ends)]
    pairs = list(combinations(range(len(model.classes_)), 2))
    coef = np.zeros((len(dual), len(pairs)))
    for column, (i, j) in enumerate(pairs):
        # Row c of dual_coef_ holds a class's coefficients against the c-th of the other classes.
        coef[of_class[i], column] = dual[of_class[i], j - 1]
        coef[of_class[j], column] = dual[of_class[j], i]
    return replace(single, coef=coef)


def _read_ridge(model: Any) -> KernelExpansion:
    """Read kernel ridge regression, with a named kernel or a Gaussian process kernel."""
    coef = np.asarray(model.dual_coef_, dtype=np.float64).reshape(len(model.dual_coef_), -1)
    from sklearn.gaussian_process.kernels import Kernel as GPKernel

    if isinstance(model.kernel, GPKernel):
        return _of_gp_kernel(model.kernel, model.X_fit_, coef)
    gamma = 1.0 / model.X_fit_.shape[1] if model.gamma is None else model.gamma
    kernel, nbytes = _named_kernel(model, gamma), _nbytes(model.X_fit_, coef)
    return KernelExpansion(kernel, model.X_fit_, coef, np.zeros(coef.shape[1]), nbytes)


def _read_gaussian_process(model: Any) -> KernelExpansion:
    """Read the mean of a Gaussian process, normalize_y undone."""
    std = np.atleast_1d(np.asarray(model._y_train_std, dtype=np.float64))
    mean = np.atleast_1d(np.asarray(model._y_train_mean, dtype=np.float64))
    coef = np.asarray(model.alpha_, dtype=np.float64).reshape(len(model.alpha_), -1) * std
    return _of_gp_kernel(model.kernel_, model.X_train_, coef, mean)


def _of_gp_kernel(kernel: Any, rows: Any, coef: Array, intercept: Array | float = 0.0) -> KernelExpansion:
    """Fold the amplitude into the coefficients and a constant part into the intercept."""
    constant, amplitude, base = _terms(kernel)
    if base is None:
        raise fail("compress", "the kernel must have an RBF, Matern or PairwiseKernel term", str(kernel), _WAY_OUT)
    stationary, scale = _stationary(base)
    nbytes = _nbytes(rows, coef)
    rows = rows if scale is None else rows / scale
    return KernelExpansion(stationary, rows, amplitude * coef, intercept + constant * coef.sum(axis=0), nbytes, scale)


def _named_kernel(model: Any, gamma: float) -> Kernel:
    """Return the kernel of scikit-learn's name and gamma."""
    name, allowed = type(model).__name__, "'rbf', or 'laplacian' or a Gaussian process kernel in KernelRidge"
    if not isinstance(model.kernel, str) or model.kernel not in ("rbf", "laplacian"):
        remedy = "Only stationary kernels have random features: refit with kernel='rbf'."
        if model.kernel == "linear":
            remedy = "A linear kernel is a weight vector already."
        raise fail("compress", f"the kernel of {name} must be {allowed}", model.kernel, remedy)
    check_positive("compress", f"gamma of {name}", gamma, "With 0 every kernel value is 1: refit.")
    return _KERNELS[model.kernel].from_gamma(float(gamma))


def _nbytes(*arrays: Any) -> int:
    """Return the bytes of dense and CSR arrays together."""
    parts = [(a.data, a.indices, a.indptr) if sparse.issparse(a) else (a,) for a in arrays]
    return sum(int(array.nbytes) for part in parts for array in part)


def _terms(kernel: Any) -> tuple[float, float, Any]:
    """Return c, a and k of a kernel c + a k; k None where there is none. Between different rows white noise is 0."""
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, PairwiseKernel, Product, Sum, WhiteKernel

    if isinstance(kernel, ConstantKernel):
        return float(kernel.constant_value), 0.0, None
    if isinstance(kernel, WhiteKernel):
        return 0.0, 0.0, None
    if isinstance(kernel, (RBF, PairwiseKernel)):  # GPMatern is an RBF
        return 0.0, 1.0, kernel
    if not isinstance(kernel, (Sum, Product)):
        raise fail("compress", "the kernel must be stationary", str(kernel), _WAY_OUT)
    (c1, a1, left), (c2, a2, right) = _terms(kernel.k1), _terms(kernel.k2)
    if left is not None and right is not None:
        raise fail("compress", "the kernel must have one stationary term", str(kernel), _WAY_OUT)
    base = right if left is None else left
    return (c1 + c2, a1 + a2, base) if isinstance(kernel, Sum) else (c1 * c2, c1 * a2 + a1 * c2, base)


def _stationary(base: Any) -> tuple[Kernel, Array | None]:
    """Return the kernel of an RBF, Matern or PairwiseKernel, and a divisor a column where length scales differ."""
    from sklearn.gaussian_process.kernels import Matern as GPMatern
    from sklearn.gaussian_process.kernels import PairwiseKernel

    if isinstance(base, PairwiseKernel):
        if base.metric not in ("rbf", "laplacian"):
            raise fail("compress", "metric of PairwiseKernel must be 'rbf' or 'laplacian'", base.metric, _WAY_OUT)
        return _KERNELS[base.metric].from_gamma(float(base.gamma)), None
    lengths = np.atleast_1d(np.asarray(base.length_scale, dtype=np.float64))
    length, scale = (float(lengths[0]), None) if np.all(lengths == lengths[0]) else (1.0, lengths)
    if isinstance(base, GPMatern) and math.isfinite(base.nu):  # without limit it is RBF
        return Matern(length_scale=length, nu=float(base.nu)), scale
    return Gaussian(bandwidth=length), scale


@dataclass(frozen=True, repr=False)
class DecisionReport:
    """How far compression moved the decision values; print it for a short table.

    Attributes
    ----------
    n_rows : int
        Rows that were measured.
    rows : str
        Which rows: "support rows" or "given rows".
    moved, largest : float
        Root mean square and largest difference to the exact decision values.
    predicted : float
        Root mean square standard error, from the spread of the terms of single frequencies.
    bias : float
        Root mean square difference of the expectation to the exact values: 0 unless both sides are coded.
    spread : float
        Standard deviation of the exact decision values over the rows.
    unchanged : float or None
        Part of the predicted classes that stayed; None for regression.
    nbytes, exact_nbytes : int
        Size of the model: encoder and weights, and before, support rows and coefficients.
    """

    n_rows: int
    rows: str
    moved: float
    largest: float
    predicted: float
    bias: float
    spread: float
    unchanged: float | None
    nbytes: int
    exact_nbytes: int

    def __repr__(self) -> str:
        share = f", {self.moved / self.spread:.1%} of their spread" if self.spread > 0 else ""
        lines = [
            f"Decision values on {self.n_rows} {self.rows}",
            f"  moved      {self.moved:.3g} rms{share}; {self.largest:.3g} at most",
            f"  predicted  {self.predicted:.3g} standard error" + (f", {self.bias:.3g} bias" if self.bias else ""),
        ]
        if self.unchanged is not None:
            lines.append(f"  unchanged  {self.unchanged:.1%} of the predictions")
        lines.append(f"  size       {_size(self.nbytes)}, exact model {_size(self.exact_nbytes)}")
        return "\n".join(lines)


def draw_variance(D: Array, W: Array, features: DrawnFeatures) -> Array:
    """Return the variance of D W over draws of independent frequencies, (n, k), estimated from this one draw.

    A value is sum_j T_j over p frequencies, T_j a function of frequency j alone, so p/(p-1) sum_j (T_j - mean)^2 is
    unbiased, however correlated the kernel values within the sum are.
    """
    return _variance(D, W, features.feature_map.width, features.projection.n_frequencies)


def layout_ratio(D: Array, W: Array, features: DrawnFeatures) -> tuple[float, float]:
    """Return the variance of the sum of all whole blocks, from the blocks and as if frequencies were independent.

    Both are summed over D's rows and W's columns. Orthogonal frequencies of a block depend on each other, blocks do
    not: with B blocks of size s, B/(B-1) sum_b (T_b - mean)^2 is unbiased. (1, 1) where there are no two of them.
    """
    blocks, width = features.projection.blocks, features.feature_map.width
    size = max(blocks.sizes)
    starts = [start for start, n in zip(np.cumsum((0, *blocks.sizes)), blocks.sizes) if n == size]
    if blocks.lengths == "iid" or size == 1 or len(starts) < 2:
        return 1.0, 1.0
    columns = [slice(width * start, width * (start + size)) for start in starts]
    sums = np.stack([D[:, part] @ W[part] for part in columns])
    whole = np.concatenate([np.arange(*part.indices(D.shape[1])) for part in columns])
    between = len(starts) * sums.var(axis=0, ddof=1)
    independent = _variance(D[:, whole], W[whole], width, size * len(starts))
    return float(between.sum()), float(independent.sum())


def _variance(D: Array, W: Array, width: int, p: int) -> Array:
    """Return p/(p-1) sum_j (T_j - mean)^2, (n, k), T_j the part of frequency j with its one or two components."""
    totals = D @ W
    if p == 1:
        return np.full(totals.shape, np.inf)
    if width == 1:
        squares = (D * D) @ (W * W)
    else:
        if D.shape[1] % 2:  # the last sine was dropped
            D, W = np.pad(D, ((0, 0), (0, 1))), np.pad(W, ((0, 1), (0, 0)))
        cos, sin, u, v = D[:, ::2], D[:, 1::2], W[::2], W[1::2]
        squares = (cos * cos) @ (u * u) + (sin * sin) @ (v * v) + 2.0 * (cos * sin) @ (u * v)
    return p / (p - 1) * np.maximum(squares - totals**2 / p, 0.0)


def dense_blocks(design: Design) -> Iterator[tuple[slice, Array]]:
    """Yield slices of rows and their features in float64."""
    if isinstance(design, FullDesign):
        yield from ((part, Z.astype(np.float64)) for part, Z in design.blocks())
    elif isinstance(design, CodedDesign):
        start, size = 0, max(1, _BLOCK_VALUES // design.shape[1])
        for block in design.codes.blocks(size):
            yield slice(start, start + len(block)), np.asarray(block, dtype=np.float64)
            start += len(block)


def _size(nbytes: int) -> str:
    return f"{nbytes / 1e6:.2f} MB" if nbytes >= 1e6 else f"{nbytes / 1e3:.1f} kB"


@cache
def _readers() -> tuple[tuple[tuple[type, ...], Callable[[Any], KernelExpansion]], ...]:
    """Return what reads a model, by its classes."""
    # Here and above in functions, not at the top: whoever imports a learner has no Gaussian process to compress.
    from sklearn.gaussian_process import GaussianProcessRegressor

    return (
        ((SVC, NuSVC), _read_classifier),
        ((SVR, NuSVR, OneClassSVM), _read_svm),
        ((KernelRidge,), _read_ridge),
        ((GaussianProcessRegressor,), _read_gaussian_process),
    )
