"""The contract of a projection."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from lowtide.encoders import RandomFeatures
from lowtide.errors import UnsuitableLayoutError
from lowtide.kernels import KERNELS, Kernel
from lowtide.projections import DrawnProjection, Projection
from lowtide.testing.claim import SEED, claim, claim_mean
from lowtide.testing.spec import check_spec

__all__ = ["check_projection"]

_SHAPES = ((1, 1), (3, 10), (20, 64), (70, 150))
_N_DRAWS = 400


def check_projection(projection: Projection, kernel: Kernel) -> None:
    """Check that a layout draws frequencies of the kernel's law, and refuses laws that it cannot carry.

    Parameters
    ----------
    projection : Projection
    kernel : Kernel
        A kernel that the layout carries.

    Raises
    ------
    AssertionError
        With a sentence that names what failed.

    Notes
    -----
    Shapes, blocks and seeds; orthogonality within blocks of the input's dimension; phases of `RandomFeatures` against
    `weights()`; the mean cosine over 400 draws against the kernel.

    Examples
    --------
    >>> from lowtide.kernels import Gaussian
    >>> from lowtide.projections import Orthogonal
    >>> check_projection(Orthogonal(), Gaussian())
    """
    claim(isinstance(projection, Projection), projection, "must derive from lowtide.projections.Projection")
    check_spec(projection)
    claim(
        kernel.law in projection.laws, projection, f"laws must hold that of the kernel it is checked with: {kernel!r}"
    )
    for n_features, n_frequencies in _SHAPES:
        drawn, again = (_draw(projection, kernel, n_features, n_frequencies) for _ in range(2))
        _check_drawn(projection, drawn, n_features, n_frequencies)
        for name, array in drawn.arrays().items():
            claim(
                np.array_equal(array, again.arrays()[name]), projection, "the same generator must draw the same arrays"
            )
    _check_orthogonal(projection, _draw(projection, kernel, 64, 150))
    _check_phases(projection, kernel)
    _check_unbiased(projection, kernel)
    _check_refusals(projection)


def _draw(projection: Projection, kernel: Kernel, n_features: int, n_frequencies: int) -> DrawnProjection:
    return projection.draw(kernel, n_features, n_frequencies, np.random.default_rng(SEED))


def _check_drawn(projection: Projection, drawn: DrawnProjection, n_features: int, n_frequencies: int) -> None:
    claim(drawn.n_features == n_features, projection, "n_features must be that of the draw")
    claim(drawn.n_frequencies == n_frequencies, projection, "n_frequencies must be that of the draw")
    W = drawn.weights()
    claim(W.shape == (n_features, n_frequencies), projection, "weights() must be (n_features, n_frequencies)")
    claim(W.dtype == np.float32 and np.isfinite(W).all(), projection, "weights() must be finite float32")
    scale = drawn.scale
    claim(scale.shape == (n_frequencies,), projection, "scale must have one entry a frequency")
    claim(scale.dtype == np.float32, projection, "scale must be float32")
    blocks = drawn.blocks
    claim(sum(blocks.sizes) == n_frequencies, projection, "block sizes must sum to n_frequencies")
    claim(max(blocks.sizes) <= blocks.dimension, projection, "a block must not be larger than its dimension")
    claim(blocks.lengths in ("free", "fixed", "iid"), projection, "blocks.lengths must be 'free', 'fixed' or 'iid'")


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


def _check_unbiased(projection: Projection, kernel: Kernel) -> None:
    d = 5
    s = np.geomspace(1e-6, 1e6, 1201)
    unit = float(s[int(np.argmax(kernel.radial(s, d) <= 0.5))])
    u = np.random.default_rng(SEED + 2).standard_normal((d, 3))
    u *= np.array([0.4, 1.0, 2.0]) * unit / np.linalg.norm(u, ord=kernel.norm, axis=0)
    rng = np.random.default_rng(SEED + 3)
    draws = [np.cos(projection.draw(kernel, d, 16, rng).weights().T @ u).mean(axis=0) for _ in range(_N_DRAWS)]
    expected = kernel.radial(np.array([0.4, 1.0, 2.0]) * unit, d)
    claim_mean(np.array(draws), expected, projection, f"the mean cosine over draws must be the kernel {kernel!r}")


def _check_refusals(projection: Projection) -> None:
    symmetric = KERNELS.of(Kernel)
    for name in symmetric:
        kernel = symmetric[name]()
        if kernel.law in projection.laws:
            continue
        try:
            _draw(projection, kernel, 4, 8)
        except UnsuitableLayoutError as error:
            claim("Use projection=" in str(error), projection, "a refusal must name a layout that fits")
        else:
            claim(False, projection, f"must refuse {kernel!r}: its law {kernel.law!r} is not among its laws")
