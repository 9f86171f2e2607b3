"""Mean Lipschitz constants."""

import numpy as np
import pytest
from reference.mean_lipschitz import quotient

from lowtide.errors import ParameterError
from lowtide.theory import (
    lipschitz_cosine,
    lipschitz_exponential,
    lipschitz_lloyd_max,
    lipschitz_square_wave_gap,
    lipschitz_steps,
    lloyd_max_table,
)

DELTAS = np.array([0.01, 0.05, 0.2, 0.39, 0.6, 1.0, 1.175, 1.4, 2.0, 3.0])


def lloyd_max(t, bits):
    table = lloyd_max_table(bits)
    return table.levels[np.searchsorted(table.borders, np.cos(t))]


@pytest.mark.parametrize(
    ("f", "constant"),
    [
        (lambda t: np.sign(np.cos(t)), lipschitz_steps([1, -1])),
        (np.cos, lipschitz_cosine()),
        (lambda t: np.cos(3 * t), lipschitz_cosine(3)),
        (lambda t: np.exp(2j * t), lipschitz_exponential(-2)),
        (lambda t: lloyd_max(t, 2), lipschitz_lloyd_max(2)),
        (lambda t: lloyd_max(t, 3), lipschitz_lloyd_max(3)),
        (lambda t: np.sign(np.cos(t)) - 4 / np.pi * np.cos(t), lipschitz_square_wave_gap()),
    ],
    ids=["square", "cos", "cos3", "exp2", "lloyd_max2", "lloyd_max3", "gap"],
)
def test_constant_bounds_the_definition_and_is_nearly_attained(f, constant):
    quotients = [quotient(f, delta) for delta in DELTAS]
    # On the grid a jump counts for up to one step of t more than it should.
    slack = 1 + 2 * 2 * np.pi / (1 << 14) / DELTAS[0]
    assert max(quotients) <= constant * slack
    assert max(quotients) >= 0.97 * constant


def test_cosine_constant_is_the_maximum_of_its_closed_form():
    d = np.linspace(1.17, 1.18, 200_001)
    assert abs((2 / np.pi * (np.sin(d) + 1 - np.cos(d)) / d).max() - lipschitz_cosine()) < 1e-12


def test_one_bit_lloyd_max_is_a_scaled_square_wave():
    assert abs(lipschitz_lloyd_max(1) - 2 / np.pi * lipschitz_steps([1, -1])) < 1e-14


def test_bad_arguments_are_refused():
    with pytest.raises(ParameterError, match="order must not be 0"):
        lipschitz_cosine(0)
    with pytest.raises(ParameterError, match="non-empty"):
        lipschitz_steps([])
