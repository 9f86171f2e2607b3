"""Kernel estimates are unbiased for `expected_kernel` and their bars cover, where that is hardest.

Each case is judged over independent encoders by the tolerances of `benchmarks.errors`, of which it may use all but no
more; `python -m benchmarks.errors` does the same for random configurations.
"""

import numpy as np
import pytest
from benchmarks.errors.configurations import Configuration
from benchmarks.errors.draws import run
from benchmarks.errors.rows import KINDS, Kind, Pairs, any_direction, equal_coordinates, to_length

from lowtide import AsymmetricFeatures, RandomFeatures, Sketch, TernaryFeatures
from lowtide.kernels import Bessel, Gaussian, Laplace, Matern, ShiftGaussian, SinhGaussian
from lowtide.quantizers import LloydMax, Phase, Stochastic

N_DRAWS = 300
CODES = ("codes", "codes")


def rows(kind, n_features, norm=2.0, lengths=None):
    """Return the pairs of a kind of rows, or of any direction with the given lengths."""
    chosen = KINDS[kind] if isinstance(kind, str) else kind
    if lengths is not None:
        chosen = Kind(any_direction(lambda _rng: np.array(lengths)))
    return chosen.draw(np.random.default_rng(5), n_features, norm)


def along_one_axis(n_features):
    return rows(Kind(equal_coordinates(1, lambda _rng: np.array([3.0, 25.1, 50.0]))), n_features)


def at_correlations(*correlations, lengths=None):
    """Return rows of 40 columns at given correlations with one."""
    rng = np.random.default_rng(6)
    x = to_length(rng.standard_normal((1, 40)), np.ones(1), 2.0)
    other = rng.standard_normal((len(correlations), 40))
    other = to_length(other - (other @ x.T) * x, np.ones(len(correlations)), 2.0)
    rho = np.array(correlations)[:, None]
    Y = rho * x + np.sqrt(1 - rho**2) * other
    lengths = np.ones(len(correlations)) if lengths is None else np.array(lengths)
    return Pairs(x, Y * lengths[:, None], np.vstack([x, Y]))


def shifted(offset):
    return Kind(any_direction(lambda _rng: np.array([0.1, 0.5, 2.0])), offset=lambda _rng: offset)


def features(kernel, **parameters):
    return RandomFeatures(kernel, **{"n_components": 256, **parameters})


NEAR_SKETCH = at_correlations(0.98, 0.995, 0.9999)
LENGTHS = at_correlations(0.9, 0.5, 0.0, lengths=(0.5, 1.0, 2.0))
SHIFT = ShiftGaussian(np.full(8, 0.25), 1.0)
SINH = SinhGaussian(np.full(8, 0.25), 1.0)

# Name, encoder, rows, sides; every name with "Codes" is judged by what codes show, on the sides that are coded.
CASES = [
    ("one bit", features(Gaussian(1.0)), rows("typical", 30), ("codes", "full")),
    ("one bit, Codes", features(Gaussian(1.0)), rows("typical", 30), ("codes", "full")),
    ("one bit of near rows, Codes", features(Gaussian(1.0)), rows("near", 30), CODES),
    ("one-bit phases, orthogonal", features(Gaussian(1.0), projection="orthogonal", quantizer=Phase(1)),
     rows("typical", 16), CODES),
    ("one-bit phases, orthogonal, Codes", features(Gaussian(1.0), projection="orthogonal", quantizer=Phase(1)),
     rows("typical", 16), CODES),
    ("three-bit phases, orthogonal, Codes", features(Gaussian(1.0), projection="orthogonal", quantizer=Phase(3)),
     rows("typical", 30), ("codes", "full")),
    ("Laplace, Codes", features(Laplace(1.0), projection="iid"), rows("typical", 30, 1.0), ("codes", "full")),
    ("sketch of near rows", Sketch(256, gamma=0.5), NEAR_SKETCH, CODES),
    ("sketch of near rows, Codes", Sketch(256, gamma=0.5), NEAR_SKETCH, CODES),
    ("linear sketch of near rows, Codes", Sketch(256), NEAR_SKETCH, CODES),
    ("one-bit sketch of near rows, Codes", Sketch(256, bits=1, gamma=0.1), NEAR_SKETCH, CODES),
    ("sketch with norms", Sketch(256, gamma=0.5, store_norms=True), LENGTHS, CODES),
    ("sketch with norms, Codes", Sketch(256, gamma=0.5, store_norms=True), LENGTHS, CODES),
    ("sketch with norms, one full side", Sketch(256, gamma=0.5, store_norms=True), LENGTHS, ("full", "codes")),
    ("linear sketch with norms, Codes", Sketch(256, store_norms=True), LENGTHS, ("codes", "full")),
    ("stochastic, equal rows", features(Gaussian(1.0), quantizer=Stochastic(2)), rows("equal", 16), CODES),
    ("stochastic, equal rows, Codes", features(Gaussian(1.0), quantizer=Stochastic(2)), rows("equal", 16), CODES),
    ("Bessel, Codes", features(Bessel(1.0), projection="haar"), rows("far", 5, lengths=(1.0, 5.0, 8.0)), CODES),
    ("cosines full and coded", features(Gaussian(1.0), feature_map="cosine", bits=2), rows("typical", 30),
     ("full", "codes")),
    ("cosines full and coded, Codes", features(Gaussian(1.0), feature_map="cosine", bits=2), rows("typical", 30),
     ("full", "codes")),
    ("phase form of a shift", AsymmetricFeatures(SHIFT, n_components=256, form="phase"), rows("typical", 8), CODES),
    ("phase form of a shift, Codes", AsymmetricFeatures(SHIFT, n_components=256, form="phase"), rows("typical", 8),
     CODES),
    ("phase form of a skew kernel, Codes", AsymmetricFeatures(SINH, n_components=256, form="phase"),
     rows("typical", 8), ("codes", "full")),
    ("offset of a thousand", features(Gaussian(1.0), quantizer=LloydMax(4)), rows(shifted(1e3), 30), ("codes", "full")),
    ("near rows in full", features(Gaussian(1.0)), rows("near", 30), ("full", "full")),
    ("equal rows in full", features(Gaussian(1.0)), rows("equal", 30), ("full", "full")),
    ("one axis, one column", features(Gaussian(1.0)), along_one_axis(1), ("full", "full")),
    ("one axis, 64 columns", features(Gaussian(1.0)), along_one_axis(64), ("full", "full")),
    ("one axis, 64 columns, Codes", features(Gaussian(1.0)), along_one_axis(64), ("codes", "full")),
    ("Matern", features(Matern(1.0, nu=1.5)), rows("typical", 30), ("codes", "full")),
    ("rough Matern, Codes", features(Matern(1.0, nu=0.5)), rows("typical", 30), CODES),
]  # fmt: skip
DISTANCES = [
    ("in full", features(Gaussian(1.0)), rows("typical", 30), ("full", "full")),
    ("near, in full", features(Gaussian(1.0)), rows("near", 30), ("full", "full")),
    ("one bit, Codes", features(Gaussian(1.0)), rows("typical", 30), CODES),
    ("far, one bit, Codes", features(Matern(1.0)), rows("far", 30), ("codes", "full")),
    ("sketch, Codes", Sketch(256, gamma=0.5), at_correlations(0.95, 0.7, 0.0), CODES),
]
# Where there is no true bar, which the encoder says.
WITHOUT_BARS = [
    ("ternary features of sparse rows", TernaryFeatures(n_components=256, sparsity="auto"), rows("sparse", 150), CODES),
    ("offset of ten million", features(Gaussian(1.0)), rows(shifted(1e7), 30), ("full", "full")),
]


def case_of(name, encoder, pairs, sides, quantity="kernel"):
    inputs = tuple("codes" if side == "codes" and "Codes" in name else "raw" for side in sides)
    return pytest.param(Configuration(name, encoder, pairs, sides, inputs, quantity=quantity), id=name)


@pytest.mark.parametrize("configuration", [case_of(*case) for case in CASES])
def test_kernel_estimates_are_unbiased_and_their_bars_cover(configuration):
    outcome = run(configuration, N_DRAWS)
    assert outcome.verdict == "passed", outcome.worst


@pytest.mark.parametrize("configuration", [case_of(*case, quantity="distance") for case in DISTANCES])
def test_bars_of_distances_cover(configuration):
    outcome = run(configuration, N_DRAWS)
    assert outcome.verdict == "passed", outcome.worst


@pytest.mark.parametrize("configuration", [case_of(*case) for case in WITHOUT_BARS])
def test_encoders_say_so_where_there_is_no_bar(configuration):
    outcome = run(configuration, N_DRAWS)
    assert outcome.verdict == "said so", outcome.worst
