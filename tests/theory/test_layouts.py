"""Covariance within blocks of orthogonal frequencies, and variances over such layouts."""

import numpy as np
import pytest
from reference.orthogonal_features import chi_covariance as exact_covariance
from reference.orthogonal_features import haar, orthogonal_pairs

from lowtide.errors import ParameterError
from lowtide.kernels import Bessel, Gaussian, Laplace, Matern, normalized_bessel
from lowtide.maps import CosSin
from lowtide.projections import Blocks, block_sizes
from lowtide.quantizers import LloydMax, Phase
from lowtide.theory import PairMoments, covariance, layout_variance, orf_chi_variance, orf_variance, rff_variance
from lowtide.theory.layouts import chi_covariance, mixture_covariance

Z = np.array([0.0, 0.5, 1.0, 3.0])


def haar_covariance(d, z):
    """Return j(sqrt2 z) - j(z)^2 of two columns of a Haar matrix."""
    return normalized_bessel(d, np.sqrt(2.0) * z) - normalized_bessel(d, z) ** 2


def test_covariance_is_the_closed_form_of_each_layout():
    np.testing.assert_array_equal(covariance(Gaussian(2.0), Blocks("free", 64, (64,)), 2 * Z), chi_covariance(64, Z))
    np.testing.assert_array_equal(
        covariance(Matern(), Blocks("free", 64, (64,)), Z), mixture_covariance(Matern(), 64, Z)
    )
    np.testing.assert_allclose(
        covariance(Bessel(2.0), Blocks("fixed", 6, (6,)), 2 * Z), haar_covariance(6, Z), rtol=0, atol=1e-14
    )
    np.testing.assert_array_equal(covariance(Laplace(), Blocks("iid", 6, (6,)), Z), np.zeros(4))


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
    found = float(covariance(kernel, Blocks(lengths, d, (d,)), s, AMPLITUDES))
    assert abs(product.mean() - found) < 4.5 * product.std() / np.sqrt(n)
    # The harmonics are seen: the plain cosine is ruled out.
    assert abs(product.mean() - float(covariance(kernel, Blocks(lengths, d, (d,)), s))) > 10 * product.std() / np.sqrt(
        n
    )


def test_trailing_zeros_of_the_amplitudes_change_nothing():
    np.testing.assert_array_equal(covariance(Gaussian(), Blocks("free", 8, (8,)), Z, [1, 0, 0]), chi_covariance(8, Z))


def test_block_of_one_dimension_has_no_pairs():
    np.testing.assert_array_equal(covariance(Gaussian(), Blocks("free", 1, (1,)), Z), np.zeros(4))


def test_unknown_layout_is_refused():
    with pytest.raises(ParameterError, match="'free', 'fixed' or 'iid'"):
        covariance(Gaussian(), Blocks("haar", 4, (4,)), Z)


@pytest.mark.parametrize(("d", "p"), [(5, 3), (5, 5), (4, 9)])
def test_layout_variance_of_the_full_pair_is_the_orthogonal_variance(d, p):
    blocks = block_sizes(d, p)
    free = layout_variance(Blocks("free", d, blocks), rff_variance(1, Z), chi_covariance(d, Z))
    haar = Blocks("fixed", d, blocks)
    fixed = layout_variance(haar, orf_variance(d, 1, Z), covariance(Bessel(), haar, Z))
    np.testing.assert_allclose(free, orf_chi_variance(d, p, Z), rtol=0, atol=1e-16)
    np.testing.assert_allclose(fixed, orf_variance(d, p, Z), rtol=0, atol=1e-16)


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
    blocks = Blocks("fixed" if isinstance(kernel, Bessel) else "free", d, (4, 4))
    c = covariance(kernel, blocks, s, pair.amplitudes)
    expected = float(layout_variance(blocks, pair.variance(kernel, s, d), c))
    mean = float(pair.mean(kernel, s, d))
    spread = (values - mean) ** 2
    assert abs(values.mean() - mean) < 4.5 * values.std() / np.sqrt(n)
    assert abs(spread.mean() - expected) < 4.5 * spread.std() / np.sqrt(n)


@pytest.mark.parametrize("d", [2, 3, 4, 5, 17, 64, 65, 1024, 8192])
def test_covariance_has_thirteen_absolute_digits(d):
    for z in (0.5, 1.0, 2.3, 5.0, 11.0, 20.0, 29.9, 30.1):
        assert abs(float(chi_covariance(d, z)) - exact_covariance(d, z)) < 1e-13


@pytest.mark.parametrize("d", [2, 3, 64, 4096])
def test_covariance_keeps_its_relative_digits_at_short_distances(d):
    for z in (1e-5, 1e-2, 0.3):
        exact = exact_covariance(d, z)
        assert abs(float(chi_covariance(d, z)) - exact) < 1e-13 * abs(exact)


def test_covariance_starts_like_minus_y_squared_over_n_plus_one():
    z = 1e-3
    assert float(chi_covariance(10, z)) == pytest.approx(-((z**2 / 2) ** 2) / 6, rel=1e-5)


def test_covariance_of_two_dimensions_is_elementary():
    # 1F1(2; 1; -y) = (1 - y) exp(-y)
    z = np.linspace(0, 35, 200)
    y = z**2 / 2
    np.testing.assert_allclose(chi_covariance(2, z), (1 - y) * np.exp(-y) - np.exp(-(z**2)), rtol=0, atol=1e-13)


def test_covariance_is_zero_at_zero_and_at_infinity():
    for d in (2, 3, 64):
        np.testing.assert_array_equal(chi_covariance(d, [0.0, np.inf]), [0, 0])


@pytest.mark.parametrize(("d", "z"), [(3, 1.5), (8, 1.0), (8, 3.0)])
def test_simulated_covariance_agrees(d, z):
    n = 400_000
    rng = np.random.default_rng(2)
    first, second = orthogonal_pairs(rng, d, n)
    lengths = np.sqrt(rng.chisquare(d, (2, n)))
    mean = np.exp(-(z**2) / 2)
    product = (np.cos(z * lengths[0] * first) - mean) * (np.cos(z * lengths[1] * second) - mean)
    assert abs(product.mean() - float(chi_covariance(d, z))) < 4.5 * product.std() / np.sqrt(n)


def test_chi_lengths_need_two_dimensions():
    with pytest.raises(ParameterError, match="at least 2"):
        orf_chi_variance(1, 1, 1.0)


MIXTURE_Z = np.array([0.0, 0.01, 0.3, 1.0, 2.0, 4.0])


@pytest.mark.parametrize("d", [2, 5, 64, 1024])
def test_gaussian_is_the_chi_formula(d):
    found = mixture_covariance(Gaussian(0.5), d, 0.5 * MIXTURE_Z)
    np.testing.assert_allclose(found, chi_covariance(d, MIXTURE_Z), rtol=0, atol=3e-7)


def test_smooth_matern_tends_to_the_gaussian():
    gaps = [
        np.abs(mixture_covariance(Matern(nu=nu), 16, MIXTURE_Z) - chi_covariance(16, MIXTURE_Z)).max()
        for nu in (2.5, 10, 40)
    ]
    assert gaps[0] > gaps[1] > gaps[2]
    assert gaps[2] < 0.05 * np.abs(chi_covariance(16, MIXTURE_Z)).max()


def deviations(kernel, d, z, h, n, seed):
    """Return products of the two deviations of h, whose mean is the covariance."""
    rng = np.random.default_rng(seed)
    first, second = orthogonal_pairs(rng, d, n)
    lengths = kernel.length_quantile(rng.random((2, n)), d)
    mean = h(z, kernel)
    return (h(z * lengths[0] * first) - mean) * (h(z * lengths[1] * second) - mean)


def harmonics(t, kernel=None):
    """Return the triangle-like h(t) = cos t + cos(3t)/9 + cos(5t)/25, or its mean at distance t."""
    return sum((np.cos(k * t) if kernel is None else kernel.radial(k * t, 2)) / k**2 for k in (1, 3, 5))


def cosine(t, kernel=None):
    return np.cos(t) if kernel is None else kernel.radial(t, 2)


@pytest.mark.parametrize("kernel", [Gaussian(), Matern(nu=0.5), Matern(nu=1.5)], ids=repr)
@pytest.mark.parametrize(("h", "amplitudes"), [(cosine, [1.0]), (harmonics, [1, 0, 1 / 9, 0, 1 / 25])])
@pytest.mark.parametrize("d", [2, 8])
def test_simulated_covariance_of_mixtures_agrees(kernel, h, amplitudes, d):
    n, z = 200_000, 0.7
    product = deviations(kernel, d, z, h, n, seed=d)
    expected = float(mixture_covariance(kernel, d, z, amplitudes))
    assert abs(product.mean() - expected) < 4.5 * product.std() / np.sqrt(n)


def test_covariance_scales_with_the_square_of_the_amplitude():
    once, twice = (mixture_covariance(Matern(), 8, MIXTURE_Z, [a]) for a in (1.0, 2.0))
    np.testing.assert_allclose(twice, 4 * once, rtol=1e-12, atol=1e-12)


def test_covariance_has_no_scale_of_its_own():
    np.testing.assert_allclose(
        mixture_covariance(Matern(50.0), 8, 50 * MIXTURE_Z),
        mixture_covariance(Matern(), 8, MIXTURE_Z),
        rtol=0,
        atol=1e-8,
    )


@pytest.mark.parametrize("kernel", [Laplace(), Bessel()], ids=repr)
def test_other_laws_are_refused(kernel):
    with pytest.raises(ParameterError, match="Gaussian mixture"):
        mixture_covariance(kernel, 4, 1.0)
