"""Features of a kernel with two different sides from landmarks: rows of the data instead of random frequencies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from lowtide._checks import check_integer, check_interval, fail, host_array
from lowtide.cancel import aside
from lowtide.encoders.blocks import directed_kernel
from lowtide.kernels import MeasureKernel

Floats = NDArray[np.float64]
Gram = Callable[[Any, Any], Floats]
# Right landmarks for each left one where they are other rows: as many of each have a core that is nearly singular.
_MORE_ON_THE_RIGHT = 2


@dataclass(eq=False, repr=False)
class AsymmetricNystroem(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Turn rows into Nystroem features of a kernel with a direction: K(X, R) pinv(K(L, R)) K(L, Y), landmarks L and R.

    With the singular value decomposition K(L, R) = U S V' the left side of x is k(x, R) V S^-1/2, the right side of y
    k(L, y)' U S^-1/2. It is exact between landmarks, and it takes any function of two rows as the kernel, also one that
    is no function of their difference.

    Parameters
    ----------
    kernel : str, MeasureKernel or callable, default=None
        "shift", "sinh", "cosh", "signed", an object of `lowtide.kernels`, or a function of rows X (n, n_features) and Y
        (n_y, n_features) that returns the matrix of k(x, y), (n, n_y). None stands for
        `ShiftGaussian(shift=0.5, bandwidth=1.0)`.
    n_components : int, default=100
        Left landmarks, and features out unless the core K(L, R) has a smaller rank.
    rcond : float, default=1e-10
        Singular values of the core below this share of the largest count as 0.
    random_state : int, RandomState or None, default=None
        Draws the landmarks.

    Attributes
    ----------
    landmarks_, landmarks_right_ : array or CSR matrix
        L and R: the same rows, or twice as many others where right rows were given.
    singular_values_ : ndarray (n_features_out,)
        Those of the core that were kept.
    n_features_in_ : int

    Notes
    -----
    A row takes as many kernel values as there are landmarks, where random features take a product with the frequencies,
    and the landmarks are kept: rows of the data. On smooth kernels it is far more accurate at equal columns. What it
    lacks: a coded side, since its values have no known law; error bars, since its error is a bias that other landmarks
    have as well; and a form in lowtide's files. Pickle it, or use `AsymmetricFeatures` for these. Rows outside of what
    the landmarks cover are extrapolated to, with errors that may be large where a kernel grows.

    References
    ----------
    AsK-RFF (He, He, Liu and Huang) names it as further research; Nakatsukasa, fast and stable randomized low-rank
    matrix approximation, for unequal numbers on the two sides.

    Examples
    --------
    >>> import numpy as np
    >>> from lowtide import AsymmetricNystroem
    >>> from lowtide.kernels import ShiftGaussian
    >>> X = np.random.default_rng(0).standard_normal((300, 2))
    >>> kernel = ShiftGaussian(shift=0.3, bandwidth=2.0)
    >>> some = AsymmetricNystroem(kernel, n_components=40, random_state=0).fit(X)
    >>> bool(np.abs(some.kernel_estimate(X[:5], X[5:9]) - kernel.gram(X[:5], X[5:9])).max() < 1e-4)
    True
    """

    kernel: str | MeasureKernel | Gram | None = None
    _: KW_ONLY
    n_components: int = 100
    rcond: float = 1e-10
    random_state: int | np.random.RandomState | None = None
    landmarks_: Any = field(init=False)
    landmarks_right_: Any = field(init=False)
    singular_values_: Floats = field(init=False)

    def fit(self, X: Any, y: Any = None, *, right: Any = None) -> Self:
        """Draw landmarks, and decompose the kernel matrix between them.

        Parameters
        ----------
        X : array, CSR matrix or data frame (n_samples, n_features)
        y : ignored
        right : array or CSR matrix (n_right, n_features), optional
            Rows that right landmarks are drawn from, where those that stand right are of another kind; X unless told.
        """
        owner = type(self).__name__
        rows = validate_data(self, host_array(owner, X), accept_sparse="csr", dtype=np.float64)
        count = check_integer(owner, "n_components", self.n_components, 1)
        check_interval(owner, "rcond", self.rcond, 0.0, 1.0)
        rng = check_random_state(self.random_state)
        left = _some(rows, count, rng)
        other = left if right is None else _some(self._right_rows(right), _MORE_ON_THE_RIGHT * count, rng)
        self._gram = self._matrix_of()
        core = self._values(left, other)
        U, S, Vt = aside(np.linalg.svd, core, full_matrices=False)
        kept = int(np.sum(self.rcond * S[0] < S))
        if not kept:
            raise fail(
                owner, "the kernel must not be 0 between all landmarks", "zeros", "Lower the shift, or rescale X."
            )
        self.landmarks_, self.landmarks_right_, self.singular_values_ = left, other, S[:kept]
        self._left_factor, self._right_factor = (A[:, :kept] / np.sqrt(S[:kept]) for A in (Vt.T, U))
        return self

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Return the left features, of x in k(x, y).

        Parameters
        ----------
        X : array, CSR matrix or data frame (n, n_features)

        Returns
        -------
        ndarray of float32, shape (n, n_features_out)
        """
        rows = self._rows(X)
        return (self._values(rows, self.landmarks_right_) @ self._left_factor).astype(np.float32)

    def transform_right(self, X: Any) -> NDArray[np.float32]:
        """Return the right features, of y in k(x, y).

        Parameters
        ----------
        X : array, CSR matrix or data frame (n, n_features)

        Returns
        -------
        ndarray of float32, shape (n, n_features_out)
        """
        rows = self._rows(X)
        return (self._values(self.landmarks_, rows).T @ self._right_factor).astype(np.float32)

    def kernel_estimate(self, X: Any, Y: Any = None) -> NDArray[np.float32]:
        """Return the product of the two sides in place of the kernel matrix, float32 (n, n_y); Y defaults to X."""
        return self.transform(X) @ self.transform_right(X if Y is None else Y).T

    def _rows(self, X: Any) -> Any:
        check_is_fitted(self)
        X = host_array(type(self).__name__, X)
        return validate_data(self, X, reset=False, accept_sparse="csr", dtype=np.float64)

    def _right_rows(self, right: Any) -> Any:
        right = host_array(type(self).__name__, right)
        rows = check_array(right, accept_sparse="csr", dtype=np.float64, input_name="right")
        if rows.shape[1] != self.n_features_in_:
            raise fail(type(self).__name__, f"right must have the {self.n_features_in_} columns of X", rows.shape[1])
        return rows

    def _matrix_of(self) -> Gram:
        """Return the function that gives the kernel matrix."""
        if callable(self.kernel):
            return self.kernel
        return directed_kernel(self.kernel).gram

    def _values(self, X: Any, Y: Any) -> Floats:
        K = np.asarray(self._gram(X, Y), dtype=np.float64)
        if K.shape != (X.shape[0], Y.shape[0]) or not np.isfinite(K).all():
            need = f"kernel must give {X.shape[0]} x {Y.shape[0]} finite values"
            raise fail(type(self).__name__, need, f"a result of shape {K.shape}")
        return K

    @property
    def _n_features_out(self) -> int:
        return len(self.singular_values_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not callable(self.kernel)
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags


def _some(rows: Any, count: int, rng: np.random.RandomState) -> Any:
    """Return at most `count` of the rows, drawn without repetition, in their order."""
    return rows[np.sort(rng.choice(rows.shape[0], size=min(count, rows.shape[0]), replace=False))]
