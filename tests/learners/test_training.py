"""C="auto" and alpha="auto": left-out losses decide, read on the side that predicts."""

import numpy as np
import pytest
from learners.samples import classes, classifier, curve, decoded, encoder, one_hot, regressor, signs, weights
from reference.learner_objectives import ridge
from sklearn.datasets import load_digits

from lowtide.learners import training
from lowtide.learners.borders import class_losses
from lowtide.learners.design import CodedDesign, FullDesign
from lowtide.learners.losses import LOSSES
from lowtide.learners.problem import Problem
from lowtide.learners.smooth import Objective, choose_inverse_strength, minimize
from lowtide.learners.strength import choose_strength, lowest, squared_losses

SIDES = [("codes", "codes"), ("full", "full"), ("codes", "full"), ("full", "codes")]


def problem_on(X, T, s, sides, fit_intercept=True, n_components=16):
    """A problem on two sides, and both sides decoded."""
    features = encoder(X, n_components=n_components)
    designs = {"codes": CodedDesign(features.encode(X)), "full": FullDesign(features.transform, X, n_components)}
    dense = {"codes": np.asarray(features.encode(X), dtype=float), "full": features.transform(X).astype(float)}
    train, predict = sides
    return Problem(designs[train], designs[predict], T, s, fit_intercept), dense[train], dense[predict]


def left_out_by_hand(D, Z, T, s, alpha, fit_intercept=True):
    """Scores on the side Z, each from a fit on all other rows of D."""
    out = np.empty_like(T)
    for i in range(len(D)):
        rest = np.arange(len(D)) != i
        w, b = ridge(D[rest], T[rest], s[rest], alpha, fit_intercept)
        out[i] = Z[i] @ w + b
    return out


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sides", SIDES, ids="-".join)
@pytest.mark.parametrize("n_components", [16, 96])
def test_auto_chooses_as_left_out_fits_do(sides, weighted, n_components):
    X, y = classes(n=60, k=3)
    s = weights(len(X)) if weighted else None
    train_on, predict_on = sides
    how = {"train_on": train_on, "predict_on": predict_on, "gamma": 0.1, "n_components": n_components}
    model = classifier(C="auto", random_state=0, **how).fit(X, y, sample_weight=s)
    D, Z = decoded(model, X, train_on), decoded(model, X, predict_on)
    share = np.ones(60) if s is None else s / s.mean()
    choice = choose_strength(
        lambda alpha: left_out_by_hand(D, Z, signs(y), np.ones(60) if s is None else s, alpha),
        lambda scores: class_losses(scores, y, np.ones(60) if s is None else s),
        share,
        0.5,
    )
    assert pytest.approx(0.5 / choice.strength, rel=1e-9) == model.C_


def test_many_columns_choose_by_half_of_them(monkeypatch):
    monkeypatch.setattr(training, "_MANY_COLUMNS", 16)
    X, y = classes(n=60, k=3)
    how = {"gamma": 0.1, "n_components": 16, "predict_on": "full", "random_state": 0}
    model = classifier(C="auto", **how).fit(X, y)
    half = [0, 1, 4, 5, 8, 9, 12, 13]
    D, Z = (np.sqrt(2) * decoded(model, X, side)[:, half] for side in ("codes", "full"))
    choice = choose_strength(
        lambda alpha: left_out_by_hand(D, Z, signs(y), np.ones(60), alpha),
        lambda scores: class_losses(scores, y, np.ones(60)),
        np.ones(60),
        0.5,
    )
    assert pytest.approx(0.5 / choice.strength, rel=1e-9) == model.C_
    plain = classifier(C=model.C_, **how).fit(X, y)
    np.testing.assert_array_equal(model.coef_, plain.coef_)


def test_auto_of_a_regressor_chooses_as_left_out_fits_do():
    X, y = curve(n=60)
    how = {"n_components": 16, "alpha": "auto", "train_on": "full", "predict_on": "codes", "random_state": 0}
    model = regressor(**how).fit(X, y)
    D, Z = decoded(model, X, "full"), decoded(model, X, "codes")
    choice = choose_strength(
        lambda alpha: left_out_by_hand(D, Z, y[:, None], np.ones(60), alpha),
        lambda scores: squared_losses(scores, y[:, None]),
        np.ones(60),
        1.0,
    )
    assert model.alpha_ == pytest.approx(choice.strength, rel=1e-9)


@pytest.mark.parametrize("n_components", [16, 256])
def test_repeated_rows_choose_as_weighted_ones(n_components):
    X, y = classes(n=60)
    count = 1 + np.arange(60) % 3
    model = classifier(n_components=n_components, C="auto", gamma=0.1, random_state=0)
    weighted = model.fit(X, y, sample_weight=count).C_
    assert weighted == pytest.approx(model.fit(np.repeat(X, count, axis=0), np.repeat(y, count)).C_, rel=1e-9)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_choice_needs_no_rows_to_spare(n):
    X, y = curve(n=n)
    model = regressor(n_components=256, alpha="auto", random_state=0).fit(X, y)
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
    auto = classifier(n_components=n_components, C="auto", random_state=0).fit(X, y)
    plain = classifier(n_components=n_components, C=auto.C_, random_state=0).fit(X, y)
    np.testing.assert_allclose(auto.decision_function(X), plain.decision_function(X), rtol=0, atol=1e-9)
    assert plain.C_ == auto.C_


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_smooth_choice_is_that_of_scores_of_left_out_halves(loss):
    X, y = classes(n=80, k=3)
    s = weights(len(X))
    targets = one_hot(y) if loss == "logistic" else signs(y)
    problem, _, _ = problem_on(X, targets, s, ("codes", "full"))
    loss = LOSSES.resolve(loss)
    labeled = problem.relabel(lambda labels, weight: (y, weight), loss.targets(3))
    chosen, _ = choose_inverse_strength(labeled, loss, np.random.default_rng(2), None, 20_000, 1e-9)
    halves = [np.sort(half) for half in np.array_split(np.random.default_rng(2).permutation(80), 2)]

    def left_out(penalty):
        scores = np.empty_like(targets)
        for held, rest in (halves, halves[::-1]):
            objective = Objective(problem.take(rest), loss, 2.0 / penalty)
            fitted = minimize(objective, start=None, max_iter=4000, tolerance=1e-9)
            scores[held] = problem.take(held).predict.matmul(fitted.coef) + fitted.intercept
        return scores

    expected = choose_strength(left_out, lambda scores: class_losses(scores, y, s), s / s.mean(), 1.0)
    assert chosen == pytest.approx(1.0 / expected.strength, rel=1e-9)


def test_zero_weights_do_not_move_the_choice():
    X, y = classes(n=100)
    s = (np.arange(100) % 4 > 0).astype(float)
    for parameters in ({"n_components": 32}, {"n_components": 256}, {"n_components": 32, "loss": "logistic"}):
        model = classifier(C="auto", gamma=0.1, random_state=0, **parameters)
        weighted = model.fit(X, y, sample_weight=s).C_
        assert pytest.approx(weighted, rel=1e-9) == model.fit(X[s > 0], y[s > 0]).C_


def test_auto_beats_a_bad_choice():
    X, y = load_digits(return_X_y=True)
    train, test = slice(None, None, 2), slice(1, None, 2)
    scores = {
        C: classifier(n_components=512, C=C, random_state=0).fit(X[train], y[train]).score(X[test], y[test])
        for C in ("auto", 1e-3, 1e4)
    }
    assert scores["auto"] > max(scores[1e-3], scores[1e4])


def test_codes_at_prediction_call_for_stronger_regularization_than_the_full_side():
    """Asymmetric random periodic features, section 7: the noise of quantized queries has to be averaged out."""
    X, y = classes(n=400, d=4, k=4)
    strengths = {}
    for side in ("codes", "full"):
        choices = [
            classifier(n_components=64, C="auto", train_on="full", predict_on=side, random_state=seed).fit(X, y).C_
            for seed in range(8)
        ]
        strengths[side] = -np.mean(np.log10(choices))
    assert strengths["codes"] > strengths["full"] + 0.25
