"""Levels on the line, as the op finds them and as the formula has them."""

import numpy as np
import pytest
from reference.sketch import expectation

from lowtide import _core
from lowtide.codes import row_bytes, stored_bits, unpack_levels
from lowtide.errors import ParameterError
from lowtide.maps import Normal
from lowtide.quantizers import (
    LINE_QUANTIZERS,
    GivenSteps,
    LineSteps,
    NormalLloydMax,
    SignSteps,
    UniformSteps,
    line_quantizer_by_name,
    lloyd_max_distortion,
    lloyd_max_normal,
    normal_steps,
)

Z = np.random.default_rng(0).standard_normal((7, 301)).astype(np.float32)


@pytest.mark.parametrize("bits", range(1, 9))
def test_levels_are_those_of_the_nearest_value(bits):
    steps = normal_steps(bits)
    nearest = np.argmin(np.abs(Z[..., None] - steps.values), axis=-1)
    # Away from a border by more than its rounding to float32.
    _, borders = lloyd_max_normal(bits)
    clear = np.abs(Z[..., None] - borders).min(axis=-1) > 1e-6
    assert clear.mean() > 0.99
    np.testing.assert_array_equal(steps.levels(Z)[clear], nearest[clear])


@pytest.mark.parametrize("bits", range(1, 9))
def test_levels_match_the_op(bits):
    steps = normal_steps(bits)
    ones = np.ones(Z.shape[1], np.float32)
    out = np.empty((len(Z), row_bytes(Z.shape[1], bits)), np.uint8)
    _core.threshold(Z, None, ones, np.ones(len(Z), np.float32), steps.mirrored, stored_bits(bits), out)
    np.testing.assert_array_equal(unpack_levels(out, bits, Z.shape[1]), steps.levels(Z))


def test_opposite_values_have_opposite_levels():
    steps = normal_steps(3)
    np.testing.assert_array_equal(steps.levels(-Z), 7 - steps.levels(Z))


def test_zero_counts_as_positive():
    np.testing.assert_array_equal(normal_steps(2).levels(np.array([[0.0, -0.0]], np.float32)), 2)


@pytest.mark.parametrize("bits", [0, 9, 2.5, None])
def test_bits_outside_one_to_eight_are_refused(bits):
    with pytest.raises(ParameterError, match="bits must be an integer from 1 to 8"):
        normal_steps(bits)


LOPSIDED = GivenSteps(borders=[-1.1, -0.2, 0.3, 0.9, 2.0], values=[-1.7, -0.5, 0.1, 0.6, 1.3, 2.4])
DEAD_ZONE = GivenSteps(borders=[-0.6, 0.6], values=[-1.2, 0.0, 1.2])
QUANTIZERS = [NormalLloydMax(3), UniformSteps(4), UniformSteps(2, reach=5.0), SignSteps(), DEAD_ZONE, LOPSIDED]


@pytest.mark.parametrize("quantizer", QUANTIZERS, ids=repr)
def test_moments_of_steps_are_their_integrals(quantizer):
    steps = quantizer.steps()
    for i in range(steps.n_levels):
        one = np.arange(steps.n_levels) == i
        assert steps.mass[i] == pytest.approx(expectation(lambda u, q: q, one.astype(float), steps.borders), abs=1e-13)
    integral = [expectation(f, steps.values, steps.borders) for f in (lambda u, q: u * q, lambda u, q: (u - q) ** 2)]
    np.testing.assert_allclose([steps.unit, steps.distortion], integral, rtol=1e-11)
    centered = [expectation(f, steps.linear, steps.borders) for f in (lambda u, q: q, lambda u, q: u * q)]
    np.testing.assert_allclose(centered, [0.0, 1.0], atol=1e-12)


@pytest.mark.parametrize("quantizer", QUANTIZERS, ids=repr)
def test_levels_count_the_borders_at_or_below(quantizer):
    steps = quantizer.steps()
    expected = np.sum(steps.borders.astype(np.float32) <= Z[..., None], axis=-1)
    np.testing.assert_array_equal(steps.levels(Z), expected)
    assert (steps.mirrored is None) == (quantizer in (DEAD_ZONE, LOPSIDED))
    assert 2 ** (steps.bits - 1) < steps.n_levels <= 2**steps.bits
    assert len(steps.padded(steps.values)) == 2**steps.bits


# Max, Quantizing for minimum distortion (1960), table II: width of a cell and distortion.
@pytest.mark.parametrize(
    ("bits", "cell", "distortion"),
    [(1, 1.596, 0.3634), (2, 0.9957, 0.1188), (3, 0.5860, 0.03744), (4, 0.3352, 0.01154), (5, 0.1881, 0.003495)],
)
def test_uniform_cells_are_those_of_least_distortion(bits, cell, distortion):
    steps = UniformSteps(bits).steps()
    np.testing.assert_allclose(np.diff(steps.values), cell, rtol=5e-4)
    assert steps.distortion == pytest.approx(distortion, rel=5e-4)
    for reach in (0.97, 1.03):
        other = UniformSteps(bits, reach=reach * cell * 2 ** (bits - 1)).steps()
        assert other.distortion > steps.distortion
    assert steps.distortion >= normal_steps(bits).distortion


@pytest.mark.parametrize("bits", range(1, 9))
def test_centroids_have_one_less_the_distortion_as_their_product(bits):
    steps = normal_steps(bits)
    assert steps.unit == pytest.approx(1 - steps.distortion, abs=1e-14)
    assert steps.distortion == pytest.approx(lloyd_max_distortion(Normal(), bits), rel=1e-10)


@pytest.mark.parametrize("quantizer", QUANTIZERS, ids=repr)
def test_a_quantizer_comes_back_from_its_configuration(quantizer):
    again = LINE_QUANTIZERS.from_config(LINE_QUANTIZERS.to_config(quantizer))
    assert again == quantizer
    assert again.steps() == quantizer.steps()
    assert hash(again.steps()) == hash(quantizer.steps())


def test_names_take_bits_where_they_have_any():
    assert line_quantizer_by_name("uniform", 3) == UniformSteps(3)
    assert line_quantizer_by_name("sign", 3) == SignSteps()
    with pytest.raises(ParameterError, match="quantizer of projections must be one of 'lloyd_max'"):
        line_quantizer_by_name("phase", 3)


@pytest.mark.parametrize(
    ("borders", "values", "message"),
    [
        ([], [0.0], "2 to 256 values"),
        ([0.0], [1.0], "2 to 256 values"),
        ([0.0], [-1.0, 0.0, 1.0], "2 to 256 values"),
        (np.arange(256.0), np.arange(257.0), "2 to 256 values"),
        ([1.0, 0.0], [-1.0, 0.0, 1.0], "borders must be finite and ascend"),
        ([0.0, 0.0], [-1.0, 0.0, 1.0], "borders must be finite and ascend"),
        ([np.nan], [-1.0, 1.0], "borders must be finite and ascend"),
        ([0.0], [1.0, -1.0], "values must be finite and ascend"),
        ([0.0], [-np.inf, 1.0], "values must be finite and ascend"),
        ([9.0], [-1.0, 1.0], "a border must lie within 4.7 of 0"),
        (["low"], [-1.0, 1.0], "borders must be numbers"),
    ],
)
def test_what_are_no_steps_is_refused(borders, values, message):
    with pytest.raises(ParameterError, match=message):
        GivenSteps(borders, values)


def test_a_reach_is_above_zero():
    with pytest.raises(ParameterError, match="reach must be a finite number above 0"):
        UniformSteps(2, reach=0.0)


def test_steps_cannot_be_written_to():
    steps = LineSteps(np.zeros(1), np.array([-1.0, 1.0]))
    with pytest.raises(ValueError, match="read-only"):
        steps.values[0] = 0.0
