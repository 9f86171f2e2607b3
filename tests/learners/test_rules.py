import numpy as np
import pytest
from codes.drawn import draw_codes
from learners.samples import classifier

import lowtide as lt
from lowtide.learners import rules
from lowtide.learners.rules import decisive_scores, is_worthwhile, largest

each_kind = pytest.mark.parametrize(("bits", "width"), [(1, 1), (1, 2), (2, 2), (4, 1), (8, 1)])
each_count = pytest.mark.parametrize("n_columns", [1, 2, 10])


def float64_scores(codes, coef, intercept):
    return np.asarray(codes, dtype=np.float64) @ coef + intercept


@each_kind
@each_count
def test_float32_scores_are_within_their_bound(bits, width, n_columns):
    codes, rng = draw_codes(300, 200, bits, width), np.random.default_rng(1)
    coef = rng.normal(size=(200 * width, n_columns)) * rng.lognormal(sigma=3, size=(200 * width, 1))
    near = (codes @ coef.astype(np.float32)).astype(np.float64)
    error = (len(coef) + 4) * 2.0**-24 * (rules._largest_values(codes) @ np.abs(coef))
    assert (np.abs(near - float64_scores(codes, coef, 0.0)) <= error).all()


@each_kind
@each_count
def test_the_class_ahead_is_that_of_float64(bits, width, n_columns):
    codes, rng = draw_codes(500, 200, bits, width), np.random.default_rng(2)
    coef, intercept = rng.normal(size=(200 * width, n_columns)), rng.normal(size=n_columns)
    exact = float64_scores(codes, coef, intercept)
    np.testing.assert_array_equal(largest(decisive_scores(codes, coef, intercept)), largest(exact))


@pytest.mark.parametrize("difference", [0.0, 1e-12, 1e-9, 1e-7])
def test_classes_that_float32_cannot_tell_apart_are_told_apart(difference):
    codes, rng = draw_codes(500, 200, 1), np.random.default_rng(3)
    one = rng.normal(size=(200, 1))
    coef, intercept = np.hstack([one, one + difference * rng.normal(size=(200, 1))]), np.zeros(2)
    found = decisive_scores(codes, coef, intercept)
    np.testing.assert_array_equal(found, codes @ coef + intercept)
    single = coef[:, 1:] - coef[:, :1]
    centered = -np.median(codes @ single, axis=0)
    np.testing.assert_array_equal(largest(decisive_scores(codes, single, centered)), largest(codes @ single + centered))


def test_factors_of_columns_are_part_of_the_bound():
    codes, rng = draw_codes(300, 200, 2), np.random.default_rng(4)
    factors = 10.0 ** rng.integers(-6, 7, 200)
    scaled = lt.Codes(
        codes.packed, bits=2, n_levels=200, codebook=codes.codebook, fingerprint=codes.fingerprint, scale=factors
    )
    coef, intercept = rng.normal(size=(200, 3)), np.zeros(3)
    np.testing.assert_array_equal(
        largest(decisive_scores(scaled, coef, intercept)), largest(float64_scores(scaled, coef, intercept))
    )


def test_weights_beyond_float32_are_scored_in_float64():
    codes, rng = draw_codes(50, 40, 1), np.random.default_rng(5)
    coef, intercept = 1e39 * rng.normal(size=(40, 3)), np.zeros(3)
    np.testing.assert_array_equal(decisive_scores(codes, coef, intercept), codes @ coef)


def test_predict_is_the_class_of_the_largest_decision_value(monkeypatch):
    rng = np.random.default_rng(6)
    X, y = rng.standard_normal((2500, 8)), rng.integers(0, 5, 2500)
    model = classifier(n_components=256, bits=1, random_state=0).fit(X[:300], y[:300])
    assert is_worthwhile(model.features_.encode(X))
    assert not is_worthwhile(model.features_.encode(X[:100]))
    expected = model.classes_[np.argmax(model.decision_function(X), axis=1)]
    np.testing.assert_array_equal(model.predict(X), expected)
    np.testing.assert_array_equal(np.concatenate([model.predict(X[i : i + 7]) for i in range(0, 2500, 7)]), expected)
    calls = []
    monkeypatch.setattr("lowtide.learners.decision.decisive_scores", lambda *a: calls.append(a) or decisive_scores(*a))
    model.predict(X)
    model.decision_function(X)
    assert len(calls) == 1


def test_rows_with_norms_have_no_common_bound():
    X = np.random.default_rng(7).standard_normal((2500, 8))
    codes = lt.Sketch(64, store_norms=True, random_state=0).fit(X).encode(X)
    assert is_worthwhile(codes)
    assert not is_worthwhile(codes.times_norms())
