"""One set of levels, a codebook a use: linear, or the random Fourier features of any bandwidth."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from functools import cached_property, lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lowtide._checks import check_positive, fail
from lowtide.codes import Codes
from lowtide.encoders.blocks import PLAUSIBLE
from lowtide.encoders.estimation import plausible_variance
from lowtide.encoders.rows import dense_rows
from lowtide.errors import BiasWarning, CodeLayoutError, ParameterError
from lowtide.kernels import Gaussian, distances
from lowtide.projections import Blocks
from lowtide.quantizers import normal_steps
from lowtide.theory import cosine_moments, fourier_moments, layout_variance, sketch_bias, sketch_bits_needed

Book = NDArray[np.float32]
Floats = NDArray[np.float64]

# Past this distance from the Gaussian kernel a codebook comes with a warning.
_LARGEST_BIAS = 0.25
# Angles at which the mean of a product is tabulated; between them it is as good as straight.
_NODES = 4097
# Of the table of plausible errors.
_N_SEEN = 513
_BLOCK_VALUES = 1 << 21


def linear_codebook(bits: int, n_projections: int) -> Book:
    """Return mu_i / ((1 - D) sqrt k), float32 (2^bits,): against the full side, unbiased for the cosine."""
    steps = normal_steps(bits)
    return (steps.values / ((1.0 - steps.distortion) * math.sqrt(n_projections))).astype(np.float32)


def fourier_codebook(bits: int, n_projections: int, gamma: float) -> Book:
    """Return the codebook of one gamma: cos(sqrt(2 gamma) mu_i) and sin(sqrt(2 gamma) mu_i) over sqrt k.

    Parameters
    ----------
    bits : int
    n_projections : int
        k.
    gamma : float
        Scikit-learn's, half the square of the One-Sketch paper's.

    Returns
    -------
    ndarray of float32, shape (2^bits, 2)

    Examples
    --------
    >>> fourier_codebook(1, 1, gamma=0.5).astype(float).round(4).tolist()
    [[0.6982, -0.7159], [0.6982, 0.7159]]
    """
    phase = math.sqrt(2.0 * gamma) * normal_steps(bits).values
    return (np.stack([np.cos(phase), np.sin(phase)], axis=1) / math.sqrt(n_projections)).astype(np.float32)


def fourier_codes(codes: Codes, gamma: float) -> Codes:
    """Return the random Fourier features of one bandwidth that a sketch holds, from its codes alone.

    Neither the rows nor the projections are needed: the levels stay, and level i stands for
    cos(sqrt(2 gamma) mu_i) and sin(sqrt(2 gamma) mu_i) over sqrt k, k projections.

    Parameters
    ----------
    codes : Codes
        Of a `Sketch`, with whatever codebook, from `encode` or from a file.
    gamma : float
        Scikit-learn's, above 0: the kernel is exp(-gamma |x-y|^2) of rows of norm 1. The One-Sketch paper's gamma is
        1/bandwidth, sqrt(2 gamma).

    Returns
    -------
    Codes of shape (n, 2 k)
        The same packed bytes; only the codebook, 8 bytes a level, is new.

    Warns
    -----
    BiasWarning
        When the kernel that these codes converge to is further than 0.25 from the Gaussian one somewhere; it names the
        bits that would do.

    Notes
    -----
    Norms that are kept beside the codes are not used: rows of other lengths would each need a codebook of their own,
    cos(sqrt(2 gamma) |x| mu_i), and codes have one for all rows. `Sketch.kernel_estimate` uses them.

    Examples
    --------
    >>> import numpy as np
    >>> import lowtide as lt
    >>> X = np.random.default_rng(0).standard_normal((100, 20))
    >>> S = lt.Sketch(n_components=512, random_state=0).fit(X).encode(X)
    >>> F = lt.fourier_codes(S, gamma=2.0)
    >>> F.shape, F.packed.base is S.packed.base
    ((100, 1024), True)
    """
    return read_fourier("fourier_codes", codes, gamma)


def read_fourier(owner: str, codes: Codes, gamma: float) -> Codes:
    """Return `fourier_codes`, with the caller's name in errors and its caller's place in warnings."""
    gamma = check_gamma(owner, gamma)
    check_sketch(owner, codes)
    warn_of_bias(codes.bits, gamma, stacklevel=3)
    return codes.with_codebook(fourier_codebook(codes.bits, codes.n_levels, gamma))


def check_gamma(owner: str, gamma: float, remedy: str = "") -> float:
    """Return gamma when it is above 0 and that of a kernel that float32 rows have a use for."""
    gamma = check_positive(owner, "gamma", gamma, remedy)
    Gaussian.from_gamma(gamma)
    return gamma


def linear_codes(codes: Codes, *, normalize: bool | None = None) -> Codes:
    """Return the linear features that a sketch holds, from its codes alone.

    Parameters
    ----------
    codes : Codes
        Of a `Sketch`, with whatever codebook.
    normalize : bool, optional
        True for rows of norm 1, False for rows times the norms that are kept beside the codes; None takes the norms
        when there are any.

    Returns
    -------
    Codes of shape (n, k)
        The same packed bytes; level i stands for mu_i / ((1 - D) sqrt k), times |x| of its row where not normalized.

    Examples
    --------
    >>> import numpy as np
    >>> import lowtide as lt
    >>> X = np.random.default_rng(0).standard_normal((100, 20))
    >>> S = lt.Sketch(n_components=4096, store_norms=True, random_state=0).fit(X).encode(X)
    >>> inner = lt.linear_codes(S).dot(lt.linear_codes(S))        # near X @ X.T
    >>> bool(np.abs(inner - X @ X.T).max() < 5 * 20 * np.sqrt(2 / 4096) * 2)
    True
    """
    check_sketch("linear_codes", codes)
    book = codes.with_codebook(linear_codebook(codes.bits, codes.n_levels))
    if normalize is None:
        normalize = codes.norms is None
    if not normalize and codes.norms is None:
        remedy = "Encode with Sketch(store_norms=True)."
        raise fail("linear_codes", "normalize must be True for codes without norms", normalize, remedy)
    return book if normalize else book.times_norms()


def check_sketch(owner: str, codes: Any) -> None:
    """Refuse what is not codes of a sketch: their codebook is one that only a sketch gives."""
    if not isinstance(codes, Codes):
        remedy = "Encode rows with the sketch first."
        raise fail(owner, "codes must be Codes of a Sketch", type(codes).__name__, remedy)
    book = np.asarray(codes.codebook, dtype=np.float64)
    if book.ndim == 1:
        linear = linear_codebook(codes.bits, codes.n_levels)
        is_sketch = bool(np.allclose(book, linear, rtol=1e-5, atol=0.0))
    else:
        # Fourier codebooks: all of length 1/sqrt(k), opposite levels mirror images.
        lengths = np.sqrt(np.sum(book**2, axis=1) * codes.n_levels)
        is_sketch = bool(np.allclose(lengths, 1.0, rtol=1e-5) and np.allclose(book, book[::-1] * [1, -1], atol=1e-6))
    if not is_sketch:
        raise CodeLayoutError(
            f"{owner}: codes must come from a Sketch, got {codes!r} with a codebook that no sketch has. "
            "Codes of other encoders are made for one bandwidth."
        )


def warn_of_bias(bits: int, gamma: float, stacklevel: int, where: str = "") -> None:
    """Warn when a sketch's kernel at this gamma is far from the Gaussian one, and say which bits would do.

    `where` says in words what the gamma is, when it is not the one that was asked for.
    """
    bias = sketch_bias(bits, gamma)
    if bias <= _LARGEST_BIAS:
        return
    try:
        remedy = f"A sketch with bits={sketch_bits_needed(gamma, _LARGEST_BIAS)} would do; or lower gamma."
    except ParameterError:
        remedy = (
            "No sketch of up to 8 bits would do: lower gamma, or use RandomFeatures, whose codes are for one gamma."
        )
    warnings.warn(
        f"At {where}gamma={gamma:.4g} the kernel of a {bits}-bit sketch is up to {bias:.2f} away from the Gaussian "
        f"one, more than {_LARGEST_BIAS}. {remedy}",
        BiasWarning,
        stacklevel=stacklevel + 1,
    )


class RowMoments(Protocol):
    """Mean and variance of one projection's product over the cosine of two rows, and the covariance of two."""

    def mean(self, rho: ArrayLike) -> Floats:
        """Return the expected product."""

    def variance(self, rho: ArrayLike) -> Floats:
        """Return the variance of one projection's product."""

    def covariance(self, rho: ArrayLike, dimension: int) -> Floats:
        """Return the covariance of the products of two projections of one orthogonal block."""


class CosineLaw:
    """Mean and standard error of a product of two sides of rows of norm 1, over the cosine of the rows."""

    def __init__(self, moments: RowMoments, blocks: Blocks) -> None:
        self.moments, self.blocks = moments, blocks

    def std(self, cosine: Floats) -> Floats:
        """Return the standard error at the cosines."""
        covariance = 0.0 if self.blocks.lengths == "iid" else self.moments.covariance(cosine, self.blocks.dimension)
        return np.sqrt(layout_variance(self.blocks, self.moments.variance(cosine), covariance))

    @cached_property
    def seen(self) -> Callable[[NDArray[Any]], Floats]:
        """Return the variance that products show, of rows that are not there."""
        rho = np.cos(np.linspace(math.pi, 0.0, _N_SEEN) ** 2 / math.pi)  # near 1 the mean changes fastest
        return plausible_variance(self.moments.mean(rho), self.std(rho))

    @cached_property
    def _table(self) -> tuple[Floats, Floats]:
        # The mean bends sharply only near rho = 1 and -1, where equal steps of the angle are short steps of rho.
        rho = np.cos(np.linspace(math.pi, 0.0, _NODES))
        return self.moments.mean(rho), rho

    def cosine(self, products: NDArray[Any]) -> Floats:
        """Return the cosines at which the mean has these values, from -1 to 1; for means that grow with the cosine."""
        return np.asarray(np.interp(products, *self._table))


@lru_cache(maxsize=64)
def cosine_law(bits: int, gamma: float | None, blocks: Blocks, sides: tuple[str, str]) -> CosineLaw:
    """Return the law of linear products (gamma None) or of Fourier features of two sides, made once."""
    moments = cosine_moments(bits, sides) if gamma is None else fourier_moments(bits, gamma, sides)
    return CosineLaw(moments, blocks)


def scaled_product(left: Any, right: Any, gamma: float) -> NDArray[np.float32]:
    """Return mean_j cos(sqrt(2 gamma) (|x| p_j - |y| q_j)), float32 (n, n_y), for codes with norms or full features.

    p_j is the level's value of a code, read with the codebook of the row's own norm, a block of rows at a time.
    """
    out = np.empty((len(left), len(right)), dtype=np.float32)
    for rows, features in _feature_blocks(left, gamma):
        for columns, others in _feature_blocks(right, gamma):
            np.matmul(features, others.T, out=out[rows, columns])
    return out


def scaled_variance(left: Codes, right: Codes, K: NDArray[Any], gamma: float) -> Floats:
    """Return the variance that the spread over projections shows, taken as independent, of codes with norms.

    cos^2 = (1 + cos of twice the phase) / 2, and twice the phase is four times gamma. A few more levels may differ than
    are seen to, each by a step of the quantizer: as many as in `plausible_variance`.
    """
    second = (1.0 + scaled_product(left, right, 4.0 * gamma).astype(np.float64)) / 2.0
    longest = np.maximum(norms_of(left)[:, None], norms_of(right))
    step = np.minimum(math.sqrt(2.0 * gamma) * longest * float(np.diff(normal_steps(left.bits).values).max()), math.pi)
    unseen = (PLAUSIBLE * (1.0 - np.cos(step)) / left.n_levels) ** 2
    return np.asarray(np.maximum(second - K.astype(np.float64) ** 2, 0.0) / left.n_levels + unseen)


def norms_of(codes: Codes) -> Floats:
    """Return the norms that are kept beside codes, or refuse codes without."""
    if codes.norms is None:
        remedy = "Encode with Sketch(store_norms=True), or take normalize=True."
        raise fail("Sketch", "kernels of rows as they came need the norms beside the codes", "codes without", remedy)
    return np.asarray(codes.norms, dtype=np.float64)


def _feature_blocks(side: Any, gamma: float) -> Iterator[tuple[slice, NDArray[np.float32]]]:
    """Yield (rows, cos and sin over sqrt k): full features as they are, codes with the codebook of each row's norm."""
    if not isinstance(side, Codes):
        yield slice(0, len(side)), side
        return
    k, g = side.n_levels, math.sqrt(2.0 * gamma)
    norms, values = norms_of(side), normal_steps(side.bits).values
    step = max(1, _BLOCK_VALUES // (2 * k))
    for start in range(0, len(side), step):
        part = side[start : start + step]
        phase = g * norms[start : start + step, None] * values
        books = (np.stack([np.cos(phase), np.sin(phase)], axis=2) / math.sqrt(k)).astype(np.float32)
        features = books[np.arange(len(part))[:, None], part.levels()]
        yield slice(start, start + len(part)), features.reshape(len(part), 2 * k)


def row_norms(rows: Any) -> Floats:
    """Return the lengths of validated rows, or those that codes keep."""
    return norms_of(rows) if isinstance(rows, Codes) else np.linalg.norm(dense_rows(rows), axis=1)


def cosines(X: Any, Y: Any, directed: bool = False) -> Floats:
    """Return the cosines of validated rows, from the distances of their directions: near rows lose no digits.

    Rows of zeros have none, so where they count as of norm 1 (`directed`) they are refused.
    """
    unit = []
    for rows in (X, Y):
        dense = dense_rows(rows)
        length = np.linalg.norm(dense, axis=1, keepdims=True)
        if directed and not np.all(length > 0.0):
            need = "rows must not be all zeros where expected values and errors count them as of norm 1"
            raise fail("Sketch", need, f"row {int(np.argmin(length))}", "Leave such rows out.")
        unit.append(dense / np.where(length > 0.0, length, np.inf))
    return np.clip(1.0 - distances(unit[0], unit[1], 2.0) ** 2 / 2.0, -1.0, 1.0)
