"""Scores over many draws of the frequencies: their mean, and the standard error that one draw predicts."""

from __future__ import annotations

from functools import cache, partial

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.svm import SVC

import lowtide as lt
from lowtide.learners.expansion import expansion_of

X, Y = load_iris(return_X_y=True)
ROWS = X[::15]
EXACT = SVC(decision_function_shape="ovo", C=0.5).fit(X[1::2], Y[1::2])
N_DRAWS = 250
PAIRS = [("full", "full"), ("codes", "full"), ("full", "codes"), ("codes", "codes")]
# A mean of 30 standardized values leaves 4 standard errors once in 500 choices of seeds.
N_ERRORS = 4.0


# Two bits of phase are the sign of the cosine and of the sine: the codes of one-bit "lloyd_max", drawn faster.
SMALL = {"n_components": 64, "bits": 2, "quantizer": "phase"}


@cache
def draws(query, support, projection, normalize):
    """Return scores and predicted standard errors, each (draws, rows, pairs of classes)."""
    options = {**SMALL, "query": query, "support": support, "projection": projection, "normalize": normalize}
    models = [lt.compress(EXACT, random_state=seed, X=X[::3], **options) for seed in range(N_DRAWS)]
    return np.array([m.decision_function(ROWS) for m in models]), np.array([m.decision_std(ROWS) for m in models])


def standard_error(scores):
    return scores.std(axis=0, ddof=1) / np.sqrt(N_DRAWS)


pytestmark = pytest.mark.filterwarnings("ignore:The compressed decision values have a standard error")


@pytest.mark.parametrize(("query", "support"), PAIRS[:3])
@pytest.mark.parametrize("projection", ["iid", "hadamard"])
def test_decision_values_are_unbiased_when_a_side_is_full(query, support, projection):
    scores, _ = draws(query, support, projection, True)
    off = (scores.mean(axis=0) - EXACT.decision_function(ROWS)) / standard_error(scores)
    assert np.abs(off).max() < N_ERRORS


@pytest.mark.parametrize("normalize", [True, False])
def test_decision_values_of_codes_against_codes_have_the_expected_bias(normalize):
    scores, _ = draws("codes", "codes", "iid", normalize)
    model = lt.compress(EXACT, support="codes", normalize=normalize, random_state=0, **SMALL)
    gram = partial(model.features_.expected_kernel, sides=("codes", "codes"), normalize=normalize)
    expected = expansion_of(EXACT).decision(ROWS, gram)
    off = (scores.mean(axis=0) - expected) / standard_error(scores)
    assert np.abs(off).max() < N_ERRORS
    assert np.abs(expected - EXACT.decision_function(ROWS)).max() > N_ERRORS * standard_error(scores).max()


@pytest.mark.parametrize(("query", "support"), PAIRS)
def test_predicted_standard_error_is_that_of_redraws(query, support):
    scores, std = draws(query, support, "iid", True)
    ratio = np.mean(std**2, axis=0) / scores.var(axis=0, ddof=1)
    # Of a sample variance of near-normal sums, and of the mean of the predictions.
    error = np.sqrt(2.0 / N_DRAWS + (std**2).var(axis=0) / np.mean(std**2, axis=0) ** 2 / N_DRAWS)
    assert np.abs((ratio - 1.0) / error).max() < N_ERRORS


@pytest.mark.parametrize(("query", "support"), [("codes", "full"), ("full", "full")])
def test_predicted_standard_error_knows_of_orthogonal_frequencies(query, support):
    options = {**SMALL, "n_components": 512, "query": query, "support": support, "X": X}
    models = [lt.compress(EXACT, random_state=seed, **options) for seed in range(100)]
    assert all(len(m.features_.projection_.blocks.sizes) > 1 for m in models)
    moved = np.array([m.report_.moved**2 for m in models])
    predicted = np.array([m.report_.predicted**2 for m in models])
    error = np.sqrt((moved.var(ddof=1) + predicted.var(ddof=1)) / len(models))
    assert abs(moved.mean() - predicted.mean()) < N_ERRORS * error
    independent = np.mean([(m.report_.predicted / m.layout_factor_) ** 2 for m in models])
    assert independent - moved.mean() > N_ERRORS * error, "without the factor it would be too large"


def test_one_block_or_independent_frequencies_keep_the_factor_at_one():
    for options in ({"projection": "iid"}, {"n_components": 8}):
        model = lt.compress(EXACT, **{"n_components": 256, "random_state": 0, **options})
        assert model.layout_factor_ == 1.0


@pytest.mark.parametrize("n_components", [1, 2, 33])
@pytest.mark.parametrize("feature_map", ["cos_sin", "cosine"])
def test_decision_std_is_the_spread_of_the_terms_of_frequencies(n_components, feature_map):
    model = lt.compress(EXACT, n_components=n_components, feature_map=feature_map, projection="iid", random_state=3)
    terms = np.asarray(model.encode(ROWS), dtype=np.float64)[:, :, None] * model.coef_.T.astype(np.float64)
    width = 2 if feature_map == "cos_sin" else 1
    p = -(-n_components // width)
    by_frequency = np.add.reduceat(terms, np.arange(0, n_components, width), axis=1)
    std = model.decision_std(ROWS)
    if p == 1:
        assert np.isinf(std).all()
    else:
        np.testing.assert_allclose(std, np.sqrt(p * by_frequency.var(axis=1, ddof=1)), rtol=1e-6)
