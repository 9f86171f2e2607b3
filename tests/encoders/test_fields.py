"""Bits go where they save most, and steps round a coordinate's own distribution best."""

from itertools import product

import numpy as np
import pytest

from lowtide.encoders.fields import Column, Columns, FieldSteps, allocate, learned_steps
from lowtide.errors import ParameterError
from lowtide.quantizers import normal_steps


def column(values, weight=None):
    values = np.asarray(values, dtype=float)
    return Column(values, np.full(len(values), 1 / len(values)) if weight is None else np.asarray(weight))


@pytest.mark.parametrize("bits", [1, 2, 3, 5])
def test_levels_of_a_normal_coordinate_are_those_of_lloyd_max(bits):
    found = column(np.random.default_rng(0).standard_normal(40_000))
    steps = normal_steps(bits)
    exact = 1.0 - steps.mean(steps.values**2)  # distortion of the best levels
    # Found on 40,000 values: their own mean square is off by sqrt(2/40,000), and what is fitted is not above theirs.
    assert found.error(bits) == pytest.approx(exact, rel=4 * np.sqrt(2 / 40_000) + 0.02)
    inner = slice(1, -1) if bits > 2 else slice(None)
    np.testing.assert_allclose(found.levels(bits)[inner], steps.values[inner], atol=0.12)


def test_error_is_that_of_rounding_to_the_nearest_level():
    rng = np.random.default_rng(1)
    values, weight = rng.gamma(2.0, size=500), rng.random(500)
    found = column(values, weight)
    for bits in (1, 3, 6):
        nearest = np.min((values[:, None] - found.levels(bits)) ** 2, axis=1)
        # Levels are the means of their cells when Lloyd's rounds have settled, to 1e-5 of the error a round.
        assert found.error(bits) == pytest.approx(weight @ nearest / weight.sum(), rel=1e-2)


def test_few_distinct_numbers_are_told_exactly():
    found = column([3.0, -1.0, 3.0, 0.5])
    assert found.error(2) == 0.0
    assert found.levels(2).tolist() == [-1.0, 0.5, 3.0, 3.0]
    steps, fields, error = learned_steps(np.array([[3.0], [-1.0], [3.0], [0.5]]), np.full(4, 0.25), 4.8125, 64)
    assert (steps.bits, fields.tolist(), error) == ((2,), [0], 0.0)
    packed = steps.packed(np.array([[3.0], [-1.0], [0.5], [99.0], [-99.0]], dtype=np.float32))
    assert steps.values[packed[:, 0]].tolist() == [3.0, -1.0, 0.5, 3.0, -1.0]


def test_weight_counts_as_repetition():
    rng = np.random.default_rng(2)
    values, counts = rng.standard_normal(300), rng.integers(0, 4, 300)
    one = column(values[counts > 0], counts[counts > 0] / counts.sum())
    other = column(np.repeat(values, counts))
    for bits in (1, 4):
        np.testing.assert_allclose(one.levels(bits), other.levels(bits), rtol=1e-10)


def test_allocation_is_the_best_there_is():
    # Of independent normal coordinates every next bit saves less, so that what is greedy is best.
    rng = np.random.default_rng(3)
    Z = rng.standard_normal((4000, 3)) * [4.0, 1.0, 0.2]
    columns, power = Columns(Z, np.full(4000, 1 / 4000)), np.mean(Z**2, axis=0)
    error = [[power[j], *(columns[j].error(b) for b in range(1, 7))] for j in range(3)]
    for n_bits in (1, 3, 6):
        bits = allocate(columns, power, n_bits)
        best = min(
            sum(error[j][b] for j, b in enumerate(all)) for all in product(range(7), repeat=3) if sum(all) <= n_bits
        )
        assert sum(bits) == n_bits
        assert sum(error[j][b] for j, b in enumerate(bits)) == pytest.approx(best, rel=1e-9)


def test_coordinates_below_the_water_get_no_bits_and_none_more_than_eight():
    Z = np.random.default_rng(4).standard_normal((2000, 3)) * [10.0, 1.0, 1e-3]
    columns, power = Columns(Z, np.full(2000, 1 / 2000)), np.mean(Z**2, axis=0)
    assert allocate(columns, power, 5)[2] == 0
    # A bit that saves less than a billionth of the whole is left out.
    assert allocate(columns, power, 200) == [8, 8, 2]
    assert allocate(columns, np.zeros(3), 5) == [0, 0, 0]


def test_error_left_is_what_decoding_misses():
    Z = np.random.default_rng(5).standard_normal((1000, 6)) * np.arange(6, 0, -1)
    whole = float(np.mean(np.sum(Z**2, axis=1)))
    steps, fields, error = learned_steps(Z, np.full(1000, 1e-3), whole, 9)
    levels = np.stack([np.searchsorted(b, Z[:, j], side="right") for b, j in zip(steps.fields, fields)], axis=1)
    starts = np.cumsum([0, *(1 << b for b in steps.bits)])[:-1]
    decoded = np.zeros_like(Z)
    decoded[:, fields] = steps.values[levels + starts]
    # To the 1e-5 a round to which levels are settled.
    assert error == pytest.approx(np.mean(np.sum((Z - decoded) ** 2, axis=1)), rel=1e-3)
    assert sum(steps.bits) == 9


@pytest.mark.parametrize(
    "change",
    [
        {"bits": np.array([2, 9], np.uint8)},
        {"bits": np.array([2, 1], np.int64)},
        {"bits": np.empty(0, np.uint8)},
        {"borders": np.zeros(3, np.float32)},
        {"borders": np.array([1, 0, 2, 0], np.float32)},
        {"borders": np.array([0, 1, np.inf, 0], np.float32)},
        {"values": np.zeros(6)},
    ],
    ids=lambda change: next(iter(change)),
)
def test_kept_steps_that_are_none_are_refused(change):
    good = {"bits": np.array([2, 1], np.uint8), "borders": np.array([0, 1, 2, 0], np.float32)}
    good["values"] = np.zeros(6, np.float32)
    assert FieldSteps.restore("x", good).bits == (2, 1)
    with pytest.raises(ParameterError, match="must"):
        FieldSteps.restore("x", {**good, **change})
