"""The hinge loss reaches the support vector machine of the same features, to the duality gap that it was asked for."""

import numpy as np
import pytest
from learners.samples import classes, classifier, decoded, encoder, signs, weights
from sklearn.svm import SVC, LinearSVC

from lowtide.learners import ridge as ridge_module
from lowtide.learners import source_problem
from lowtide.learners.calibration import CalibrationRows
from lowtide.learners.hinge import FIRST_WIDTH, MarginSums, NewtonSteps
from lowtide.learners.losses import Hinge, RoundedHinge
from lowtide.learners.smooth import left_out_scores
from lowtide.learners.training import RidgeFit


def machine(n_components=40, **settings):
    return classifier(gamma=0.1, n_components=n_components, loss="hinge", random_state=0, **settings)


def svc_scores(D, y, C, s=None, tol=1e-7):
    """Decision values of libsvm on the kernel matrix of features, one against the rest of several classes."""
    columns = []
    for target in signs(y).T:
        peer = SVC(kernel="precomputed", C=C, tol=tol).fit(D @ D.T, target, sample_weight=s)
        columns.append(peer.decision_function(D @ D.T))
    return np.column_stack(columns)


def value(D, T, s, C, coef, intercept):
    """|w|^2/2 + C sum_i s_i max(0, 1 - y_i f_i) of every column."""
    short = np.maximum(1.0 - T * (D @ coef + intercept), 0.0)
    return 0.5 * np.sum(coef**2, axis=0) + C * s @ short


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("C", [0.05, 1.0, 30.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_scores_are_those_of_svc_on_the_same_kernel_matrix(k, C, weighted):
    X, y = classes(n=150, k=k)
    s = weights(150) if weighted else None
    model = machine(C=C).fit(X, y, s)
    peer = svc_scores(decoded(model, X), y, C, s)
    # |w - w*|^2 / 2 is at most the gap, 1e-8 of a value below 1e4; hardly any of it is in the scores.
    np.testing.assert_allclose(model.decision_function(X).reshape(peer.shape), peer, rtol=0, atol=1e-4)


def test_scores_are_those_of_linear_svc_without_an_intercept():
    X, y = classes(n=150, k=2)
    model = machine(C=0.5, fit_intercept=False).fit(X, y)
    peer = LinearSVC(C=0.5, loss="hinge", fit_intercept=False, tol=1e-9, max_iter=1_000_000, random_state=0)
    D = decoded(model, X)
    np.testing.assert_allclose(model.decision_function(X), peer.fit(D, y).decision_function(D), rtol=0, atol=1e-4)
    assert model.intercept_ == [0.0]


def test_a_loose_intercept_is_in_the_middle_as_that_of_svc():
    X, y = classes(n=60, k=2)
    model = machine(C=1e-3).fit(X, y)
    peer = svc_scores(decoded(model, X), y, 1e-3)[:, 0]
    np.testing.assert_allclose(model.decision_function(X), peer, rtol=0, atol=1e-6)


@pytest.mark.parametrize("solver", ["primal", "dual", "iterative"])
def test_every_form_of_a_step_reaches_the_same_minimum(solver):
    X, y = classes(n=150)
    model = machine(solver=solver).fit(X, y)
    assert model.solver_ == solver
    np.testing.assert_allclose(model.decision_function(X), svc_scores(decoded(model, X), y, 1.0), rtol=0, atol=2e-5)


@pytest.mark.parametrize("sides", [{"bits": None}, {"bits": 2, "train_on": "full"}, {"bits": 2, "predict_on": "full"}])
def test_full_sides_are_learned_from_too(sides):
    X, y = classes(n=150, k=2)
    model = machine(**sides).fit(X, y)
    side = "full" if sides.get("bits") is None or "train_on" in sides else "codes"
    D = decoded(model, X, side)
    peer = SVC(kernel="precomputed", tol=1e-9).fit(D @ D.T, y)
    own = (peer.dual_coef_ @ D[peer.support_])[0]
    np.testing.assert_allclose(model.coef_[0], own, rtol=0, atol=1e-5 * np.abs(own).max())


@pytest.mark.parametrize("tol", [1e-3, 1e-6])
def test_large_problems_stop_within_the_gap_that_was_asked_for(tol, monkeypatch):
    monkeypatch.setattr(ridge_module, "_SMALL_PROBLEM", 1)
    X, y = classes(n=300)
    model = machine(C=2.0, tol=tol).fit(X, y)
    exact = machine(C=2.0, tol=1e-8).fit(X, y)
    D, T, s = decoded(model, X), signs(y), np.ones(300)
    reached, least = (value(D, T, s, 2.0, each.coef_.T, each.intercept_) for each in (model, exact))
    assert np.all(reached <= (1.0 + tol) * least)
    assert model.n_iter_ <= exact.n_iter_
    # |w - w*|^2 / 2 is at most the gap.
    assert np.all(np.sum((model.coef_ - exact.coef_) ** 2, axis=1) <= 2.02 * tol * least)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_the_gap_is_that_of_a_feasible_point_of_the_dual(fit_intercept):
    X, y = classes(n=120)
    codes, C, s = encoder(X).encode(X), 0.7, weights(120)
    reading = Hinge().targets(3)
    problem = source_problem(codes, y.astype(np.uint8), s, fit_intercept, reading)
    rng = np.random.default_rng(1)
    coef, intercept, width = rng.normal(size=(24, 3)), rng.normal(size=3) * fit_intercept, np.array([1.0, 0.3, 0.1])
    steps = NewtonSteps(problem, C, None, 1e-6, False)
    found = steps._margin(coef, problem.sum(MarginSums.of, coef, intercept, width))
    D, T = np.asarray(codes, dtype=np.float64), reading.targets(y)
    a = C * s[:, None] * np.clip(0.5 + (1.0 - T * (D @ coef + intercept)) / width, 0.0, 1.0)
    if fit_intercept:
        sums = np.array([np.sum(a, axis=0, where=sign == T) for sign in (-1, 1)])
        # Where one sum is 0 there is nothing of that sign to scale.
        down = sums.min(axis=0) / np.maximum(sums, np.finfo(float).tiny)
        a *= np.where(T > 0, down[1], down[0])
        np.testing.assert_allclose(np.sum(T * a, axis=0), 0.0, atol=1e-10)
    dual = a.sum(axis=0) - 0.5 * np.sum((D.T @ (T * a)) ** 2, axis=0)
    primal = value(D, T, s, C, coef, intercept)
    np.testing.assert_allclose(found.gap, (primal - dual) / primal, rtol=1e-9)


def test_newton_converges_from_nothing_in_few_steps():
    X, y = classes(n=120, k=2)
    codes, C = encoder(X).encode(X), 0.5
    problem = source_problem(codes, y.astype(np.uint8), weights(120), True, Hinge().targets(2))
    fit = RidgeFit("a", "dual", 1e-10, 100, 1.0, lambda scores, _: scores)
    steps = NewtonSteps(problem, C, lambda r, a: fit(r, a, lambda: CalibrationRows.of(r))[0], 1e-8, True)
    solution, gap = steps.solve(np.zeros((25, 1)), 100, None)
    assert solution.converged
    assert gap[0] <= 1e-8
    assert solution.n_iter < 40


def test_rounded_hinge_touches_the_hinge_outside_of_its_corner():
    short = np.linspace(-1.0, 1.0, 2001)
    rounded, hinge = RoundedHinge.value(short, 0.5), np.maximum(short, 0.0)
    outside = np.abs(short) >= 0.25
    np.testing.assert_allclose(rounded[outside], hinge[outside], atol=1e-15)
    assert np.all(rounded >= hinge)
    assert np.max(rounded - hinge) == pytest.approx(0.5 / 8)
    slopes = np.diff(rounded) / np.diff(short)
    np.testing.assert_allclose(slopes, RoundedHinge.slope(0.5 * (short[1:] + short[:-1]), 0.5), atol=2e-3)
    assert RoundedHinge().width == FIRST_WIDTH


def test_left_out_scores_are_near_those_of_fits_without_the_row():
    X, y = classes(n=80, k=2)
    model = machine(n_components=64).fit(X, y)
    codes, D = model.features_.encode(X), decoded(model, X)
    problem = source_problem(codes, y, None, True, Hinge().targets(2))
    guessed = left_out_scores(problem, Hinge(), model.coef_.T, model.intercept_, 1.0)[:, 0]
    true, K = np.empty(80), D @ D.T
    for i in range(80):
        others = np.delete(np.arange(80), i)
        peer = SVC(kernel="precomputed").fit(K[np.ix_(others, others)], y[others])
        true[i] = peer.decision_function(K[[i]][:, others])[0]
    seen = model.decision_function(X)
    # One mean for all rows takes away most of what a row does to its own score.
    assert np.mean((guessed - true) ** 2) < 0.5 * np.mean((seen - true) ** 2)
    assert np.mean(signs(y)[:, 0] * (seen - guessed)) == pytest.approx(np.mean(signs(y)[:, 0] * (seen - true)), rel=0.4)


def test_the_border_stays_where_the_machine_has_it():
    X, y = classes(n=400, k=2)
    y = (np.random.default_rng(0).uniform(size=400) < 0.05 + 0.4 * y).astype(int)
    model = machine(n_components=32, C=0.2).fit(X, y)
    peer = svc_scores(decoded(model, X), y, 0.2, tol=1e-5)[:, 0]
    np.testing.assert_allclose(model.decision_function(X), peer, rtol=0, atol=1e-4)


def test_strength_is_chosen_and_a_start_is_taken():
    X, y = classes(n=300)
    auto = machine(C="auto").fit(X, y)
    same = machine(C=auto.C_).fit(X, y)
    np.testing.assert_allclose(auto.decision_function(X), same.decision_function(X), rtol=0, atol=1e-5)
    warm = machine(C=auto.C_, warm_start=True).fit(X, y).fit(X, y)
    np.testing.assert_allclose(warm.decision_function(X), same.decision_function(X), rtol=0, atol=1e-5)


def test_more_components_than_rows_of_any_label_converge():
    X, _ = classes(n=300)
    y = np.random.default_rng(0).integers(0, 2, 300)
    model = machine(n_components=2048, C=10.0, tol=1e-6).fit(X, y)
    peer = svc_scores(decoded(model, X), y, 10.0)[:, 0]
    np.testing.assert_allclose(model.decision_function(X), peer, rtol=0, atol=1e-4)
    assert model.n_iter_ < 120
