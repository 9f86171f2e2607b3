"""The contracts of a projection, a feature map and a quantizer."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide.encoders import RandomFeatures
from lowtide.errors import ParameterError, UnsuitableLayoutError
from lowtide.kernels import KERNELS, Kernel
from lowtide.maps import FeatureMap, Moments
from lowtide.projections import DrawnProjection, Projection
from lowtide.quantizers import Quantizer
from lowtide.testing.claims import SEED, check_spec, claim, claim_mean, refusal
from lowtide.testing.kernels import half_distance

_SHAPES = ((1, 1), (3, 10), (20, 64), (70, 150))
_N_DRAWS = 400
_MAP_PHASES = 4096
_MAP_HARMONICS = 6
_N_PHASES = 1 << 16
_HARMONICS = 4


def check_projection(projection: Projection, kernel: Kernel) -> None:
    """Check that a layout draws frequencies of the kernel's law, and refuses laws that it cannot carry.

    An AssertionError names what failed.

    Parameters
    ----------
    projection : Projection
    kernel : Kernel
        A kernel that the layout carries.

    Notes
    -----
    Shapes, blocks and seeds; orthogonality within blocks of the input's dimension; phases of `RandomFeatures` and
    `pull_back` against `weights()`; the mean cosine over 400 draws against the kernel; the way back from what a file
    keeps.

    Examples
    --------
    >>> from lowtide.kernels import Gaussian
    >>> from lowtide.projections import Orthogonal
    >>> check_projection(Orthogonal(), Gaussian())
    """
    claim(isinstance(projection, Projection), projection, "must derive from lowtide.projections.Projection")
    check_spec(projection)
    carried = kernel.law in projection.laws
    claim(carried, projection, f"laws must hold that of the kernel it is checked with: {kernel!r}")
    for shape in _SHAPES:
        drawn, again = (_draw(projection, kernel, *shape) for _ in range(2))
        _check_drawn(projection, drawn, *shape)
        same = all(np.array_equal(array, again.arrays()[name]) for name, array in drawn.arrays().items())
        claim(same, projection, "the same generator must draw the same arrays")
    _check_orthogonal(projection, _draw(projection, kernel, 64, 150))
    _check_phases(projection, kernel)
    for shape in _SHAPES:
        _check_pulled(projection, _draw(projection, kernel, *shape))
    _check_projected_kernel(projection, kernel)
    _check_refusals(projection)
    for shape in _SHAPES:
        _check_restored(projection, kernel, _draw(projection, kernel, *shape))


def _draw(projection: Projection, kernel: Kernel, n_features: int, n_frequencies: int) -> DrawnProjection:
    return projection.draw(kernel, n_features, n_frequencies, np.random.default_rng(SEED))


def _check_drawn(projection: Projection, drawn: DrawnProjection, n_features: int, n_frequencies: int) -> None:
    claim(drawn.n_features == n_features, projection, "n_features must be that of the draw")
    claim(drawn.n_frequencies == n_frequencies, projection, "n_frequencies must be that of the draw")
    W, scale, blocks = drawn.weights(), drawn.scale, drawn.blocks
    claim(W.shape == (n_features, n_frequencies), projection, "weights() must be (n_features, n_frequencies)")
    claim(W.dtype == np.float32 and np.isfinite(W).all(), projection, "weights() must be finite float32")
    claim(scale.shape == (n_frequencies,), projection, "scale must have one entry a frequency")
    claim(scale.dtype == np.float32, projection, "scale must be float32")
    claim(drawn.row_cost >= n_frequencies, projection, "row_cost must count an operation a frequency at least")
    claim(sum(blocks.sizes) == n_frequencies, projection, "block sizes must sum to n_frequencies")
    claim(max(blocks.sizes) <= blocks.dimension, projection, "a block must not be larger than its dimension")
    claim(blocks.lengths in ("free", "fixed", "iid"), projection, "blocks.lengths must be 'free', 'fixed' or 'iid'")


def _check_restored(projection: Projection, kernel: Kernel, drawn: DrawnProjection) -> None:
    """What a file keeps gives the same frequencies, and arrays of other shapes are refused."""
    arrays, (n_features, n_frequencies) = drawn.arrays(), (drawn.n_features, drawn.n_frequencies)
    restored = projection.restore(kernel, n_features, n_frequencies, arrays)
    same = np.array_equal(restored.weights(), drawn.weights()) and restored.blocks == drawn.blocks
    claim(same, projection, "restore must give the frequencies whose arrays were kept")
    for name, array in arrays.items():
        other = {**arrays, name: array[..., :-1]}
        refused = refusal(ParameterError, partial(projection.restore, kernel, n_features, n_frequencies, other))
        claim(refused, projection, f"restore must refuse {name} of another shape")


def _check_orthogonal(projection: Projection, drawn: DrawnProjection) -> None:
    """Directions of a block are orthogonal, unless the layout says iid; 64 columns need no padding."""
    if drawn.blocks.lengths == "iid" or drawn.blocks.dimension != 64:
        return
    W = drawn.weights().astype(np.float64)
    lengths = np.linalg.norm(W, axis=0)
    edges = np.cumsum((0, *drawn.blocks.sizes))
    for start, stop in pairwise(edges):
        block = W[:, start:stop] / lengths[start:stop]
        off = np.abs(block.T @ block - np.eye(stop - start)).max()
        claim(off < 1e-5, projection, f"frequencies of a block must be orthogonal, got a cosine of {off:.3g}")
    if drawn.blocks.lengths == "fixed":
        claim(np.ptp(lengths) < 1e-5 * lengths[0], projection, "fixed lengths must be equal")


def _check_phases(projection: Projection, kernel: Kernel) -> None:
    """The encoder's features are cosines of X W + xi."""
    X = np.random.default_rng(SEED + 1).standard_normal((5, 6))
    encoder = RandomFeatures(
        kernel, projection=projection, feature_map="cosine", n_components=40, bits=None, random_state=0
    ).fit(X)
    W = encoder.random_weights_.astype(np.float64)
    expected = np.cos(X @ W + encoder.random_offset_) * np.sqrt(2 / 40)
    # float32 phases: a relative rounding of 2^-24 a term.
    slack = 1e-6 * (1 + np.abs(X) @ np.abs(W))
    claim(np.abs(encoder.transform(X) - expected) < slack, projection, "features must be cosines of X weights() + xi")


def _check_pulled(projection: Projection, drawn: DrawnProjection) -> None:
    """Values of frequencies come back to rows by the transposed weights."""
    values = np.random.default_rng(SEED + 2).standard_normal((3, drawn.n_frequencies)).astype(np.float32)
    found, W = drawn.pull_back(values), drawn.weights().astype(np.float64)
    # float32 sums: some roundings of 2^-24 a term.
    is_near = found.shape == (3, drawn.n_features) and np.abs(found - values @ W.T) < 1e-5 * np.abs(values @ W.T).max()
    claim(is_near, projection, "pull_back(values) must be values weights()'")
    claim(found.dtype == np.float32, projection, "pull_back must give float32")


def _check_projected_kernel(projection: Projection, kernel: Kernel) -> None:
    d = 5
    s = np.array([0.4, 1.0, 2.0]) * half_distance(kernel, d)
    u = np.random.default_rng(SEED + 2).standard_normal((d, 3))
    u *= s / np.linalg.norm(u, ord=kernel.norm, axis=0)
    rng = np.random.default_rng(SEED + 3)
    draws = [np.cos(projection.draw(kernel, d, 16, rng).weights().T @ u).mean(axis=0) for _ in range(_N_DRAWS)]
    words = f"the mean cosine over draws must be the kernel {kernel!r}"
    claim_mean(np.array(draws), kernel.radial(s, d), projection, words)


def _check_refusals(projection: Projection) -> None:
    symmetric = KERNELS.of(Kernel)
    kernels = [symmetric[name]() for name in symmetric]
    for kernel in (kernel for kernel in kernels if kernel.law not in projection.laws):
        refused = refusal(UnsuitableLayoutError, partial(_draw, projection, kernel, 4, 8))
        claim(refused, projection, f"must refuse {kernel!r}: its law {kernel.law!r} is not among its laws")
        claim("Use projection=" in refused, projection, "a refusal must name a layout that fits")


def check_feature_map(feature_map: FeatureMap) -> None:
    """Check that a map's components, their law and their moments belong together; an AssertionError names what failed.

    Parameters
    ----------
    feature_map : FeatureMap

    Examples
    --------
    >>> from lowtide.maps import CosSin
    >>> check_feature_map(CosSin())
    """
    claim(isinstance(feature_map, FeatureMap), feature_map, "must derive from lowtide.maps.FeatureMap")
    check_spec(feature_map)
    width = feature_map.width
    claim(width == len(feature_map.shifts) >= 1, feature_map, "width must be the number of shifts, at least 1")
    for n in (1, 2, 7, 64):
        p = feature_map.n_frequencies(n)
        claim((p - 1) * width < n <= p * width, feature_map, "n_frequencies must be just enough for n_components")
    turns = (np.arange(_MAP_PHASES) + 0.5) / _MAP_PHASES
    values = np.stack([np.cos(2 * np.pi * (turns + shift)) for shift in feature_map.shifts])
    _check_density(feature_map, values)
    _check_map_moments(feature_map, turns, values)


def _check_density(feature_map: FeatureMap, values: NDArray[np.float64]) -> None:
    low, high = feature_map.density.interval
    claim(low < high, feature_map, "density.interval must be (low, high)")
    x = np.linspace(low, high, 23)[1:-1]
    for component in values:
        counted = (component[:, None] <= x).mean(axis=0)
        # Equally spaced phases: a count is off by a few of 4096.
        near = np.abs(counted - feature_map.density.cdf(x)) < 8 / _MAP_PHASES
        claim(near, feature_map, "density.cdf must be the law of every component at a uniform phase")
    second = float(np.mean(values**2))
    claim(abs(second - feature_map.density.second_moment) < 1e-9, feature_map, "density.second_moment must be E[f^2]")
    inside = np.linspace(0.05, 0.95, 19)
    back = feature_map.density.cdf(feature_map.density.quantile(inside))
    claim(np.abs(back - inside) < 1e-9, feature_map, "density.quantile must be the inverse of density.cdf")


def _check_map_moments(feature_map: FeatureMap, turns: NDArray[np.float64], values: NDArray[np.float64]) -> None:
    moments = feature_map.moments()
    claim(moments.mean.shape[0] == feature_map.width, feature_map, "moments().mean must have a row a component")
    square = moments.product.shape[:2] == (feature_map.width, feature_map.width)
    claim(square, feature_map, "moments().product must be (width, width, harmonics)")
    for k in range(_MAP_HARMONICS):
        wave = np.exp(-2j * np.pi * k * turns) / len(turns)
        gap = np.abs(values @ wave - _at(moments.mean, k))
        claim(gap < 1e-9, feature_map, f"moments().mean must be Fourier coefficients of the components, k = {k}")
        gap = np.abs((values[:, None] * values) @ wave - _at(moments.product, k))
        claim(gap < 1e-9, feature_map, f"moments().product must be those of their products, k = {k}")


def check_quantizer(quantizer: Quantizer, feature_map: FeatureMap) -> None:
    """Check that a quantizer's levels, codebook and moments belong together, and that codes are unbiased.

    An AssertionError names what failed.

    Parameters
    ----------
    quantizer : Quantizer
    feature_map : FeatureMap
        A map that the quantizer stands against.

    Notes
    -----
    Decoded levels at random phases against `moments`, mean and products, random rounding included; the product with the
    full side against the kernel's share; the same draw from the same generator, and from what a file keeps.

    Examples
    --------
    >>> from lowtide.maps import CosSin
    >>> from lowtide.quantizers import Phase
    >>> check_quantizer(Phase(bits=3), CosSin())
    """
    claim(isinstance(quantizer, Quantizer), quantizer, "must derive from lowtide.quantizers.Quantizer")
    check_spec(quantizer)
    drawn, again = (quantizer.draw(feature_map, np.random.default_rng(SEED)) for _ in range(2))
    claim(_same_levels(drawn, again), quantizer, "the same generator must draw the same quantizer")
    restored = quantizer.restore(feature_map, drawn.arrays())
    claim(_same_levels(drawn, restored), quantizer, "restore must give the quantizer whose arrays were kept")
    turns = np.random.default_rng(SEED + 1).random((_N_PHASES, 1), dtype=np.float32)
    values = (_float_values if drawn.bits is None else _decoded)(quantizer, drawn, turns, feature_map.width)
    moments, full = drawn.moments(), feature_map.moments()
    _check_moments(quantizer, moments, turns[:, 0].astype(np.float64), values)
    share = np.sum(moments.mean[:, 1] * full.mean[:, 1].conj())
    expected = np.sum(np.abs(full.mean[:, 1]) ** 2)
    sentence = f"codes against the full side must carry the kernel once, got {(share / expected).real:.6g} times"
    claim(abs(share - expected) < 1e-6, quantizer, sentence)


def _same_levels(left: Any, right: Any) -> bool:
    """Return whether all that decides a level is equal."""
    decides = [(drawn.shifts, *drawn.op_arguments) for drawn in (left, right)]
    return all(np.array_equal(a, b) for a, b in zip(*decides, strict=True))


def _float_values(quantizer: Quantizer, drawn: Any, turns: NDArray[np.float32], width: int) -> NDArray[np.float64]:
    claim(drawn.codebook is None, quantizer, "without bits there must be no codebook")
    values = drawn.values(turns)
    claim(values.shape == (len(turns), width), quantizer, "values must give one number a component")
    claim(values.dtype == np.float32, quantizer, "values must give float32")
    return values.astype(np.float64)


def _decoded(quantizer: Quantizer, drawn: Any, turns: NDArray[np.float32], width: int) -> NDArray[np.float64]:
    claim(1 <= drawn.bits <= 8, quantizer, f"bits must be from 1 to 8, got {drawn.bits}")
    rows = np.shape(drawn.codebook)
    whole = rows in ((2**drawn.bits,), (2**drawn.bits, 2))
    claim(whole, quantizer, f"the codebook must have 2^bits entries, got {rows}")
    per_level = 1 if len(rows) == 1 else rows[1]
    claim(drawn.shifts.dtype == np.float32, quantizer, "shifts must be float32")
    claim(len(drawn.shifts) * per_level == width, quantizer, "levels and codebook must give every component a value")
    claim(np.isfinite(drawn.codebook), quantizer, "the codebook must be finite")
    levels = drawn.levels(turns)
    claim(levels.dtype == np.uint8, quantizer, "levels must be uint8")
    claim(levels.shape == (len(turns), len(drawn.shifts)), quantizer, "levels must have one column a shift")
    claim(levels.max() < 2**drawn.bits, quantizer, "levels must stay below 2^bits")
    # A few phases within float32 rounding of a border may change sides.
    differ = float(np.mean(drawn.levels(turns + np.float32(1.0)) != levels))
    claim(differ < 1e-3, quantizer, "levels must not change when a phase grows by a whole turn")
    return np.asarray(drawn.codebook)[levels].reshape(len(turns), width)


def _check_moments(
    quantizer: Quantizer, moments: Moments, turns: NDArray[np.float64], values: NDArray[np.float64]
) -> None:
    claim(moments.width == values.shape[1], quantizer, "moments must have a row a component")
    for k in range(_HARMONICS):
        wave = np.exp(-2j * np.pi * k * turns)[:, None]
        products = (values[:, :, None] * values[:, None, :] * wave[:, :, None]).reshape(len(turns), -1)
        for name, sample, exact in (("mean", values * wave, moments.mean), ("product", products, moments.product)):
            expected = _at(exact, k).ravel()
            sentence = f"moments().{name}, k = {k} must be what decoded levels have at random phases"
            claim_mean(sample.real, expected.real, quantizer, f"{sentence} (real part)")
            claim_mean(sample.imag, expected.imag, quantizer, f"{sentence} (imag part)")


def _at(coefficients: NDArray[np.complex128], k: int) -> NDArray[np.complex128]:
    """Return the coefficients of order k; those past the end are 0."""
    return coefficients[..., k] if k < coefficients.shape[-1] else np.zeros_like(coefficients[..., 0])
