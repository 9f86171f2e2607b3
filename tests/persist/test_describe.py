"""A file described without being built."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
from persist.samples import classifier, encoder, forged, rows

import lowtide as lt
from lowtide.errors import FileAccessError, FileFormatError
from lowtide.persist import describe
from lowtide.persist.kinds import KINDS


def test_describe_names_what_is_in_a_model(tmp_path):
    lt.save(classifier(np.array(["a", "b"] * 20)), tmp_path / "m.lowtide", weights="int8")
    found = describe(tmp_path / "m.lowtide")
    assert (found["format"], found["kind"], found["writer"]) == ("1", "KernelClassifier", f"lowtide {lt.__version__}")
    assert found["spec"]["classes"] == {"dtype": "str", "values": ["a", "b"]}
    assert found["spec"]["features"]["kind"] == "RandomFeatures"
    assert found["arrays"]["weights"] == {"dtype": "int8", "shape": [64, 1], "bytes": 64}
    assert found["arrays"]["features.projection.signs"]["bytes"] == 24
    assert len(found["sha256"]) == 64


def test_bytes_of_the_parts_add_up_to_the_file(tmp_path):
    for thing in (encoder("dense_phase"), encoder().encode(rows())):
        lt.save(thing, tmp_path / "f")
        found = describe(tmp_path / "f")
        assert found["bytes"] == os.path.getsize(tmp_path / "f")
        assert found["header_bytes"] + sum(part["bytes"] for part in found["arrays"].values()) == found["bytes"]
        json.dumps(found)


def test_describe_builds_nothing(tmp_path, monkeypatch):
    lt.save(encoder(), tmp_path / "e.lowtide")
    monkeypatch.setitem(KINDS, "RandomFeatures", None)
    assert describe(tmp_path / "e.lowtide")["kind"] == "RandomFeatures"


def test_describe_shows_kinds_it_does_not_know(tmp_path):
    (tmp_path / "f").write_bytes(forged({"kind": "Later", "spec": {"a": 1}}, {}))
    assert describe(tmp_path / "f")["kind"] == "Later"


def test_describe_finds_damage_and_missing_files(tmp_path):
    lt.save(encoder(), tmp_path / "e.lowtide")
    data = np.fromfile(tmp_path / "e.lowtide", dtype=np.uint8)
    data[-1] ^= 1
    data.tofile(tmp_path / "e.lowtide")
    with pytest.raises(FileFormatError, match="checksum"):
        describe(tmp_path / "e.lowtide")
    with pytest.raises(FileAccessError):
        describe(tmp_path / "no.lowtide")
