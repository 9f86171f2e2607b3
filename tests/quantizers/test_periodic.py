"""A user's periodic map as the quantizer."""

import json

import numpy as np
import pytest
from reference.quantizer_fourier import N_SAMPLES, coefficients
from sklearn.base import clone

from lowtide import RandomFeatures
from lowtide.errors import ParameterError
from lowtide.maps import Cosine
from lowtide.quantizers import QUANTIZERS, DrawnPeriodic, LloydMax, PeriodicMap, Phase, PhaseSteps, quantizer_by_name

RNG = np.random.default_rng(0)


def square_cosine(t):
    return np.where(np.cos(t) >= 0, 1.0, -1.0)


def square_sine(t):
    return np.sign(np.sin(t))


def dead_zone(t):
    """Return -1, 0 or 1."""
    return np.sign(np.cos(t)) * (np.abs(np.cos(t)) > 0.4)


def staircase(t):
    """Return 256 values, one a cell of the turn."""
    return np.floor((t / (2 * np.pi) % 1.0) * 256) - 127.5


def sawtooth(t):
    return (t / (2 * np.pi) % 1.0) - 0.5


def saturated(t):
    return np.tanh(2 * np.cos(t - 0.4) + 0.3)


STEPS = [square_cosine, square_sine, dead_zone, staircase]
CONTINUOUS = [sawtooth, saturated]


def draw(f):
    return PeriodicMap(f).draw(Cosine(), RNG)


@pytest.mark.parametrize("f", STEPS)
def test_piecewise_constant_maps_pack(f):
    drawn = draw(f)
    assert isinstance(drawn, PhaseSteps)
    n_values = len(np.unique(f(np.linspace(0.001, 6.28, 5000))))
    assert drawn.bits == max(1, int(np.ceil(np.log2(n_values))))
    assert len(drawn.codebook) == 2**drawn.bits


@pytest.mark.parametrize("f", CONTINUOUS)
def test_other_maps_stay_float(f):
    drawn = draw(f)
    assert isinstance(drawn, DrawnPeriodic)
    assert drawn.bits is None
    assert drawn.codebook is None
    with pytest.raises(ParameterError, match="levels exist only for piecewise-constant maps"):
        drawn.levels(np.zeros((1, 1), dtype=np.float32))


@pytest.mark.parametrize("f", STEPS + CONTINUOUS)
def test_first_harmonic_is_turned_and_scaled_to_that_of_the_cosine(f):
    assert draw(f).moments(3).mean[0, 1] == pytest.approx(0.5, abs=1e-9)


@pytest.mark.parametrize("f", STEPS + CONTINUOUS)
def test_moments_match_quadrature(f):
    drawn = draw(f)
    first = coefficients(f, 1)[1]
    shift = -np.angle(first)

    def decoded(t):
        return f((t + shift) % (2 * np.pi)) / (2 * abs(first))

    moments = drawn.moments(8)
    span = np.ptp(f(np.linspace(0.01, 6.27, 4000))) / (2 * abs(first))
    # The total variation is at most 4 spans, in the square twice that times the largest value; as much for F_1's error.
    tolerance = 16 * max(span, span**2) / N_SAMPLES
    np.testing.assert_allclose(moments.mean[0], coefficients(decoded, 8), atol=tolerance)
    np.testing.assert_allclose(moments.product[0, 0], coefficients(lambda t: decoded(t) ** 2, 8), atol=tolerance)


def test_square_sine_is_turned_by_a_quarter():
    drawn = draw(square_sine)
    assert coefficients(square_sine, 1)[1].real == pytest.approx(0.0, abs=1e-5)
    np.testing.assert_allclose(drawn.shifts, [0.25], atol=1e-7)
    np.testing.assert_allclose(drawn.codebook, [-np.pi / 4, np.pi / 4], rtol=1e-12)


@pytest.mark.parametrize("f", [square_cosine, square_sine])
def test_square_waves_are_one_bit_lloyd_max(f):
    turns = np.random.default_rng(5).random((60, 5), dtype=np.float32) * 6 - 3
    folded = np.abs(turns - np.rint(turns))
    clear = np.abs(folded - 0.25) > 1e-6
    expected = LloydMax(1).draw(Cosine(), RNG).levels(turns)
    np.testing.assert_array_equal(draw(f).levels(turns)[clear], expected[clear])


@pytest.mark.parametrize("f", STEPS)
def test_decoded_levels_are_the_map_at_the_turned_phase(f):
    drawn = draw(f)
    turns = np.random.default_rng(6).random((80, 5), dtype=np.float32) * 6 - 3
    u = (turns.astype(np.float64) + float(drawn.shifts[0])) % 1.0
    breaks = PeriodicMap(f)._steps().breaks
    gap = np.abs(u[..., None] - breaks)
    clear = np.minimum(gap, 1 - gap).min(axis=-1) > 1e-6
    assert clear.mean() > 0.98
    scale = 2 * np.abs(PeriodicMap(f).coefficients()[1])
    got = drawn.codebook[drawn.levels(turns)]
    np.testing.assert_allclose(got[clear], f(2 * np.pi * u[clear]) / scale, atol=1e-12)


@pytest.mark.parametrize("f", CONTINUOUS)
def test_values_are_the_map_at_the_turned_phase(f):
    drawn = draw(f)
    turns = np.random.default_rng(7).random((20, 4), dtype=np.float32)
    first = coefficients(f, 1)[1]
    u = (turns - np.angle(first) / (2 * np.pi)) % 1.0
    clear = np.minimum(u, 1 - u) > 1e-4
    expected = f(2 * np.pi * u) / (2 * abs(first))
    got = drawn.values(turns)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got[clear], expected[clear], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("f", [lambda t: np.sin(2 * t), lambda t: np.ones_like(t), lambda t: np.sign(np.cos(2 * t))])
def test_a_map_without_first_harmonic_is_refused(f):
    with pytest.raises(ParameterError, match="f must have a first harmonic, F_1 != 0, got"):
        draw(f)


def test_coefficients_stand_for_the_map():
    series = PeriodicMap(saturated).coefficients()
    from_series, from_function = draw(series[:60]), draw(saturated)
    turns = np.random.default_rng(8).random((20, 4), dtype=np.float32)
    # tanh(2 cos) is analytic: its coefficients are below 1e-10 from 60 on.
    assert np.abs(series[60:]).max() < 1e-10
    np.testing.assert_allclose(from_series.values(turns), from_function.values(turns), atol=2e-7)
    for name in ("mean", "product"):
        left, right = (getattr(drawn.moments(20), name) for drawn in (from_series, from_function))
        np.testing.assert_allclose(left, right, atol=1e-9)


def test_coefficients_of_one_harmonic_are_the_cosine():
    drawn = draw([0, 0.5])
    turns = np.linspace(0, 1, 33, dtype=np.float32)[None]
    np.testing.assert_allclose(drawn.values(turns), np.cos(2 * np.pi * turns), atol=1e-6)
    full = Cosine().moments()
    np.testing.assert_allclose(drawn.moments(2).product, full.product, atol=1e-13)


def test_pairs_of_real_and_imaginary_parts_are_coefficients_too():
    complex_form, pairs = PeriodicMap([0.1, 0.3 - 0.2j]), PeriodicMap([[0.1, 0.0], [0.3, -0.2]])
    np.testing.assert_array_equal(complex_form.coefficients(), pairs.coefficients())
    assert complex_form == pairs


def test_config_of_coefficients_survives_json():
    periodic = PeriodicMap(PeriodicMap(saturated).coefficients()[:9])
    back = QUANTIZERS.from_config(json.loads(json.dumps(periodic.to_config())))
    assert back == periodic
    np.testing.assert_array_equal(back.coefficients(), periodic.coefficients())


def test_config_of_a_callable_is_refused_with_the_way_out():
    with pytest.raises(ParameterError, match=r"Use PeriodicMap\(map.coefficients\(\)\)"):
        PeriodicMap(saturated).to_config()


def test_clone_and_equality_of_callables():
    periodic = PeriodicMap(saturated)
    assert clone(periodic) == periodic
    assert periodic != PeriodicMap(sawtooth)


class Amplifier:
    """A sensor that prints without its gain."""

    def __init__(self, gain):
        self.gain = gain

    def __call__(self, t):
        return np.tanh(self.gain * np.cos(t))

    def __repr__(self):
        return "Amplifier()"


def test_callables_that_print_alike_are_not_taken_for_one():
    assert PeriodicMap(Amplifier(0.1)) != PeriodicMap(Amplifier(9.0))
    rows = RNG.standard_normal((2, 3))
    encoders = [
        RandomFeatures(gamma=0.1, feature_map="cosine", quantizer=PeriodicMap(Amplifier(gain)), random_state=0)
        for gain in (0.1, 9.0)
    ]
    errors = [
        encoder.fit(rows).kernel_estimate(rows, sides=("codes", "codes"), return_std=True)[1] for encoder in encoders
    ]
    assert np.all(np.abs(errors[0] - errors[1]) > 1e-3)


@pytest.mark.parametrize(
    "f",
    [None, 3.0, "cos", [], [[1, 2, 3]], np.zeros((3, 2, 2)), [1.0, np.nan], [[1], [1, 2]], np.zeros(10**5)],
    ids=str,
)
def test_what_is_neither_function_nor_coefficients_is_refused(f):
    with pytest.raises(ParameterError, match="^PeriodicMap: f must be a callable or a list of finite Fourier"):
        PeriodicMap(f)


@pytest.mark.parametrize(
    "f",
    [
        lambda t: 1.0,
        lambda t: np.full(t.shape, np.nan),
        lambda t: np.full(t.shape, "0.5"),
        lambda t: t[:5],
        lambda t: 1 / (t * 0 + 0.0),
    ],
)
def test_a_function_must_give_finite_values_of_its_shape(f):
    with np.errstate(divide="ignore"), pytest.raises(ParameterError, match="f must map an array to finite values"):
        draw(f)


def test_a_complex_map_needs_the_pair():
    with pytest.raises(ParameterError, match="^PeriodicMap: a complex f needs feature_map='cos_sin'"):
        draw(lambda t: np.exp(1j * t))


def test_a_mean_is_kept_and_does_not_move_the_product():
    drawn = draw(lambda t: square_cosine(t) + 5.0)
    assert drawn.moments(1).mean[0, 0] == pytest.approx(5 * np.pi / 4, rel=1e-9)
    assert drawn.moments(1).mean[0, 1] == pytest.approx(0.5, rel=1e-9)


def test_quantizers_by_name():
    assert quantizer_by_name("lloyd_max", 3) == LloydMax(3)
    assert quantizer_by_name("phase", 4) == Phase(4)
    for name in ("periodic", "kmeans", "", None):
        with pytest.raises(
            ParameterError, match="quantizer must be one of 'lloyd_max', 'phase', 'stochastic', 'uniform'"
        ):
            quantizer_by_name(name, 1)
