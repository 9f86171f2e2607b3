"""Sketches and their codes in files: a new bandwidth needs neither rows nor projections."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest
from given import given_classifier, given_regressor
from persist.golden import DATA, EXPECTED
from persist.samples import rows

import lowtide as lt
from lowtide.encoders import DrawnSketch
from lowtide.errors import FileFormatError, FingerprintMismatchError
from lowtide.quantizers import LINE_QUANTIZERS, GivenSteps, LineQuantizer, LineSteps

SKETCHES = {
    "default": {},
    "one_bit": {"bits": 1, "n_components": 65},
    "eight_bits": {"bits": 8, "projection": "iid"},
    "orthogonal": {"bits": 3, "projection": "orthogonal", "store_norms": True},
    "fourier": {"gamma": 0.7},
    "uniform": {"bits": 3, "quantizer": "uniform"},
    "given": {"quantizer": GivenSteps([-1.1, -0.2, 0.3], [-1.7, -0.5, 0.1, 0.9]), "gamma": 0.1, "store_norms": True},
}


def sketch(name="default"):
    return lt.Sketch(**{"n_components": 64, "random_state": 1, **SKETCHES[name]}).fit(rows())


@pytest.mark.parametrize("name", SKETCHES)
def test_sketch_comes_back(name, tmp_path):
    fitted = sketch(name)
    lt.save(fitted, tmp_path / "s.lowtide")
    loaded = lt.load(tmp_path / "s.lowtide")
    assert loaded.get_params() == fitted.get_params()
    assert loaded.fingerprint_ == fitted.fingerprint_
    assert loaded.encode(rows()) == fitted.encode(rows())
    np.testing.assert_array_equal(loaded.transform(rows()), fitted.transform(rows()))
    np.testing.assert_array_equal(
        loaded.with_gamma(0.02).kernel_estimate(rows()), fitted.with_gamma(0.02).kernel_estimate(rows())
    )


@pytest.mark.parametrize("stays", [False, True])
@pytest.mark.parametrize("scaled", [False, True])
def test_codes_come_back_with_their_norms(scaled, stays, tmp_path):
    fitted = sketch("orthogonal")
    codes = fitted.linear(fitted.encode(rows()), normalize=not scaled)
    lt.save(codes, tmp_path / "c.lowtide")
    path = tmp_path / "c.lowtide"
    loaded = lt.persist.open_codes(path)[:] if stays else lt.load(path)
    assert loaded == codes
    np.testing.assert_array_equal(loaded.norms, codes.norms)
    np.testing.assert_array_equal(np.asarray(loaded), np.asarray(codes))


def test_an_old_file_of_codes_gives_a_new_bandwidth_by_itself(tmp_path):
    fitted = sketch()
    S = fitted.encode(rows())
    lt.save(S, tmp_path / "c.lowtide")
    expected = np.asarray(fitted.fourier(S, 2.5))
    # Another process, in which neither the rows nor the sketch exist.
    code = (
        "import sys, numpy as np, lowtide as lt;"
        "F = lt.fourier_codes(lt.load(sys.argv[1]), gamma=2.5);"
        "np.save(sys.argv[2], np.asarray(F))"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "c.lowtide"), str(tmp_path / "f.npy")], check=True)
    np.testing.assert_array_equal(np.load(tmp_path / "f.npy"), expected)


def test_a_golden_file_of_codes_gives_new_bandwidths():
    stored = json.loads(EXPECTED.read_text(encoding="utf-8"))["files"]["codes_sketch"]
    codes = lt.load(DATA / "codes_sketch.lowtide")
    levels = lt.fourier_codes(codes, 0.25).levels()
    mu = lt.quantizers.normal_steps(stored["bits"]).values
    phase = np.sqrt(0.5) * mu[levels]
    expected = np.stack([np.cos(phase), np.sin(phase)], axis=2).reshape(len(levels), -1) / np.sqrt(levels.shape[1])
    np.testing.assert_allclose(np.asarray(lt.fourier_codes(codes, 0.25)), expected, atol=1e-7)


@pytest.mark.parametrize("given", [True, False])
def test_model_of_fourier_codes_comes_back_with_its_codebook(given, tmp_path):
    fitted = sketch("orthogonal")
    S, y = fitted.encode(rows()), np.arange(40) % 3
    model = given_classifier(fitted if given else None).fit(fitted.fourier(S, 0.5), y)
    lt.save(model, tmp_path / "m.lowtide", weights="float64")
    loaded = lt.load(tmp_path / "m.lowtide")
    for codes in (S, fitted.fourier(S, 0.5), fitted.fourier(S, 2.0), fitted.linear(S)):
        np.testing.assert_array_equal(loaded.decision_function(codes), model.decision_function(fitted.fourier(S, 0.5)))
    if given:
        np.testing.assert_array_equal(loaded.predict(rows()), model.predict(S))


def test_model_of_scaled_codes_comes_back(tmp_path):
    fitted = sketch("orthogonal")
    S, y = fitted.encode(rows()), rows()[:, 0]
    model = given_regressor(fitted).fit(fitted.linear(S), y)
    lt.save(model, tmp_path / "m.lowtide", weights="float64")
    loaded = lt.load(tmp_path / "m.lowtide")
    np.testing.assert_array_equal(loaded.predict(S), model.predict(fitted.linear(S)))
    np.testing.assert_array_equal(loaded.predict(rows()), model.predict(S))


def test_file_of_a_sketch_that_would_encode_otherwise_is_refused(tmp_path, monkeypatch):
    lt.save(sketch(), tmp_path / "s.lowtide")
    monkeypatch.setattr(DrawnSketch, "fingerprint", property(lambda self: bytes(16)))
    with pytest.raises(FileFormatError, match="fingerprint must be"):
        lt.load(tmp_path / "s.lowtide")


def test_loaded_sketch_refuses_codes_of_another(tmp_path):
    lt.save(sketch(), tmp_path / "s.lowtide")
    with pytest.raises(FingerprintMismatchError):
        lt.load(tmp_path / "s.lowtide").fourier(sketch("one_bit").encode(rows()), 0.1)


def test_a_registered_quantizer_is_known_by_name_and_in_files(tmp_path):
    @lt.register(name="clipped")
    @dataclass
    class Clipped(LineQuantizer):
        bits: int = 2

        def steps(self):
            return LineSteps(np.linspace(-1, 1, 2**self.bits - 1), np.linspace(-1.2, 1.2, 2**self.bits))

    try:
        fitted = lt.Sketch(64, bits=3, quantizer="clipped", random_state=0).fit(rows())
        S = fitted.encode(rows())
        lt.save(fitted, tmp_path / "s.lowtide")
        assert lt.load(tmp_path / "s.lowtide").encode(rows()) == S
        assert lt.fourier_codes(S, 0.1) == fitted.fourier(S, 0.1)
    finally:
        LINE_QUANTIZERS.remove(Clipped)
    with pytest.raises(FileFormatError, match=r"Clipped|clipped"):
        lt.load(tmp_path / "s.lowtide")
