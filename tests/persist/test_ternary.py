"""Ternary features come back from a file bit by bit; W comes from its seed."""

from __future__ import annotations

import numpy as np
import pytest
from given import given_classifier

import lowtide as lt
from lowtide.errors import FileFormatError, ParameterError
from lowtide.persist import describe
from lowtide.theory import LeakyReLU

ROWS = np.random.default_rng(7).integers(0, 256, (40, 60), dtype=np.uint8)
TARGETS = {
    "rbf": {"gamma": 1e-6},
    "windows": {"gamma": 1e-3},
    "relu": {"target": "relu"},
    "even": {"target": "abs"},
    "infinite_threshold": {"target": "step"},
    "object": {"target": LeakyReLU(1.0, 0.2)},
    "moments": {"target": (0.3, 1e-8)},
}


def fitted(**parameters):
    return lt.TernaryFeatures(**{"n_components": 70, "sparsity": 0.5, "random_state": 3, **parameters}).fit(ROWS)


def round_trip(thing, folder):
    lt.save(thing, folder / "x.lowtide")
    return lt.load(folder / "x.lowtide")


@pytest.mark.parametrize("name", TARGETS)
def test_loaded_ternary_features_are_those_that_were_saved(name, tmp_path):
    saved = fitted(**TARGETS[name])
    loaded = round_trip(saved, tmp_path)
    assert vars(loaded).keys() == vars(saved).keys()
    assert loaded.get_params(deep=False) == saved.get_params(deep=False)
    assert loaded.fingerprint_ == saved.fingerprint_
    assert loaded.encode(ROWS) == saved.encode(ROWS)
    np.testing.assert_array_equal(loaded.transform(ROWS), saved.transform(ROWS))
    np.testing.assert_array_equal(loaded.mean_, saved.mean_)
    np.testing.assert_array_equal(loaded.expected_kernel(ROWS), saved.expected_kernel(ROWS))
    for attribute in ("gamma_", "tau_", "sparsity_", "target_"):
        assert getattr(loaded, attribute) == getattr(saved, attribute)
    assert (loaded.match_.case, loaded.match_.map) == (saved.match_.case, saved.match_.map)
    assert loaded.match_.residuals == saved.match_.residuals
    assert loaded.match_.spread == saved.match_.spread


def test_file_keeps_no_w(tmp_path):
    wide = np.random.default_rng(0).standard_normal((20, 2000), dtype=np.float32)
    encoder = lt.TernaryFeatures(n_components=1000, random_state=0).fit(wide)
    lt.save(encoder, tmp_path / "x.lowtide")
    # Mean and thresholds in float64; W would be 400 KB as lists.
    assert describe(tmp_path / "x.lowtide")["bytes"] < 8 * (2000 + 2 * 1000) + 4000


def test_learner_on_trits_comes_back_with_its_encoder(tmp_path):
    model = given_classifier(lt.TernaryFeatures("relu", n_components=64, sparsity=0.5, random_state=0))
    model.fit(ROWS, np.arange(40) % 3)
    lt.save(model, tmp_path / "x.lowtide", weights="float64")
    loaded = lt.load(tmp_path / "x.lowtide")
    np.testing.assert_array_equal(loaded.decision_function(ROWS), model.decision_function(ROWS))
    assert loaded.features_.match_.case == model.features_.match_.case


def test_codes_of_trits_come_back(tmp_path):
    codes = fitted().encode(ROWS)
    assert round_trip(codes, tmp_path) == codes


def test_callable_target_is_refused(tmp_path):
    with pytest.raises(ParameterError):
        lt.save(fitted(target=np.tanh), tmp_path / "x.lowtide")
    assert not (tmp_path / "x.lowtide").exists()


def test_unfitted_ternary_features_are_refused(tmp_path):
    with pytest.raises(ParameterError, match="Call fit first"):
        lt.save(lt.TernaryFeatures(), tmp_path / "x.lowtide")


def test_another_projection_of_the_seed_is_found(tmp_path, monkeypatch):
    """A version that draws W otherwise must not read the file as if nothing were."""
    lt.save(fitted(), tmp_path / "x.lowtide")
    drawn = np.random.PCG64
    monkeypatch.setattr(np.random, "PCG64", lambda seed: drawn(seed + 1))
    with pytest.raises(FileFormatError, match="fingerprint"):
        lt.load(tmp_path / "x.lowtide")
