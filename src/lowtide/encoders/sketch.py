"""One sketch for all bandwidths: quantized random projections."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import check_integer, check_positive, fail
from lowtide.codes import Codes
from lowtide.encoders.codebooks import (
    cosine_curve,
    fourier_codebook,
    linear_codebook,
    linear_codes,
    read_fourier,
    scaled_kernel,
    warn_of_bias,
)
from lowtide.encoders.encoder import (
    Arrays,
    DrawnEncoder,
    Encoder,
    arrays_of,
    fingerprint,
    kept_gamma,
    kept_sizes,
    prefixed,
)
from lowtide.encoders.estimation import Pair, Side, product
from lowtide.encoders.rows import dense_rows, fourier_rows, linear_rows, sketch_rows
from lowtide.kernels import Gaussian
from lowtide.projections import PROJECTIONS, DrawnProjection, Projection
from lowtide.quantizers import LineSteps, normal_steps
from lowtide.spec import Registry
from lowtide.theory import fourier_moments, layout_variance

Array = NDArray[np.float32]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class DrawnSketch(DrawnEncoder):
    """Drawn projections and the quantizer of their levels, read as linear features or as those of one gamma."""

    kind: ClassVar[str] = "Sketch"
    layout: Projection  # the spec of `projection`
    projection: DrawnProjection
    steps: LineSteps  # levels and borders of the quantizer, which follow from its bits
    gamma: float | None  # None for linear features; it changes no level
    store_norms: bool  # whether codes keep the lengths of rows
    n_features: int

    def transform(self, rows: Any) -> Array:
        """Return W'x / (|x| sqrt k), or its Fourier features, float32 (n, n_outputs)."""
        if self.gamma is None:
            return linear_rows(rows, self.projection)
        return fourier_rows(rows, self.projection, self.gamma)

    def encode(self, rows: Any) -> Codes:
        """Return Codes of the levels, with the codebook of `gamma`, and with norms where they are kept."""
        codes = self.encode_with_norms(rows)
        return codes if self.store_norms else codes.with_rows(codes.packed)

    def encode_with_norms(self, rows: Any) -> Codes:
        """Return Codes with the lengths of rows beside them."""
        return self.template.with_rows(*sketch_rows(rows, self.projection, self.steps))

    def with_gamma(self, gamma: float | None) -> DrawnSketch:
        """Return this sketch, its projections shared, with the Fourier features of one gamma on both sides."""
        return replace(self, gamma=gamma)

    @property
    def n_components(self) -> int:
        """Projections stored, k."""
        return self.projection.n_frequencies

    @property
    def n_outputs(self) -> int:
        """Columns of either side: k, or two for each projection."""
        return self.n_components if self.gamma is None else 2 * self.n_components

    @cached_property
    def template(self) -> Codes:
        """Codes of zero rows, with codebook and identity, and with norms where they are kept."""
        bits, k = self.steps.bits, self.n_components
        book = linear_codebook(bits, k) if self.gamma is None else fourier_codebook(bits, k, self.gamma)
        norms = np.empty(0, dtype=np.float32) if self.store_norms else None
        return self.new_template(bits, k, book, norms=norms)

    @property
    def row_cost(self) -> int:
        """Additions and multiplications of the projection and the length, and some for each level."""
        return self.projection.row_cost + self.n_features + 4 * self.n_components

    @cached_property
    def fingerprint(self) -> bytes:
        """Identity of the projections; neither gamma nor norms, which change no level."""
        spec = {
            "encoder": self.kind,
            "projection": self.layout.to_config(),
            "n_components": self.n_components,
            "n_features": self.n_features,
        }
        return fingerprint(spec, self.projection.arrays())

    @cached_property
    def side(self) -> bytes:
        """Identity of the quantizer."""
        return fingerprint({"quantizer": "normal", "bits": self.steps.bits}, {"borders": self.steps.borders})

    @property
    def random_weights(self) -> Array:
        """Projections in columns, built on request."""
        return self.projection.weights()

    def pair(self, sides: tuple[Side, Side]) -> Pair:
        """Return the law of the Fourier features of `gamma`: mean and variance over the cosine of two rows."""
        if self.gamma is None:
            raise fail(self.kind, "a kernel needs a gamma", None, "Give kernel_estimate a gamma, or fit with one.")
        if sides != ("codes", "codes"):
            need = "expected values and errors of a sketch are those of codes against codes"
            raise fail(self.kind, need, sides, "Take sides=('codes', 'codes').")
        moments, blocks = fourier_moments(self.steps.bits, self.gamma), self.projection.blocks

        def mean(X: Any, Y: Any) -> Floats:
            return moments.mean(np.clip(_unit(X) @ _unit(Y).T, -1.0, 1.0))

        def variance_seen(left: Codes, right: Codes, _K: NDArray[Any]) -> Floats:
            cosine = self.cosine(left, right, sides).astype(np.float32).astype(np.float64)
            covariance = moments.covariance(cosine, blocks.dimension) if blocks.lengths != "iid" else 0.0
            return layout_variance(blocks, moments.variance(cosine), covariance)

        return Pair(mean, None, variance_seen, lambda: float(moments.mean(np.ones(1))[0]))

    def cosine(self, left: Any, right: Any, sides: tuple[Side, Side]) -> Floats:
        """Return the cosines that two sides show, each Codes or validated rows."""
        curve = cosine_curve(self.steps.bits, self.projection.blocks, sides)
        return curve.cosine(product(*(self._linear(rows, side) for rows, side in zip((left, right), sides))))

    def _linear(self, rows: Any, side: Side) -> Any:
        if side == "full":
            return linear_rows(rows, self.projection)
        return linear_codes(rows if isinstance(rows, Codes) else self.encode(rows), normalized=True)

    def describe(self) -> tuple[dict[str, Any], Arrays]:
        """Return what a file keeps: the projection; the quantizer follows from the bits."""
        spec = {
            "gamma": self.gamma,
            "projection": PROJECTIONS.to_config(self.layout),
            "n_components": self.n_components,
            "bits": self.steps.bits,
            "store_norms": self.store_norms,
            "n_features": self.n_features,
        }
        return spec, prefixed("projection", self.projection.arrays())

    @classmethod
    def restore(cls, spec: dict[str, Any], arrays: Arrays) -> Self:
        """Return the sketch that was described."""
        owner, (n_features, n_components) = cls.kind, kept_sizes(cls.kind, spec)
        layout = PROJECTIONS.from_config(spec["projection"])
        projection = layout.restore(Gaussian(), n_features, n_components, arrays_of("projection", arrays))
        steps = normal_steps(check_integer(owner, "bits", spec["bits"], 1, 8))
        return cls(layout, projection, steps, kept_gamma(owner, spec), bool(spec["store_norms"]), n_features)


@dataclass(eq=False, repr=False)
class Sketch(Encoder):
    """Random projections of normalized rows in a few bits, stored once, read as features of any bandwidth.

    With w_j normal, a row keeps the b-bit Lloyd-Max level of w_j . x / |x|, k = n_components of them. From the same
    bytes, by a codebook alone, come linear features (for cosines and linear models) and, for every gamma, the random
    Fourier features of exp(-gamma |x-y|^2): neither the rows nor the projections are needed again.

    Parameters
    ----------
    n_components : int, default=1024
        Projections stored, k. Linear features out are k, Fourier features 2 k.
    bits : int, default=4
        1 to 8. Three are acceptable and four as good as full precision for most bandwidths;
        `lowtide.theory.sketch_bits_needed` says it for one.
    projection : {"hadamard", "orthogonal", "iid"} or Projection, default="hadamard"
    gamma : float or None, default=None
        None: `transform` and `encode` give the linear features. A number: the Fourier features of that gamma, so that
        `features__gamma` can be searched. Scikit-learn's: exp(-gamma |x-y|^2); the One-Sketch paper's is 1/bandwidth,
        sqrt(2 gamma). The packed levels and the fingerprint are the same for all.
    store_norms : bool, default=False
        Keep |x| beside the codes in float32, for `linear` and `kernel_estimate` of rows as they came.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    gamma_ : float or None
    projection_ : drawn projection
    steps_ : LineSteps
        Levels and borders of the quantizer.
    random_weights_ : ndarray of float32, shape (n_features, n_components)
        Built on request.
    drawn_ : DrawnSketch
        All that was drawn, one frozen value; the other attributes are read from it.
    fingerprint_ : bytes
        Identity of the projections; codes also carry that of their quantizer.
    n_features_in_ : int

    Notes
    -----
    Encoding a row costs O(k log d) additions with "hadamard" and O(k d) multiplications otherwise; a code takes
    ceil(k b / 8) bytes rounded up to 8. A row of zeros encodes as zeros before quantizing. `transform` is
    W'x / (|x| sqrt k), and codes decode to mu_i / ((1 - D) sqrt k), D the quantizer's distortion:
    E[decode(encode(x)) . transform(y)] is the cosine of x and y.

    References
    ----------
    Li and Li, One-Sketch-for-All: non-linear random features from compressed linear measurements.

    Examples
    --------
    >>> import numpy as np
    >>> import lowtide as lt
    >>> X = np.random.default_rng(0).standard_normal((100, 20))
    >>> sketch = lt.Sketch(n_components=2048, random_state=0).fit(X)
    >>> S = sketch.encode(X)                                  # 1 KB a row; X may be thrown away
    >>> F = sketch.fourier(S, gamma=0.5)                      # the same bytes
    >>> S.nbytes, F.shape
    (102400, (100, 4096))
    >>> cosine, std = sketch.cosine_similarity(S[:2], S[2:4], return_std=True)
    >>> U = X / np.linalg.norm(X, axis=1, keepdims=True)
    >>> bool(np.all(np.abs(cosine - U[:2] @ U[2:4].T) < 5 * std))
    True
    """

    n_components: int = 1024
    _: KW_ONLY
    bits: int = 4
    projection: str | Projection = "hadamard"
    gamma: float | None = None
    store_norms: bool = False
    random_state: int | np.random.RandomState | None = None
    drawn_: DrawnSketch = field(init=False)
    parts: ClassVar[dict[str, Registry[Any]]] = {"projection": PROJECTIONS}

    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw the projections for rows as wide as X's; nothing else is learned from them.

        Parameters
        ----------
        X : array, CSR matrix or data frame (n_samples, n_features)
        y : ignored
        """
        rows, n_components, seed = self.start_fit(X)
        bits = check_integer("Sketch", "bits", self.bits, 1, 8, "For float features: RandomFeatures(bits=None).")
        remedy = "None for linear features; rows are normalized, so 0.1 to 10 is the useful range."
        gamma = None if self.gamma is None else check_positive("Sketch", "gamma", self.gamma, remedy)
        if gamma is not None:
            warn_of_bias(bits, gamma, stacklevel=2)
        (child,) = np.random.SeedSequence(seed).spawn(1)
        layout = PROJECTIONS.resolve(self.projection)
        rng = np.random.Generator(np.random.PCG64(child))
        projection = layout.draw(Gaussian(), rows.shape[1], n_components, rng)
        self.drawn_ = DrawnSketch(layout, projection, normal_steps(bits), gamma, bool(self.store_norms), rows.shape[1])
        return self

    def with_gamma(self, gamma: float) -> Sketch:
        """Return this fitted sketch, its projections shared, with the Fourier features of one gamma on both sides.

        Parameters
        ----------
        gamma : float
            Scikit-learn's, above 0.
        """
        return self.with_drawn(self.drawn_.with_gamma(float(gamma)), gamma=float(gamma))

    def fourier(self, codes: Codes, gamma: float, *, normalized: bool = True) -> Codes:
        """Return the random Fourier features of one bandwidth: the same bytes with another codebook.

        Parameters
        ----------
        codes : Codes of this sketch
        gamma : float
            Scikit-learn's, above 0; the One-Sketch paper's is 1/bandwidth, sqrt(2 gamma).
        normalized : bool, default=True
            The kernel is that of rows of norm 1; False is refused, also where norms are kept.

        Returns
        -------
        Codes of shape (n, 2 n_components), cosines and sines interleaved

        Warns
        -----
        BiasWarning
            When their kernel is further than 0.25 from the Gaussian one somewhere; it names the bits that would do.

        See Also
        --------
        lowtide.fourier_codes : the same without the sketch, for codes from a file
        """
        if not normalized:
            raise fail(
                "Sketch.fourier",
                "normalized must be True: rows of other lengths would each need a codebook of their own, and codes "
                "have one for all rows",
                normalized,
                "Use kernel_estimate, which takes the norms, or linear.",
            )
        return read_fourier("Sketch.fourier", self._own(codes), gamma)

    def linear(self, codes: Codes, *, normalized: bool | None = None) -> Codes:
        """Return the linear features: the same bytes with another codebook.

        Parameters
        ----------
        codes : Codes of this sketch
        normalized : bool, optional
            True for rows of norm 1, False for rows times their norms; None takes the norms where they are kept.

        Returns
        -------
        Codes of shape (n, n_components)

        See Also
        --------
        lowtide.linear_codes : the same without the sketch, for codes from a file
        """
        return linear_codes(self._own(codes), normalized=normalized)

    def cosine_similarity(
        self, X: Any, Y: Any = None, *, sides: tuple[Side, Side] = ("codes", "codes"), return_std: bool = False
    ) -> Any:
        """Return estimates of the cosines x.y / (|x| |y|).

        With a full side the product of the two sides is unbiased. The product of codes with codes has a known mean,
        1/(1-D) at x = y, which is inverted: for one bit this is cos(pi (1 - p)), p the share of equal signs.

        Parameters
        ----------
        X, Y : array, CSR matrix, data frame or Codes; Y defaults to X
        sides : pair of {"codes", "full"}, default=("codes", "codes")
            What stands left and right; Codes always count as "codes".
        return_std : bool, default=False
            Also return the standard error of each entry: how far the cosine moves when the product moves by the
            standard error that theory gives at the estimated cosine.

        Returns
        -------
        cosine : ndarray of float32, shape (n, n_y), within [-1, 1]
        std : ndarray of float32, shape (n, n_y), with return_std
        """
        left, right, sides = self._operands(X, Y, sides)
        cosine = self.drawn_.cosine(left, right, sides)
        if not return_std:
            return cosine.astype(np.float32)
        curve = cosine_curve(self.drawn_.steps.bits, self.drawn_.projection.blocks, sides)
        return cosine.astype(np.float32), curve.std(cosine).astype(np.float32)

    def kernel_estimate(
        self,
        X: Any,
        Y: Any = None,
        *,
        sides: tuple[Side, Side] = ("codes", "codes"),
        return_std: bool = False,
        normalize: bool = False,
        gamma: float | None = None,
        normalized: bool | None = None,
    ) -> Any:
        """Return estimates of exp(-gamma |x-y|^2), from codes on both sides unless told otherwise.

        For rows of norm 1 this is the product of the two sides' `fourier` features, and converges to the mean of
        `theory.fourier_moments`. With norms kept beside the codes it is the same with cos and sin of
        sqrt(2 gamma) |x| mu_i, so the kernel of the rows as they came.

        Parameters
        ----------
        X, Y : array, CSR matrix, data frame or Codes; Y defaults to X
        sides : pair of {"codes", "full"}, default=("codes", "codes")
            What stands left and right; Codes always count as "codes".
        return_std : bool, default=False
            Also return the standard error of each entry. Of rows of norm 1: in closed form, at the cosine that the
            codes give. Of others: from the spread of the products over projections, which overstates it on orthogonal
            layouts.
        normalize : bool, default=False
            Divide by the expectation at x = y.
        gamma : float, optional
            Scikit-learn's, above 0; the One-Sketch paper's is 1/bandwidth, sqrt(2 gamma). None takes the sketch's own.
        normalized : bool, optional
            Whether rows count as of norm 1; None does so unless both sides are codes with norms. Raw rows have.

        Returns
        -------
        K : ndarray of float32, shape (n, n_y)
        std : ndarray of float32, shape (n, n_y), with return_std
        """
        sketch = self._of_gamma(gamma)
        left, right, sides = sketch._operands(X, Y, sides)
        if sides != ("codes", "codes"):
            return Encoder.kernel_estimate(sketch, left, right, sides=sides, return_std=return_std, normalize=normalize)
        left, right = (
            rows if isinstance(rows, Codes) else sketch.drawn_.encode_with_norms(rows) for rows in (left, right)
        )
        if normalized is None:
            normalized = left.norms is None or right.norms is None
        if not normalized:
            return scaled_kernel(left, right, sketch.gamma_ or 0.0, return_std)
        warn_of_bias(left.bits, sketch.gamma_ or 0.0, stacklevel=2)
        book = sketch.drawn_.template.codebook
        left, right = left.with_codebook(book), right.with_codebook(book)
        return Encoder.kernel_estimate(sketch, left, right, sides=sides, return_std=return_std, normalize=normalize)

    def expected_kernel(
        self,
        X: Any,
        Y: Any = None,
        *,
        sides: tuple[Side, Side] = ("codes", "codes"),
        normalize: bool = False,
        gamma: float | None = None,
    ) -> Floats:
        """Return what `kernel_estimate` of normalized raw rows converges to as components grow, float64 (n, n_y)."""
        return Encoder.expected_kernel(self._of_gamma(gamma), X, Y, sides=sides, normalize=normalize)

    def _of_gamma(self, gamma: float | None) -> Sketch:
        """Return this sketch with a gamma: the one that is given, else its own."""
        drawn = self.drawn_
        if gamma is None and drawn.gamma is not None:
            return self
        return self.with_gamma(check_positive("Sketch", "gamma", gamma))

    def _own(self, codes: Any) -> Any:
        """Return codes of this sketch; what is not codes is for the reader to refuse."""
        if isinstance(codes, Codes):
            self.drawn_.check_codes(codes)
        return codes


def _unit(X: Any) -> Floats:
    """Return validated rows divided by their lengths; rows without length are zeros."""
    dense = dense_rows(X)
    length = np.linalg.norm(dense, axis=1, keepdims=True)
    return dense / np.where(length > 0, length, np.inf)
