"""Kernel principal components from packed codes."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from lowtide._checks import check_integer, check_interval, fail
from lowtide.encoders import Encoder, RandomFeatures
from lowtide.learners.design import Design
from lowtide.learners.machine import KernelMachine
from lowtide.learners.progress import FitProgress, reports_progress
from lowtide.learners.solvers import PrincipalAxes, principal_axes
from lowtide.learners.sources import first_codes, is_source
from lowtide.learners.state import Arrays

__all__ = ["CodePCA"]

Array = NDArray[Any]


class CodePCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelMachine):
    """Principal components of coded features: kernel PCA and kernel spectral clustering on a few bits per feature.

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

    # Fixed here, parameters of the learners with targets: codes where there are any, a new encoder at each fit.
    train_on = None
    predict_on = None
    warm_start = False
    components_: Array
    explained_variance_: Array
    explained_variance_ratio_: Array
    singular_values_: Array
    mean_: Array
    _fitted_numbers = ("n_samples_",)

    def __init__(
        self,
        n_components: int = 2,
        *,
        features: Encoder | None = None,
        whiten: bool = False,
        tol: float = 0.0,
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_components = n_components
        self.features = features
        self.whiten = whiten
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state

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
        return self._fit(X).matmul(self._weights) + self.intercept_

    def transform(self, X: Any) -> Array:
        """Return the components of rows or codes, float64 (n, n_components)."""
        return self._by_blocks(X, lambda scores: scores)

    @reports_progress
    def _fit(self, X: Any) -> Design:
        """Fit and return the design of the rows."""
        owner = type(self).__name__
        check_interval(owner, "tol", self.tol, 0.0, 1.0)
        progress = FitProgress(self, n_steps=2)
        with progress.running(X, None):
            rows = self._start_rows(X)
            design = self._design(rows, self._train_on)
            progress.step("encode")
            n_axes = check_integer(owner, "n_components", self.n_components, 1, min(design.shape))
            start = check_random_state(self.random_state).standard_normal(min(design.shape))
            self._keep_axes(principal_axes(design, n_axes, start, float(self.tol)), design.shape[0])
            progress.step("solve")
        return design

    def _start_rows(self, X: Any) -> Any:
        """Validate, settle the encoder; return rows or Codes."""
        if is_source(X):
            if X.n_rows < 2:
                raise fail(type(self).__name__, "codes to fit on must have at least two rows", f"{X.n_rows} rows")
            self._adopt(first_codes(X), getattr(X, "encoder", None))
        else:
            named = X
            X = validate_data(self, X, accept_sparse="csr", dtype="numeric", ensure_min_samples=2)
            self._fit_features(X, None, named)
        self._settle_sides(coded_only=is_source(X))
        return X

    def _default_features(self) -> RandomFeatures:
        return RandomFeatures(random_state=self.random_state)

    def _keep_axes(self, found: PrincipalAxes, n: int) -> None:
        """Store the components; scores are D w + b with their columns, whitened or not."""
        self.mean_, self.n_samples_ = found.mean, n
        self.singular_values_ = np.sqrt(found.values)
        self.explained_variance_ = found.values / (n - 1)
        self.explained_variance_ratio_ = found.values / (found.total or 1.0)
        weights = found.axes / self._scale()
        self._keep(weights, -(found.mean @ weights))
        self.components_ = found.axes.T

    def _scale(self) -> Array:
        """Return what each component is divided by."""
        deviation = np.sqrt(self.explained_variance_)
        return np.where(deviation > 0, deviation, 1.0) if self.whiten else np.ones_like(deviation)

    @property
    def _n_features_out(self) -> int:
        return int(self._weights.shape[1])

    def _own_state(self) -> tuple[dict[str, Any], Arrays]:
        own, arrays = super()._own_state()
        spectrum = np.stack([self.singular_values_, self.explained_variance_, self.explained_variance_ratio_])
        return own, {**arrays, "mean": self.mean_, "spectrum": spectrum}

    def _take_own_state(self, spec: dict[str, Any], arrays: Arrays) -> None:
        super()._take_own_state(spec, arrays)
        m, k = self._weights.shape
        mean, spectrum = np.array(arrays["mean"]), np.array(arrays["spectrum"])
        if mean.shape != (m,) or spectrum.shape != (3, k) or not np.all(spectrum >= 0) or not np.isfinite(mean).all():
            got = f"{mean.shape} and {spectrum.shape}"
            raise fail(type(self).__name__, f"mean and spectrum must be finite, ({m},) and (3, {k})", got)
        self.mean_ = mean
        self.singular_values_, self.explained_variance_, self.explained_variance_ratio_ = spectrum
        self.components_ = (self._weights * self._scale()).T
