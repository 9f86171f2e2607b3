"""One sketch for all bandwidths: quantized random projections."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from lowtide._checks import check_integer
from lowtide.codes import Codes
from lowtide.encoders.codebooks import (
    check_gamma,
    dither_of,
    linear_codes,
    read_dithered,
    read_fourier,
    turned,
    warn_of_bias,
)
from lowtide.encoders.drawn.sketch import DrawnSketch
from lowtide.encoders.encoder import Encoder
from lowtide.encoders.estimation import Side, inverted, kernel_estimate
from lowtide.encoders.sketch_pairs import (
    cosine_law,
    row_norms,
)
from lowtide.kernels import Gaussian
from lowtide.projections import PROJECTIONS, Projection
from lowtide.quantizers import LINE_QUANTIZERS, LineQuantizer, line_quantizer_by_name
from lowtide.spec import Registry

# Of the Hadamard layout: from this power of two on it takes rows as wide as a block as they are.
_SMALLEST_BLOCK = 64


@dataclass(eq=False, repr=False)
class Sketch(Encoder):
    """Store each row once, in a few bits per projection, and read features of any bandwidth from the same bytes.

    With w_j normal, a row keeps the b-bit level of w_j . x / |x|, k = n_components of them. From the same
    bytes, by a codebook alone, come linear features (for cosines and linear models) and, for every gamma, the random
    Fourier features of exp(-gamma |x-y|^2): neither the rows nor the projections are needed again.

    Parameters
    ----------
    n_components : int or None, default=1024
        Projections stored, k; None for as many as X has columns. Linear features out are k, Fourier features 2 k.
    bits : int, default=4
        1 to 8, of quantizers that are given by name; "sign" has one. Three are acceptable and four as good as full
        precision for most bandwidths; `lowtide.theory.sketch_bits_needed` says it for one.
    quantizer : {"lloyd_max", "uniform", "sign"} or LineQuantizer, default="lloyd_max"
        The steps that make a level of a projection; `quantizers.GivenSteps` takes your own. An object's own bits win.
        Mean, error and unbiased values follow from the steps, whichever they are.
    projection : {"auto", "hadamard", "rotation", "orthogonal", "iid"} or Projection, default="auto"
        "auto" is "rotation" where k is the number of columns and no power of two from 64 on, else "hadamard", which
        would pad such rows and leave some of its outputs out.
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
        Borders and values of the levels.
    random_weights_ : ndarray of float32, shape (n_features, n_components)
        Built on request.
    drawn_ : DrawnSketch
        All that was drawn, one frozen value; the other attributes are read from it.
    fingerprint_ : bytes
        Identity of the projections; codes also carry that of their quantizer.
    n_features_in_ : int

    Notes
    -----
    Encoding a row costs O(k log d) additions with "hadamard" or "rotation" and O(k d) multiplications otherwise; a code
    takes ceil(k b / 8) bytes rounded up to 8. A row of zeros encodes as zeros before quantizing. `transform` is
    W'x / (|x| sqrt k), and codes decode to (mu_i - E Q) / (E[z Q(z)] sqrt k), z normal, which for Lloyd-Max is
    mu_i / ((1 - D) sqrt k), D its distortion: E[decode(encode(x)) . transform(y)] is the cosine of x and y.

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

    n_components: int | None = 1024  # type: ignore[assignment]
    _: KW_ONLY
    bits: int = 4
    quantizer: str | LineQuantizer = "lloyd_max"
    projection: str | Projection = "auto"
    gamma: float | None = None
    store_norms: bool = False
    random_state: int | np.random.RandomState | None = None
    drawn_: DrawnSketch = field(init=False)
    parts: ClassVar[dict[str, Registry[Any]]] = {"projection": PROJECTIONS, "quantizer": LINE_QUANTIZERS}

    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw the projections for rows as wide as X's; nothing else is learned from them.

        Parameters
        ----------
        X : array, CSR matrix or data frame (n_samples, n_features)
        y : ignored
        """
        rows, n_components, seed = self.start_fit(X, all_columns=self.n_components is None)
        quantizer = self.quantizer
        if not isinstance(quantizer, LineQuantizer):
            bits = check_integer("Sketch", "bits", self.bits, 1, 8, "For float features: RandomFeatures(bits=None).")
            quantizer = line_quantizer_by_name(quantizer, bits)
        remedy = "None for linear features; rows are normalized, so 0.1 to 10 is the useful range."
        gamma = None if self.gamma is None else check_gamma("Sketch", self.gamma, remedy)
        if gamma is not None:
            warn_of_bias(quantizer.steps(), gamma, stacklevel=2)
        (child,) = np.random.SeedSequence(seed).spawn(1)
        layout = PROJECTIONS.resolve(_layout_name(self.projection, rows.shape[1], n_components))
        rng = np.random.Generator(np.random.PCG64(child))
        projection = layout.draw(Gaussian(), rows.shape[1], n_components, rng)
        self.drawn_ = DrawnSketch(layout, projection, quantizer, gamma, bool(self.store_norms), rows.shape[1])
        return self

    def with_gamma(self, gamma: float) -> Sketch:
        """Return this fitted sketch, its projections shared, with the Fourier features of one gamma on both sides.

        Parameters
        ----------
        gamma : float
            Scikit-learn's, above 0.
        """
        gamma = check_gamma("Sketch", gamma)
        return self.with_drawn(self.drawn_.with_gamma(gamma), gamma=gamma)

    def fourier(self, codes: Codes, gamma: float) -> Codes:
        """Return the random Fourier features of one bandwidth: the same bytes with another codebook.

        They are those of rows of norm 1, also where norms are kept: rows of other lengths would each need a codebook of
        their own, and codes have one for all rows. `kernel_estimate` takes the norms.

        Parameters
        ----------
        codes : Codes of this sketch
        gamma : float
            Scikit-learn's, above 0; the One-Sketch paper's is 1/bandwidth, sqrt(2 gamma).

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
        dithered : one column a projection
        """
        return read_fourier("Sketch.fourier", self._own(codes), gamma, self.drawn_.quantizer)

    def dithered(self, X: Any, gamma: float) -> Any:
        """Return the other form of random Fourier features, sqrt2 cos(w.x + tau): one column per projection.

        Parameters
        ----------
        X : Codes of this sketch, array, CSR matrix or data frame (n, n_features)
        gamma : float
            Scikit-learn's, above 0.

        Returns
        -------
        DitheredCosines of codes, or float32 features of rows, both (n, n_components)

        See Also
        --------
        lowtide.dithered_codes : the same without the sketch, which also says when this form is of use
        """
        if isinstance(X, Codes):
            return read_dithered("Sketch.dithered", self._own(X), gamma, self.drawn_.quantizer)
        full = self.with_gamma(gamma)
        return turned(full.transform(X), dither_of(full.drawn_.template))

    def linear(self, codes: Codes, *, normalize: bool | None = None) -> Codes:
        """Return the linear features: the same bytes with another codebook.

        Parameters
        ----------
        codes : Codes of this sketch
        normalize : bool, optional
            True for rows of norm 1, False for rows times their norms; None takes the norms where they are kept.

        Returns
        -------
        Codes of shape (n, n_components)

        See Also
        --------
        lowtide.linear_codes : the same without the sketch, for codes from a file
        """
        return linear_codes(self._own(codes), normalize=normalize, quantizer=self.drawn_.quantizer)

    def cosine_similarity(
        self, X: Any, Y: Any = None, *, sides: tuple[Side, Side] = ("codes", "codes"), return_std: bool = False
    ) -> Any:
        """Return estimates of the cosines x.y / (|x| |y|).

        With a full side the product of the two sides is unbiased. The product of codes with codes has a known mean, of
        Lloyd-Max 1/(1-D) at x = y, which is inverted: for one bit this is cos(pi (1 - p)), p the share of equal signs.

        Parameters
        ----------
        X, Y : array, CSR matrix, data frame or Codes; Y defaults to X
        sides : pair of {"codes", "full"}, default=("codes", "codes")
            What stands left and right; Codes always count as "codes".
        return_std : bool, default=False
            Also return the standard error of each entry: how far the cosine moves when the product moves by one or two
            of its own, the larger of the two per standard error.

        Returns
        -------
        cosine : ndarray of float32, shape (n, n_y), within [-1, 1]
        std : ndarray of float32, shape (n, n_y), with return_std
        """
        left, right, sides = self._operands(X, Y, sides)
        linear = replace(self.drawn_, gamma=None, store_norms=False)
        law = cosine_law(linear.steps, None, linear.projection.blocks, sides)
        K = kernel_estimate(linear, left, right, sides, return_std=return_std)
        if not return_std:
            return law.cosine(K).astype(np.float32)
        products, std = K
        within = np.clip(products, *law.moments.mean(np.array([-1.0, 1.0])))
        return law.cosine(products).astype(np.float32), inverted(law.cosine, within, std).astype(np.float32)

    def kernel_estimate(
        self,
        X: Any,
        Y: Any = None,
        *,
        sides: tuple[Any, Any] = ("full", "full"),
        return_std: bool = False,
        normalize: bool = False,
    ) -> Any:
        """Return estimates of exp(-gamma |x-y|^2), or of cosines where the sketch is linear.

        Rows count as of norm 1, unless the sketch keeps their norms: then the kernel is that of the rows as they came,
        and of a linear sketch their inner product. Codes of either gamma, or linear ones, can be given; `with_gamma`
        reads the same sketch at another gamma.

        Parameters
        ----------
        X, Y : array, CSR matrix, data frame or Codes; Y defaults to X
        sides : pair of {"full", "codes"}, default=("full", "full")
            What stands left and right; Codes always count as "codes".
        return_std : bool, default=False
            Also return the standard error of each entry around `expected_kernel`. The kernel of codes is not quite the
            Gaussian one: how far it is off is `expected_kernel` less the kernel itself, which a BiasWarning tells when
            it is large. Codes with norms show their error by the spread over projections, which overstates it on
            orthogonal layouts.
        normalize : bool, default=False
            Take rows as of norm 1 also where norms are kept, and divide by the expectation at x = y.

        Returns
        -------
        K : ndarray of float32, shape (n, n_y)
        std : ndarray of float32, shape (n, n_y), with return_std

        Warns
        -----
        BiasWarning
            When the kernel that codes converge to is further than 0.25 from the Gaussian one somewhere.
        """
        left, right, sides = self._operands(X, Y, sides)
        drawn = self.drawn_
        if drawn.gamma is not None and sides == ("codes", "codes"):
            longest = 1.0
            if drawn.store_norms and not normalize:
                longest = math.prod(float(np.max(row_norms(rows), initial=0.0)) for rows in (left, right))
            where = f"gamma={drawn.gamma:.4g} of rows as long as these, which is for rows of norm 1 "
            if longest > 0.0:
                warn_of_bias(drawn.steps, drawn.gamma * longest, stacklevel=2, where="" if longest == 1 else where)
        return kernel_estimate(drawn, left, right, sides, return_std=return_std, normalize=normalize)

    def _own(self, codes: Any) -> Any:
        """Return codes of this sketch; what is not codes is for the reader to refuse."""
        if isinstance(codes, Codes):
            self.drawn_.check_codes(codes)
        return codes


def _layout_name(projection: Any, n_features: int, n_components: int) -> Any:
    """Return the layout that "auto" stands for, or the one that was given."""
    if not isinstance(projection, str) or projection != "auto":
        return projection
    is_block = n_features >= _SMALLEST_BLOCK and n_features & (n_features - 1) == 0
    return "rotation" if n_components == n_features and not is_block else "hadamard"
