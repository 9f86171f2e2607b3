"""Kernel principal components from packed codes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, eigsh
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from lowtide._checks import check_integer, check_interval, fail, host_array
from lowtide.encoders import Encoder, RandomFeatures
from lowtide.learners.cholesky import eigenvectors
from lowtide.learners.design import Design, first_codes, is_source
from lowtide.learners.machine import KernelMachine, Sides, fit_steps, reports_progress
from lowtide.learners.rules import Components
from lowtide.spec import Part, State

Array = NDArray[Any]

_VERSION = 1
# A matrix of the shorter side up to this size costs 2 MB: then all its eigenvectors at once are faster and exact.
_SMALL = 512
# Below this share of the squared features there is only rounding of the products.
_ROUNDING = 1e-12


@dataclass(eq=False, repr=False)
class CodePCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelMachine):
    """Find the principal components of codes: kernel PCA and spectral clustering on a few bits per feature.

    With D the decoded codes (n, m) and P = I - 11'/n, the components are the top eigenvectors V of D'PD, and a row
    is mapped to (D_i - mean) V. Its Gram matrix D D' estimates the kernel matrix, so these are the kernel principal
    components of the rows, with nothing of size n x n or n x m floats.

    Parameters
    ----------
    n_components : int, default=2
        Components to keep, at most min(n, n_features_out).
    features : Encoder or None, default=None
        What codes the rows: a fresh encoder, which is cloned and fitted; a `FrozenEstimator` of a fitted one, which is
        kept; None for `RandomFeatures(random_state=random_state)`. When fitted on `Codes`: None or their encoder.
        Features without a coded side are computed block by block.
    whiten : bool, default=False
        Divide each component by its standard deviation.
    tol : float, default=0.0
        Relative accuracy of the eigenvalues at which Lanczos stops, 0 for machine precision.
    verbose : int, default=0
        1 shows a progress bar on stderr.
    random_state : int, RandomState or None, default=None
        Draws the default features and where Lanczos starts.

    Attributes
    ----------
    components_ : ndarray (n_components, n_features_out)
        Orthonormal rows, largest variance first, the entry of largest size positive; zero where no variance is left.
    explained_variance_ : ndarray (n_components,)
        Eigenvalues of the centered D'D over n - 1: those of the centered kernel matrix.
    explained_variance_ratio_ : ndarray (n_components,)
    singular_values_ : ndarray (n_components,)
        Of the centered D.
    mean_ : ndarray (n_features_out,)
    features_ : Encoder or None
    n_samples_ : int

    Notes
    -----
    Lanczos on the shorter side of D, two products with the packed codes a step: 10 components of 20,000 rows with 4096
    one-bit features take half a second on two cores. Components are float64; equal seeds give equal signs.

    Examples
    --------
    >>> import numpy as np
    >>> import lowtide as lt
    >>> from sklearn.cluster import KMeans
    >>> rng = np.random.default_rng(0)
    >>> angle, radius = rng.uniform(0, 2 * np.pi, 400), np.repeat([1.0, 4.0], 200)
    >>> X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]) + 0.1 * rng.standard_normal((400, 2))
    >>> codes = lt.RandomFeatures(gamma=0.5, n_components=2048, random_state=0).fit(X).encode(X)
    >>> embedding = lt.CodePCA(n_components=2, random_state=0).fit_transform(codes)
    >>> found = KMeans(2, n_init=5, random_state=0).fit_predict(embedding)
    >>> len(set(found[:200])), len(set(found[200:])), found[0] != found[-1]
    (1, 1, np.True_)
    """

    fitted_numbers = ("n_samples_",)
    own_parts: ClassVar[dict[str, int]] = {"pca": _VERSION}
    n_components: int = 2
    _: KW_ONLY
    features: Encoder | None = None
    whiten: bool = False
    tol: float = 0.0
    verbose: int = 0
    random_state: int | np.random.RandomState | None = None
    components_: Array = field(init=False)
    explained_variance_: Array = field(init=False)
    explained_variance_ratio_: Array = field(init=False)
    singular_values_: Array = field(init=False)
    mean_: Array = field(init=False)
    n_samples_: int = field(init=False)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the components of rows, Codes or another source of codes.

        Parameters
        ----------
        X : array, CSR matrix or data frame (n, n_features), or Codes, or a CodeSource
            Two rows at least. A source is read once a step of Lanczos.
        y : ignored
        """
        self._fit(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Return `fit(X).transform(X)`, with the rows coded once.

        Parameters
        ----------
        X : array, CSR matrix or data frame (n, n_features), or Codes
        y : ignored

        Returns
        -------
        ndarray of float64 (n, n_components)
        """
        return self._fit(X).matmul(self.decision_.weights) + self.intercept_

    def transform(self, X: Any) -> Array:
        """Return the components of rows or codes, float64 (n, n_components)."""
        return self._decision().scores(self._input(X), checked=True)

    @reports_progress
    def _fit(self, X: Any) -> Design:
        """Fit and return the design of the rows."""
        owner = type(self).__name__
        check_interval(owner, "tol", self.tol, 0.0, 1.0)
        with fit_steps(self, 2, X) as step:
            rows, sides = self._start_rows(X)
            design = sides.design(rows, sides.train_on)
            step("encode")
            n_axes = check_integer(owner, "n_components", self.n_components, 1, min(design.shape))
            start = check_random_state(self.random_state).standard_normal(min(design.shape))
            axes, values, self.mean_, total = principal_axes(design, n_axes, start, float(self.tol))
            self.n_samples_ = n = design.shape[0]
            self.singular_values_ = np.sqrt(values)
            self.explained_variance_ = values / (n - 1)
            self.explained_variance_ratio_ = values / (total or 1.0)
            self.components_, weights = axes.T, axes / self._scale()
            self.decision_ = sides.decision(weights, -(self.mean_ @ weights), Components())
            step("solve")
        return design

    def _start_rows(self, X: Any) -> tuple[Any, Sides]:
        """Validate, settle the encoder; return rows or codes, and the sides."""
        if is_source(X):
            if X.n_rows < 2:
                raise fail(type(self).__name__, "codes to fit on must have at least two rows", f"{X.n_rows} rows")
            return X, self._adopt(first_codes(X), getattr(X, "encoder", None))
        X = host_array(type(self).__name__, X)
        rows = validate_data(self, X, accept_sparse="csr", dtype="numeric", ensure_min_samples=2)
        return rows, self._sides_of(self.fit_features(rows, None, X))

    def _default_features(self, X: Any, weight: Any, labels: Any, most: int) -> Encoder:
        """Return the encoder that stands for features=None, not fitted."""
        return RandomFeatures(random_state=self.random_state)

    def _scale(self) -> Array:
        """Return what each component is divided by."""
        deviation = np.sqrt(self.explained_variance_)
        return np.where(deviation > 0, deviation, 1.0) if self.whiten else np.ones_like(deviation)

    @property
    def _n_features_out(self) -> int:
        return int(self._decision().weights.shape[1])

    def to_state(self) -> State:
        """Return what a file keeps: that of every learner, and a part "pca" with mean and spectrum."""
        state = super().to_state()
        spectrum = np.stack([self.singular_values_, self.explained_variance_, self.explained_variance_ratio_])
        return {**state, "pca": Part(_VERSION, {}, {"mean": self.mean_, "spectrum": spectrum})}

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Return the estimator of what `to_state` gave."""
        self = super().from_state(state)
        m, k = self.decision_.weights.shape
        mean, spectrum = (np.array(state["pca"].arrays[name]) for name in ("mean", "spectrum"))
        if mean.shape != (m,) or spectrum.shape != (3, k) or not np.all(spectrum >= 0) or not np.isfinite(mean).all():
            got = f"{mean.shape} and {spectrum.shape}"
            raise fail("CodePCA", f"mean and spectrum must be finite, ({m},) and (3, {k})", got)
        self.mean_ = mean
        self.singular_values_, self.explained_variance_, self.explained_variance_ratio_ = spectrum
        self.components_ = (self.decision_.weights * self._scale()).T
        return self


def principal_axes(design: Design, n_axes: int, start: Array, tol: float) -> tuple[Array, Array, Array, float]:
    """Return the top eigenvectors of D'PD, P = I - 11'/n, their eigenvalues, the mean row and the sum of eigenvalues.

    The vectors are orthonormal columns (m, n_axes), largest value first, zero where nothing varies, the entry of
    largest size positive. Lanczos on the shorter side of D, from `start` (min(n, m),): about two to six products in
    float64 a wanted axis. Neither D nor its longer Gram matrix is ever formed. `tol` is the relative accuracy of
    eigenvalues, 0 for machine precision.
    """
    n, m = design.shape
    mean = np.sum([part.rmatmul(np.ones((part.shape[0], 1)))[:, 0] for part in design.parts()], axis=0) / n
    squares = design.squares()
    noise = _ROUNDING * float(squares.sum())
    total = float(np.sum(squares - n * mean**2))
    if total <= noise:  # rows that are all the same have no axes
        return np.zeros((m, n_axes)), np.zeros(n_axes), mean, 0.0

    def of_columns(V: Array) -> Array:
        """Return D'P D V, summed over the parts of D: D V as a whole is never there."""
        total = np.zeros_like(V)
        for part in design.parts(V.shape[1]):
            total += part.rmatmul(part.matmul(V) - mean @ V)
        return total

    def of_rows(R: Array) -> Array:
        """Return P D D'P R."""
        W = design.rmatmul(R - R.mean(axis=0))
        return design.matmul(W) - mean @ W

    values, axes = _top(of_columns if m <= n else of_rows, min(n, m), n_axes, start, tol)
    values = np.where(values > noise, values, 0.0)
    if m > n:  # from vectors u of the rows' side to D'P u / sqrt(value)
        axes = design.rmatmul(axes - axes.mean(axis=0)) / np.sqrt(np.where(values > 0, values, 1.0))
    axes = np.where(values > 0, axes, 0.0)
    largest = axes[np.argmax(np.abs(axes), axis=0), np.arange(n_axes)]
    return axes * np.where(largest < 0, -1.0, 1.0), values, mean, total


def _top(product: Callable[[Array], Array], size: int, k: int, start: Array, tol: float) -> tuple[Array, Array]:
    """Return the k largest eigenvalues, descending, and their vectors."""
    if size <= _SMALL or 2 * k >= size:
        matrix = product(np.eye(size))
        values, vectors = eigenvectors(np.asfortranarray((matrix + matrix.T) / 2), k)
    else:
        operator = LinearOperator((size, size), matvec=lambda v: product(v.reshape(-1, 1))[:, 0], dtype=np.float64)
        values, vectors = eigsh(operator, k=k, which="LA", v0=start, tol=tol)
    return values[::-1], vectors[:, ::-1]
