"""The curve that makes probabilities of scores, its fit, and the rows that it is fitted on."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from learners.samples import classes, encoder, weights
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.special import expit, log_softmax, logsumexp, softmax

from lowtide.errors import ParameterError
from lowtide.learners import calibration
from lowtide.learners.calibration import CalibrationRows, fit_calibration, slope_sums
from lowtide.learners.design import CodedDesign, FullDesign
from lowtide.learners.problem import Problem
from lowtide.learners.rules import Calibration, largest

IDENTITY = Calibration()


@st.composite
def curves(draw):
    knots = sorted(draw(st.lists(st.floats(-10.0, 10.0), max_size=6, unique=True)))
    size = len(knots) + 1
    return Calibration(tuple(knots), tuple(draw(st.lists(st.floats(1e-8, 1e8), min_size=size, max_size=size))))


# Few values, so that many are equal, and values that differ by a rounding or vanish.
few = st.sampled_from([0.0, -0.0, 1.0, 1.0 + 2.0**-52, -1.0, 1e-300, -1e-300, 0.3, 0.1 + 0.2, 50.0, -50.0])
scores = arrays(np.float64, array_shapes(min_dims=2, max_dims=2, max_side=5), elements=few | st.floats(-100.0, 100.0))


@given(curves(), scores)
def test_most_probable_class_is_the_predicted_one_of_any_curve_and_scores(curve, scores):
    ahead = largest(scores)
    P, logs = curve.probabilities(scores), curve.log_probabilities(scores)
    np.testing.assert_array_equal(P.argmax(axis=1), ahead)
    np.testing.assert_array_equal(logs.argmax(axis=1), ahead)
    # A sum of five roundings of numbers up to one, and one more where two were equal.
    np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=0, atol=8 * np.finfo(float).eps)
    assert np.isfinite(logs).all()


@given(curves(), arrays(np.float64, 20, elements=st.floats(-20.0, 20.0)))
def test_curve_rises_through_zero_in_straight_pieces(curve, x):
    x = np.sort(x)
    g = curve.log_odds(x)
    size = max(1.0, np.abs(g).max())
    assert curve.log_odds(np.zeros(1)) == 0.0
    # Heights are sums of up to seven products, each rounded.
    steepest = 20.0 * max(curve.slopes)
    assert np.all(np.diff(g) >= -16 * np.finfo(float).eps * max(size, steepest))
    points = np.unique(np.concatenate([[-20.0, 0.0, 20.0], curve.knots]))
    slopes = np.array(curve.slopes)[np.searchsorted(curve.knots, 0.5 * (points[1:] + points[:-1]))]
    heights = np.concatenate([[0.0], np.cumsum(slopes * np.diff(points))])
    expected = np.interp(x, points, heights - heights[np.flatnonzero(points == 0.0)[0]])
    np.testing.assert_allclose(g, expected, rtol=0, atol=1e-13 * max(size, steepest))


def test_identity_is_the_softmax_and_of_two_classes_the_logistic_function():
    x = np.linspace(-3.0, 3.0, 7)[:, None]
    np.testing.assert_allclose(IDENTITY.probabilities(x)[:, 1], expit(x[:, 0]), rtol=1e-15)
    three = np.random.default_rng(0).standard_normal((5, 3))
    np.testing.assert_allclose(IDENTITY.probabilities(three), softmax(three, axis=1), rtol=1e-15)


def test_logarithms_stay_finite_where_probabilities_vanish():
    steep, x = Calibration((), (1e6,)), np.array([[-1.0], [1.0]])
    assert np.isfinite(steep.log_probabilities(x)).all()
    assert np.any(steep.probabilities(x) == 0.0)


@given(curves())
def test_calibration_survives_its_configuration(curve):
    assert Calibration.from_config(curve.to_config()) == curve


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        (1.5, "must have knots and slopes"),
        ({"knots": []}, "must have knots and slopes"),
        ({"knots": 1.0, "slopes": [1.0]}, "knots must be a list of numbers"),
        ({"knots": [], "slopes": ["1"]}, "slopes must be a list of numbers"),
        ({"knots": [True], "slopes": [1.0, 1.0]}, "knots must be a list of numbers"),
        ({"knots": [0.0, 0.0], "slopes": [1.0, 1.0, 1.0]}, "knots must be finite numbers that rise"),
        ({"knots": [float("nan")], "slopes": [1.0, 1.0]}, "knots must be finite numbers that rise"),
        ({"knots": [0.0], "slopes": [1.0]}, "slopes must be 2 finite numbers above 0"),
        ({"knots": [], "slopes": [0.0]}, "slopes must be 1 finite numbers above 0"),
        ({"knots": [], "slopes": [float("inf")]}, "slopes must be 1 finite numbers above 0"),
    ],
)
def test_configurations_that_are_no_curve_are_refused(config, sentence):
    with pytest.raises(ParameterError, match=sentence):
        Calibration.from_config(config)


def drawn(n, k, seed=0):
    """Scores, and labels whose log-odds are a bent curve of them."""
    rng = np.random.default_rng(seed)
    F = rng.uniform(-1.5, 1.5, (n, 1 if k == 2 else k))
    truth = Calibration((-0.5, 0.0, 0.5), (6.0, 1.0, 4.0, 0.5))
    P = truth.probabilities(F)
    return F, (rng.uniform(size=(n, 1)) > np.cumsum(P, axis=1)).sum(axis=1), P


@pytest.mark.parametrize(("n", "k"), [(0, 3), (1, 2), (37, 5)])
def test_slope_sums_are_the_log_sums_with_their_two_derivatives(n, k):
    rng = np.random.default_rng(0)
    F, s, slope, step = -rng.uniform(0.0, 3.0, (n, k)), weights(n), 0.7, 1e-4

    def value(at):
        return float(s @ logsumexp(at * F, axis=1))

    ahead, here, behind = (value(slope + by) for by in (step, 0.0, -step))
    logs, mean, spread = slope_sums(F, s, slope)
    np.testing.assert_allclose(logs, here, rtol=1e-12, atol=1e-12)
    # Differences of order two: the error is step^2, and of the second one the rounding of values over step^2.
    size = 1.0 + abs(here)
    np.testing.assert_allclose(mean, (ahead - behind) / (2 * step), rtol=0, atol=27 * size * step**2)
    np.testing.assert_allclose(spread, (ahead - 2 * here + behind) / step**2, rtol=0, atol=81 * size * step**2)


@pytest.mark.parametrize("k", [2, 4])
def test_fit_minimizes_the_log_loss_with_its_doubt_and_its_prior(k):
    F, labels, _ = drawn(400, k)
    weight = weights(400)
    found = fit_calibration(F, labels, weight)
    G = F if k > 2 else np.hstack([np.zeros_like(F), F])
    doubt = 1.0 / (weight.sum() + 2.0)
    targets = (1.0 - doubt) * np.eye(k)[labels] + doubt / k

    def loss(slopes, knots=()):
        heights = Calibration(knots, tuple(slopes)).log_odds(G)
        return -np.sum(weight[:, None] * targets * log_softmax(heights, axis=1))

    size = np.sqrt(np.average(np.mean(F**2, axis=1), weights=weight))
    common = minimize(lambda u: loss(np.exp(u)) + 0.1 * (np.exp(u[0]) * size - u[0]), [0.0], method="BFGS", tol=1e-9)
    start = np.exp(common.x[0])

    def objective(slopes):
        return loss(slopes, found.knots) + np.sum(slopes / start - np.log(slopes / start))

    best = objective(np.array(found.slopes))
    for j in range(len(found.slopes)):
        for factor in (0.99, 1.01):
            changed = np.array(found.slopes)
            changed[j] *= factor
            # A change of a slope by a hundredth costs at least what the prior's curvature makes of it, 1e-4/2.
            assert objective(changed) > best + 2e-5


@pytest.mark.parametrize("k", [2, 4])
def test_fitted_curve_comes_near_a_bent_one(k):
    F, labels, _ = drawn(4000, k)
    found = fit_calibration(F, labels, np.ones(4000))
    fresh, _, P = drawn(4000, k, seed=1)
    excess = np.mean(np.sum(P * (np.log(P) - found.log_probabilities(fresh)), axis=1))
    # Each of 14 slopes costs 1/(2n) of log loss in the mean, and knots are not where the curve bends.
    assert excess < 4 * 14 / (2 * 4000)
    single = Calibration((), (float(np.mean(found.slopes)),))
    assert np.mean(np.sum(P * (np.log(P) - single.log_probabilities(fresh)), axis=1)) > 4 * excess


def test_curve_of_separated_scores_stays_finite_and_of_useless_ones_flat():
    labels = np.arange(100) % 2
    separated = 2.0 * labels[:, None] - 1.0
    found = fit_calibration(separated, labels, np.ones(100)).probabilities(separated)
    # n right scores leave doubts of 1/(n + 2), half of them for the other class; the prior adds to those.
    assert np.all((found.max(axis=1) > 0.95) & (found.max(axis=1) <= 1.0 - 0.5 / 102.0))
    useless = fit_calibration(-separated, labels, np.ones(100)).probabilities(separated)
    assert np.all(np.abs(useless - 0.5) < 0.02)
    assert fit_calibration(np.zeros((4, 1)), labels[:4], np.ones(4)) == IDENTITY


@pytest.mark.parametrize("k", [2, 5])
def test_fit_depends_on_no_order_and_takes_weights_for_repeated_rows(k):
    F, labels, _ = drawn(300, k)
    counts = np.random.default_rng(3).integers(1, 4, 300)
    found = fit_calibration(F, labels, counts.astype(float))
    order = np.random.default_rng(4).permutation(300)
    shuffled = fit_calibration(F[order], labels[order], counts[order].astype(float))
    repeated = fit_calibration(np.repeat(F, counts, axis=0), np.repeat(labels, counts), np.ones(counts.sum()))
    for other in (shuffled, repeated):
        np.testing.assert_allclose(other.knots, found.knots, rtol=0, atol=1e-11)
        np.testing.assert_allclose(other.slopes, found.slopes, rtol=1e-9)


X, Y = classes(n=260, k=3)
X[200:] = X[:60]  # equal rows, most with equal labels
Y[200:240] = Y[:40]
S = weights(260)
ENCODER = encoder(X, n_components=32)


def problem(rows, labels, weight, sides="codes"):
    coded, full = CodedDesign(ENCODER.encode(rows)), FullDesign(ENCODER.drawn_.embed, rows, 32)
    train, predict = {"codes": (coded, coded), "full": (full, full), "both": (coded, full)}[sides]
    return Problem(train, predict, labels, weight, True)


def assert_same_rows(some, others):
    np.testing.assert_array_equal(some.keys, others.keys)
    np.testing.assert_array_equal(some.rows.labels, others.rows.labels)
    np.testing.assert_array_equal(some.counts, others.counts)
    # Weights of a few equal rows, added in another order.
    np.testing.assert_allclose(some.rows.weights, others.rows.weights, rtol=1e-14)
    W = np.eye(32)
    np.testing.assert_array_equal(some.rows.train.matmul(W), others.rows.train.matmul(W))
    np.testing.assert_array_equal(some.rows.predict.matmul(W), others.rows.predict.matmul(W))


@pytest.mark.parametrize("sides", ["codes", "full", "both"])
@pytest.mark.parametrize("most", [50, 1000])
def test_kept_rows_are_the_same_in_any_order_and_any_blocks(sides, most, monkeypatch):
    monkeypatch.setattr(calibration, "_MOST_ROWS", most)
    whole = CalibrationRows.of(problem(X, Y, S, sides))
    # Some rows differ in no bit of their codes.
    what = ENCODER.encode(X).packed if sides == "codes" else X
    assert len(whole.keys) == min(most, len(np.unique(np.column_stack([what, Y]), axis=0)))
    for size, seed in ((7, 0), (64, 1), (259, 2)):
        order = np.random.default_rng(seed).permutation(260)
        kept = None
        for start in range(0, 260, size):
            rows = order[start : start + size]
            kept = CalibrationRows.with_more(kept, problem(X[rows], Y[rows], S[rows], sides))
        assert_same_rows(kept, whole)


def test_kept_rows_of_many_are_those_of_a_full_sort(monkeypatch):
    monkeypatch.setattr(calibration, "_MOST_ROWS", 20)
    few = CalibrationRows.of(problem(X, Y, S))  # 260 rows are more than four times 20
    monkeypatch.setattr(calibration, "_NEAR", 1000)
    assert_same_rows(few, CalibrationRows.of(problem(X, Y, S)))
    monkeypatch.setattr(calibration, "_NEAR", 1)  # not enough different keys below: all are sorted
    assert_same_rows(few, CalibrationRows.of(problem(X, Y, S)))


def test_kept_rows_take_weights_for_repeated_rows_and_none_for_zero():
    counts = np.arange(260) % 3
    weighted = CalibrationRows.of(problem(X, Y, counts.astype(float)))
    repeated = CalibrationRows.of(problem(np.repeat(X, counts, axis=0), np.repeat(Y, counts), None))
    np.testing.assert_array_equal(weighted.keys, repeated.keys)
    np.testing.assert_array_equal(weighted.rows.weights, repeated.rows.weights)
    np.testing.assert_array_equal(repeated.rows.weights, repeated.counts)
    some, unit = weighted.for_scores(3)
    assert unit == 1.0
    np.testing.assert_array_equal(some.weights, weighted.rows.weights)
    shares, unit = CalibrationRows.of(problem(X, Y, np.full(260, 1 / 260))).for_scores(3)
    assert unit == pytest.approx(1 / 260, rel=1e-12)
    np.testing.assert_allclose(shares.weights, CalibrationRows.of(problem(X, Y, None)).counts, rtol=1e-12)


def test_fewer_rows_are_used_when_each_has_many_scores(monkeypatch):
    monkeypatch.setattr(calibration, "_LEAST_ROWS", 10)
    monkeypatch.setattr(calibration, "_MOST_SCORES", 120)
    kept = CalibrationRows.of(problem(X, Y, S))
    some, _ = kept.for_scores(3)
    assert some.shape[0] == 40
    np.testing.assert_array_equal(some.labels, kept.rows.labels[:40])
    assert kept.for_scores(1000)[0].shape[0] == 10


def test_coded_rows_at_places_are_those_of_the_codes_and_travel_alone():
    codes = ENCODER.encode(X)
    for places in (np.arange(len(X))[::-1], np.arange(0, len(X), 3), np.arange(len(X)) % 2 == 0, slice(5)):
        taken = CodedDesign(codes).take(places)
        assert taken.shape == np.asarray(codes)[places].shape
        sent = pickle.loads(pickle.dumps(taken))
        assert len(sent.whole) == len(sent.packed) == taken.shape[0]
        for rows in (taken, sent):
            np.testing.assert_array_equal(rows.dense(), np.asarray(codes)[places])
            np.testing.assert_array_equal(rows.take(slice(1, 3)).dense(), np.asarray(codes)[places][1:3])


def test_keys_of_rows_do_not_depend_on_how_they_are_stored():
    def keys(rows):
        return FullDesign(ENCODER.drawn_.embed, rows, 32).keys()

    single = X.astype(np.float32)
    np.testing.assert_array_equal(keys(single), keys(single.astype(np.float64)))
    some = np.where(X > 1.0, single, np.float32(0.0))
    np.testing.assert_array_equal(keys(csr_array(some)), keys(some))
    np.testing.assert_array_equal(keys(np.where(X > 1.0, single, np.float32(-0.0))), keys(some))


def test_keys_are_spread_evenly_and_differ_where_any_bit_does():
    levels = np.eye(64, dtype=np.uint8)
    template = encoder(X, n_components=64).encode(X[:1])
    rows = np.packbits(np.vstack([np.zeros((1, 64), dtype=np.uint8), levels]), axis=1, bitorder="little")
    keys = CodedDesign(template.with_rows(rows)).keys()
    assert len(np.unique(keys)) == 65
    codes = CodedDesign(encoder(X, n_components=512).encode(np.random.default_rng(0).standard_normal((4000, 5))))
    shares = codes.keys() / 2.0**64
    # Each of 16 bins holds 250 rows, with a standard error of 16: five of them.
    assert np.all(np.abs(np.histogram(shares, 16, (0, 1))[0] - 250) < 80)
