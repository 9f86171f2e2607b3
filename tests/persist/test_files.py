"""Files and their bytes: saved, described, read back with what was kept beside them, and refused by their parts."""

from __future__ import annotations

import copy
import json
import os

import numpy as np
import pytest
from persist.samples import classifier, encoder, forged, packed, rows

import lowtide as lt
from lowtide.errors import FileAccessError, FileFormatError, ParameterError
from lowtide.persist import describe, files, from_bytes, read_metadata, to_bytes
from lowtide.persist.container import unpack

THINGS = {
    "encoder": encoder,
    "classifier": classifier,
    "codes": lambda: encoder().encode(rows()),
}


@pytest.mark.parametrize("name", THINGS)
def test_bytes_are_those_of_the_file(name, tmp_path):
    thing = THINGS[name]()
    lt.save(thing, tmp_path / "x.lowtide")
    assert to_bytes(thing) == (tmp_path / "x.lowtide").read_bytes()


def test_weights_in_float64_come_back_as_they_were():
    model = classifier()
    loaded = from_bytes(to_bytes(model, weights="float64"))
    np.testing.assert_array_equal(loaded.coef_, model.coef_)


def test_another_kind_than_wanted_is_refused():
    with pytest.raises(FileFormatError, match="must hold a Codes, got a KernelClassifier"):
        from_bytes(to_bytes(classifier()), kind=lt.Codes)


@pytest.mark.parametrize("cut", [0, 7, 100, 500, -1])
def test_bytes_that_are_cut_short_or_changed_are_refused(cut):
    data = to_bytes(encoder())
    with pytest.raises(FileFormatError):
        from_bytes(data[:cut])
    changed = bytearray(data)
    changed[cut] ^= 1
    with pytest.raises(FileFormatError):
        from_bytes(bytes(changed))


def _changed(thing, change):
    """Return the bytes of a file whose header was changed, with the checksum that it then must have."""
    read = unpack("f", np.frombuffer(to_bytes(thing), dtype=np.uint8))
    header = copy.deepcopy(read.header)
    change(header["parts"])
    return packed(header, read.arrays)


@pytest.mark.parametrize("name", THINGS)
def test_part_that_is_not_known_is_refused_by_name(name):
    data = _changed(THINGS[name](), lambda parts: parts.update(rotations={"version": 1, "spec": {}}))
    with pytest.raises(FileFormatError, match="a part 'rotations' that this version of lowtide does not know. Update"):
        from_bytes(data)


@pytest.mark.parametrize("name", THINGS)
def test_part_of_another_version_is_refused_by_name(name):
    thing = THINGS[name]()
    known = {part: state.version for part, state in thing.to_state().items()}
    for part, version in ((part, own + step) for part, own in known.items() for step in (-1, 1)):
        data = _changed(thing, lambda parts: parts[part].update(version=version))  # noqa: B023
        with pytest.raises(
            FileFormatError, match=f"part '{part}' must be of version {known[part]}, got version {version}"
        ):
            from_bytes(data)


def test_form_of_weights_of_a_newer_version_is_refused_by_name():
    data = _changed(classifier(), lambda parts: parts["weights"].update(version=2))
    with pytest.raises(FileFormatError, match="part 'weights' must be of version 1, got version 2. Update lowtide"):
        from_bytes(data)


@pytest.mark.parametrize("name", THINGS)
def test_missing_part_is_refused_by_name(name):
    thing = THINGS[name]()
    for part in {*thing.to_state(), *(["weights"] if name == "classifier" else [])}:
        read = unpack("f", np.frombuffer(to_bytes(thing), dtype=np.uint8))
        del read.header["parts"][part]
        arrays = {place: array for place, array in read.arrays.items() if not place.startswith(f"{part}/")}
        with pytest.raises(FileFormatError, match=part):
            from_bytes(packed(read.header, arrays))


@pytest.mark.parametrize("parts", [None, [], {"encoder": None}, {"encoder": {"version": 1}}, {"encoder": []}])
def test_parts_that_are_none_are_refused(parts):
    read = unpack("f", np.frombuffer(to_bytes(encoder()), dtype=np.uint8))
    with pytest.raises(FileFormatError):
        from_bytes(packed({**read.header, "parts": parts}, read.arrays))


def test_array_of_no_part_is_refused():
    read = unpack("f", np.frombuffer(to_bytes(encoder()), dtype=np.uint8))
    for place in ("offset", "other/offset", "/offset"):
        with pytest.raises(FileFormatError, match="cannot be built"):
            from_bytes(packed(read.header, {**read.arrays, place: np.zeros(3)}))


def test_describe_names_what_is_in_a_model(tmp_path):
    lt.save(classifier(np.array(["a", "b"] * 20)), tmp_path / "m.lowtide", weights="int8")
    found = describe(tmp_path / "m.lowtide")
    assert (found["format"], found["kind"], found["writer"]) == (2, "KernelClassifier", f"lowtide {lt.__version__}")
    assert found["parts"]["decision"]["spec"]["classes"] == {"dtype": "str", "values": ["a", "b"]}
    assert found["parts"]["encoder"]["spec"]["kind"] == "RandomFeatures"
    assert found["arrays"]["decision/weights"] == {"dtype": "int8", "shape": [64, 1], "bytes": 64}
    assert found["arrays"]["encoder/projection.signs"]["bytes"] == 24
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
    monkeypatch.setitem(files.KINDS, "RandomFeatures", None)
    assert describe(tmp_path / "e.lowtide")["kind"] == "RandomFeatures"


def test_describe_shows_kinds_it_does_not_know(tmp_path):
    (tmp_path / "f").write_bytes(forged({"kind": "Later", "parts": {"a": {"version": 1, "spec": {}}}}, {}))
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


def test_metadata_come_back_and_the_object_does_not_change(tmp_path):
    metadata = {"columns": ["a", "b"], "mean": [0.1, 1e300], "deep": {"yes": True, "no": None, "é": "ü"}}
    lt.save(encoder(), tmp_path / "e.lowtide", metadata=metadata)
    assert read_metadata(tmp_path / "e.lowtide") == metadata
    assert describe(tmp_path / "e.lowtide")["metadata"] == metadata
    assert lt.load(tmp_path / "e.lowtide").fingerprint_ == encoder().fingerprint_


def test_a_file_without_metadata_has_empty_ones_and_the_bytes_it_always_had(tmp_path):
    lt.save(encoder(), tmp_path / "e.lowtide")
    assert read_metadata(tmp_path / "e.lowtide") == {}
    assert b"metadata" not in (tmp_path / "e.lowtide").read_bytes().replace(b"__metadata__", b"")


@pytest.mark.parametrize(
    "metadata", [{"a": np.zeros(2)}, {"a": (1, 2)}, {1: "a"}, {"a": float("nan")}, {"a": object()}, ["a"], "a"]
)
def test_metadata_that_json_would_change_are_refused_and_nothing_is_written(tmp_path, metadata):
    with pytest.raises(ParameterError, match="metadata"):
        lt.save(encoder(), tmp_path / "e.lowtide", metadata=metadata)
    assert list(tmp_path.iterdir()) == []
