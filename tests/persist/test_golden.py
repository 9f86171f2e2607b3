"""Golden files pin the format: they are read to the bits and the predictions they had when they were written."""

from __future__ import annotations

import json

import numpy as np
import pytest
from persist.golden import DATA, EXPECTED, seen, table_or_rows

import lowtide as lt
from lowtide.persist import describe

STORED = json.loads(EXPECTED.read_text(encoding="utf-8"))
FILES = STORED["files"]
ROWS = np.array(STORED["rows"])


@pytest.mark.parametrize("name", FILES)
def test_golden_file_is_of_format_2(name):
    assert describe(DATA / f"{name}.lowtide")["format"] == 2


@pytest.mark.parametrize("name", FILES)
def test_golden_file_shows_the_bits_and_labels_it_had_when_written(name):
    found, expected = seen(lt.load(DATA / f"{name}.lowtide")), FILES[name]
    numbers = {"features", "scores", "embedding"} | ({"predicted"} if expected["kind"] == "KernelRegressor" else set())
    assert found.keys() == expected.keys()
    for key in expected.keys() - numbers:
        assert found[key] == expected[key], key


@pytest.mark.parametrize("name", [name for name in FILES if FILES[name]["kind"] == "RandomFeatures"])
def test_golden_encoder_has_its_features_to_rounding(name):
    encoder = lt.load(DATA / f"{name}.lowtide")
    # A phase is a float32 sum of d products, plus the dither; a feature moves by at most sqrt(2/m) times it.
    phase = np.abs(ROWS[:3]) @ np.abs(encoder.random_weights_) + 2 * np.pi
    bound = np.sqrt(2 / encoder.n_components) * (64 + 2) * 2.0**-24 * phase.max()
    np.testing.assert_allclose(encoder.transform(ROWS[:3]), FILES[name]["features"], rtol=0, atol=bound)


@pytest.mark.parametrize("name", [name for name in FILES if FILES[name]["kind"] == "AsymmetricFeatures"])
def test_golden_asymmetric_encoder_has_its_features_to_rounding(name):
    encoder = lt.load(DATA / f"{name}.lowtide")
    # As above, in turns; frequencies of this seed stay below 1.5 turns a unit.
    drawn = encoder.drawn_
    scale = max(np.sqrt(2 * block.mass / n) for block, n in zip(drawn.blocks, drawn.block_columns))
    bound = scale * (64 + 2) * 2.0**-24 * 2 * np.pi * (1.5 * np.abs(ROWS[:3]).sum(axis=1).max() + 1)
    np.testing.assert_allclose(encoder.transform(ROWS[:3]), FILES[name]["features"], rtol=0, atol=bound)


@pytest.mark.parametrize(
    ("name", "key", "method"),
    [
        ("classifier", "scores", "decision_function"),
        ("classifier_sketch", "scores", "decision_function"),
        ("classifier_recipe", "scores", "decision_function"),
        ("regressor_int8", "predicted", "predict"),
        ("code_pca", "embedding", "transform"),
    ],
)
def test_golden_model_has_its_scores_to_rounding(name, key, method):
    model = lt.load(DATA / f"{name}.lowtide")
    expected = FILES[name][key]
    X = table_or_rows(model)
    found = getattr(model, method)(X)
    codes = model.decision_.encode(X)
    features = np.abs(np.asarray(lt.fourier_codes(codes, 0.5) if "sketch" in name else codes, dtype=np.float64))
    # One rounding a term of a float64 sum, of weights that are in the file; the codebook is float32.
    bound = (features @ np.abs(model.coef_.T)).max() * (2.0**-24 + model.coef_.shape[1] * 2.0**-52)
    np.testing.assert_allclose(found, expected, rtol=0, atol=bound)


def test_golden_asymmetric_machine_has_its_scores_to_rounding():
    model = lt.load(DATA / "asymmetric_lssvc.lowtide")
    encoder, expected = model.features_, np.array(FILES["asymmetric_lssvc"]["scores"])
    sides = [np.abs(np.asarray(side(ROWS), dtype=np.float64)) for side in (encoder.encode, encoder.encode_right)]
    largest = sum((F @ np.abs(coef.T)).max() for F, coef in zip(sides, (model.source_coef_, model.target_coef_)))
    # As above, for the mean of two sums of codes whose codebook and factors are float32.
    np.testing.assert_allclose(model.decision_function(ROWS), expected, rtol=0, atol=largest * 2.0**-23)


@pytest.mark.parametrize("name", FILES)
def test_golden_file_is_saved_again_to_the_same_object(name, tmp_path):
    loaded = lt.load(DATA / f"{name}.lowtide")
    options = {"weights": "int8"} if name.endswith("int8") else {}
    lt.save(loaded, tmp_path / "again.lowtide", **options)
    assert seen(lt.load(tmp_path / "again.lowtide")).keys() == FILES[name].keys()
    old, new = describe(DATA / f"{name}.lowtide"), describe(tmp_path / "again.lowtide")
    assert (new["kind"], new["arrays"]) == (old["kind"], old["arrays"])
