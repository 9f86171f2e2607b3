"""Random features of an activation: sigma(w.x) of normal w, whose coded side keeps levels of w.x."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from lowtide._checks import check_integer
from lowtide.encoders.drawn.activation import DrawnActivation, check_activation
from lowtide.encoders.encoder import Encoder, check_weight
from lowtide.encoders.trits import Spread
from lowtide.kernels import Gaussian
from lowtide.projections import PROJECTIONS, Projection
from lowtide.quantizers import normal_steps
from lowtide.spec import Registry
from lowtide.theory import TARGETS, Activation, resolve_target


@dataclass(eq=False, repr=False)
class ActivationFeatures(Encoder):
    """Turn rows into random features of an activation such as ReLU, as float32 and as codes.

    The features are sigma(w_j.x)/sqrt(m). With w_j normal their kernel is E[sigma(w.x) sigma(w.y)]: half the
    arc-cosine kernel of order 1 for "relu", of order 0 for "step". These are the features that `TernaryFeatures` of the
    same target stand for. Rows are taken as they come, neither centered nor scaled.

    Parameters
    ----------
    activation : str, Activation or callable, default="relu"
        "relu", "leaky_relu", "abs", "quadratic", "linear", "bump", "exp", "cos", "sin", "sign", "step", an object of
        `lowtide.theory`, or a function of an array.
    n_components : int, default=1024
        Features out.
    projection : {"hadamard", "rotation", "orthogonal", "iid"} or Projection, default="hadamard"
    bits : int or None, default=4
        Bits a level, 1 to 8; None for no coded side.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    activation_ : Activation
    tau_ : float
        Mean |x|^2 of the training rows, which sets the levels' unit; 1 where they are all zero.
    projection_ : drawn projection
    steps_ : LineSteps or None
        Levels and borders of the quantizer, in units of sqrt(tau).
    random_weights_ : ndarray of float32, shape (n_features, n_components)
        Built on request.
    drawn_ : DrawnActivation
        All that was drawn, one frozen value; the other attributes are read from it.
    fingerprint_ : bytes
        Identity of the projections; codes also carry that of their quantizer.
    n_features_in_ : int

    Notes
    -----
    A code keeps the Lloyd-Max level of w.x/sqrt(tau), as a `Sketch` does, and decodes to the mean of sigma within the
    level: the least squared error on rows of that length. Levels do not depend on the activation, so its codebook is
    all that changes with it. Products with a coded side are biased by what rounding takes away; errors are those that
    the components show, which on orthogonal layouts overstates them. Encoding costs what a `Sketch` costs.

    References
    ----------
    Cho and Saul, Kernel methods for deep learning. TRF (Tiomoko Ali, Liao and Couillet), Table 1.

    Examples
    --------
    >>> import numpy as np
    >>> import lowtide as lt
    >>> X = np.random.default_rng(0).standard_normal((100, 20))
    >>> enc = lt.ActivationFeatures("relu", n_components=4096, random_state=0).fit(X)
    >>> K, std = enc.kernel_estimate(X[:2], X[2:4], return_std=True)
    >>> bool(np.all(np.abs(K - lt.kernels.ArcCosine(1).gram(X[:2], X[2:4]) / 2) < 5 * std))
    True
    >>> enc.encode(X).nbytes                                  # 2 KB a row in place of 16
    204800
    """

    activation: str | Activation | Callable[..., Any] = "relu"
    _: KW_ONLY
    n_components: int = 1024
    projection: str | Projection = "hadamard"
    bits: int | None = 4
    random_state: int | np.random.RandomState | None = None
    drawn_: DrawnActivation = field(init=False)
    parts: ClassVar[dict[str, Registry[Any]]] = {"activation": TARGETS, "projection": PROJECTIONS}

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Measure the mean squared length of rows and draw the projections.

        Parameters
        ----------
        X : array, CSR matrix or data frame (n_samples, n_features)
        y : ignored
        sample_weight : array (n_samples,), optional
            Weights of the rows in tau.
        """
        rows, n_components, seed = self.start_fit(X)
        spread = Spread.of(rows, check_weight(sample_weight, rows))
        # Rounded, so that the order of a sum does not move levels.
        tau = float(f"{spread.per_row + float(spread.mean @ spread.mean):.10g}") or 1.0
        owner = "ActivationFeatures"
        activation = check_activation(owner, resolve_target(self.activation))
        steps = None
        if self.bits is not None:
            steps = normal_steps(check_integer(owner, "bits", self.bits, 1, 8, "For float features alone: bits=None."))
        (child,) = np.random.SeedSequence(seed).spawn(1)
        layout = PROJECTIONS.resolve(self.projection)
        projection = layout.draw(Gaussian(), rows.shape[1], n_components, np.random.Generator(np.random.PCG64(child)))
        drawn = DrawnActivation(activation, layout, projection, steps, tau, rows.shape[1])
        drawn.template  # noqa: B018 - values that leave float32 are refused here
        self.drawn_ = drawn
        return self
