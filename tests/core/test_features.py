import numpy as np
import pytest
from core import cases
from core.cases import SHAPES, SHIFTS, F
from reference import phases
from reference.projected import projected

from lowtide import _core


def same_bits(a, b):
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


@pytest.mark.parametrize("width", SHIFTS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_features_give_the_bits_of_the_reference(shape, width):
    inputs, shifts = cases.draw(shape), SHIFTS[width]
    truth = phases.features(phases.phases(*inputs, shifts), 0.3)
    for n_components in {shape[-1] * width, (shape[-1] - 1) * width + 1}:
        assert same_bits(
            cases.features(inputs, shifts, 0.3, n_components), np.ascontiguousarray(truth[:, :n_components])
        )


def test_features_are_cosines_to_3e_7():
    u = np.linspace(-3, 3, 1 << 20, dtype=F)[None]
    ones, zeros = np.ones(u.shape[1], F), np.zeros(u.shape[1], F)
    found = cases.features((u, None, ones, zeros), SHIFTS[1], 1.0, u.shape[1])
    assert np.abs(found - np.cos(2 * np.pi * u.astype(float))).max() < 3e-7
    assert np.abs(found).max() <= 1


def test_features_are_exact_at_whole_halves_and_quarters():
    u = np.array([[0, 1, -1, 0.5, -0.5, 1.5, 0.25, -0.25, 7.75, 2**24]], F)
    found = cases.features((u, None, np.ones(10, F), np.zeros(10, F)), SHIFTS[1], 2.0, 10)
    assert np.array_equal(found[0], [2, 2, 2, -2, -2, -2, 0, 0, 0, 2])


def test_features_of_a_phase_that_is_not_finite_are_nan():
    u = np.array([[np.inf, -np.inf, np.nan]], F)
    assert np.isnan(cases.features((u, None, np.ones(3, F), np.zeros(3, F)), SHIFTS[2], 1.0, 6)).all()


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_turns_give_the_bits_of_the_reference(shape):
    inputs = cases.draw(shape)
    found = cases.turns(inputs)
    assert same_bits(found, phases.fraction(phases.phases(*inputs, SHIFTS[1])))
    assert ((found >= 0) & (found < 1)).all()


def test_turns_stay_below_one():
    t = np.array([[-1e-10, np.nextafter(F(0), F(-1)), 1 - 2**-24, -(2**-25), np.nan, np.inf, 5]], F)
    found = cases.turns((t, None, np.ones(7, F), np.zeros(7, F)))
    assert np.array_equal(found[0], np.array([0, 0, 1 - 2**-24, 0, 0, 0, 0], F))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_project_gives_the_bits_of_the_reference(shape):
    inputs = cases.draw(shape)
    assert same_bits(cases.project(inputs), projected(inputs[0], inputs[1], shape[-1]) * inputs[2])


def test_ops_read_rows_a_stride_apart():
    X, *rest = cases.draw((9, 50, 64, 2, 100))
    wide = np.zeros((9, 60), F)
    wide[:, 5:55] = X
    assert same_bits(cases.turns((wide[:, 5:55], *rest)), cases.turns((X, *rest)))
    assert same_bits(cases.turns((X[::-2], *rest)), cases.turns((X[::-2].copy(), *rest)))
    one = np.broadcast_to(X[:1], X.shape)
    assert same_bits(cases.turns((one, *rest)), cases.turns((one.copy(), *rest)))


@pytest.mark.parametrize("op", ["features", "turns", "project"])
@pytest.mark.parametrize("shape", [(2, 99), (3, 100), (2, 101)])
def test_float_ops_refuse_an_output_of_another_shape(op, shape):
    X, blocks, scale, offset = cases.draw((2, 50, 64, 2, 100))
    out = np.zeros(shape, F)
    arguments = {
        "features": (X, blocks, scale, offset, SHIFTS[1], 1.0, 100, out),
        "turns": (X, blocks, scale, offset, out),
        "project": (X, blocks, scale, out),
    }
    with pytest.raises(ValueError, match="out must"):
        getattr(_core, op)(*arguments[op])
