"""Levels on the line, as the op finds them and as the formula has them."""

import numpy as np
import pytest

from lowtide import _core
from lowtide.codes import row_bytes, stored_bits, unpack_levels
from lowtide.errors import ParameterError
from lowtide.quantizers import lloyd_max_normal, normal_steps

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
