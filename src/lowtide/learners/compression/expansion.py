"""What a fitted scikit-learn kernel machine computes: sums of kernel values over its support rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

from lowtide._checks import check_positive, fail
from lowtide.kernels import KERNELS, Kernel
from lowtide.learners.compression.gp_kernel import GPKernel, stationary_part

__all__ = ["KernelExpansion", "expansion_of", "scale_columns"]

Array = NDArray[Any]

_BLOCK_VALUES = 1 << 22


@dataclass(frozen=True)
class KernelExpansion:
    """Values f_c(x) = sum_i coef_ic k(x_i / scale, x / scale) + intercept_c.

    rows (n, d) may be sparse; coef (n, k), float64; scale (d,) divides the columns, None where it is all ones. `nbytes`
    is what the model itself takes for rows and coefficients.
    """

    kernel: Kernel
    rows: Any
    coef: Array
    intercept: Array
    nbytes: int
    scale: Array | None = None

    def decision(self, X: Any, gram: Callable[[Any, Any], Array] | None = None) -> Array:
        """Return f at rows of X, float64 (n_x, k), a few megabytes of kernel values at a time.

        `gram` stands in for the exact kernel of scaled rows against scaled support rows.
        """
        gram = self.kernel.gram if gram is None else gram
        support = scale_columns(self.rows, self.scale)
        out = np.empty((X.shape[0], self.coef.shape[1]))
        step = max(1, _BLOCK_VALUES // self.rows.shape[0])
        for start in range(0, X.shape[0], step):
            part = slice(start, start + step)
            out[part] = gram(scale_columns(X[part], self.scale), support) @ self.coef
        return out + self.intercept


def scale_columns(X: Any, scale: Array | None) -> Any:
    """Return X with its columns divided by scale."""
    if scale is None:
        return X
    return X.multiply(1.0 / scale).tocsr() if sparse.issparse(X) else X / scale


def expansion_of(model: Any) -> KernelExpansion:
    """Read a fitted model's kernel sums; refuse a model or a kernel that has none."""
    read = next((read for classes, read in _READERS if isinstance(model, classes)), None)
    if read is None:
        raise fail(
            "compress",
            f"model must be one of {', '.join(_NAMES)}, or a Pipeline that ends in one",
            type(model).__name__,
            "Of a search pass best_estimator_; other models: train lowtide.KernelClassifier or KernelRegressor.",
        )
    if not (hasattr(model, "dual_coef_") or hasattr(model, "alpha_")):
        raise NotFittedError(f"compress: model must be fitted, got {type(model).__name__} before fit. Call fit first.")
    return read(model)


def _read_svm(model: Any) -> KernelExpansion:
    """Read a support vector machine with a single column: two classes, regression, one class."""
    return KernelExpansion(
        kernel=_named_kernel(model, model._gamma if model.kernel == "rbf" else math.nan),
        rows=model.support_vectors_,
        coef=_dense(model.dual_coef_).T,
        intercept=np.asarray(model.intercept_, dtype=np.float64),
        nbytes=_nbytes(model.support_vectors_, model.dual_coef_),
    )


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
    part = stationary_part(kernel)
    constant = part.constant * coef.sum(axis=0)
    nbytes = _nbytes(rows, coef)
    return KernelExpansion(part.kernel, rows, part.amplitude * coef, intercept + constant, nbytes, part.scale)


def _named_kernel(model: Any, gamma: float) -> Kernel:
    """Return the kernel of scikit-learn's name and gamma."""
    if not isinstance(model.kernel, str) or model.kernel not in ("rbf", "laplacian"):
        way_out = "A linear kernel is a weight vector already." if model.kernel == "linear" else ""
        raise fail(
            "compress",
            f"the kernel of {type(model).__name__} must be 'rbf', or 'laplacian' or a Gaussian process kernel in "
            "KernelRidge",
            model.kernel,
            way_out or "Only stationary kernels have random features: refit with kernel='rbf'.",
        )
    check_positive("compress", f"gamma of {type(model).__name__}", gamma, "With 0 every kernel value is 1: refit.")
    return KERNELS[model.kernel].from_gamma(float(gamma))


def _nbytes(*arrays: Any) -> int:
    """Return the bytes of dense and CSR arrays together."""
    parts = [(a.data, a.indices, a.indptr) if sparse.issparse(a) else (a,) for a in arrays]
    return sum(int(array.nbytes) for part in parts for array in part)


def _dense(coef: Any) -> Array:
    """Return coefficients as an array: a model fitted on sparse rows keeps them sparse."""
    return np.asarray(coef.toarray() if sparse.issparse(coef) else coef, dtype=np.float64)


_READERS: tuple[tuple[tuple[type, ...], Callable[[Any], KernelExpansion]], ...] = (
    ((SVC, NuSVC), _read_classifier),
    ((SVR, NuSVR, OneClassSVM), _read_svm),
    ((KernelRidge,), _read_ridge),
    ((GaussianProcessRegressor,), _read_gaussian_process),
)
_NAMES = [cls.__name__ for classes, _ in _READERS for cls in classes]
