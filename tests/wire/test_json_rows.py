"""Rows of JSON: the numbers that Python's own parser gives, or a refusal that says where and why."""

from __future__ import annotations

import json
import math
import sys
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lowtide.errors import ParameterError, WireFormatError
from lowtide.wire import JsonReader, JsonRowsError, json_numbers

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
NUMBERS = st.one_of(FLOATS, st.integers(-(10**25), 10**25))
CELLS = st.one_of(NUMBERS, st.none(), st.booleans(), st.text(max_size=8))
ANYTHING = st.recursive(
    st.one_of(CELLS, st.just(10**400), st.just(1e39)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.sampled_from("abcx"), inner, max_size=4)),
    max_leaves=20,
)
LARGEST = float(np.finfo(np.float32).max)
TABLE = JsonReader(["nullable", "categories", "unused"], ["a", "b", "c"], sys.float_info.max)


def reference(body, n_columns, most_rows):
    """Return rows of numbers as Python's parser reads them, None where they must be refused."""
    content = json.loads(body)
    if isinstance(content, dict):
        if set(content) != {"rows"}:
            return None
        content = content["rows"]
    if not isinstance(content, list) or len(content) > most_rows:
        return None
    for row in content:
        if not isinstance(row, list) or len(row) != n_columns:
            return None
        for cell in row:
            if type(cell) not in (int, float) or abs(cell) > LARGEST:
                return None
    return np.array(content, dtype=np.float64).reshape(len(content), n_columns)


def found(reader, body, most_rows=50):
    try:
        return reader.read(body, most_rows).numbers
    except JsonRowsError:
        return None


def same(one, other):
    return (one is None) == (other is None) and (one is None or one.tobytes() == other.tobytes())


@given(st.integers(1, 4).flatmap(lambda d: st.tuples(st.just(d), st.lists(st.lists(NUMBERS, min_size=d, max_size=d)))))
@settings(max_examples=200, deadline=None)
def test_rows_of_numbers_are_those_of_python(drawn):
    n_columns, rows = drawn
    reader = JsonReader(["numbers"] * n_columns)
    for text in (json.dumps(rows), json.dumps({"rows": rows}, indent=2), json.dumps(rows, separators=(",", ":"))):
        assert same(found(reader, text.encode()), reference(text, n_columns, 50))


@given(ANYTHING)
@settings(max_examples=300, deadline=None)
def test_any_json_gives_the_same_rows_or_is_refused(content):
    for given_content in (content, [content], {"rows": content}, [[1, content]]):
        text = json.dumps(given_content)
        assert same(found(JsonReader(["numbers"] * 2), text.encode()), reference(text, 2, 50))


@given(st.lists(st.tuples(st.one_of(NUMBERS, st.none(), st.booleans()), CELLS, CELLS)), st.booleans(), st.booleans())
@settings(max_examples=200, deadline=None)
def test_cells_of_a_table_are_those_of_python(rows, by_name, ascii_only):
    content = [{"more": [1, {"x": []}], **dict(zip("abc", row))} for row in rows] if by_name else rows
    numbers, cells = TABLE.read(json.dumps(content, ensure_ascii=ascii_only).encode("utf-8", "ignore"), 1000)
    expected = [math.nan if a is None else float(a) for a, _, _ in rows]
    np.testing.assert_array_equal(numbers[:, 0], expected)
    if ascii_only or all(not isinstance(b, str) or b.isprintable() for _, b, _ in rows):
        assert cells[1].tolist() == [b for _, b, _ in rows]
        assert [isinstance(b, bool) for b in cells[1]] == [isinstance(b, bool) for _, b, _ in rows]


@given(st.binary(max_size=60) | st.text('[]{},:"\\u1e-. \n', max_size=40).map(str.encode))
@settings(max_examples=500, deadline=None)
def test_any_bytes_are_read_as_python_reads_them_or_refused(body):
    got = found(JsonReader(["numbers"]), body)
    if got is not None:
        assert same(got, reference(body, 1, 50))


@given(st.text("0123456789", min_size=1, max_size=40), st.text("0123456789", max_size=400), st.integers(-400, 400))
@settings(max_examples=300, deadline=None)
def test_digits_of_any_length_are_rounded_as_python_rounds_them(whole, places, power):
    text = f"{int(whole)}{'.' if places else ''}{places}e{power}"
    got = found(JsonReader(["numbers"], largest=sys.float_info.max), f"[[{text}]]".encode())
    assert same(got, None if math.isinf(float(text)) else np.array([[float(text)]]))


@pytest.mark.parametrize(
    ("body", "fault", "words"),
    [
        (b"[[1,2,3],[3,4,5]", "syntax", "UTF-8, got something else at byte 16"),
        (b'{"rows":[],"n":1}', "rows", "'rows' and nothing else"),
        (b'[[1,"x",2],[1]]', "few", r"must have 3 values, got 1 in row 2 \(byte 14\)"),
        (
            b'[["1","x",2]]',
            "value",
            "each cell of column 'a' must be a number, true, false or null, got another in row 1",
        ),
        (b'[[1,["x"],2]]', "value", "column 'b' must be a text, a number, true"),
        (b'[[1,"x",{}]]', "value", "column 'c' must be no list or object"),
        (b'[{"a":1,"c":2}]', "missing", r"^column 'b' is missing in row 1 \(byte 14\)\.$"),
        (b"[{}]", "missing", r"^columns 'a', 'b' and 'c' are missing in row 1"),
        (
            b'[[1,2,3],{"A":{"c":[1]},"b":2,"a ":7}]',
            "missing",
            r"^columns 'a' and 'c' are missing in row 2 \(byte 37\); it has 'A' and 'a ', .* If 'A' is 'a', rename",
        ),
        (b'[{"' + b"x" * 70000 + b'":1}]', "missing", "^column 'a' is missing in row 1 .byte 70007..$"),
        (b'[{"' + b"x" * 70 + b'":1}]', "missing", "are missing in row 1 .*; it has 'x{60}', which is not known.$"),
        (b'[{"a":1,"b":2,"a":3}]', "twice", "column 'a' once, got it twice in row 1"),
        (b'[{"x":' + b"[" * 40, "depth", "at most 32 deep"),
        (b'[[1e400,"x",2]]', "large", r"at most 1.8e\+308 in size, got a larger one in row 1 .*, column 'a'"),
        (b"[[" + b"1" * 1101, "number", "at most 1100 characters"),
        (b'[[1,"' + b"x" * 65537 + b'",2]]', "text", "at most 65536 bytes, got more in row 1 .*, column 'b'"),
        (b"[[1,2,3],[1,2,3],[1,2,3],[1,2,3]]", "most_rows", "at most 3 rows"),
    ],
    ids=lambda value: value if isinstance(value, str) and value.isidentifier() else None,
)
def test_refusals_say_what_and_where(body, fault, words):
    with pytest.raises(JsonRowsError, match=words) as error:
        TABLE.read(body, 3)
    assert error.value.fault == fault
    assert isinstance(error.value, WireFormatError)


def test_reader_is_of_some_columns_that_are_known():
    for wrong in ([], ["texts"]):
        with pytest.raises(ParameterError):
            JsonReader(wrong)
    with pytest.raises(ParameterError):
        JsonReader(["numbers"], ["a", "b"])


def test_body_may_be_any_buffer():
    body = b"[[1,2]]"
    for buffer in (body, bytearray(body), memoryview(body)):
        np.testing.assert_array_equal(JsonReader(["numbers"] * 2).read(buffer, 1).numbers, [[1.0, 2.0]])


def test_numbers_outlive_what_they_were_read_from():
    numbers = JsonReader(["numbers"] * 2).read(b"[[1,2]]", 1).numbers
    np.full(1000, 7.0)
    np.testing.assert_array_equal(numbers + 0.0, [[1.0, 2.0]])


def test_memory_is_foreseen():
    reader = JsonReader(["numbers"] * 3)
    for n in (1, 10, 1000):
        body = b"[" + b",".join([b"[1,2,3]"] * n) + b"]"
        assert reader.read(body, 10_000).numbers.nbytes <= reader.bytes_needed(len(body), 10_000)
    assert reader.bytes_needed(10**9, 10) == 240


def longest_pause(work):
    """Return the longest time that this thread did not run while another did the work."""
    done, longest = threading.Event(), 0.0
    thread = threading.Thread(target=lambda: (work(), done.set()))
    thread.start()
    last = time.perf_counter()
    while not done.is_set():
        now = time.perf_counter()
        longest, last = max(longest, now - last), now
    thread.join()
    return longest


# Python's own parser and writer stop every thread for as long as they take: 0.3 to 6 seconds for these, each time. A
# busy machine may stop one too, but not each time.
HOSTILE = {
    "rows without values": b"[" + b"[]," * 5_000_000,
    "numbers of many digits": b"[" + b",".join([b"[" + b"7" * 1000 + b"]"] * 15_000) + b"]",
    "many numbers": json.dumps([[0.1234567890123456] * 1] * 400_000).encode(),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_reading_stops_no_other_thread(name):
    reader = JsonReader(["numbers"], largest=sys.float_info.max)
    assert any(longest_pause(lambda: found(reader, HOSTILE[name], 10**6)) < 0.2 for _ in range(3))


def test_writing_stops_no_other_thread():
    values = np.random.default_rng(0).standard_normal((100_000, 10))
    assert any(longest_pause(lambda: json_numbers(values)) < 0.2 for _ in range(3))


@given(st.lists(st.lists(FLOATS, min_size=3, max_size=3)), st.lists(st.integers(-(2**63), 2**63 - 1)))
@settings(max_examples=200, deadline=None)
def test_numbers_are_written_as_python_writes_them(rows, whole):
    for values in (
        np.array(rows, dtype=np.float64).reshape(-1, 3),
        np.array(rows, dtype=np.float64).ravel(),
        np.array(rows, dtype=np.float64).reshape(-1, 3).T,
        np.array(whole, dtype=np.int64),
    ):
        assert json_numbers(values) == json.dumps(values.tolist(), separators=(",", ":")).encode()
    single = np.array(rows, dtype=np.float64).clip(-1e30, 1e30).astype(np.float32).ravel()
    assert json_numbers(single) == json.dumps(single.tolist(), separators=(",", ":")).encode()


@pytest.mark.parametrize("values", [np.array([1.0, np.nan]), np.array([[np.inf]]), np.array([-np.inf], np.float32)])
def test_numbers_that_json_has_no_word_for_are_refused(values):
    with pytest.raises(WireFormatError, match="finite"):
        json_numbers(values)


@pytest.mark.parametrize("values", [np.array(["a"]), np.zeros((1, 1, 1)), np.array([2**64 - 1]), np.array([True])])
def test_what_are_no_rows_of_numbers_is_not_written(values):
    with pytest.raises(ParameterError, match="array of numbers"):
        json_numbers(values)
