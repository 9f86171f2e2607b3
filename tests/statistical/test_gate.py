"""Kernel estimates are unbiased for `expected_kernel` and their bars cover, where that is hardest.

Each case is judged over independent encoders by the tolerances of `benchmarks.errors`, of which it may use all but no
more; `python -m benchmarks.errors` does the same for random configurations.
"""

import numpy as np
import pytest
from benchmarks.errors.configurations import Configuration
from benchmarks.errors.draws import run
from benchmarks.errors.rows import KINDS, Kind, Pairs, any_direction, equal_coordinates, to_length

from lowtide import (
    ActivationFeatures,
    AsymmetricFeatures,
    LearnedFeatures,
    RandomFeatures,
    Sketch,
    TernaryFeatures,
    VectorCodes,
)
from lowtide.kernels import Bessel, Gaussian, Laplace, Matern, ShiftGaussian, SinhGaussian
from lowtide.quantizers import LloydMax, Modulo, PeriodicMap, Phase, Stochastic

N_DRAWS = 300
STEP = np.full(8, 0.25)


def rows(kind, n_features, norm=2.0, lengths=None):
    """Return the pairs of a kind of rows, or of any direction with the given lengths."""
    chosen = KINDS[kind] if isinstance(kind, str) else kind
    if lengths is not None:
        chosen = Kind(any_direction(lambda _rng: np.array(lengths)))
    return chosen.draw(np.random.default_rng(5), n_features, norm)


def along_one_axis(n_features):
    return rows(Kind(equal_coordinates(1, lambda _rng: np.array([3.0, 25.1, 50.0]))), n_features)


def at_correlations(*correlations, lengths=None, d=40):
    """Return rows of d columns at given correlations with one."""
    rng = np.random.default_rng(6)
    x = to_length(rng.standard_normal((1, d)), np.ones(1), 2.0)
    other = rng.standard_normal((len(correlations), d))
    other = to_length(other - (other @ x.T) * x, np.ones(len(correlations)), 2.0)
    rho = np.array(correlations)[:, None]
    Y = rho * x + np.sqrt(1 - rho**2) * other
    lengths = np.ones(len(correlations)) if lengths is None else np.array(lengths)
    return Pairs(x, Y * lengths[:, None], np.vstack([x, Y]))


def around_the_peak():
    """Return rows near the one that a shift kernel likes best, where the phase form in full has no error."""
    pairs = rows("near", 8, lengths=(0.01, 0.3, 4.0))
    return Pairs(pairs.x, pairs.Y + STEP, pairs.around)


def shifted(offset):
    return Kind(any_direction(lambda _rng: np.array([0.1, 0.5, 2.0])), offset=lambda _rng: offset)


def features(kernel, **parameters):
    return RandomFeatures(kernel, **{"n_components": 256, **parameters})


GAUSSIAN = Gaussian(1.0)
ONE_BIT = features(GAUSSIAN)
ONE_BIT_PHASES = features(GAUSSIAN, projection="orthogonal", quantizer=Phase(1))
THREE_BIT_PHASES = features(GAUSSIAN, projection="orthogonal", quantizer=Phase(3))
COSINES = features(GAUSSIAN, feature_map="cosine", bits=2)
STOCHASTIC = features(GAUSSIAN, quantizer=Stochastic(2))
BESSEL = features(Bessel(1.0), projection="haar", bits=3, n_components=64)
FACTORS, MATRIX = np.linspace(0.2, 3.0, 30), np.random.default_rng(7).standard_normal((30, 12))
SCALED = features(GAUSSIAN, metric=FACTORS)
TURNED = features(GAUSSIAN, metric=MATRIX, bits=2)
SKETCH, LINEAR = Sketch(256, gamma=0.5), Sketch(256)
WITH_NORMS, LINEAR_WITH_NORMS = Sketch(256, gamma=0.5, store_norms=True), Sketch(256, store_norms=True)
SHIFT = AsymmetricFeatures(ShiftGaussian(STEP, 1.0), n_components=256, form="phase")
SKEW = AsymmetricFeatures(SinhGaussian(STEP, 1.0), n_components=256, form="phase")
WINDOWS = TernaryFeatures(gamma=3.0, n_components=256, sparsity="auto")
LEARNED = LearnedFeatures(GAUSSIAN, n_bytes=8, n_components=256)
NEAR_SKETCH = at_correlations(0.98, 0.995, 0.9999)
LENGTHS = at_correlations(0.9, 0.5, 0.0, lengths=(0.5, 1.0, 2.0))
VECTORS = at_correlations(0.9, 0.5, 0.0, -0.6, lengths=(0.5, 1.0, 2.0, 1.0))
NEAR_VECTORS = at_correlations(0.98, 0.995, 0.9999, lengths=(0.9, 1.0, 1.2))
# A power of two of columns, unlike 40.
EVEN_VECTORS = at_correlations(0.95, 0.4, 0.0, -0.7, lengths=(0.7, 1.0, 1.5, 1.0), d=64)
TYPICAL, NEAR = rows("typical", 30), rows("near", 30)
ANY = rows("near", 30, lengths=(0.02, 0.5, 6.0))
# Beyond the first zero, where more than one distance has the same kernel.
WAVES = rows("far", 2, lengths=(3.8, 7.0, 10.2))

# cos 3t in units that make its product with one bit, of which it is a third, unbiased.
HARMONIC = RandomFeatures(GAUSSIAN, n_components=2).fit(np.zeros((1, 2))).harmonic(3).quantizer


def before(metric, pairs):
    """Return the rows that a metric makes these pairs of; a matrix leaves room for rows that it does not tell apart."""
    back = np.diag(1.0 / metric) if metric.ndim == 1 else np.linalg.pinv(metric)
    return Pairs(pairs.x @ back, pairs.Y @ back, pairs.around @ back)


FULL, MIXED, CODES = ("full", "full"), ("codes", "full"), ("codes", "codes")
# Name, encoder, rows, sides; what has "Codes" in its name is judged by what codes show, on the sides that are coded.
CASES = [
    ("one bit", ONE_BIT, TYPICAL, MIXED),
    ("one bit, Codes", ONE_BIT, TYPICAL, MIXED),
    ("one bit of near rows", ONE_BIT, NEAR, CODES),
    ("one bit of near rows, Codes", ONE_BIT, NEAR, CODES),
    ("one-bit phases, orthogonal", ONE_BIT_PHASES, rows("typical", 16), CODES),
    ("one-bit phases, orthogonal, Codes", ONE_BIT_PHASES, rows("typical", 16), CODES),
    ("three-bit phases, orthogonal, Codes", THREE_BIT_PHASES, TYPICAL, MIXED),
    ("cosines full and coded", COSINES, ANY, ("full", "codes")),
    ("cosines full and coded, Codes", COSINES, ANY, ("full", "codes")),
    ("stochastic, equal rows", STOCHASTIC, rows("equal", 16), CODES),
    ("stochastic, equal rows, Codes", STOCHASTIC, rows("equal", 16), CODES),
    ("Laplace, Codes", features(Laplace(1.0), projection="iid"), rows("typical", 30, 1.0), MIXED),
    ("Matern", features(Matern(1.0, nu=1.5)), TYPICAL, MIXED),
    ("rough Matern, Codes", features(Matern(1.0, nu=0.5)), TYPICAL, CODES),
    ("Bessel", BESSEL, WAVES, MIXED),
    ("Bessel, Codes", BESSEL, WAVES, MIXED),
    ("sketch of near rows", SKETCH, NEAR_SKETCH, CODES),
    ("sketch of near rows in full", SKETCH, NEAR_SKETCH, FULL),
    ("sketch of near rows, Codes", SKETCH, NEAR_SKETCH, CODES),
    ("one-bit sketch of near rows, Codes", Sketch(256, bits=1, gamma=0.1), NEAR_SKETCH, CODES),
    ("linear sketch of near rows, Codes", LINEAR, NEAR_SKETCH, CODES),
    ("sketch with norms", WITH_NORMS, LENGTHS, CODES),
    ("sketch with norms, Codes", WITH_NORMS, LENGTHS, CODES),
    ("sketch with norms, one full side", WITH_NORMS, LENGTHS, ("full", "codes")),
    ("linear sketch with norms, Codes", LINEAR_WITH_NORMS, LENGTHS, MIXED),
    ("phase form of a shift", SHIFT, around_the_peak(), CODES),
    ("phase form of a shift, Codes", SHIFT, around_the_peak(), CODES),
    ("phase form of a skew kernel, Codes", SKEW, rows("typical", 8), MIXED),
    ("ReLU features", ActivationFeatures("relu", n_components=256), TYPICAL, FULL),
    ("step features of near rows", ActivationFeatures("step", n_components=256), NEAR, FULL),
    ("ternary windows", WINDOWS, rows("typical", 150), CODES),
    ("ternary windows, Codes", WINDOWS, rows("typical", 150), CODES),
    ("learned features, Codes", LEARNED, rows("typical", 2), CODES),
    ("offset of a thousand", features(GAUSSIAN, quantizer=LloydMax(4)), rows(shifted(1e3), 30), MIXED),
    ("a metric of factors", SCALED, before(FACTORS, ANY), MIXED),
    ("a metric of factors, Codes", SCALED, before(FACTORS, TYPICAL), CODES),
    ("a metric that is a matrix", TURNED, before(MATRIX, rows("near", 12, lengths=(0.02, 0.5, 6.0))), MIXED),
    ("a metric that is a matrix, Codes", TURNED, before(MATRIX, rows("typical", 12)), MIXED),
    ("near rows in full", ONE_BIT, NEAR, FULL),
    ("equal rows in full", ONE_BIT, rows("equal", 30), FULL),
    ("rotated sketch, Codes", Sketch(30, bits=2), TYPICAL, MIXED),
    ("cosines of vectors", VectorCodes(1), VECTORS, MIXED),
    ("cosines of vectors, Codes", VectorCodes(2, center=False), VECTORS, ("full", "codes")),
    ("cosines of near vectors, Codes", VectorCodes(1), NEAR_VECTORS, MIXED),
    ("inner products of vectors, Codes", VectorCodes(1, metric="inner_product"), VECTORS, MIXED),
    ("inner products of near vectors", VectorCodes(4, metric="inner_product"), NEAR_VECTORS, MIXED),
    ("squared distances of vectors, Codes", VectorCodes(1, metric="l2"), VECTORS, MIXED),
    ("squared distances of near vectors, Codes", VectorCodes(4, metric="l2"), NEAR_VECTORS, ("full", "codes")),
    ("cosines of vectors of 64 columns, Codes", VectorCodes(2), EVEN_VECTORS, MIXED),
    ("inner products of vectors of 64 columns, Codes", VectorCodes(2, metric="inner_product"), EVEN_VECTORS, MIXED),
    ("squared distances of vectors of 64 columns, Codes", VectorCodes(2, metric="l2"), EVEN_VECTORS, MIXED),
    ("one axis, one column", ONE_BIT, along_one_axis(1), FULL),
    ("one axis, 64 columns", ONE_BIT, along_one_axis(64), FULL),
    ("one axis, 64 columns, Codes", ONE_BIT, along_one_axis(64), MIXED),
]


def square(t):
    return np.sign(np.cos(t))


def triangle(t):
    return np.abs((t / np.pi) % 2 - 1) * 2 - 1


def sensor(t):
    """Return the answer of a sensor that saturates, off its middle."""
    return np.tanh(1.5 * np.cos(t - 0.8) + 0.4)


def as_it_is(f):
    return PeriodicMap(f, aligned=False)


TURNING = PeriodicMap(lambda t: np.exp(1j * t))
# Any two sides on the same frequencies and dither: name, encoder, rows, sides, as above.
PAIRS = [
    ("1 bit against 4 bits", ONE_BIT, ANY, (LloydMax(1), LloydMax(4))),
    ("1 bit against 4 bits, Codes", ONE_BIT, ANY, (LloydMax(1), LloydMax(4))),
    ("2 bits against 3-bit phases, Codes", ONE_BIT, ANY, (LloydMax(2), Phase(3))),
    ("8 bits against 1 bit, orthogonal, Codes", ONE_BIT_PHASES, rows("typical", 16), (LloydMax(8), LloydMax(1))),
    ("rounded against rounded of other bits", ONE_BIT, rows("equal", 16), (Stochastic(1), Stochastic(3))),
    ("square wave against triangle wave", COSINES, ANY, (PeriodicMap(square), PeriodicMap(triangle))),
    ("modulo sensing against the cosine", COSINES, ANY, (Modulo(4), "full")),
    ("modulo sensing against the pair, Codes", ONE_BIT, ANY, (Modulo(3), "full")),
    ("a sensor on both sides", COSINES, ANY, (as_it_is(sensor), as_it_is(sensor))),
    ("a sensor of two columns a frequency", ONE_BIT, ANY, (as_it_is(sensor), "codes")),
    ("f against -f", COSINES, ANY, (as_it_is(square), as_it_is(lambda t: -square(t)))),
    ("exp(i t) against 1 bit", ONE_BIT, ANY, (TURNING, "codes")),
    ("the third harmonic of 1 bit", ONE_BIT, rows("near", 30, lengths=(0.02, 0.2, 1.0)), ("codes", HARMONIC)),
    ("the third harmonic of 1 bit, Codes", ONE_BIT, rows("near", 30, lengths=(0.02, 0.2, 1.0)), ("codes", HARMONIC)),
    ("4 bits against 1 bit, shifted", SHIFT, around_the_peak(), (LloydMax(4), "codes")),
    ("2 bits against 1 bit, skew, Codes", SKEW, rows("typical", 8), (LloydMax(2), LloydMax(1))),
]
DISTANCES = [
    ("in full", ONE_BIT, TYPICAL, FULL),
    ("near, in full", ONE_BIT, NEAR, FULL),
    ("one bit, Codes", ONE_BIT, TYPICAL, CODES),
    ("far, one bit, Codes", features(Matern(1.0)), rows("far", 30), MIXED),
    ("sketch, Codes", SKETCH, at_correlations(0.95, 0.7, 0.0), CODES),
    ("1 bit against 4 bits, Codes", ONE_BIT, TYPICAL, (LloydMax(1), LloydMax(4))),
    ("f against -f", COSINES, NEAR, (as_it_is(square), as_it_is(lambda t: -square(t)))),
]
# Where there is no true bar, which the encoder says.
WITHOUT_BARS = [
    ("ternary features of sparse rows", TernaryFeatures(n_components=256, sparsity="auto"), rows("sparse", 150), CODES),
    ("offset of ten million", ONE_BIT, rows(shifted(1e7), 30), FULL),
]


def case_of(name, encoder, pairs, sides, quantity="kernel"):
    inputs = tuple("codes" if side not in ("full", HARMONIC) and "Codes" in name else "raw" for side in sides)
    return pytest.param(Configuration(name, encoder, pairs, sides, inputs, quantity=quantity), id=name)


@pytest.mark.parametrize("configuration", [case_of(*case) for case in (*CASES, *PAIRS)])
def test_kernel_estimates_are_unbiased_and_their_bars_cover(configuration):
    outcome = run(configuration, N_DRAWS)
    assert outcome.verdict == "passed", outcome.worst


@pytest.mark.parametrize("configuration", [case_of(*case, quantity="distance") for case in DISTANCES])
def test_bars_of_distances_cover(configuration):
    outcome = run(configuration, N_DRAWS)
    assert outcome.verdict == "passed", outcome.worst


@pytest.mark.parametrize("configuration", [case_of(*case) for case in WITHOUT_BARS])
def test_encoders_say_so_where_there_is_no_bar(configuration):
    outcome = run(configuration, 30)
    assert outcome.verdict == "said so", outcome.worst
