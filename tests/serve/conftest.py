"""A served classifier of digits with a database, shared by the tests that do not change it."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import load_digits

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("prometheus_client")
from given import given_classifier

import lowtide as lt

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from serve.serving import serving


@pytest.fixture(scope="session")
def digits(tmp_path_factory):
    """Return a model, its files and rows that it was not fitted on."""
    folder = tmp_path_factory.mktemp("served")
    X, y = load_digits(return_X_y=True)
    model = given_classifier(gamma=0.001, n_components=500, random_state=0).fit(X[:600], y[:600])
    lt.save(model, folder / "digits.lowtide", weights="float64")
    lt.save(model.features_.encode(X[:200]), folder / "known.lowtide")
    return SimpleNamespace(
        model=model,
        train=X[:600],
        seed=model.features_.random_state,
        encoder=model.features_,
        path=folder / "digits.lowtide",
        codes_path=folder / "known.lowtide",
        codes=model.features_.encode(X[:200]),
        X=np.ascontiguousarray(X[600:700]),
        folder=folder,
    )


@pytest.fixture(scope="session")
def address(digits):
    with serving([digits.path], [digits.codes_path], body_bytes=1 << 20, rows=300) as (url, _):
        yield url
