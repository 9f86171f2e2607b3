"""One set of levels, a codebook a use: linear, or the random Fourier features of any bandwidth."""

from __future__ import annotations

import math
import warnings
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lowtide._checks import check_positive, fail
from lowtide.codes import Codes
from lowtide.encoders.drawn.base import fingerprint
from lowtide.errors import BiasWarning, CodeLayoutError, ParameterError
from lowtide.kernels import Gaussian
from lowtide.quantizers import LINE_QUANTIZERS, LineQuantizer, LineSteps, line_quantizer_by_name, normal_steps
from lowtide.theory import sketch_bias, sketch_bits_needed

Book = NDArray[np.float32]
Floats = NDArray[np.float64]

# Past this distance from the Gaussian kernel a codebook comes with a warning.
_LARGEST_BIAS = 0.25
_BLOCK_VALUES = 1 << 21


def linear_codebook(steps: LineSteps, n_projections: int) -> Book:
    """Return (mu_i - E Q) / (E[z Q(z)] sqrt k), float32 (2^bits,): against the full side, unbiased for the cosine."""
    return (steps.padded(steps.linear) / math.sqrt(n_projections)).astype(np.float32)


def fourier_codebook(steps: LineSteps, n_projections: int, gamma: float) -> Book:
    """Return the codebook of one gamma: cos(sqrt(2 gamma) mu_i) and sin(sqrt(2 gamma) mu_i) over sqrt k.

    Parameters
    ----------
    steps : LineSteps
        The quantizer.
    n_projections : int
        k.
    gamma : float
        Scikit-learn's, half the square of the One-Sketch paper's.

    Returns
    -------
    ndarray of float32, shape (2^bits, 2)

    Examples
    --------
    >>> from lowtide.quantizers import LINE_QUANTIZERS, LineQuantizer, LineSteps, line_quantizer_by_name, normal_steps
    >>> fourier_codebook(normal_steps(1), 1, gamma=0.5).astype(float).round(4).tolist()
    [[0.6982, -0.7159], [0.6982, 0.7159]]
    """
    phase = math.sqrt(2.0 * gamma) * steps.padded(steps.values)
    return (np.stack([np.cos(phase), np.sin(phase)], axis=1) / math.sqrt(n_projections)).astype(np.float32)


def fourier_codes(codes: Codes, gamma: float, *, quantizer: LineQuantizer | None = None) -> Codes:
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
    quantizer : LineQuantizer, optional
        That of the sketch. None finds those that have a name; `GivenSteps`, say, must be given again.

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
    return read_fourier("fourier_codes", codes, gamma, quantizer)


def read_fourier(owner: str, codes: Codes, gamma: float, quantizer: LineQuantizer | None, stacklevel: int = 3) -> Codes:
    """Return `fourier_codes`, with the caller's name in errors and its caller's place in warnings."""
    gamma = check_gamma(owner, gamma)
    steps = steps_of_codes(owner, codes, quantizer)
    warn_of_bias(steps, gamma, stacklevel=stacklevel)
    return codes.with_codebook(fourier_codebook(steps, codes.n_levels, gamma))


class DitheredCosines:
    """Codes of a sketch read as sqrt(2/k) cos(sqrt(2 gamma) mu + tau_j), one column for each of k projections.

    Each projection j has a dither tau_j of its own, so no codebook of levels can give these values; but
    sqrt2 cos(a + tau) = sqrt2 (cos tau cos a - sin tau sin a) is a turn of the pair (cos a, sin a), so products go
    through the packed codes of the pair. `dithered_codes` makes them.

    Attributes
    ----------
    codes : Codes of shape (n, 2 k)
        The pair.
    dither : ndarray of float64, shape (k,)
        tau, in [0, 2 pi). It follows from the fingerprint of the codes: all codes of a sketch have the same.
    shape : tuple
        (n, k).
    """

    def __init__(self, codes: Codes) -> None:
        self.codes, self.dither = codes, dither_of(codes)
        self.shape = (len(codes), codes.n_levels)

    def __len__(self) -> int:
        return len(self.codes)

    def __repr__(self) -> str:
        return f"DitheredCosines(shape={self.shape}, bits={self.codes.bits})"

    def __getitem__(self, rows: Any) -> DitheredCosines:
        return DitheredCosines(self.codes[rows])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        out = np.empty(self.shape, dtype=np.float32)
        step = max(1, _BLOCK_VALUES // max(1, 2 * self.shape[1]))
        for start in range(0, len(out), step):
            out[start : start + step] = turned(np.asarray(self.codes[start : start + step]), self.dither)
        return out if dtype is None else out.astype(dtype, copy=False)

    def __matmul__(self, weights: ArrayLike) -> NDArray[Any]:
        """Return D W for weights (k,) or (k, c), with D the float32 features; on packed codes."""
        W = np.asarray(weights)
        if W.ndim not in (1, 2) or len(W) != self.shape[1]:
            raise fail("DitheredCosines", f"weights must have {self.shape[1]} rows", W.shape)
        tau = self.dither.reshape(-1, *[1] * (W.ndim - 1))
        pair = np.stack([math.sqrt(2.0) * np.cos(tau) * W, -math.sqrt(2.0) * np.sin(tau) * W], axis=1)
        return np.asarray(self.codes @ pair.reshape(2 * len(W), *W.shape[1:]).astype(W.dtype))

    def dot(self, other: DitheredCosines) -> NDArray[np.float32]:
        """Return D O', float32 (n, n_other): estimates of the kernel, from the features of both."""
        if other.codes.fingerprint != self.codes.fingerprint:
            raise fail("DitheredCosines", "both must be of one sketch", "codes of another fingerprint")
        return np.asarray(np.asarray(self) @ np.asarray(other).T, dtype=np.float32)


def dithered_codes(codes: Codes, gamma: float, *, quantizer: LineQuantizer | None = None) -> DitheredCosines:
    """Return the other form of a sketch's random Fourier features, sqrt2 cos(w.x + tau), from its codes alone.

    Half as many columns as `fourier_codes` gives of the same bytes, so half the weights, and a quarter to an eighth of
    the work of a solver; its kernel has the same mean, and 1/2 more variance a projection (`theory.fourier_moments`
    with form="cosine"), so at equal bits the pair is the better estimate. Take it where columns are what costs, or to
    compare with work that has this form.

    Parameters
    ----------
    codes : Codes
        Of a `Sketch`, with whatever codebook, from `encode` or from a file.
    gamma : float
        Scikit-learn's, above 0.
    quantizer : LineQuantizer, optional
        That of the sketch, as in `fourier_codes`.

    Returns
    -------
    DitheredCosines of shape (n, k)
        `np.asarray` gives the float32 features, `@` products with weights on packed codes, `dot` kernel estimates.

    Examples
    --------
    >>> import numpy as np
    >>> import lowtide as lt
    >>> X = np.random.default_rng(0).standard_normal((100, 20))
    >>> S = lt.Sketch(n_components=512, random_state=0).fit(X).encode(X)
    >>> D = lt.dithered_codes(S, gamma=0.5)
    >>> D.shape, np.allclose(D @ np.ones(512), np.asarray(D).sum(axis=1), atol=1e-4)
    ((100, 512), True)
    """
    return read_dithered("dithered_codes", codes, gamma, quantizer)


def read_dithered(owner: str, codes: Codes, gamma: float, quantizer: LineQuantizer | None) -> DitheredCosines:
    """Return `dithered_codes`, with the caller's name in errors and its caller's place in warnings."""
    return DitheredCosines(read_fourier(owner, codes, gamma, quantizer, stacklevel=4))


def dither_of(codes: Codes) -> Floats:
    """Return the dither of each projection, in [0, 2 pi), drawn by the identity of the projections."""
    # Raw words: what numpy makes of them may change between versions.
    words = np.random.PCG64(int.from_bytes(codes.fingerprint, "little")).random_raw(codes.n_levels)
    return np.asarray((words >> np.uint64(40)) * (2.0 * math.pi / 2**24))


def turned(pairs: NDArray[np.float32], dither: Floats) -> NDArray[np.float32]:
    """Return sqrt2 (cos tau c - sin tau s) of interleaved cosines c and sines s, float32 (n, k)."""
    cosine, sine = (math.sqrt(2.0) * wave(dither).astype(np.float32) for wave in (np.cos, np.sin))
    return np.asarray(pairs[:, ::2] * cosine - pairs[:, 1::2] * sine, dtype=np.float32)


def check_gamma(owner: str, gamma: float, remedy: str = "") -> float:
    """Return gamma when it is above 0 and that of a kernel that float32 rows have a use for."""
    gamma = check_positive(owner, "gamma", gamma, remedy)
    Gaussian.from_gamma(gamma)
    return gamma


def linear_codes(codes: Codes, *, normalize: bool | None = None, quantizer: LineQuantizer | None = None) -> Codes:
    """Return the linear features that a sketch holds, from its codes alone.

    Parameters
    ----------
    codes : Codes
        Of a `Sketch`, with whatever codebook.
    normalize : bool, optional
        True for rows of norm 1, False for rows times the norms that are kept beside the codes; None takes the norms
        when there are any.
    quantizer : LineQuantizer, optional
        That of the sketch, as in `fourier_codes`.

    Returns
    -------
    Codes of shape (n, k)
        The same packed bytes; level i stands for (mu_i - E Q) / (E[z Q(z)] sqrt k), z normal, which for Lloyd-Max is
        mu_i / ((1 - D) sqrt k), times |x| of its row where not normalized.

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
    steps = steps_of_codes("linear_codes", codes, quantizer)
    book = codes.with_codebook(linear_codebook(steps, codes.n_levels))
    if normalize is None:
        normalize = codes.norms is None
    if not normalize and codes.norms is None:
        remedy = "Encode with Sketch(store_norms=True)."
        raise fail("linear_codes", "normalize must be True for codes without norms", normalize, remedy)
    return book if normalize else book.times_norms()


def steps_of_codes(owner: str, codes: Any, quantizer: LineQuantizer | None = None) -> LineSteps:
    """Return the steps that made the codes of a sketch; refuse other codes.

    Codes carry the identity of their steps. It is held against that of the quantizer, or of every one that has a name.
    """
    if not isinstance(codes, Codes):
        remedy = "Encode rows with the sketch first."
        raise fail(owner, "codes must be Codes of a Sketch", type(codes).__name__, remedy)
    bits = 0 if isinstance(codes.bits, tuple) else codes.bits  # levels with bits of their own are of no sketch
    named = [line_quantizer_by_name(name, bits) for name in LINE_QUANTIZERS] if bits else []
    tried = [quantizer] if quantizer else named
    for each in tried:
        steps = each.steps()
        if side_of_steps(steps) == codes.side:
            return steps
    which = f"a Sketch with quantizer={quantizer!r}" if quantizer else "a Sketch"
    raise CodeLayoutError(
        f"{owner}: codes must come from {which}, got {codes!r} of another side. Codes of other encoders are made for "
        "one bandwidth; those of a sketch with steps of its own need quantizer=, as the sketch has it."
    )


@lru_cache(maxsize=64)
def side_of_steps(steps: LineSteps) -> bytes:
    """Return the identity of a sketch's coded side."""
    if steps == normal_steps(steps.bits) and steps.mirrored is not None:
        return fingerprint({"quantizer": "normal", "bits": steps.bits}, {"borders": steps.mirrored})
    arrays = {"borders": steps.borders, "values": steps.values}
    return fingerprint({"quantizer": "steps", "bits": steps.bits}, arrays)


def warn_of_bias(steps: LineSteps, gamma: float, stacklevel: int, where: str = "") -> None:
    """Warn when a sketch's kernel at this gamma is far from the Gaussian one, and say which bits would do.

    `where` says in words what the gamma is, when it is not the one that was asked for.
    """
    bias = sketch_bias(steps, gamma)
    if bias <= _LARGEST_BIAS:
        return
    try:
        like = "" if steps == normal_steps(steps.bits) else "quantizer='lloyd_max' and "
        remedy = f"A sketch with {like}bits={sketch_bits_needed(gamma, _LARGEST_BIAS)} would do; or lower gamma."
    except ParameterError:
        remedy = (
            "No sketch of up to 8 bits would do: lower gamma, or use RandomFeatures, whose codes are for one gamma."
        )
    warnings.warn(
        f"At {where}gamma={gamma:.4g} the kernel of a {steps.bits}-bit sketch is up to {bias:.2f} away from the "
        f"Gaussian one, more than {_LARGEST_BIAS}. {remedy}",
        BiasWarning,
        stacklevel=stacklevel + 1,
    )
