"""Very large and very small numbers: a right answer, or a sentence that says what must hold."""

import numpy as np
import pytest
from learners import samples
from learners.samples import classes, curve, decoded, signs
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVC

import lowtide as lt
from lowtide import AsymmetricLSSVC
from lowtide.errors import ParameterError

LOSSES = ["squared", "logistic", "squared_hinge", "hinge"]
EXTREMES = [1e300, 1e-300]


def classifier(**parameters):
    return samples.classifier(**{"n_components": 32, "random_state": 0, **parameters})


def regressor(**parameters):
    return samples.regressor(**{"n_components": 32, "random_state": 0, **parameters})


@pytest.mark.parametrize("gamma", EXTREMES)
def test_gamma_that_no_rows_have_a_use_for_is_refused(gamma):
    (X, y), (Z, t) = classes(), curve()
    for fit in (
        lambda: classifier(gamma=gamma).fit(X, y),
        lambda: regressor(gamma=gamma).fit(Z, t),
        lambda: lt.compress(SVC(gamma=gamma).fit(X, y), n_components=32),
        lambda: lt.compress(KernelRidge(kernel="rbf", gamma=gamma).fit(Z, t), n_components=32),
    ):
        with pytest.raises(ParameterError, match=r"gamma must be a number from 5e-61 to 5e\+59, got .* Scale the col"):
            fit()


def weights_of(size, kind):
    mixed = np.ones(size)
    mixed[::3] = 1e300
    return {"large": np.full(size, 1e300), "small": np.full(size, 1e-300), "mixed": mixed}[kind]


@pytest.mark.parametrize("kind", ["large", "small", "mixed"])
def test_weights_whose_sums_would_leave_float64_are_refused(kind):
    (X, y), (Z, t) = classes(), curve()
    for model in (*(classifier(loss=loss) for loss in LOSSES), classifier(C="auto"), AsymmetricLSSVC(n_components=32)):
        with pytest.raises(ParameterError, match=r"sample_weight must be 0 or from 1e-80 to 1e\+80, got 1e.?300\. Div"):
            model.fit(X, y, sample_weight=weights_of(len(X), kind))
    for fit in (regressor().fit, regressor(alpha="auto").fit, regressor().partial_fit):
        with pytest.raises(ParameterError, match=r"KernelRegressor: sample_weight must be 0 or from 1e-80 to 1e\+80"):
            fit(Z, t, sample_weight=weights_of(len(Z), kind))


@pytest.mark.parametrize("size", [1e80, 1e-80])
@pytest.mark.parametrize("loss", LOSSES)
def test_only_the_product_of_strength_and_weights_matters_to_a_classifier(loss, size):
    X, y = classes(k=2)
    plain = classifier(loss=loss, C=0.5).fit(X, y)
    scaled = classifier(loss=loss, C=0.5 / size).fit(X, y, sample_weight=np.full(len(X), size))
    # Both end where each of 33 slopes is below 1e-10, and the objective is curved by 1/(C n) at least.
    tolerance = 2 * np.sqrt(33) * 1e-10 * 0.5 * len(X) * np.linalg.norm(decoded(plain, X), axis=1).max()
    np.testing.assert_allclose(scaled.decision_function(X), plain.decision_function(X), rtol=0, atol=tolerance)
    # Weights count rows, so leaving one out means less or more; probabilities they are in any case.
    np.testing.assert_allclose(scaled.predict_proba(X).sum(axis=1), 1.0, rtol=0, atol=1e-12)


@pytest.mark.parametrize("size", [1e80, 1e-80])
def test_only_the_ratio_of_strength_and_weights_matters_to_a_regressor(size):
    X, t = curve()
    weight = np.full(len(X), size)
    for alpha in (0.5, "auto"):
        plain = regressor(alpha=alpha).fit(X, t)
        scaled = regressor(alpha=alpha if alpha == "auto" else alpha * size).fit(X, t, sample_weight=weight)
        assert scaled.alpha_ == pytest.approx(plain.alpha_ * size, rel=1e-9)
        np.testing.assert_allclose(scaled.predict(X), plain.predict(X), rtol=0, atol=1e-8)


@pytest.mark.parametrize("size", [1e80, 1e-80])
@pytest.mark.parametrize("system", ["ridge", "ask_ls"])
@pytest.mark.parametrize("C", [0.5, "stable", "auto"])
def test_only_the_product_of_strength_and_weights_matters_to_both_sides(C, system, size):
    X, y = classes(k=2)
    plain = AsymmetricLSSVC(n_components=32, C=C, system=system, random_state=0).fit(X, y)
    model = AsymmetricLSSVC(n_components=32, C=C if isinstance(C, str) else C / size, system=system, random_state=0)
    model.fit(X, y, sample_weight=np.full(len(X), size))
    assert pytest.approx(plain.C_ / size, rel=1e-9) == model.C_
    np.testing.assert_allclose(model.decision_function(X), plain.decision_function(X), rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("weight", EXTREMES)
def test_class_weights_that_leave_float64_are_refused(weight):
    X, y = classes(k=2)
    for model in (classifier(class_weight={0: weight}), AsymmetricLSSVC(class_weight={0: weight}, n_components=32)):
        with pytest.raises(ParameterError, match=r"each class_weight must be 0 or from 1e-80 to 1e\+80, got 1e.?300"):
            model.fit(X, y)


@pytest.mark.parametrize("C", [1e-20, 1e-100, 1e-300])
@pytest.mark.parametrize("loss", LOSSES)
def test_vanishing_strength_leaves_the_intercept_alone(loss, C):
    X, y = classes(k=2)
    share = np.mean(y == 1)
    alone = np.log(share / (1 - share)) if loss == "logistic" else 2 * share - 1
    model = classifier(loss=loss, C=C).fit(X, y)
    assert np.abs(model.coef_).max() <= 10 * C * len(X)
    # Iterations end at a slope of 1e-10, and the loss is curved in the intercept by more than 1/10.
    np.testing.assert_allclose(model.decision_function(X), alone, rtol=0, atol=1e-9)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0, rtol=0, atol=1e-12)


@pytest.mark.parametrize("C", [1e16, 1e20, 1e50, 1e300])
def test_weights_of_unlimited_strength_do_not_grow_with_rounding(C):
    # More features than rows: the solution of least norm is the limit, and any other adds what no row sees.
    X, y = classes(n=40, k=2)
    model = classifier(n_components=64, C=C).fit(X, y)
    D = decoded(model, X)
    least = np.linalg.lstsq(D - D.mean(axis=0), signs(y) - signs(y).mean(axis=0), rcond=1e-10)[0]
    np.testing.assert_allclose(model.decision_function(X), signs(y)[:, 0], rtol=0, atol=1e-6)
    assert np.linalg.norm(model.coef_) == pytest.approx(np.linalg.norm(least), rel=0.1)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_unlimited_strength_separates_rows_that_can_be_separated(loss):
    X, y = classes(n=40, k=2)
    model = classifier(loss=loss, n_components=64, C=1e300).fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.predict_proba(X)).all()
    assert model.score(X, y) == 1.0


def test_unlimited_penalty_leaves_the_mean_and_none_the_least_squares():
    X, t = curve()
    weight = np.linspace(0.5, 2, len(X))
    np.testing.assert_allclose(
        regressor(alpha=1e300).fit(X, t, weight).predict(X), np.average(t, weights=weight), rtol=0, atol=1e-14
    )
    model = regressor(n_components=6, alpha=1e-300).fit(X, t, weight)
    D = np.column_stack([decoded(model, X), np.ones(len(X))]) * np.sqrt(weight)[:, None]
    best = np.linalg.lstsq(D, t * np.sqrt(weight))[0]
    np.testing.assert_allclose(model.predict(X) * np.sqrt(weight), D @ best, rtol=0, atol=1e-9)


@pytest.mark.parametrize("system", ["ridge", "ask_ls"])
def test_both_sides_of_extreme_strength_are_finite_or_refused(system):
    X, y = classes(n=40, k=2)
    weak = AsymmetricLSSVC(n_components=64, C=1e-300, system=system, random_state=0).fit(X, y)
    np.testing.assert_allclose(weak.decision_function(X), 2 * np.mean(y == 1) - 1, rtol=0, atol=1e-12)
    with pytest.raises(ParameterError, match="C must give a system that is not singular, got 1e.300"):
        AsymmetricLSSVC(n_components=64, C=1e300, system=system, random_state=0).fit(X, y)


@pytest.mark.parametrize("size", [1e81, 1e300, 1e305])
@pytest.mark.parametrize("alpha", [1.0, "auto"])
def test_targets_whose_squares_would_overflow_are_refused(alpha, size):
    X, t = curve()
    targets = size * (t / np.abs(t).max())
    with pytest.raises(ParameterError, match=r"targets must be at most 1e\+80 in absolute value, got .*Divide y"):
        regressor(alpha=alpha).fit(X, targets)
    with pytest.raises(ParameterError, match=r"targets must be at most 1e\+80"):
        regressor().partial_fit(X, np.column_stack([t, targets]))


@pytest.mark.parametrize("size", [1e79, 1e-79])
@pytest.mark.parametrize("alpha", [1.0, "auto"])
def test_predictions_scale_with_the_targets(alpha, size):
    X, t = curve()
    t = t / np.abs(t).max()
    plain, scaled = regressor(alpha=alpha).fit(X, t), regressor(alpha=alpha).fit(X, size * t)
    assert plain.alpha_ == scaled.alpha_
    np.testing.assert_allclose(scaled.predict(X) / size, plain.predict(X), rtol=0, atol=1e-10)
    assert scaled.score(X, size * t) == pytest.approx(plain.score(X, t), abs=1e-10)


def test_targets_whose_squares_vanish_leave_nothing_to_choose_by():
    X, t = curve()
    plain, scaled = regressor().fit(X, t), regressor().fit(X, 1e-300 * t)
    np.testing.assert_allclose(scaled.predict(X) / 1e-300, plain.predict(X), rtol=0, atol=1e-10)
    with pytest.raises(ParameterError, match=r"largest target must be 0 or at least 1e-80 for alpha='auto', got .*Mul"):
        regressor(alpha="auto").fit(X, 1e-300 * t)
    assert np.all(regressor(alpha="auto").fit(X, 0 * t).predict(X) == 0)
