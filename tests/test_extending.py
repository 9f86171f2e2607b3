"""Three parts written outside the package: registered, fitted, saved, loaded, served, and refused where unknown."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

import lowtide as lt
from lowtide.learners import LOSSES
from lowtide.maps import Cosine
from lowtide.spec import registry_of
from lowtide.testing import check_kernel, check_quantizer

EXAMPLES = Path(__file__).resolve().parents[1] / "examples" / "understand"


@pytest.fixture(scope="module")
def parts():
    """Import the example's module, and take its parts out of the lists again."""
    spec = importlib.util.spec_from_file_location("own_parts", EXAMPLES / "own_parts.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["own_parts"] = module
    spec.loader.exec_module(module)
    yield module
    for cls in (module.Cauchy, module.EqualShares, module.SmoothHinge):
        registry_of(cls).remove(cls)
    del sys.modules["own_parts"]


@pytest.fixture(scope="module")
def saved(parts, tmp_path_factory):
    """Return a model of all three, its file, and rows that it was not fitted on."""
    X, y = load_digits(return_X_y=True)
    features = lt.RandomFeatures("cauchy", n_components=256, projection="iid", quantizer="equal_shares", bits=2)
    model = lt.KernelClassifier(features.set_params(random_state=0), loss="smooth_hinge", C=1.0, multi_class="ovr")
    model.fit(X[:500] / 16, y[:500])
    path = tmp_path_factory.mktemp("extending") / "model.lowtide"
    lt.save(model, path, weights="float64")
    return model, path, X[500:560] / 16, y[500:560]


def test_parts_of_ones_own_pass_the_contracts(parts):
    check_kernel(parts.Cauchy(scale=0.7))
    for bits in (1, 3):
        check_quantizer(parts.EqualShares(bits=bits), Cosine())
    assert LOSSES.resolve("smooth_hinge") == parts.SmoothHinge()


def test_error_bars_of_parts_of_ones_own_cover(parts):
    x = np.linspace(0.0, 4.0, 25)[:, None]
    parameters = {"gamma": 0.5, "n_components": 512, "projection": "iid", "quantizer": "equal_shares", "bits": 2}
    z = []
    for seed in range(60):
        encoder = lt.RandomFeatures("cauchy", **parameters, random_state=seed).fit(x)
        estimate, std = encoder.kernel_estimate(x, x[:1], sides=("codes", "full"), return_std=True)
        z.append((estimate - encoder.kernel_.gram(x, x[:1])) / std)
    z = np.asarray(z)[:, :, 0]
    # Sixty draws: the mean of z has a standard error of 0.13 at each distance, its variance one of 0.18 (normal).
    assert np.abs(z.mean(axis=0)).max() < 4.5 * 0.13
    assert np.abs(z.var(axis=0) - 1.0).max() < 4.5 * 0.19


def test_a_model_of_parts_of_ones_own_is_saved_and_loaded(saved):
    model, path, X, y = saved
    loaded = lt.load(path)
    assert np.array_equal(loaded.decision_function(X), model.decision_function(X))
    assert loaded.features_.kernel_ == model.features_.kernel_
    assert loaded.score(X, y) > 0.7


def test_a_model_of_parts_of_ones_own_is_served(saved):
    pytest.importorskip("starlette")
    from serve.serving import JSON, ask, serving

    model, path, X, _ = saved
    with serving([path]) as (address, _service):
        body = b'{"rows": ' + str(X.tolist()).encode() + b"}"
        answer = ask(address, "/v1/models/model/predict", body, JSON)
        assert answer.status == 200, answer.body
        assert answer.json["predictions"] == model.predict(X).tolist()


def test_a_file_with_an_unknown_part_is_refused_by_its_name(saved, tmp_path):
    code = f"import lowtide as lt\nlt.load({str(saved[1])!r})"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert run.returncode == 1
    assert "Cauchy" in run.stderr
    assert "lowtide.register" in run.stderr
