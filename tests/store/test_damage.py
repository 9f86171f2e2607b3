"""Stores that were changed: found, named, and never read outside of their folder."""

import hashlib
import json
import os
import random
import re
import tracemalloc

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from store.samples import filled

import lowtide as lt
from lowtide.checksum import crc32c
from lowtide.errors import FileAccessError, FileFormatError, LowtideError
from lowtide.store.manifest import Manifest

MANIFEST = "lowtide/manifest.json"


def read_all(path):
    store = lt.CodeStore.open(path)
    for _ in store.blocks(5):
        pass
    return store.y, store.encoder


def flip(file, bit):
    data = bytearray(file.read_bytes())
    data[bit // 8] ^= 1 << bit % 8
    file.write_bytes(data)


@pytest.mark.parametrize(
    ("file", "place", "name"),
    [
        ("codes/c.1.0", 3, "codes, shard 1, chunk 0 (rows 24 to 31), file codes/c.1.0"),
        ("codes/c.2.0", 8 * 16 + 64 + 5, "codes, shard 2, chunk 1 (rows 56 to 63)"),
        ("codes/c.0.0", 8 * 16 + 2, "codes, shard 0, chunk 0"),  # the checksum itself
        ("codes/c.0.0", 8 * 16 + 30, "codes, shard 0, chunk 0"),  # the gap after it
        ("codes/c.0.0", -3, "codes, shard 0, file codes/c.0.0 must have the index"),
        ("y/c.2", 8, "y, shard 2, chunk 0"),
    ],
)
def test_flipped_bit_is_found_on_read_and_named(file, place, name, tmp_path):
    filled(tmp_path / "s.zarr")
    target = tmp_path / "s.zarr" / file
    flip(target, 8 * (place % target.stat().st_size))
    with pytest.raises(FileFormatError, match=re.escape(name)):
        read_all(tmp_path / "s.zarr")
    with pytest.raises(FileFormatError, match=re.escape(name)):
        lt.CodeStore.open(tmp_path / "s.zarr").verify()


def test_damage_costs_no_rows_of_other_chunks(tmp_path):
    codes = filled(tmp_path / "s.zarr")
    flip(tmp_path / "s.zarr" / "codes" / "c.1.0", 40)
    store = lt.CodeStore.open(tmp_path / "s.zarr")
    assert store[:24] == codes[:24]
    assert store[32:] == codes[32:]
    with pytest.raises(FileFormatError):
        store[31]


def test_verify_names_every_damaged_place(tmp_path):
    filled(tmp_path / "s.zarr")
    for file in ("codes/c.0.0", "codes/c.2.0", "y/c.1"):
        flip(tmp_path / "s.zarr" / file, 0)
    with pytest.raises(FileFormatError, match=r"codes, shard 0.*codes, shard 2.*y, shard 1"):
        lt.CodeStore.open(tmp_path / "s.zarr").verify()


def test_every_file_of_a_store_is_verified(tmp_path):
    filled(tmp_path / "s.zarr")
    files = [path for path in (tmp_path / "s.zarr").rglob("*") if path.is_file() and path.name != "lock"]
    assert len(files) == 6 + 4 + 2
    for file in files:
        whole = file.read_bytes()
        for place in (0, len(whole) // 2, len(whole) - 1):
            flip(file, 8 * place)
            with pytest.raises(LowtideError):
                lt.CodeStore.open(tmp_path / "s.zarr").verify()
            file.write_bytes(whole)
    lt.CodeStore.open(tmp_path / "s.zarr").verify()


@pytest.mark.parametrize("file", ["codes/c.0.0", "codes/c.2.0", "y/c.1"])
def test_missing_and_cut_shards_are_named(file, tmp_path):
    filled(tmp_path / "s.zarr")
    target = tmp_path / "s.zarr" / file
    whole = target.read_bytes()
    for content in (whole[:-1], whole[:64], b"", whole + b"\0"):
        target.write_bytes(content)
        with pytest.raises(FileFormatError, match=f"file {file} must have whole chunks"):
            read_all(tmp_path / "s.zarr")
    target.unlink()
    with pytest.raises(FileFormatError, match=f"file {file} must be there"):
        read_all(tmp_path / "s.zarr")


def test_verify_finds_whole_shards_of_other_rows(tmp_path):
    filled(tmp_path / "s.zarr")
    first, second = (tmp_path / "s.zarr" / "codes" / name for name in ("c.0.0", "c.1.0"))
    a, b = first.read_bytes(), second.read_bytes()
    first.write_bytes(b)
    second.write_bytes(a)
    with pytest.raises(FileFormatError, match=r"shard 0.*must hold the rows that were committed.*shard 1"):
        lt.CodeStore.open(tmp_path / "s.zarr").verify()


def test_bits_past_the_last_level_are_refused_even_with_a_right_checksum(tmp_path):
    filled(tmp_path / "s.zarr")
    target = tmp_path / "s.zarr" / "codes" / "c.1.0"
    data = bytearray(target.read_bytes())
    data[15] |= 128  # bit 127 of the first row, of 100 levels
    data[128:132] = crc32c(data[:128]).to_bytes(4, "little")
    target.write_bytes(data)
    message = r"shard 1, chunk 0 .* must hold packed codes.*past the 100 used ones"
    for action in (read_all, lambda path: lt.CodeStore.open(path).verify()):
        with pytest.raises(FileFormatError, match=message):
            action(tmp_path / "s.zarr")


def test_writer_does_not_spread_damage(tmp_path):
    filled(tmp_path / "s.zarr")
    flip(tmp_path / "s.zarr" / "codes" / "c.2.0", 0)
    with lt.CodeStore.open(tmp_path / "s.zarr", "a") as store:
        assert store.discarded == ()
        with pytest.raises(FileFormatError, match="shard 2, chunk 0"):
            store.append(np.zeros((1, 6)), y=[1])
        with pytest.raises(FileFormatError, match="shard 2, chunk 0"):
            store.verify()


@pytest.mark.parametrize("name", ["codes/c.0.0", MANIFEST, "lowtide/encoder.lowtide", "codes"])
def test_links_out_of_the_folder_are_not_followed(name, tmp_path):
    filled(tmp_path / "s.zarr")
    inside = tmp_path / "s.zarr" / name
    inside.rename(tmp_path / "outside")
    inside.symlink_to(tmp_path / "outside")
    with pytest.raises(FileAccessError, match="must be a file that can be read"):
        read_all(tmp_path / "s.zarr")


def test_pipes_are_not_waited_for(tmp_path):
    filled(tmp_path / "s.zarr")
    (tmp_path / "s.zarr" / "codes" / "c.0.0").unlink()
    os.mkfifo(tmp_path / "s.zarr" / "codes" / "c.0.0")
    with pytest.raises(FileAccessError, match="regular file"):
        read_all(tmp_path / "s.zarr")


def signed(content):
    """Return a manifest of any content, with the checksum that it must have."""
    body = json.dumps({name: value for name, value in content.items() if name not in ("format", "sha256")})
    text = f'{{"format":{content.get("format", 2)},"sha256":"{"0" * 64}",{body[1:]}\n'
    return text.replace("0" * 64, hashlib.sha256(text.encode()).hexdigest(), 1).encode()


WRONG = [
    ("rows", "n_rows", -1),
    ("rows", "n_rows", 62 + 24),
    ("rows", "n_rows", 10**30),
    ("rows", "n_rows", 61.0),
    ("rows", "n_rows", "61"),
    ("rows", "n_rows", True),
    ("rows", "n_rows", None),
    ("template", "n_levels", 0),
    ("template", "n_levels", 10**30),
    ("template", "n_levels", 200),
    ("template", "n_levels", 1 << 33),
    ("template", "bits", 2),
    ("template", "fingerprint", "00" * 15),
    ("template", "side", None),
    ("template", "scaled", True),
    ("template", "times_norms", True),
    ("layout", "chunk_rows", 0),
    ("layout", "chunk_rows", 1 << 32),
    ("layout", "shard_chunks", 0),
    ("layout", "shard_chunks", 1 << 21),
    ("columns", None, []),
    ("columns", None, {"../../etc": {"dtype": "int64", "categories": None}}),
    ("columns", None, {"y/../..": {"dtype": "int64", "categories": None}}),
    ("columns", None, {"codes": {"dtype": "int64", "categories": None}}),
    ("columns", None, {"y": {"dtype": "O", "categories": None}}),
    ("columns", None, {"y": {"dtype": ["int64"], "categories": None}}),
    ("columns", None, {"y": {"dtype": "int64", "categories": ["a"]}}),
    ("columns", None, {"y": {"dtype": "int32", "categories": ["a", "a"]}}),
    ("columns", None, {"y": {"dtype": "int32", "categories": [1]}}),
    ("columns", None, {"norms": {"dtype": "float32", "categories": None}}),
    ("columns", None, {}),
    ("rows", "checksums", {}),
    ("rows", "checksums", {"codes": ["00000000"] * 2, "y": ["00000000"] * 3}),
    ("rows", "checksums", {"codes": ["zz"] * 3, "y": ["00000000"] * 3}),
    ("rows", "checksums", {"codes": 5, "y": 5}),
    ("rows", "checksums", None),
    ("encoder", "sha256", "00"),
    ("encoder", "sha256", "0" * 64),
    ("encoder", "sha256", None),
    ("template", None, {"bits": 2}),
    ("template", None, None),
    ("metadata", None, 5),
    ("metadata", None, {"a": float("nan")}),
    ("metadata", None, {"a": [float("-inf")]}),
]


@pytest.mark.parametrize(("part", "name", "value"), WRONG, ids=str)
def test_manifest_that_does_not_fit_is_refused(part, name, value, tmp_path):
    content = edited(tmp_path / "s.zarr")
    read_all(tmp_path / "s.zarr")
    if name is None:
        content["parts"][part]["spec"] = value
    else:
        content["parts"][part]["spec"][name] = value
    (tmp_path / "s.zarr" / MANIFEST).write_bytes(signed(content))
    with pytest.raises(LowtideError):
        read_all(tmp_path / "s.zarr")
    with pytest.raises(LowtideError):
        lt.CodeStore.open(tmp_path / "s.zarr", "a").encoder  # noqa: B018


def test_manifest_cannot_ask_for_more_memory_than_the_files_have(tmp_path):
    content = edited(tmp_path / "s.zarr")
    content["parts"]["template"]["spec"]["n_levels"] = 1 << 27
    (tmp_path / "s.zarr" / MANIFEST).write_bytes(signed(content))
    store = lt.CodeStore.open(tmp_path / "s.zarr")
    tracemalloc.start()
    try:
        for read in (lambda: store[:], lambda: store[[0, 60]]):
            with pytest.raises(FileFormatError, match="must have whole chunks"):
                read()
        assert tracemalloc.get_traced_memory()[1] < 50e6
    finally:
        tracemalloc.stop()


def edited(path):
    """Return what the manifest of a filled store says, which reads the same once it is signed again."""
    filled(path)
    content = json.loads((path / MANIFEST).read_bytes())
    (path / MANIFEST).write_bytes(signed(content))
    return content


@pytest.mark.parametrize("version", [0, 1, 3])
def test_manifest_of_another_format_is_refused_by_its_number(version, tmp_path):
    content = edited(tmp_path / "s.zarr")
    (tmp_path / "s.zarr" / MANIFEST).write_bytes(signed({**content, "format": version}))
    with pytest.raises(FileFormatError, match=f"must have format 2, got {version}"):
        lt.CodeStore.open(tmp_path / "s.zarr")


def test_manifest_with_a_part_that_is_not_known_is_refused_by_name(tmp_path):
    content = edited(tmp_path / "s.zarr")
    content["parts"]["rotations"] = {"version": 1, "spec": {}}
    (tmp_path / "s.zarr" / MANIFEST).write_bytes(signed(content))
    with pytest.raises(FileFormatError, match="part 'rotations' that this version of lowtide does not know"):
        lt.CodeStore.open(tmp_path / "s.zarr")


@pytest.mark.parametrize("name", ["layout", "template", "encoder", "columns", "rows", "metadata"])
def test_manifest_with_a_part_of_a_newer_version_is_refused_by_name(name, tmp_path):
    content = edited(tmp_path / "s.zarr")
    content["parts"][name]["version"] += 1
    (tmp_path / "s.zarr" / MANIFEST).write_bytes(signed(content))
    with pytest.raises(FileFormatError, match=f"part '{name}' must be of version 1, got version 2"):
        lt.CodeStore.open(tmp_path / "s.zarr")


@pytest.mark.parametrize("name", ["layout", "template", "columns", "rows", "metadata"])
def test_manifest_without_a_part_is_refused_by_name(name, tmp_path):
    content = edited(tmp_path / "s.zarr")
    del content["parts"][name]
    (tmp_path / "s.zarr" / MANIFEST).write_bytes(signed(content))
    with pytest.raises(FileFormatError, match=name):
        lt.CodeStore.open(tmp_path / "s.zarr")


def test_places_past_the_categories_are_refused(tmp_path):
    filled(tmp_path / "s.zarr", y=np.array(["a", "b", "c"] * 20 + ["a"]))
    place = tmp_path / "s.zarr" / MANIFEST
    content = json.loads(place.read_bytes())
    content["parts"]["columns"]["spec"]["y"]["categories"] = ["a", "b"]
    place.write_bytes(signed(content))
    with pytest.raises(FileFormatError, match="places of 2 categories"):
        _ = lt.CodeStore.open(tmp_path / "s.zarr").y


def test_encoder_of_other_codes_is_refused(tmp_path):
    from store.samples import fitted

    filled(tmp_path / "s.zarr")
    lt.save(fitted(random_state=7), tmp_path / "s.zarr" / "lowtide" / "encoder.lowtide")
    with pytest.raises(FileFormatError, match="must be the file that the manifest names"):
        _ = lt.CodeStore.open(tmp_path / "s.zarr").encoder
    place = tmp_path / "s.zarr" / MANIFEST
    content = json.loads(place.read_bytes())
    file = "lowtide/encoder.lowtide"
    content["parts"]["encoder"]["spec"]["sha256"] = lt.persist.describe(tmp_path / "s.zarr" / file)["sha256"]
    place.write_bytes(signed(content))
    with pytest.raises(FileFormatError, match="must hold the encoder of its codes"):
        _ = lt.CodeStore.open(tmp_path / "s.zarr").encoder


@pytest.fixture(scope="module")
def manifest(tmp_path_factory):
    path = tmp_path_factory.mktemp("manifest") / "s.zarr"
    filled(path)
    return (path / MANIFEST).read_bytes()


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_manifest_with_bytes_changed_or_cut_is_refused(data, manifest):
    position = data.draw(st.integers(0, len(manifest) - 1))
    changed = data.draw(
        st.one_of(
            st.just(manifest[:position]),
            st.integers(1, 255).map(
                lambda mask: manifest[:position] + bytes([manifest[position] ^ mask]) + manifest[position + 1 :]
            ),
            st.binary(max_size=300),
        )
    )
    with pytest.raises(FileFormatError):
        Manifest.from_bytes("'manifest'", changed)


def test_signed_nonsense_is_refused_or_harmless_and_never_another_error(manifest):
    content, draw = json.loads(manifest), random.Random(0)
    values = [None, -1, 1 << 70, 1e300, "", "x", [], [[]], {}, {"a": {}}, True, float("1e-9")]
    for _ in range(400):
        changed = json.loads(json.dumps(content))
        node, key = changed, draw.choice(list(changed))
        while isinstance(node[key], (dict, list)) and node[key] and draw.random() < 0.7:
            node = node[key]
            key = draw.choice(list(node)) if isinstance(node, dict) else draw.randrange(len(node))
        node[key] = draw.choice(values)
        try:
            Manifest.from_bytes("'manifest'", signed(changed))
        except LowtideError:
            continue
