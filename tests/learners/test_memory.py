"""Memory: the codes, one Gram matrix and its factor, and nothing of the size of the decoded features."""

import tracemalloc

import numpy as np
import pytest
from learners.samples import classifier, regressor

from lowtide import RandomFeatures

pytestmark = pytest.mark.filterwarnings("ignore:L-BFGS stopped at max_iter")
N, M, K = 20_000, 1024, 3
DECODED = 4 * N * M
GRAM = 4 * M * M
BLOCK = 4 << 22


def rows(n, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, 16)).astype(np.float32)
    return X, X[:, :K].argmax(axis=1)


X, y = rows(2 * N)
WEIGHTS = np.random.default_rng(1).uniform(0.5, 2.0, 2 * N)
ENCODER = RandomFeatures(gamma=0.05, n_components=M, random_state=0).fit(X[:100])
CODES = ENCODER.encode(X)


def peak(call):
    """Bytes allocated at the most during a call, results included."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def few_steps(loss, **parameters):
    return classifier(ENCODER, loss=loss, max_iter=3, **parameters)


# A dozen float64 columns a class for the rows, targets, scores, slopes and what is made of them, and two dozen of
# weights, which is what L-BFGS remembers.
COLUMNS = 12 * 8 * N * K + 24 * 8 * M * K

# Rows that probabilities are calibrated on are kept: their codes, and a key, a label, a weight and a count each.
KEPT = CODES[:N].nbytes + 4 * 8 * N

# Scores of the hinge without a row probe at most 10,000 rows with 18 columns, a few of such arrays at a time.
PROBES = 5 * 8 * 10_000 * 18

FITS = {
    "squared": (lambda n: classifier(ENCODER).fit(CODES[:n], y[:n]), 2 * GRAM + KEPT),
    "auto": (lambda n: classifier(ENCODER, C="auto").fit(CODES[:n], y[:n]), 2 * GRAM + KEPT),
    "weighted": (lambda n: classifier(ENCODER).fit(CODES[:n], y[:n], WEIGHTS[:n]), 2 * GRAM + BLOCK),
    "regressor": (lambda n: regressor(ENCODER).fit(CODES[:n], X[:n, 0]), 2 * GRAM),
    "logistic": (lambda n: few_steps("logistic").fit(CODES[:n], y[:n]), 0),
    "logistic auto": (lambda n: few_steps("logistic", C="auto").fit(CODES[:n], y[:n]), 2 * CODES[:N].nbytes),
    "squared_hinge": (lambda n: few_steps("squared_hinge").fit(CODES[:n], y[:n]), PROBES + KEPT),
    "rows": (
        lambda n: classifier(gamma=0.05, n_components=M, random_state=0).fit(X[:n], y[:n]),
        2 * GRAM + CODES[:N].nbytes + 2 * (8 << 20),
    ),
}


@pytest.mark.parametrize("name", list(FITS))
def test_fit_allocates_sums_and_columns_only(name):
    fit, allowed = FITS[name]
    allowed += COLUMNS
    assert allowed < DECODED / 2
    assert peak(lambda: fit(N)) < allowed


@pytest.mark.parametrize("name", list(FITS))
def test_fit_grows_by_less_than_a_quarter_of_a_decoded_row(name):
    fit, _ = FITS[name]
    assert peak(lambda: fit(2 * N)) - peak(lambda: fit(N)) < DECODED / 4


# Rows whose features fill two blocks, the one at hand and the one before: from here on the full side does not grow.
FILLED = 2 * (1 << 21) // M


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_fit_on_the_full_side_grows_by_less_than_a_quarter_of_a_row_of_features(loss):
    model = classifier(gamma=0.05, n_components=M, bits=None, loss=loss, max_iter=2, random_state=0)
    growth = peak(lambda: model.fit(X[: 2 * FILLED], y[: 2 * FILLED])) - peak(lambda: model.fit(X[:FILLED], y[:FILLED]))
    assert growth < FILLED * M


@pytest.mark.parametrize("method", ["predict", "decision_function", "predict_proba"])
def test_prediction_allocates_columns_only(method):
    model = classifier(ENCODER).fit(CODES[:2000], y[:2000])
    assert peak(lambda: getattr(model, method)(CODES[:N])) < COLUMNS + 8 * M * K
    from_rows = peak(lambda: getattr(model, method)(X[:N]))
    assert from_rows < COLUMNS + CODES[:N].nbytes + 2 * (8 << 20)
    assert from_rows < DECODED / 2


def test_prediction_on_the_full_side_grows_by_columns_only():
    model = classifier(gamma=0.05, n_components=M, predict_on="full", random_state=0).fit(X[:2000], y[:2000])
    assert peak(lambda: model.predict(X[: 2 * FILLED])) - peak(lambda: model.predict(X[:FILLED])) < FILLED * M


@pytest.mark.parametrize(
    "model",
    [classifier(n_components=256, random_state=0), regressor(n_components=256, random_state=0)],
    ids=["classifier", "regressor"],
)
def test_iterator_takes_as_much_memory_for_twice_the_rows(model):
    def blocks(count):
        return (rows(1000, seed) for seed in range(count))

    model.fit(blocks(2))
    # From 20,000 rows on, as many as a classifier keeps to calibrate on.
    once, twice = (peak(lambda count=count: model.fit(blocks(count))) for count in (21, 42))
    assert twice < 1.05 * once


def test_fit_frees_the_gram_matrix():
    tracemalloc.start()
    try:
        models = [classifier(ENCODER).fit(CODES[:N], y[:N]) for _ in range(2)]
        kept = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert len(models) == 2
    assert kept < GRAM / 4
