"""`lowtide serve` refuses what it cannot serve; tests/serve has what it does serve."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from cli.samples import lowtide
from given import given_classifier

import lowtide as lt

pytest.importorskip("starlette")


@pytest.fixture
def model(tmp_path):
    X = np.random.default_rng(0).standard_normal((30, 3))
    lt.save(given_classifier(n_components=32, random_state=0).fit(X, np.arange(30) % 2), tmp_path / "m.lowtide")
    return str(tmp_path / "m.lowtide")


@pytest.mark.parametrize(
    ("arguments", "code", "reason"),
    [
        (["none.lowtide"], 1, "must be readable"),
        (["{model}", "--codes", "{model}"], 1, "must hold a Codes"),
        (["{model}", "{model}"], 2, "names of models must differ"),
        (["a b={model}"], 2, "a name must be letters"),
        (["{model}", "--host", "0.0.0.0"], 2, "keys must be given"),
        (["{model}", "--host", "0.0.0.0", "--keys", "{keys}"], 2, "--plain-http"),
        (["{model}", "--memory", "0"], 2, "--memory"),
        (["{model}", "--port", "70000"], 2, "--port"),
        (["{model}", "--rate", "0"], 2, "--rate"),
        ([], 2, "there must be a model to serve, or codes to search"),
    ],
)
def test_what_cannot_be_served_is_refused_with_a_reason(model, tmp_path, arguments, code, reason, monkeypatch):
    monkeypatch.delenv("LOWTIDE_KEYS", raising=False)
    (tmp_path / "keys").write_text("laptop: correct-horse-battery")
    result = lowtide("serve", *(argument.format(model=model, keys=tmp_path / "keys") for argument in arguments))
    assert result.exit_code == code
    assert reason in result.stderr


def test_keys_that_are_too_short_are_refused(model, tmp_path):
    (tmp_path / "keys").write_text("secret")
    result = lowtide("serve", model, "--keys", str(tmp_path / "keys"))
    assert result.exit_code == 1
    assert "16 characters" in result.stderr
    assert "secret " not in result.stderr


def test_missing_extra_is_named():
    code = "import sys; sys.modules['starlette'] = None\nimport lowtide.serve"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "pip install 'lowtide[serve]'" in run.stderr
    assert "MissingExtraError" in run.stderr


def test_client_needs_no_extra():
    code = (
        "import sys; sys.modules.update(starlette=None, uvicorn=None, prometheus_client=None)\n"
        "import lowtide as lt; print(lt.Client('http://127.0.0.1'))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "Client('http://127.0.0.1')\n"
