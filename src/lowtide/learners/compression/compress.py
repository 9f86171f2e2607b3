"""From an exact kernel machine of scikit-learn to a low-bit one, without training."""

from __future__ import annotations

import warnings
from copy import copy
from typing import Any

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC, NuSVC, OneClassSVM

from lowtide._checks import check_option, fail
from lowtide.encoders import RandomFeatures
from lowtide.learners.compression.compressed import (
    CompressedClassifier,
    CompressedDetector,
    CompressedMachine,
    CompressedRegressor,
)
from lowtide.learners.compression.expansion import expansion_of, scale_columns
from lowtide.learners.machine import Side
from lowtide.maps import FeatureMap
from lowtide.projections import Projection
from lowtide.quantizers import Quantizer

__all__ = ["compress"]


def compress(
    model: Any,
    *,
    n_components: int = 4096,
    bits: int | None = 1,
    query: Side = "codes",
    support: Side = "full",
    projection: str | Projection = "hadamard",
    feature_map: str | FeatureMap = "cos_sin",
    quantizer: str | Quantizer = "lloyd_max",
    normalize: bool = True,
    X: Any = None,
    random_state: int | np.random.RandomState | None = None,
) -> Any:
    """Turn a fitted kernel machine into one on a few bits a feature, without training.

    The machine's kernel sums sum_i alpha_i k(x_i, x) + b become decode(encode(x)) . w + b with the weights
    w = sum_i alpha_i transform(x_i): unbiased, and the support rows are not needed any more.

    Parameters
    ----------
    model : SVC, NuSVC, SVR, NuSVR, OneClassSVM, KernelRidge or GaussianProcessRegressor, fitted
        With an RBF kernel; KernelRidge also with "laplacian" or a Gaussian process kernel. Of Gaussian process kernels:
        constants times, and plus, one RBF, Matern or PairwiseKernel term, and WhiteKernel; length scales may differ
        from column to column. Or a Pipeline that ends in one of them.
    n_components : int, default=4096
        Features. The squared error falls as one over their number.
    bits : int or None, default=1
        Bits a feature of the coded side; None with query="full", support="full".
    query : {"codes", "full"}, default="codes"
        The side of the rows to predict: codes are what is sent or stored.
    support : {"codes", "full"}, default="full"
        The side of the support rows in w. Codes against codes are biased.
    projection, feature_map, quantizer
        Of `RandomFeatures`. A laplacian kernel needs projection="iid".
    normalize : bool, default=True
        Divide codes against codes by their expectation at x = y; no other pair is touched.
    X : array, CSR matrix or data frame, default=None
        Rows to measure on how far decision values moved; None takes at most 1000 of the support rows.
    random_state : int, RandomState or None, default=None

    Returns
    -------
    CompressedClassifier, CompressedRegressor or CompressedDetector, or a Pipeline with that as its last step
        With `report_`: how far the decision values moved, and the predicted standard error.

    Warns
    -----
    UserWarning
        When the standard error is larger than half the spread of the decision values.

    Notes
    -----
    Costs the features of the support rows and their sum, O(n m (log d + k)) with "hadamard", k decision columns. A
    prediction costs O(m (log d + k)), however many support rows there were. Probabilities of `SVC` and the standard
    deviation of a Gaussian process are not carried over.

    References
    ----------
    Schellekens and Jacques, Breaking the waves: asymmetric random periodic features for low-bitrate kernel machines,
    sections 6 and 7, Table 1.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.svm import SVC
    >>> import lowtide as lt
    >>> X, y = load_digits(return_X_y=True)
    >>> exact = SVC().fit(X[:1200], y[:1200])
    >>> small = lt.compress(exact, n_components=4096, random_state=0)
    >>> bool(small.score(X[1200:], y[1200:]) > exact.score(X[1200:], y[1200:]) - 0.02)
    True
    >>> codes = small.encode(X[1200:])                   # 512 bytes a row
    >>> bool((small.predict(codes) == small.predict(X[1200:])).all())
    True
    """
    for name, side in (("query", query), ("support", support)):
        check_option("compress", name, side, ("codes", "full"))
        if side == "codes" and bits is None:
            raise fail("compress", f"{name} must be 'full' with bits=None: there are no codes", side, "Or set bits=1.")
    features = RandomFeatures(
        n_components=n_components,
        projection=projection,
        feature_map=feature_map,
        bits=bits,
        quantizer=quantizer,
        random_state=random_state,
    )
    small = _compress(model, features, X, query=query, support=support, normalize=normalize)
    _warn_when_noise_hides_the_signal(small)
    return small


def _compress(model: Any, features: RandomFeatures, X: Any, **sides: Any) -> Any:
    """Return the machine, or a pipeline that shares all steps but the last, which is compressed."""
    if isinstance(model, Pipeline):
        reaching = X if X is None or len(model.steps) == 1 else model[:-1].transform(X)
        name, last = model.steps[-1]
        pipeline = copy(model)
        pipeline.steps = [*model.steps[:-1], (name, _compress(last, features, reaching, **sides))]
        return pipeline
    expansion = expansion_of(model)
    features.set_params(kernel=expansion.kernel).fit(scale_columns(expansion.rows, expansion.scale))
    small = _machine_for(model, **sides)
    if hasattr(model, "feature_names_in_"):
        small.feature_names_in_ = model.feature_names_in_
    return small._fill(expansion, features, X)


def _machine_for(model: Any, **sides: Any) -> CompressedMachine:
    """Return the machine of the model's kind, still without weights."""
    if isinstance(model, (SVC, NuSVC)):
        shape, ties = model.decision_function_shape, model.break_ties
        if ties and shape == "ovo":
            raise fail("compress", "break_ties must be False with decision_function_shape='ovo'", ties)
        classifier = CompressedClassifier(**sides, decision_function_shape=shape, break_ties=ties)
        classifier.classes_ = model.classes_
        return classifier
    if isinstance(model, OneClassSVM):
        return CompressedDetector(**sides)
    regressor = CompressedRegressor(**sides)
    regressor._flat = _predicts_one_column(model)
    return regressor


def _predicts_one_column(model: Any) -> bool:
    """Whether predictions are (n,): so does a Gaussian process for y (n, 1), but not kernel ridge regression."""
    if isinstance(model, KernelRidge):
        return np.ndim(model.dual_coef_) == 1
    return not isinstance(model, GaussianProcessRegressor) or model.alpha_.size == len(model.alpha_)


def _warn_when_noise_hides_the_signal(small: Any) -> None:
    while isinstance(small, Pipeline):
        small = small.steps[-1][1]
    report = small.report_
    if report.predicted > 0.5 * report.spread > 0:
        warnings.warn(
            f"The compressed decision values have a standard error of {report.predicted:.3g}, and vary by "
            f"{report.spread:.3g} themselves. Raise n_components (four times as many halve the error), regularize the "
            "exact model more strongly, or train KernelClassifier or KernelRegressor on the codes.",
            UserWarning,
            stacklevel=3,
        )
