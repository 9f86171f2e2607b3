"""One set of levels, a codebook a use: linear, or the random Fourier features of any bandwidth."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import check_positive, fail
from lowtide.codes import Codes
from lowtide.errors import BiasWarning, CodeLayoutError, ParameterError
from lowtide.projections import Blocks
from lowtide.quantizers import normal_steps
from lowtide.theory import cosine_moments, layout_variance, sketch_bias, sketch_bits_needed

Book = NDArray[np.float32]
Floats = NDArray[np.float64]

# Past this distance from the Gaussian kernel a codebook comes with a warning.
_LARGEST_BIAS = 0.25
# Angles at which the mean of a product is tabulated; between them it is as good as straight.
_NODES = 4097
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
    gamma = check_positive(owner, "gamma", gamma)
    check_sketch(owner, codes)
    warn_of_bias(codes.bits, gamma, stacklevel=3)
    return codes.with_codebook(fourier_codebook(codes.bits, codes.n_levels, gamma))


def linear_codes(codes: Codes, *, normalized: bool | None = None) -> Codes:
    """Return the linear features that a sketch holds, from its codes alone.

    Parameters
    ----------
    codes : Codes
        Of a `Sketch`, with whatever codebook.
    normalized : bool, optional
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
    if normalized is None:
        normalized = codes.norms is None
    if not normalized and codes.norms is None:
        remedy = "Encode with Sketch(store_norms=True)."
        raise fail("linear_codes", "normalized must be True for codes without norms", normalized, remedy)
    return book if normalized else book.times_norms()


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


class CosineCurve:
    """Mean m(rho) and standard error of a product of two sides, over the cosine, and the inverse of the mean."""

    def __init__(self, bits: int, blocks: Blocks, sides: tuple[str, str]) -> None:
        self.sides = sides
        # The mean bends sharply only near rho = 1 and -1, where equal steps of the angle are short steps of rho.
        rho = np.cos(np.linspace(math.pi, 0.0, _NODES))
        moments = cosine_moments(bits, sides)
        covariance = moments.covariance(rho, blocks.dimension) if blocks.lengths != "iid" else 0.0
        self._rho, self._mean = rho, moments.mean(rho)
        self._product_std = np.sqrt(layout_variance(blocks, moments.variance(rho), covariance))

    def cosine(self, products: NDArray[Any]) -> Floats:
        """Return the cosines at which the mean has these values, from -1 to 1."""
        return np.asarray(np.interp(products, self._mean, self._rho))

    def std(self, cosine: Floats) -> Floats:
        """Return how far the cosine moves when the product moves by its standard error, up or down."""
        mean, sigma = (np.interp(cosine, self._rho, values) for values in (self._mean, self._product_std))
        if "full" in self.sides:
            return np.asarray(sigma)  # the mean is the cosine itself
        down, up = cosine - self.cosine(mean - sigma), self.cosine(mean + sigma) - cosine
        # At the ends the cosine can move one way only.
        return np.asarray(np.where(np.abs(mean) + sigma < self._mean[-1], (down + up) / 2, np.maximum(down, up)))


@lru_cache(maxsize=64)
def cosine_curve(bits: int, blocks: Blocks, sides: tuple[str, str]) -> CosineCurve:
    """Return the curve of two sides, made once."""
    return CosineCurve(bits, blocks, sides)


def scaled_kernel(left: Codes, right: Codes, gamma: float, return_std: bool) -> Any:
    """Return the estimate of exp(-gamma |x-y|^2) for rows times their norms, and its sample standard error on request.

    It is called from a method of the sketch: warnings point at that method's caller.
    """
    if left.norms is None or right.norms is None:
        remedy = "Encode with Sketch(store_norms=True), or give raw rows."
        raise fail("Sketch", "normalized must be True for codes without norms", False, remedy)
    # Rows of these lengths at this gamma are like rows of norm 1 at a gamma as many times larger.
    longest = float(np.max(left.norms, initial=0.0)) * float(np.max(right.norms, initial=0.0))
    if longest > 0.0:
        where = f"gamma={gamma:.4g} of rows as long as these, which is for rows of norm 1 "
        warn_of_bias(left.bits, gamma * longest, stacklevel=3, where=where)
    K = _scaled_fourier_product(left, right, gamma)
    if not return_std:
        return K
    # cos^2 = (1 + cos of twice the phase) / 2, and twice the phase is four times gamma.
    second = (1.0 + _scaled_fourier_product(left, right, 4.0 * gamma).astype(np.float64)) / 2.0
    spread = np.maximum(second - K.astype(np.float64) ** 2, 0.0)
    return K, np.sqrt(spread / left.n_levels).astype(np.float32)


def _scaled_fourier_product(left: Codes, right: Codes, gamma: float) -> NDArray[np.float32]:
    """Return mean_j cos(sqrt(2 gamma) (|x| mu_xj - |y| mu_yj)), float32 (n, n_y), a block of features at a time."""
    out = np.empty((len(left), len(right)), dtype=np.float32)
    for rows, features in _feature_blocks(left, gamma):
        for columns, others in _feature_blocks(right, gamma):
            np.matmul(features, others.T, out=out[rows, columns])
    return out


def _feature_blocks(codes: Codes, gamma: float) -> Iterator[tuple[slice, NDArray[np.float32]]]:
    """Yield (rows, cos and sin over sqrt k), each row with the codebook of its own norm."""
    k, g = codes.n_levels, math.sqrt(2.0 * gamma)
    values = normal_steps(codes.bits).values
    step = max(1, _BLOCK_VALUES // (2 * k))
    for start in range(0, len(codes), step):
        part = codes[start : start + step]
        phase = g * np.asarray(part.norms, dtype=np.float64)[:, None] * values
        books = (np.stack([np.cos(phase), np.sin(phase)], axis=2) / math.sqrt(k)).astype(np.float32)
        levels = part.levels()
        features = books[np.arange(len(part))[:, None], levels]
        yield slice(start, start + len(part)), features.reshape(len(part), 2 * k)
