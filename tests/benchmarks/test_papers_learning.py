"""The parts that Fig. 5 and Fig. 6 are made of; the studies themselves run in test_papers.py."""

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.svm import SVC

pytest.importorskip("matplotlib")

from benchmarks.papers.asymmetric_rpf import fig5, fig6
from benchmarks.papers.asymmetric_rpf.sides import (
    PAIRS,
    LinearMachine,
    encoder,
    scores_by_pair,
    train_on_codes,
    train_on_features,
)
from benchmarks.papers.study import Run

import lowtide as lt

M, C = 20, 0.5


@pytest.fixture(scope="module")
def mixture():
    X, y = fig5.draw_mixture(np.random.default_rng(3), 400)
    return X[:300], y[:300], X[300:]


@pytest.fixture(scope="module")
def enc():
    return encoder(fig5.KERNEL, 2, M, seed=5)


def resolution(machine, rows):
    """Return how small a gradient a minimizer can tell from none that sees values to one part in 2^52."""
    value = 0.5 * np.sum(machine.weights**2) + np.sum(machine.dual**2) / (4 * C)
    curvature = 1 + 2 * C * np.linalg.eigvalsh(rows.T @ rows)[-1]
    return np.sqrt(2 * np.finfo(float).eps * value * curvature)


def test_support_coefficients_of_features_give_the_weights_back(mixture, enc):
    X, y, _ = mixture
    Z = enc.transform(X).astype(np.float64)
    machine = train_on_features(Z, y, C=C, max_iter=1000)
    # The difference is the gradient at the minimum.
    np.testing.assert_allclose(Z.T @ machine.dual, machine.weights, rtol=0, atol=resolution(machine, Z))


def test_support_coefficients_of_codes_give_the_weights_back(mixture, enc):
    X, y, _ = mixture
    codes = enc.encode(X)
    machine = train_on_codes(codes, y, C=C, max_iter=1000)
    atol = resolution(machine, np.asarray(codes, dtype=np.float64))
    np.testing.assert_allclose(codes.T @ machine.dual, machine.weights, rtol=0, atol=atol)


@pytest.mark.parametrize(("pair", "side"), [("full, full", "full"), ("1 bit, full", "codes")])
def test_scores_of_full_support_are_those_of_the_classifier(mixture, enc, pair, side):
    X, y, queries = mixture
    options = {"loss": "squared_hinge", "C": C, "multi_class": "ovr", "max_iter": 1000}
    model = lt.KernelClassifier(FrozenEstimator(enc), train_on="full", predict_on=side, **options).fit(X, y)
    machine = train_on_features(enc.transform(X), y, C=C, max_iter=1000)
    scores = scores_by_pair(machine, enc, X, queries)[pair]
    # Two minimizers, each within the gradient it can see of the minimum: the objective bends by at least 1.
    atol = 2 * np.sqrt(M) * resolution(machine, enc.transform(X).astype(np.float64)) * np.sqrt(2)
    np.testing.assert_allclose(scores, model.decision_function(queries), rtol=0, atol=atol)
    np.testing.assert_array_equal(machine.classes[np.argmax(scores, axis=1)], model.predict(queries))


@pytest.mark.parametrize("pair", PAIRS)
def test_compressed_machine_has_the_kernel_sums_of_table_1(mixture, pair):
    X, y, queries = mixture
    exact = SVC(C=5.0, gamma=1 / 8).fit(X, y == 0)
    enc = encoder(fig5.KERNEL, 2, M, seed=7)
    dual, support = exact.dual_coef_.T, exact.support_vectors_
    machine = LinearMachine(enc.transform(support).T @ dual, exact.intercept_, dual, exact.classes_)
    (small,) = fig5.compress_all([exact], pair, M, seed=7)
    scores = scores_by_pair(machine, enc, support, queries)[pair][:, 0]
    # Weights and features are float32: relative to the largest sum there can be, not to what is left of it.
    largest = np.abs(dual).sum() * 2
    np.testing.assert_allclose(small.decision_function(queries), scores, rtol=0, atol=4e-7 * largest)


def test_codes_against_codes_are_one_at_distance_zero(enc):
    x = np.array([[0.3, -0.2]])
    codes = np.asarray(enc.encode(x), dtype=np.float64)
    machine = LinearMachine(np.zeros((M, 1)), np.zeros(1), np.ones((1, 1)), np.array([0]))
    assert scores_by_pair(machine, enc, x, x)["1 bit, 1 bit"][0, 0] == pytest.approx(1.0, abs=1e-6)
    assert (codes @ codes.T).item() == pytest.approx(np.pi**2 / 8, abs=1e-6)


def test_mixture_has_five_classes_and_centers_apart():
    X, y = fig5.draw_mixture(np.random.default_rng(0), 4000)
    half, same = fig5.draw_mixture(np.random.default_rng(0), 4000, scale=0.5)
    np.testing.assert_array_equal(np.unique(y), np.arange(fig5.N_CLASSES))
    np.testing.assert_array_equal(half, X / 2)
    np.testing.assert_array_equal(same, y)
    assert SVC(C=5.0, gamma=1 / 8).fit(X[:2000], y[:2000]).score(X[2000:], y[2000:]) > 0.97


@pytest.mark.parametrize(
    ("accuracies", "expected"),
    [
        ([0.5, 0.95, 1.0], np.sqrt(20 * 40)),  # half way between 20 and 40, on a log scale
        ([0.98, 0.5, 1.0], 10.0),
        ([0.5, 0.6, 0.7], 40.0),
    ],
)
def test_features_for_a_level_are_interpolated_within_the_sizes(accuracies, expected):
    crossing = fig5.features_for(np.array([accuracies] * 3), [10, 20, 40])
    assert crossing(np.arange(3)) == pytest.approx(expected)


def test_features_for_a_level_take_the_median_of_the_draws_asked_for():
    curve = np.array([[0.5, 1.0], [0.5, 1.0], [1.0, 1.0]])
    crossing = fig5.features_for(curve, [10, 20])
    assert crossing(np.array([2, 2, 0])) == 10.0
    assert crossing(np.array([0, 1, 2])) > 10.0


def test_rounded_bands_are_within_half_a_step_and_cut_at_the_range():
    train = np.column_stack([np.linspace(-1, 3, 50), np.full(50, 2.0)])
    rounded = fig6.round_bands(train, train, bits=3)
    assert np.max(np.abs(rounded - train)) == pytest.approx(0.25)
    assert len(np.unique(rounded[:, 0])) == 8
    np.testing.assert_array_equal(rounded[:, 1], train[:, 1])
    np.testing.assert_allclose(fig6.round_bands(train, np.array([[-9.0, 2.0], [9.0, 2.0]]), 3)[:, 0], [-0.75, 2.75])


def test_difference_has_the_error_of_pixels_and_of_draws():
    rng = np.random.default_rng(0)
    raw, one = rng.random((1, 500)) < 0.9, rng.random((1, 500)) < 0.7
    gap = 100.0 * (raw[0].astype(float) - one[0])
    measured, error = fig6.difference(raw, one)
    assert measured == pytest.approx(gap.mean())
    assert error == pytest.approx(gap.std(ddof=1) / np.sqrt(500))
    right, wrong = np.ones((1, 500), dtype=bool), np.zeros((1, 500), dtype=bool)
    # No pixel differs from another, only the draws do: 0 and 100.
    assert fig6.difference(right, np.vstack([right, wrong])) == pytest.approx((50.0, 50.0))


def test_cross_validation_takes_the_best_setting_of_the_grid():
    train = fig6.Part(np.arange(100.0)[:, None], np.arange(100) % 2)
    run = Run(settings={"folds": 5, "grids": {"full": [[0.5, 1.0], [3.0, 30.0]]}})
    asked = set()

    def answer(part, queries, scale, C):
        asked.add((scale, C))
        assert len(part.y) == 80
        right = queries[:, 0].astype(int) % 2
        return right if (scale, C) == (1.0, 3.0) else 1 - right

    assert fig6.cross_validate(run, train, "full", answer) == (1.0, 3.0)
    assert asked == {(0.5, 3.0), (0.5, 30.0), (1.0, 3.0), (1.0, 30.0)}


@pytest.mark.parametrize("name", ["full", "1 bit", "codes"])
def test_answers_of_a_strategy_are_those_of_its_sides(name, mixture):
    X, y, queries = mixture
    scale = 0.25
    labels = fig6.answer_features(name, M, seed=5, max_iter=1000)(fig6.Part(X, y), queries, scale, C)
    features = FrozenEstimator(encoder(lt.kernels.Gaussian.from_gamma(scale / 2), 2, M, seed=5))
    sides = {"full": ("full", "full"), "1 bit": ("full", "codes"), "codes": ("codes", "codes")}[name]
    model = lt.KernelClassifier(
        features,
        loss="squared_hinge",
        C=C,
        multi_class="ovr",
        train_on=sides[0],
        predict_on=sides[1],
        max_iter=1000,
    )
    np.testing.assert_array_equal(labels, model.fit(X, y).predict(queries))


def test_quick_form_leaves_out_what_the_paper_says_of_other_data():
    run = Run(quick=True, settings={"tenth": {"full": 1, "1 bit": 2, "codes": 2}})
    rng = np.random.default_rng(0)
    raw, one, full = (rng.random((1, 2000)) < share for share in (0.95, 0.8, 0.3))
    fig6.judge(run, raw, {fig6.ROUNDED: raw}, {"full": {1: full}, "1 bit": {2: one}, "codes": {2: one}})
    assert {claim.key for claim in run.claims} == {"loss_full", "gain_1bit", "loss_codes", "gain_rounded"}
    run.quick, run.claims = False, []
    fig6.judge(run, raw, {fig6.ROUNDED: raw}, {"full": {1: full}, "1 bit": {2: one}, "codes": {2: one}}, one)
    verdicts = {claim.key: claim.held for claim in run.claims}
    assert not verdicts["loss_1bit"]  # fifteen points are not about four
    assert verdicts["loss_full"]
    assert verdicts["raw_best"]
