"""One small report of each task for all tests that look at reports; names of columns and classes are hostile."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import lowtide as lt

SCRIPT = "<script>alert(1)</script>"
MATH = "$\\frac{$ & \u202e\x07 </style>"
CITY = "city\"'><img src=x onerror=alert(2)>"
CLASSES = ("a<b>bold</b>", "{{ 7 * 7 }}", "\U0001f427 penguin")


@pytest.fixture(scope="session")
def table():
    """Rows whose class depends on one number and on a category; a second number says nothing."""
    rng = np.random.default_rng(0)
    n = 240
    city = np.array(["Bern", "Oslo", "Rome"])[rng.integers(0, 3, n)]
    frame = pd.DataFrame({SCRIPT: rng.normal(0, 1, n), MATH: rng.normal(0, 1, n), CITY: city})
    place = (frame[SCRIPT] > 0).astype(int) + (city == "Rome")
    return frame, pd.Series(np.array(CLASSES)[place], name="<i>kind</i>")


def columns(frame):
    return make_column_transformer(
        (StandardScaler(), list(frame.columns[:2])), (OneHotEncoder(handle_unknown="ignore"), [CITY])
    )


@pytest.fixture(scope="session")
def model(table):
    X, y = table
    machine = lt.KernelClassifier(gamma=0.5, n_components=128, loss="squared", C=3.0, metric=None, random_state=0)
    return make_pipeline(columns(X), machine).fit(X, y)


@pytest.fixture(scope="session")
def classes(model, table):
    return lt.report(model, *table)


@pytest.fixture(scope="session")
def numbers(table):
    X, _ = table
    y = 1000.0 * X[SCRIPT] + 500.0 * (X[CITY] == "Rome")
    machine = lt.KernelRegressor(gamma=0.2, n_components=64, bits=2, alpha=0.1, metric="diagonal", random_state=0)
    return lt.report(make_pipeline(columns(X), machine).fit(X, y), X, y)
