"""Variance over frequencies laid out in orthogonal blocks."""

import numpy as np
import pytest
from reference.orthogonal_features import haar, orthogonal_pairs

from lowtide.errors import ParameterError
from lowtide.kernels import Bessel, Gaussian, Laplace, Matern
from lowtide.maps import CosSin
from lowtide.projections import Blocks
from lowtide.quantizers import LloydMax, Phase
from lowtide.theory import (
    PairMoments,
    block_sizes,
    chi_covariance,
    covariance,
    haar_covariance,
    layout_variance,
    mixture_covariance,
    orf_chi_variance,
    orf_variance,
    rff_variance,
)

Z = np.array([0.0, 0.5, 1.0, 3.0])


def test_covariance_is_the_closed_form_of_each_layout():
    np.testing.assert_array_equal(covariance(Gaussian(2.0), "free", 2 * Z, 64), chi_covariance(64, Z))
    np.testing.assert_array_equal(covariance(Matern(), "free", Z, 64), mixture_covariance(Matern(), 64, Z))
    np.testing.assert_allclose(covariance(Bessel(2.0), "fixed", 2 * Z, 6), haar_covariance(6, Z), rtol=0, atol=1e-14)
    np.testing.assert_array_equal(covariance(Laplace(), "iid", Z, 6), np.zeros(4))


AMPLITUDES = np.array([1.0, 0.0, 0.4, 0.0, -0.3])


@pytest.mark.parametrize(("kernel", "lengths"), [(Bessel(), "fixed"), (Gaussian(), "free")], ids=repr)
def test_simulated_covariance_of_harmonics_agrees(kernel, lengths):
    n, d, s = 400_000, 3, 0.9
    rng = np.random.default_rng(1)
    k = np.flatnonzero(AMPLITUDES) + 1
    mean = float(AMPLITUDES[k - 1] @ kernel.radial(k * s, d))
    scale = kernel.length_quantile(rng.random((2, n)), d)
    h = [np.cos(np.outer(s * r * u, k)) @ AMPLITUDES[k - 1] - mean for r, u in zip(scale, orthogonal_pairs(rng, d, n))]
    product = h[0] * h[1]
    found = float(covariance(kernel, lengths, s, d, AMPLITUDES))
    assert abs(product.mean() - found) < 4.5 * product.std() / np.sqrt(n)
    # The harmonics are seen: the plain cosine is ruled out.
    assert abs(product.mean() - float(covariance(kernel, lengths, s, d))) > 10 * product.std() / np.sqrt(n)


def test_trailing_zeros_of_the_amplitudes_change_nothing():
    np.testing.assert_array_equal(covariance(Gaussian(), "free", Z, 8, [1, 0, 0]), chi_covariance(8, Z))


def test_block_of_one_dimension_has_no_pairs():
    np.testing.assert_array_equal(covariance(Gaussian(), "free", Z, 1), np.zeros(4))


def test_unknown_layout_is_refused():
    with pytest.raises(ParameterError, match="'free', 'fixed' or 'iid'"):
        covariance(Gaussian(), "haar", Z, 4)


@pytest.mark.parametrize(("d", "p"), [(5, 3), (5, 5), (4, 9)])
def test_layout_variance_of_the_full_pair_is_the_orthogonal_variance(d, p):
    blocks = tuple(block_sizes(d, p))
    free = layout_variance(Blocks("free", d, blocks), rff_variance(1, Z), chi_covariance(d, Z))
    fixed = layout_variance(Blocks("fixed", d, blocks), orf_variance(d, 1, Z), haar_covariance(d, Z))
    np.testing.assert_allclose(free, orf_chi_variance(d, p, Z), rtol=0, atol=1e-16)
    np.testing.assert_allclose(fixed, orf_variance(d, p, Z), rtol=0, atol=1e-16)


def test_equal_shares_are_the_default():
    blocks = Blocks("free", 4, (4, 2))
    v, c = rff_variance(1, Z), chi_covariance(4, Z)
    equal = layout_variance(blocks, v, c, shares=np.full(6, 1 / 6))
    np.testing.assert_allclose(equal, layout_variance(blocks, v, c), rtol=1e-14)
    stacked = layout_variance(blocks, np.tile(v, (6, 1)), c, shares=np.full(6, 1 / 6))
    np.testing.assert_allclose(stacked, equal, rtol=1e-14)


def test_shares_of_another_length_are_refused():
    with pytest.raises(ParameterError, match="length 6"):
        layout_variance(Blocks("free", 4, (4, 2)), 1.0, 0.0, shares=[0.5, 0.5])


def lengths_of(kernel, d):
    return lambda rng, p: kernel.length_quantile(rng.random(p), d)


def simulated(quantizer, both, kernel, d, p, s, n, seed=0):
    """Return n estimates over p frequencies of one drawn layout each: code against the full pair, or against codes."""
    rng = np.random.default_rng(seed)
    drawn = quantizer.draw(CosSin(), rng)
    draw_lengths = lengths_of(kernel, d)
    out = np.empty(n)
    for i in range(n):
        projected = np.concatenate([haar(rng, d)[0] for _ in range(-(-p // d))])[:p] * draw_lengths(rng, p)
        dither = rng.random(p)
        turns = np.stack([dither + s * projected / (2 * np.pi), dither]).astype(np.float32)
        x, y = (drawn.codebook[drawn.levels(t[:, None])].reshape(p, 2) for t in turns)
        if not both:
            y = np.stack([np.cos(2 * np.pi * turns[1]), np.sin(2 * np.pi * turns[1])], axis=1)
        out[i] = np.sum(x * y) / p
    return out


@pytest.mark.parametrize("kernel", [Gaussian(), Matern(nu=1.5), Bessel(0.5)], ids=repr)
@pytest.mark.parametrize("quantizer", [LloydMax(1), Phase(3)], ids=repr)
@pytest.mark.parametrize("both", [False, True], ids=["full", "codes"])
def test_simulated_coded_estimate_has_the_stated_variance(kernel, quantizer, both):
    d, p, s, n = 4, 8, 0.6, 3000
    values = simulated(quantizer, both, kernel, d, p, s, n)
    coded = quantizer.draw(CosSin(), np.random.default_rng(0)).moments()
    pair = PairMoments(coded, coded if both else CosSin().moments())
    c = covariance(kernel, "fixed" if isinstance(kernel, Bessel) else "free", s, d, pair.amplitudes)
    expected = float(layout_variance(Blocks("free", d, (4, 4)), pair.variance(kernel, s, d), c))
    mean = float(pair.mean(kernel, s, d))
    spread = (values - mean) ** 2
    assert abs(values.mean() - mean) < 4.5 * values.std() / np.sqrt(n)
    assert abs(spread.mean() - expected) < 4.5 * spread.std() / np.sqrt(n)
