"""The bytes of a file: readable by safetensors, equal for equal content, refused when the table lies."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
import safetensors.numpy
from persist.samples import ZEROS, forged, packed, sealed

from lowtide.errors import FileFormatError, LowtideError, ParameterError
from lowtide.persist import container
from lowtide.persist.container import START_BYTES, unpack

ARRAYS = {
    "a.half": np.arange(6, dtype=np.float16).reshape(2, 3),
    "b": np.arange(5, dtype=np.uint8),
    "double": np.array(2.5),
    "empty": np.empty((0, 7), dtype=np.float32),
    "single": np.arange(3, dtype=np.float32),
    "seed": np.array([2**62 + 1]),
    "signed": np.array([[-128, 127]], dtype=np.int8),
}


def _read(data: bytes) -> container.Container:
    return unpack("'f'", np.frombuffer(data, dtype=np.uint8))


def test_pack_then_unpack_is_identity():
    read = _read(packed({"kind": "x", "spec": [1, 2.5, None, "é\ud800"]}, ARRAYS))
    assert read.header == {"kind": "x", "spec": [1, 2.5, None, "é\ud800"]}
    assert read.arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert read.arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(read.arrays[name], array, strict=True)


def test_safetensors_reads_the_arrays_and_the_metadata(tmp_path):
    (tmp_path / "f").write_bytes(packed({"kind": "x"}, ARRAYS))
    read = safetensors.numpy.load_file(tmp_path / "f")
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(read[name], array, strict=True)
    with safetensors.safe_open(tmp_path / "f", framework="np") as stream:
        metadata = stream.metadata()
    assert metadata["lowtide"] == "2"
    assert json.loads(metadata["header"]) == {"kind": "x"}


@pytest.mark.parametrize("change", [np.asfortranarray, lambda a: a[::-1, ::2], lambda a: a.astype(">f4"), np.transpose])
def test_pack_keeps_arrays_of_any_memory_layout(change):
    array = change(np.arange(24, dtype=np.float32).reshape(4, 6))
    np.testing.assert_array_equal(_read(packed({}, {"a": array})).arrays["a"], array)


def test_equal_content_gives_equal_bytes():
    shuffled = dict(reversed(ARRAYS.items()))
    assert packed({"b": 1, "a": 2}, ARRAYS) == packed({"a": 2, "b": 1}, shuffled)


def test_checksum_stands_within_the_first_bytes():
    assert re.search(rb'"sha256":"[0-9a-f]{64}","header":"', packed({}, {})[:START_BYTES])


def test_pack_refuses_numbers_that_json_has_not():
    with pytest.raises(ParameterError, match="finite"):
        packed({"spec": float("nan")}, {})


def test_pack_refuses_a_header_that_could_not_be_read_back(monkeypatch):
    monkeypatch.setattr(container, "_LONGEST_TEXT", 1000)
    with pytest.raises(ParameterError, match="at most 1000 bytes"):
        packed({"spec": "x" * 1000}, {})


def _entry(dtype="F32", shape=(2,), offsets=(0, 8)):
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


@pytest.mark.parametrize(
    "table",
    [
        {"a": _entry(shape=(3,))},
        {"a": _entry(offsets=(0, 4))},
        {"a": _entry(offsets=(4, 12))},
        {"a": _entry(offsets=(8, 0))},
        {"a": _entry(offsets=(-8, 0))},
        {"a": _entry(offsets=(0, 8)), "b": _entry(offsets=(0, 8))},
        {"a": _entry(offsets=(0, 8)), "b": _entry(offsets=(8, 16))},
        {"a": _entry(shape=(1 << 40,), offsets=(0, 4 << 40))},
        {"a": _entry(shape=(-1, -2))},
        {"a": _entry(shape=(2.0,))},
        {"a": _entry(shape=("2",))},
        {"a": _entry(shape=(1, 1, 1, 1, 2))},
        {"a": _entry(shape=[10**4000] * 500)},
        {"a": _entry(shape=(0, 1 << 62, 1 << 62), offsets=(0, 0)), "b": _entry()},
        {"a": _entry(shape=None)},
        {"a": _entry(offsets=(0.0, 8.0))},
        {"a": _entry(offsets=(0, 8.0))},
        {"a": _entry(offsets=("0", "8"))},
        {"a": _entry(offsets=(0, 8, 16))},
        {"a": _entry(offsets=None)},
        {"a": _entry(dtype="O")},
        {"a": _entry(dtype="BF16", shape=(4,))},
        {"a": _entry(dtype=["F32"])},
        {"a": {"dtype": "F32", "shape": [2]}},
        {"a": [1, 2]},
        {"a": None},
        {},
    ],
)
def test_table_that_does_not_cover_the_data_is_refused(table):
    with pytest.raises(FileFormatError, match="'f' must describe what it holds"):
        _read(forged({"kind": "x"}, table, bytes(8)))


@pytest.mark.parametrize(
    "text",
    [
        b'{"__metadata__":{"lowtide":"2",@,"header":"{}"},"__metadata__":{}}',
        b'{"__metadata__":{"lowtide":"2",@,"header":"{}","header":"{}"}}',
        b'{"__metadata__":{"lowtide":"2",@,"header":"{}"}',
        b'{"__metadata__":{"lowtide":"2",@,"header":"[]"}}',
        b'{"__metadata__":{"lowtide":"2",@,"header":"\xff"}}',
        b'{"__metadata__":{"lowtide":"2",@,"header":"{"}}',
        b'{"__metadata__":{"lowtide":"2",@,"header":"' + b"[" * 100_000 + b'"}}',
        b'{"__metadata__":{"lowtide":"2",@,"header":"{\\"a\\":' + b"9" * 10_000 + b'}"}}',
    ],
)
def test_text_that_is_not_the_json_of_a_header_is_refused(text):
    with pytest.raises(FileFormatError, match="must describe what it holds"):
        _read(sealed(text.replace(b"@", ZEROS + b'"')))


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e400"])
def test_numbers_that_are_not_finite_are_refused_wherever_they_stand(number):
    for value in (number, f"[1, {number}]", f'{{\\"b\\":{number}}}'):
        text = f'{{"__metadata__":{{"lowtide":"2",@,"header":"{{\\"a\\":{value}}}"}}}}'.encode()
        with pytest.raises(FileFormatError, match="which must be a finite number"):
            _read(sealed(text.replace(b"@", ZEROS + b'"')))


@pytest.mark.parametrize("length", [0, 7, 1 << 24, 1 << 26, (1 << 64) - 8])
def test_announced_header_that_is_not_there_is_refused(length):
    data = packed({}, {})
    with pytest.raises(FileFormatError, match="announces|checksum"):
        _read(length.to_bytes(8, "little") + data[8:])


@pytest.mark.parametrize("version", [b"1", b"10", b"3", b"0"])
def test_other_format_is_refused_by_its_number(version):
    data = packed({}, {}).replace(b'"lowtide":"2"', b'"lowtide":"' + version + b'"')
    with pytest.raises(FileFormatError, match=f"format 2, got {version.decode()}. "):
        _read(data)


def test_format_is_one_number():
    text = b'{"__metadata__":{"lowtide":"2.1",@,"header":"{\\"kind\\":\\"x\\"}"}}'
    with pytest.raises(FileFormatError, match="must be a file of lowtide.save"):
        _read(sealed(text.replace(b"@", ZEROS + b'"')))


@pytest.mark.parametrize("data", [b"", b"\0" * 7, b"PK\3\4" * 100, b"\x93NUMPY" + bytes(200), b"{}" * 200])
def test_foreign_bytes_are_refused(data):
    with pytest.raises(FileFormatError, match="must be a file of lowtide.save"):
        _read(data)


def test_foreign_safetensors_file_is_refused():
    data = safetensors.numpy.save({"a": np.zeros(100)}, metadata={"format": "np"})
    with pytest.raises(FileFormatError, match="must be a file of lowtide.save"):
        _read(data)


def test_errors_are_both_ours_and_the_built_in():
    assert issubclass(FileFormatError, LowtideError)
    assert issubclass(FileFormatError, ValueError)
