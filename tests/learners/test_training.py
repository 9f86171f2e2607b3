"""C="auto" and alpha="auto": the choice is the best of its grid, read on the side that predicts."""

import numpy as np
import pytest
from learners.samples import classes, curve, decoded, encoder, signs, weights
from reference.learner_objectives import held_out_errors, leave_one_out_errors
from sklearn.datasets import load_digits

from lowtide import KernelClassifier, KernelRegressor
from lowtide.learners import training
from lowtide.learners.design import CodedDesign, FullDesign
from lowtide.learners.losses import LOSSES
from lowtide.learners.problem import Problem
from lowtide.learners.ridge import NormalEquations
from lowtide.learners.training import held_out_alpha, leave_one_out_alpha, lowest

SIDES = [("codes", "codes"), ("full", "full"), ("codes", "full"), ("full", "codes")]


def problem_on(X, T, s, sides, fit_intercept=True, n_components=16):
    """A problem on two sides, and both sides decoded."""
    features = encoder(X, n_components=n_components)
    designs = {"codes": CodedDesign(features.encode(X)), "full": FullDesign(features.transform, X, n_components)}
    dense = {"codes": np.asarray(features.encode(X), dtype=float), "full": features.transform(X).astype(float)}
    train, predict = sides
    return Problem(designs[train], designs[predict], T, s, fit_intercept), dense[train], dense[predict]


def equations_of(problem):
    return NormalEquations.of(problem)


def grid(D, s):
    """Half decades around the mean diagonal of the Gram matrix, as documented."""
    return np.mean(s @ D**2) * 10.0 ** np.arange(-6.0, 1.5, 0.5)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sides", SIDES, ids="-".join)
def test_leave_one_out_choice_is_the_best_by_brute_force(sides, weighted, fit_intercept):
    X, y = classes(n=40, k=3)
    s = weights(len(X)) if weighted else None
    problem, D, Z = problem_on(X, signs(y), s, sides, fit_intercept)
    alphas = grid(D, problem.weights)
    errors = leave_one_out_errors(D, Z, problem.targets, problem.weights, alphas, fit_intercept)
    chosen = leave_one_out_alpha(equations_of(problem), problem)
    np.testing.assert_allclose(chosen, alphas[np.argmin(errors)], rtol=1e-9)


def test_leave_one_out_does_not_depend_on_blocks(monkeypatch):
    X, y = curve(n=50)
    problem, _, _ = problem_on(X, y[:, None], None, ("codes", "full"))
    whole = leave_one_out_alpha(equations_of(problem), problem)
    monkeypatch.setattr(training, "_BLOCK_VALUES", 7 * 16)
    assert leave_one_out_alpha(equations_of(problem), problem) == whole


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sides", SIDES, ids="-".join)
def test_held_out_choice_is_the_best_by_brute_force_on_half_of_the_columns(sides, weighted):
    X, y = classes(n=120, k=3)
    s = weights(len(X)) if weighted else None
    problem, D, Z = problem_on(X, signs(y), s, sides)
    held = np.sort(np.random.default_rng(5).choice(120, size=12, replace=False))
    half = [0, 1, 4, 5, 8, 9, 12, 13]
    alphas = grid(D, problem.weights)
    errors = held_out_errors(
        np.sqrt(2) * D[:, half], np.sqrt(2) * Z[:, half], problem.targets, problem.weights, held, alphas
    )
    assert sum(np.diff(np.sign(np.diff(errors))) > 0) <= 1  # one valley, or the walk may end in the lesser one
    chosen = held_out_alpha(equations_of(problem), problem, np.random.default_rng(5))
    np.testing.assert_allclose(chosen, alphas[np.argmin(errors)], rtol=1e-9)


def test_held_out_choice_is_near_the_best_on_all_columns():
    X, y = load_digits(return_X_y=True)
    problem, D, Z = problem_on(X / 16, signs(y), None, ("codes", "codes"), n_components=512)
    held = np.sort(np.random.default_rng(5).choice(len(X), size=len(X) // 10, replace=False))
    alphas = grid(D, problem.weights)
    errors = held_out_errors(D, Z, problem.targets, problem.weights, held, alphas)
    chosen = held_out_alpha(equations_of(problem), problem, np.random.default_rng(5))
    assert abs(np.argmin(errors) - np.argmin(np.abs(alphas - chosen))) <= 1


def test_held_out_choice_leaves_the_sums_alone():
    X, y = classes(n=60)
    problem, _, _ = problem_on(X, signs(y), weights(len(X)), ("codes", "codes"))
    equations, before = equations_of(problem), equations_of(problem)
    held_out_alpha(equations, problem, np.random.default_rng(0))
    for name in ("gram", "cross", "row_sum", "target_sum", "weight"):
        np.testing.assert_array_equal(getattr(equations, name), getattr(before, name))


@pytest.mark.parametrize("n", [1, 2, 3])
def test_held_out_choice_needs_no_rows_to_spare(n):
    X, y = curve(n=n)
    model = KernelRegressor(n_components=256, alpha="auto", random_state=0).fit(X, y)
    assert np.all(np.isfinite(model.predict(X)))


@pytest.mark.parametrize("best", range(9))
@pytest.mark.parametrize("start", [0, 4, 8])
@pytest.mark.parametrize("strides", [(1,), (-1,), (2, 1), (-2, -1)])
def test_lowest_finds_the_bottom_of_every_valley(best, start, strides):
    assert lowest(lambda i: abs(i - best) ** 3, 9, start, strides) == best


def test_lowest_asks_no_point_twice_and_few_of_many():
    asked = []
    lowest(lambda i: asked.append(i) or abs(i - 7), 15, 12, (2, 1))
    assert len(asked) == len(set(asked)) <= 7


@pytest.mark.parametrize("n_components", [32, 256])
def test_auto_is_the_plain_fit_at_the_chosen_strength(n_components):
    X, y = classes(n=100)
    auto = KernelClassifier(n_components=n_components, C="auto", random_state=0).fit(X, y)
    plain = KernelClassifier(n_components=n_components, C=auto.C_, random_state=0).fit(X, y)
    np.testing.assert_allclose(auto.decision_function(X), plain.decision_function(X), rtol=0, atol=1e-9)
    assert plain.C_ == auto.C_


def test_leave_one_out_is_used_for_few_features_and_a_tenth_for_many(monkeypatch):
    used = []
    for name in ("leave_one_out_alpha", "held_out_alpha"):
        real = getattr(training, name)
        monkeypatch.setattr(training, name, lambda *a, real=real, name=name: used.append(name) or real(*a))
    X, y = curve(n=100)
    for n_components in (32, 256):
        KernelRegressor(n_components=n_components, alpha="auto", random_state=0).fit(X, y)
    assert used == ["leave_one_out_alpha", "held_out_alpha"]


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_smooth_choice_is_the_best_of_two_folds(loss):
    X, y = classes(n=80, k=3)
    targets = (y[:, None] == np.arange(3)).astype(float) if loss == "logistic" else signs(y)
    problem, _, _ = problem_on(X, targets, weights(len(X)), ("codes", "full"))
    loss = LOSSES.resolve(loss)
    chosen, _ = training._choose_inverse_strength(problem, loss, np.random.default_rng(2), None, 1000, 1e-4)
    halves = np.array_split(np.random.default_rng(2).permutation(80), 2)

    def error(C):
        total = 0.0
        for held, rest in (halves, halves[::-1]):
            fitted = training.fit_smooth(
                problem.take(np.sort(rest)), loss, 2 * C, None, start=None, max_iter=1000, tolerance=1e-4,
                each_iteration=None,
            )[0]  # fmt: skip
            seen = problem.take(np.sort(held))
            scores = seen.predict.matmul(fitted.coef) + fitted.intercept
            total += loss.value_and_gradient(scores, seen.targets, seen.weights)[0]
        return total

    candidates = 10.0 ** np.arange(-2.0, 3.0)
    assert chosen == candidates[np.argmin([error(C) for C in candidates])]


def test_zero_weights_do_not_move_the_choice():
    X, y = classes(n=100)
    s = (np.arange(100) % 4 > 0).astype(float)
    for parameters in ({"n_components": 32}, {"n_components": 256}, {"n_components": 32, "loss": "logistic"}):
        model = KernelClassifier(C="auto", gamma=0.1, random_state=0, **parameters)
        weighted = model.fit(X, y, sample_weight=s).C_
        assert pytest.approx(weighted, rel=1e-9) == model.fit(X[s > 0], y[s > 0]).C_


def test_auto_beats_a_bad_choice():
    X, y = load_digits(return_X_y=True)
    train, test = slice(None, None, 2), slice(1, None, 2)
    scores = {
        C: KernelClassifier(n_components=512, C=C, random_state=0).fit(X[train], y[train]).score(X[test], y[test])
        for C in ("auto", 1e-3, 1e4)
    }
    assert scores["auto"] > max(scores[1e-3], scores[1e4])


def test_codes_at_prediction_call_for_stronger_regularization_than_the_full_side():
    """Asymmetric random periodic features, section 7: the noise of quantized queries has to be averaged out."""
    X, y = classes(n=400, d=4, k=4)
    strengths = {}
    for side in ("codes", "full"):
        choices = [
            KernelClassifier(n_components=64, C="auto", train_on="full", predict_on=side, random_state=seed)
            .fit(X, y)
            .C_
            for seed in range(8)
        ]
        strengths[side] = -np.mean(np.log10(choices))
    assert strengths["codes"] > strengths["full"] + 0.5


def test_auto_reads_the_predicting_side():
    X, y = curve(n=60)
    model = KernelRegressor(n_components=16, alpha="auto", train_on="full", predict_on="codes", random_state=0)
    model.fit(X, y)
    D, Z = decoded(model, X, "full"), decoded(model, X, "codes")
    alphas = grid(D, np.ones(len(X)))
    errors = leave_one_out_errors(D, Z, y[:, None], np.ones(len(X)), alphas)
    np.testing.assert_allclose(model.alpha_, alphas[np.argmin(errors)], rtol=1e-6)
