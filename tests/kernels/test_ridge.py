"""Laws of one direction: samples against exact transforms."""

import time

import numpy as np
import pytest
from scipy.stats import kstest

from lowtide.errors import ParameterError
from lowtide.kernels import ComplexMeasureKernel, CoshGaussian, Gaussian, Laplace, ShiftGaussian, SinhGaussian
from lowtide.kernels.ridge import cos_minus_law, cos_plus_law, modulus_law, sin_plus_law

LAWS = {"cos+": cos_plus_law, "cos-": cos_minus_law, "sin+": sin_plus_law, "modulus": modulus_law}


def cdf(law):
    """Return the distribution function of a law of u, by adding up its density on a fine grid where it lives."""
    if law.nodes is None:
        u = np.linspace(-10, 10, 400_001)
        density = np.real(law.wave(law.s * u)) * np.exp(-u * u / 2)
    else:
        c = np.pi / (2 * law.s)
        x = np.linspace(0, 60 / c, 200_001)
        half = np.exp(-c * x - x * x / 2) * np.maximum(np.sin(law.s * x), 0)
        u, density = np.concatenate([-c - x[::-1], c + x]), np.concatenate([half[::-1], half])
    steps = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2 * np.diff(u))])
    return lambda t: np.interp(t, u, steps / steps[-1])


@pytest.mark.parametrize("s", [0.02, 0.15, 0.45, 0.7, 0.99, 1.0, 1.6, 1.8, 3.0, 5.0])
@pytest.mark.parametrize("name", list(LAWS))
def test_sampler_draws_its_law(name, s):
    law = LAWS[name](s)
    u = law.draw(np.random.default_rng(5), size=20_000)
    # Forty tests: one in a thousand runs would fail by chance, if the seed were not fixed.
    assert kstest(u, cdf(law)).pvalue > 2.5e-5


@pytest.mark.parametrize("size", [0, 1, 7])
@pytest.mark.parametrize("name", list(LAWS))
def test_sampler_draws_as_many_as_asked(name, size):
    assert LAWS[name](0.6).draw(np.random.default_rng(0), size=size).shape == (size,)


@pytest.mark.parametrize("s", [0.02, 0.2, 0.7, 3.0])
@pytest.mark.parametrize("name", list(LAWS))
def test_second_moment_is_that_of_the_draws(name, s):
    law = LAWS[name](s)
    square = law.draw(np.random.default_rng(6), size=40_000) ** 2
    assert abs(square.mean() - law.second_moment()) < 5 * square.std() / 200


@pytest.mark.parametrize("family", [ShiftGaussian, SinhGaussian, CoshGaussian])
def test_ten_thousand_frequencies_take_under_50_ms_at_every_strength(family):
    rng, d = np.random.default_rng(0), 16
    for s in np.geomspace(0.05, 5, 9):
        kernel = family(np.eye(d)[0] * s)
        for block in (*kernel.measures(d), kernel.phase_measure(d)):
            times = []
            for _ in range(5):
                start = time.perf_counter()
                block.frequencies.sample(rng, d, 10_000)
                times.append(time.perf_counter() - start)
            # The quickest of five: what the sampler costs, not what else the machine does.
            assert min(times) < 0.05, (s, block.turn)


def normal(W):
    return Gaussian().density(W)


def shifted(W):
    return normal(W) * np.exp(1j * W[:, 0])


def value(D):
    return np.exp(-0.5 * (D[:, 0] + 1) ** 2)


def test_violated_bound_is_an_error():
    X = np.random.default_rng(0).standard_normal((20, 1))
    with pytest.raises(ParameterError, match="bound must be at least"):
        ComplexMeasureKernel(shifted, value, bound=0.9).resolve(X, np.random.default_rng(0))
    narrow = ComplexMeasureKernel(shifted, value, proposal=Gaussian(3.0), bound=5.0)
    with pytest.raises(ParameterError, match="heavier tails"):
        narrow.resolve(X, np.random.default_rng(0))


def test_bound_that_lets_nothing_through_is_an_error_not_a_loop():
    block = ComplexMeasureKernel(normal, value, bound=1e12, fitted=(1.0, 0.0, 0.0)).measures(1)[0]
    with pytest.raises(ParameterError, match="let proposals through"):
        block.frequencies.sample(np.random.default_rng(0), 1, 10)


def test_bound_may_be_generous():
    kernel = ComplexMeasureKernel(shifted, value, bound=40.0, fitted=(0.65, 0.04, 0.29))
    W = kernel.measures(1)[2].frequencies.sample(np.random.default_rng(0), 1, 5000)
    assert kstest(W[0], cdf(sin_plus_law(1.0))).pvalue > 1e-3


def test_part_that_does_not_exist_is_left_out():
    kernel = ComplexMeasureKernel(normal, lambda D: np.exp(-0.5 * D[:, 0] ** 2))
    resolved = kernel.resolve(np.random.default_rng(0).standard_normal((30, 1)), np.random.default_rng(0))
    (block,) = resolved.measures(1)
    assert block.mass == pytest.approx(1.0)


@pytest.mark.parametrize("proposal", [Laplace(1.0), Gaussian(0.8)], ids=repr)
def test_any_proposal_that_covers_gives_the_same_law(proposal):
    rows = np.random.default_rng(9).standard_normal((2000, 1)) * 3
    bound = 1.05 * np.max(normal(rows) / proposal.density(rows))
    kernel = ComplexMeasureKernel(shifted, value, proposal=proposal, bound=bound, fitted=(0.65, 0.04, 0.29))
    W = kernel.measures(1)[0].frequencies.sample(np.random.default_rng(0), 1, 5000)
    assert kstest(W[0], cdf(cos_plus_law(1.0))).pvalue > 1e-3


@pytest.mark.parametrize("density", [lambda W: W, lambda W: np.full(len(W), np.nan)])
def test_density_of_the_wrong_shape_or_not_finite_is_refused(density):
    with pytest.raises(ParameterError, match="n finite complex numbers"):
        ComplexMeasureKernel(density, value).resolve(np.zeros((3, 2)) + np.eye(3, 2), np.random.default_rng(0))


@pytest.mark.parametrize(
    "parameters",
    [{"density": 1.0}, {"function": None}, {"proposal": "rbf"}, {"bound": 0.0}, {"n_rows": 1}, {"n_frequencies": 0}],
)
def test_bad_parameters_are_refused(parameters):
    with pytest.raises(ParameterError, match="ComplexMeasureKernel"):
        ComplexMeasureKernel(**{"density": normal, "function": value, **parameters})


def test_masses_must_be_known_before_blocks_are_asked_for():
    with pytest.raises(ParameterError, match="resolve"):
        ComplexMeasureKernel(normal, value).measures(1)


@pytest.mark.parametrize("vector", [np.nan, [1.0, np.inf], [[1.0]], [], "x"])
def test_vectors_that_are_not_finite_numbers_are_refused(vector):
    for family in (ShiftGaussian, SinhGaussian, CoshGaussian):
        with pytest.raises(ParameterError, match="finite number or a vector"):
            family(vector)


def test_vector_of_another_width_is_refused():
    with pytest.raises(ParameterError, match="have 3 entries"):
        ShiftGaussian([1.0, 2.0]).gram(np.zeros((2, 3)))


def test_bandwidth_must_be_positive():
    with pytest.raises(ParameterError, match="bandwidth"):
        SinhGaussian(0.1, bandwidth=-1.0)
