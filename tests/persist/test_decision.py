"""What a learner decides by, loaded alone: it answers as the learner does, and knows no scikit-learn."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from persist.samples import rows
from sklearn.svm import SVC

import lowtide as lt
from lowtide.encoders import ENCODERS
from lowtide.errors import FileAccessError, FileFormatError
from lowtide.persist import load_decision, to_bytes

ALONE = """
import sys
import numpy as np
from lowtide.persist import load_decision
found = load_decision(sys.argv[1])
np.save(sys.argv[2], found.predict(np.load(sys.argv[3])))
known = [name for name in sys.modules if name.partition(".")[0] == "sklearn"]
assert not known, known[:5]
"""
GIVEN = {"n_components": 64, "random_state": 0}
FEATURES = {
    "RandomFeatures": lambda: lt.RandomFeatures(**GIVEN),
    "Sketch": lambda: lt.Sketch(bits=2, gamma=0.1, **GIVEN),
    "TernaryFeatures": lambda: lt.TernaryFeatures(sparsity=0.0, **GIVEN),
    "ActivationFeatures": lambda: lt.ActivationFeatures("relu", **GIVEN),
    "AsymmetricFeatures": lambda: lt.AsymmetricFeatures(**GIVEN),
    "LearnedFeatures": lambda: lt.LearnedFeatures(n_bytes=8, **GIVEN),
}


def _labels():
    return np.array(["a", "b", "c"])[np.arange(len(rows())) % 3]


def _classifier(features):
    return lt.KernelClassifier(features=features, random_state=0).fit(rows(), _labels())


MODELS = {
    **{name: lambda make=make: _classifier(make()) for name, make in FEATURES.items()},
    "KernelRegressor": lambda: lt.KernelRegressor(**GIVEN, gamma=0.1).fit(rows(), rows()[:, 0]),
    "pairs": lambda: lt.compress(SVC().fit(rows(), _labels()), n_components=4096, random_state=0),
}


def _saved(name: str, folder: Path) -> tuple[lt.learners.Learner, Path]:
    model = MODELS[name]()
    lt.save(model, folder / "model.lowtide")
    return model, folder / "model.lowtide"


def test_all_encoders_but_that_of_vectors_are_tried():
    assert set(FEATURES) == set(ENCODERS) - {"VectorCodes"}


@pytest.mark.parametrize("name", MODELS)
def test_a_saved_model_predicts_without_scikit_learn(name, tmp_path):
    model, path = _saved(name, tmp_path)
    np.save(tmp_path / "rows.npy", rows().astype(np.float64))
    files = [path, tmp_path / "said.npy", tmp_path / "rows.npy"]
    subprocess.run([sys.executable, "-c", ALONE, *map(str, files)], check=True)
    np.testing.assert_array_equal(np.load(tmp_path / "said.npy"), model.predict(rows()))


@pytest.mark.parametrize("name", ["RandomFeatures", "KernelRegressor", "pairs"])
def test_a_decision_that_is_loaded_alone_is_that_of_the_learner(name, tmp_path):
    model, path = _saved(name, tmp_path)
    decision = load_decision(path)
    np.testing.assert_array_equal(decision.scores(rows()), model.decision_.scores(rows()))
    assert decision.outputs == model.decision_.outputs


def test_what_is_no_model_is_refused(tmp_path):
    encoder = FEATURES["RandomFeatures"]().fit(rows())
    lt.save(encoder, tmp_path / "encoder.lowtide")
    with pytest.raises(FileFormatError, match=r"encoder\.lowtide' must hold a model, got RandomFeatures"):
        load_decision(tmp_path / "encoder.lowtide")
    with pytest.raises(FileAccessError):
        load_decision(tmp_path / "missing.lowtide")


def test_a_decision_whose_parts_do_not_fit_is_refused(tmp_path):
    whole = bytearray(to_bytes(MODELS["KernelRegressor"]()))
    whole[-1] ^= 1
    (tmp_path / "changed.lowtide").write_bytes(whole)
    with pytest.raises(FileFormatError, match="changed"):
        load_decision(tmp_path / "changed.lowtide")
