"""Step functions, and levels of every quantizer against the compiled op."""

import numpy as np
import pytest
from reference.quantizer_fourier import N_SAMPLES, coefficients

from lowtide import _core
from lowtide.codes import row_bytes, stored_bits, unpack_levels
from lowtide.kernels import Gaussian
from lowtide.maps import Cosine, CosSin
from lowtide.projections import Hadamard, Iid
from lowtide.quantizers import LloydMax, PeriodicMap, Phase, StepFunction, Stochastic, Uniform

RNG = np.random.default_rng(1)


def random_steps(n, rng=RNG):
    return StepFunction(np.sort(rng.random(n)), rng.standard_normal(n))


@pytest.mark.parametrize("n", [1, 2, 3, 17])
def test_coefficients_match_quadrature(n):
    f = random_steps(n)
    expected = coefficients(lambda t: f.at(t / (2 * np.pi)), 12)
    tolerance = np.abs(np.diff(f.values, append=f.values[0])).sum() / N_SAMPLES
    np.testing.assert_allclose(f.coefficients(12), expected, atol=tolerance + 1e-14)


def test_coefficients_obey_parseval():
    f = random_steps(9)
    mean_square = (f * f).coefficients(0)[0].real
    c = np.abs(f.coefficients(20_000)) ** 2
    # The coefficients fall as |jumps| / (2 pi k): what is left out is below (sum |jumps|)^2 / (2 pi^2 K).
    rest = np.abs(np.diff(f.values, append=f.values[0])).sum() ** 2 / (2 * np.pi**2 * 20_000)
    partial = c[0] + 2 * c[1:].sum()
    assert partial <= mean_square <= partial + rest


@pytest.mark.parametrize("shift", [0.0, 0.25, -0.25, 0.77, -3.4])
def test_shifted_is_the_function_at_later_phases(shift):
    f, t = random_steps(6), np.linspace(-2, 2, 1001)
    np.testing.assert_array_equal(f.shifted(shift).at(t), f.at(t + shift))


def test_product_is_pointwise():
    f, g, t = random_steps(5), random_steps(8), np.linspace(-2, 2, 1001)
    np.testing.assert_array_equal((f * g).at(t), f.at(t) * g.at(t))


def test_product_survives_breaks_that_rounding_split():
    # 0.1 + 0.2 - 0.2 is not 0.1: two breaks that should be one, a piece of 1e-17 between them.
    f = StepFunction(np.array([0.1, 0.6]), np.array([1.0, -1.0]))
    g = f.shifted(0.2).shifted(-0.2)
    np.testing.assert_allclose((f * g).coefficients(3), [1, 0, 0, 0], atol=1e-15)


def test_at_uses_the_last_piece_before_the_first_break():
    f = StepFunction(np.array([0.25, 0.5]), np.array([1.0, 2.0]))
    np.testing.assert_array_equal(
        f.at(np.array([0.0, 0.24, 0.25, 0.49, 0.5, 0.99, 1.3, -0.01])), [2, 2, 1, 1, 2, 2, 1, 2]
    )


def three_levels(t):
    return np.sign(np.sin(t)) * (np.abs(np.sin(t)) > 0.3)


def many_levels(t):
    return np.round(40 * np.cos(t - 0.3))


QUANTIZERS = [
    *[(LloydMax(bits), feature_map) for bits in (1, 2, 3, 4, 5, 8) for feature_map in (Cosine(), CosSin())],
    *[(Uniform(bits), feature_map) for bits in (1, 3, 7) for feature_map in (Cosine(), CosSin())],
    *[(Phase(bits), CosSin()) for bits in (1, 2, 3, 6, 8)],
    (PeriodicMap(three_levels), Cosine()),
    (PeriodicMap(many_levels), Cosine()),
]
N_FREQUENCIES = 131


def project(layout, scale_of_rows):
    """Return what the op takes, and the phases in turns in its order of float32 operations."""
    rng = np.random.default_rng(12)
    drawn = layout.draw(Gaussian(0.5), 10, N_FREQUENCIES, rng)
    X = (rng.standard_normal((23, 10)) * scale_of_rows).astype(np.float32)
    offset = rng.random(N_FREQUENCIES, dtype=np.float32)
    turns = np.empty((23, N_FREQUENCIES), dtype=np.float32)
    _core.project(X, drawn.layout, drawn.scale, turns)
    return (X, drawn.layout, drawn.scale, offset), turns + offset


def encode(inputs, quantizer, n_levels):
    bits = quantizer.bits
    out = np.empty((23, row_bytes(n_levels, bits)), dtype=np.uint8)
    op = getattr(_core, quantizer.op)
    op(*inputs, quantizer.shifts, *quantizer.op_arguments, stored_bits(bits), n_levels, out)
    return unpack_levels(out, bits, n_levels)


@pytest.mark.parametrize(("spec", "feature_map"), QUANTIZERS, ids=lambda v: repr(v)[:32])
@pytest.mark.parametrize("layout", [Hadamard(), Iid()], ids=repr)
@pytest.mark.parametrize("scale_of_rows", [1e-3, 1.0, 1e4])
def test_levels_are_what_the_op_packs(spec, feature_map, layout, scale_of_rows):
    quantizer = spec.draw(feature_map, np.random.default_rng(0))
    inputs, turns = project(layout, scale_of_rows)
    expected = quantizer.levels(turns)
    n_levels = expected.shape[1]
    assert n_levels == N_FREQUENCIES * len(quantizer.shifts)
    np.testing.assert_array_equal(encode(inputs, quantizer, n_levels), expected)
    if len(quantizer.shifts) == 2:
        np.testing.assert_array_equal(encode(inputs, quantizer, n_levels - 1), expected[:, :-1])


@pytest.mark.parametrize("bits", [1, 2, 3, 4, 8])
def test_stochastic_levels_are_the_neighbours_of_the_cosine_in_both(bits):
    quantizer = Stochastic(bits).draw(CosSin(), np.random.default_rng(0))
    inputs, turns = project(Hadamard(), 1.0)
    step = 2 / (2**bits - 1)
    phase = (turns.astype(np.float64)[:, :, None] + quantizer.shifts).reshape(23, -1)
    cosine = np.cos(2 * np.pi * phase)
    for levels in (encode(inputs, quantizer, 2 * N_FREQUENCIES), quantizer.levels(turns)):
        values = quantizer.codebook[levels]
        # Strictly less than one step away, up to the rounding of a float32 phase.
        assert np.abs(values - cosine).max() < step + 1e-5
        # Unbiased: variance (hi - z)(z - lo) each.
        low = np.floor((cosine + 1) / step) * step - 1
        spread = np.sqrt(((low + step - cosine) * (cosine - low)).sum())
        assert abs((values - cosine).sum()) < 5 * spread
