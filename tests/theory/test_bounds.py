"""Mean Lipschitz constants, the constants of sides, and the bound of complex measures."""

import math

import numpy as np
import pytest
from reference.mean_lipschitz import quotient

from lowtide.errors import ParameterError
from lowtide.kernels import Gaussian, ShiftGaussian
from lowtide.maps import Cosine, CosSin
from lowtide.quantizers import LloydMax, PeriodicMap, Phase, Stochastic
from lowtide.theory import Side, lloyd_max_table, mean_lipschitz, measure_bound

DELTAS = np.array([0.01, 0.05, 0.2, 0.39, 0.6, 1.0, 1.175, 1.4, 2.0, 3.0])
# On the reference's grid a jump counts for up to one step of t more than it should.
SLACK = 1 + 2 * 2 * np.pi / (1 << 14) / DELTAS[0]


def lloyd_max(t, bits):
    table = lloyd_max_table(bits)
    return table.levels[np.searchsorted(table.borders, np.cos(t))]


def around(bits):
    """The levels of the Lloyd-Max cosine over a period."""
    levels = lloyd_max_table(bits).levels
    return [*levels, *levels[::-1]]


@pytest.mark.parametrize(
    ("f", "constant"),
    [
        (lambda t: np.sign(np.cos(t)), mean_lipschitz("square_wave")),
        (np.cos, mean_lipschitz("cosine")),
        (lambda t: np.cos(3 * t), mean_lipschitz("cosine", order=3)),
        (lambda t: np.exp(2j * t), mean_lipschitz("exponential", order=-2)),
        (lambda t: lloyd_max(t, 2), mean_lipschitz(around(2))),
        (lambda t: lloyd_max(t, 3), mean_lipschitz(around(3))),
        (lambda t: np.exp(0.5j * np.pi * np.floor(2 * t / np.pi)), mean_lipschitz([1, 1j, -1, -1j])),
    ],
    ids=["square", "cos", "cos3", "exp2", "lloyd_max2", "lloyd_max3", "four_phases"],
)
def test_constant_bounds_the_definition_and_is_nearly_attained(f, constant):
    quotients = [quotient(f, delta) for delta in DELTAS]
    assert max(quotients) <= constant * SLACK
    assert max(quotients) >= 0.97 * constant


def test_cosine_constant_is_the_maximum_of_its_closed_form():
    d = np.linspace(1.17, 1.18, 200_001)
    assert abs((2 / np.pi * (np.sin(d) + 1 - np.cos(d)) / d).max() - mean_lipschitz("cosine")) < 1e-12


# A callable, its constant (by a closed form, or a limit of small steps), and how far the bound may be above it.
MEASURED = {
    "cosine": (np.cos, mean_lipschitz("cosine"), 1.01),
    "exponential": (lambda t: np.exp(1j * t), 1.0, 1.1),
    "square_wave": (lambda t: np.sign(np.sin(t)), 4 / np.pi, 1 + 1e-9),
    "triangle": (lambda t: np.arcsin(np.sin(t)), 1.0, 1.1),
    # One jump of 2 and a slope of 1/pi; a step that meets the jump changes by what the slope leaves of it.
    "sawtooth": (lambda t: np.remainder(t, 2 * np.pi) / np.pi - 1, None, 1.01),
    "gap": (lambda t: np.sign(np.cos(t)) - 4 / np.pi * np.cos(t), 4 / np.pi + 8 / np.pi**2, 1.04),
    "saturated": (lambda t: np.clip(2 * np.cos(t), -1, 1), None, 1.02),
    "steep": (lambda t: np.tanh(60 * np.cos(t)), None, 1.02),
    "ellipse": (lambda t: np.stack([np.cos(t), 0.3 * np.sin(t)]), None, 1.02),
    "complex": (lambda t: np.sign(np.cos(t)) + 0.4j * np.sin(2 * t), None, 1.1),
}


@pytest.fixture(scope="module")
def measured():
    return {name: mean_lipschitz(f, return_bound=True) for name, (f, _, _) in MEASURED.items()}


@pytest.mark.parametrize("name", MEASURED)
def test_measured_constant_meets_the_definition_and_its_bound_holds(measured, name):
    f, exact, looseness = MEASURED[name]
    value, bound = measured[name]
    if f(DELTAS).ndim == 1:
        largest = max(quotient(f, delta, n_grid=1 << 12, n_shifts=33) for delta in DELTAS[1:])
        slack = 1 + 2 * 2 * np.pi / (1 << 12) / DELTAS[1]
        # The largest of a few deltas may miss the peak.
        assert 0.95 * value <= largest <= value * slack
    if exact is not None:
        assert value == pytest.approx(exact, rel=1e-5)
        assert bound >= exact * (1 - 1e-12)
    assert value <= bound <= looseness * value


def test_variation_over_pi_bounds_every_constant(measured):
    t = 0.1 + np.linspace(0, 2 * np.pi, 200_001)
    for name, (f, _, _) in MEASURED.items():
        variation = np.linalg.norm(np.diff(np.atleast_2d(f(t)), axis=1), axis=0).sum()
        # From a limit at 0, half of it where all is smooth, to all of it where all is in jumps.
        assert variation / (2 * np.pi) * (1 - 1e-3) <= measured[name][0] <= variation / np.pi * (1 + 1e-3)


@pytest.mark.parametrize(
    "quantizer",
    [LloydMax(1), LloydMax(3), PeriodicMap(lambda t: np.sign(np.sin(t)))],
    ids=lambda value: type(value).__name__,
)
def test_side_of_steps_is_what_its_samples_show(quantizer):
    drawn = quantizer.draw(Cosine(), np.random.default_rng(0))
    side = Side.of(drawn)
    value, bound = mean_lipschitz(lambda t: drawn.components[0].at(t / (2 * np.pi)), return_bound=True)
    assert side.lipschitz == pytest.approx(value, rel=1e-9)
    assert bound == pytest.approx(value, rel=1e-9)
    assert side.sup_norm == pytest.approx(np.abs(drawn.codebook).max())
    assert Side.of(quantizer) == side


def test_pairs_of_components_are_curves():
    assert Side.of(CosSin()) == Side(1.0, width=2) == Side.of("cos_sin")
    two_bits = Side.of(Phase(2))
    # Four values on a circle of radius pi/4 sqrt 2, a quarter of a turn apart: jumps of pi/2.
    assert two_bits.sup_norm == pytest.approx(np.pi / 4 * np.sqrt(2))
    assert two_bits.lipschitz == pytest.approx(2.0)
    assert Side.of(LloydMax(1).draw(CosSin(), np.random.default_rng(0))).lipschitz == pytest.approx(2.0)


def test_side_of_a_series_is_that_of_its_function():
    series, function = PeriodicMap([0.0, 0.5, 0.0, 0.1j]), PeriodicMap(lambda t: np.cos(t) - 0.2 * np.sin(3 * t))
    for a, b in zip(
        (Side.of(series), Side.of(series, minus="cosine")), (Side.of(function), Side.of(function, minus=np.cos))
    ):
        assert a.lipschitz == pytest.approx(b.lipschitz, rel=1e-6)
        assert a.sup_norm == pytest.approx(b.sup_norm, rel=1e-6)


def test_complex_map_on_a_side_is_its_real_and_imaginary_part():
    given = PeriodicMap([[0.0, 0.5, 0.1], [0.0, -0.5j, 0.0]])
    function = PeriodicMap(lambda t: np.exp(1j * t) + 0.2 * np.cos(2 * t))
    two = Side.of(given), Side.of(function)
    assert two[0].lipschitz == pytest.approx(two[1].lipschitz, rel=1e-6)
    assert two[0].sup_norm == pytest.approx(two[1].sup_norm, rel=1e-6)
    assert two[0].width == two[1].width == 2
    assert two[0].real
    assert two[1].real
    turned = Side.of(PeriodicMap(lambda t: np.exp(1j * t)), minus=CosSin())
    assert turned.sup_norm < 1e-6
    real_pair = Side.of(PeriodicMap(lambda t: np.cos(t) + 0.2 * np.cos(2 * t)).draw(CosSin(), np.random.default_rng(0)))
    assert real_pair.width == 2


def test_random_rounding_has_a_size_but_no_smoothness():
    assert Side.of(Stochastic(2)) == Side(math.inf, width=1)
    assert Side.of(Stochastic(2).draw(CosSin(), np.random.default_rng(0))).sup_norm == pytest.approx(np.sqrt(2))


def test_difference_of_sides_has_the_constants_of_corollary_1():
    # (pi/2) q - 2 cos is pi/2 times a map of sup-norm 1, here halved.
    gap = Side.of(LloydMax(1), minus=Cosine())
    assert gap.sup_norm == pytest.approx(np.pi / 4, rel=1e-4)
    exact = np.pi / 4 * (4 / np.pi + 8 / np.pi**2)
    assert exact <= gap.lipschitz <= 1.04 * exact
    assert gap.real
    assert not Side.of("square_wave", minus="exponential").real


@pytest.mark.parametrize(
    "bad",
    [[], [[1.0, 2.0]], [1.0, math.nan], "sine", {"a": 1}, None, lambda t: t[:3], lambda t: t * math.inf, lambda t: "a"],
    ids=lambda value: type(value).__name__,
)
def test_lipschitz_constants_refuse_what_is_no_map(bad):
    with np.errstate(all="ignore"), pytest.raises(ParameterError, match="must be|must take"):
        mean_lipschitz(bad)


def test_sides_refuse_bad_arguments():
    with pytest.raises(ParameterError, match="order must not be 0"):
        mean_lipschitz("cosine", order=0)
    with pytest.raises(ParameterError, match="lipschitz must be"):
        Side(-1.0)
    with pytest.raises(ParameterError, match="sup_norm must be"):
        Side(1.0, 0.0)
    with pytest.raises(ParameterError, match="as many values"):
        Side.of(CosSin(), minus=Cosine())
    with pytest.raises(ParameterError, match="difference must be"):
        Side.of([1, -1], minus="cosine")
    with pytest.raises(ParameterError, match="first harmonic"):
        Side.of(PeriodicMap(lambda t: np.cos(2 * t)))


def test_measure_bound_of_a_symmetric_kernel_counts_one_block():
    bound = measure_bound(Gaussian(2.0), n_features=4, diameter=1.0, error=0.1, failure=0.1)
    assert (bound.total_mass, bound.second_moment, bound.alpha) == (1.0, 1.0, 1.0)


@pytest.mark.parametrize("bad", [{"diameter": 0.0}, {"error": -1.0}, {"failure": 0.0}, {"n_features": 0}])
def test_measure_bound_refuses_bad_arguments(bad):
    with pytest.raises(ParameterError):
        measure_bound(Gaussian(), **{"n_features": 2, "diameter": 1.0, "error": 0.1, "failure": 0.1, **bad})


def test_measure_bound_holds_with_room_to_spare():
    """Proposition 6 is a worst case: the measured uniform error is far below the one it guarantees."""
    kernel, rng = ShiftGaussian(0.5), np.random.default_rng(0)
    error = 0.5
    M = int(np.ceil(measure_bound(kernel, 1, diameter=2.0, error=error, failure=0.05).count))
    D = np.linspace(-2, 2, 401)[:, None]
    total = np.zeros(len(D))
    for block in kernel.measures(1):
        total += block.mass * np.cos(D @ block.frequencies.sample(rng, 1, M) + 2 * np.pi * block.turn).mean(axis=1)
    assert np.max(np.abs(total - kernel.at(D))) < error
