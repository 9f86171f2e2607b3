"""Codes and rows as messages: what goes in comes out, byte by byte as the guide says, and nothing else is taken."""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lowtide as lt
from lowtide.checksum import crc32c
from lowtide.codes import Codes, pack_levels, stored_bits
from lowtide.errors import FingerprintMismatchError, LowtideError, ParameterError, WireFormatError
from lowtide.wire import FRAME_BYTES, CodesReader, pack, pack_rows, unpack, unpack_rows, wire_row_bytes

DATA = Path(__file__).parents[1] / "data"
MARK, SIDE = bytes(range(16)), bytes(range(16, 32))


def drawn(n, n_levels, bits, norms=None, seed=0):
    levels = np.random.default_rng(seed).integers(0, 1 << bits, (n, n_levels))
    book = np.arange(1 << bits, dtype=np.float32)
    marks = {"fingerprint": MARK, "side": SIDE}
    return Codes(pack_levels(levels, bits), bits=bits, n_levels=n_levels, codebook=book, norms=norms, **marks)


def resealed(message):
    """Return a message whose checksum is right again."""
    return message[:-4] + crc32c(message[:-4]).to_bytes(4, "little")


def changed(message, at, value):
    return resealed(message[:at] + value + message[at + len(value) :])


@pytest.mark.parametrize("bits", range(1, 9))
@pytest.mark.parametrize("n_levels", [1, 7, 8, 64, 65, 100])
@pytest.mark.parametrize("n", [0, 1, 5])
def test_unpack_of_pack_is_the_same(n, n_levels, bits):
    codes = drawn(n, n_levels, bits)
    message = pack(codes)
    assert len(message) == FRAME_BYTES + n * -(-n_levels * stored_bits(bits) // 8)
    assert unpack(message, codes) == codes


def test_norms_go_along():
    codes = drawn(3, 10, 2, norms=[0.0, 1.5, 3e38])
    assert len(pack(codes)) == 68 + 16 + 3 * (3 + 4)
    assert unpack(pack(codes), codes) == codes


def test_message_is_laid_out_as_documented():
    codes = drawn(2, 12, 1, norms=[1.0, 2.0])
    message = pack(codes)
    assert message[:4] == b"LTWC"
    assert message[4:8] == bytes([2, 1, 2, 0])
    assert message[8:40] == MARK + SIDE
    assert message[40:48] == bytes([12, 0, 0, 0, 2, 0, 0, 0])
    assert message[48:64] == b"LEVL" + bytes([1, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0])
    assert message[64:68] == codes.packed[:, :2].tobytes()
    assert message[68:84] == b"NORM" + bytes([1, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0])
    assert message[84:92] == np.array([1.0, 2.0], dtype="<f4").tobytes()
    assert message[92:] == crc32c(message[:92]).to_bytes(4, "little")


@pytest.mark.parametrize(
    ("name", "codes"),
    [
        ("codes_1bit_v2.ltw", drawn(3, 100, 1)),
        ("codes_3bit_v2.ltw", drawn(2, 21, 3)),
        ("codes_norms_v2.ltw", drawn(2, 9, 4, norms=[1.0, 2.5])),
    ],
)
def test_golden_message_stays_readable(name, codes):
    golden = (DATA / name).read_bytes()
    assert unpack(golden, codes) == codes
    assert pack(codes) == golden


@pytest.mark.parametrize(
    "encoder",
    [
        lt.RandomFeatures(n_components=100, random_state=0),
        lt.RandomFeatures(n_components=64, bits=3, quantizer="phase", random_state=0),
        lt.Sketch(n_components=64, store_norms=True, random_state=0),
        lt.TernaryFeatures(n_components=64, sparsity="auto", random_state=0),
        lt.LearnedFeatures(n_bytes=8, random_state=0),
        lt.AsymmetricFeatures(n_components=64, random_state=0),
    ],
    ids=lambda encoder: type(encoder).__name__,
)
def test_codes_of_every_encoder_come_back(encoder):
    X = np.random.default_rng(0).standard_normal((5, 4))
    codes = encoder.fit(X).encode(X)
    assert unpack(pack(codes), encoder) == codes


def test_encoder_without_packed_codes_is_refused():
    encoder = lt.RandomFeatures(n_components=8, quantizer=lt.PeriodicMap(np.sin), feature_map="cosine").fit(np.eye(3))
    with pytest.raises(WireFormatError, match="packed codes"):
        unpack(b"", encoder)


def test_pack_refuses_what_is_no_codes():
    with pytest.raises(WireFormatError, match="ndarray"):
        pack(np.zeros((2, 2)))


def test_reader_joins_messages():
    codes = drawn(6, 100, 1)
    reader = CodesReader(codes)
    joined = reader.codes([reader.read(pack(codes[:1])), reader.read(pack(codes[1:1])), reader.read(pack(codes[1:]))])
    assert joined == codes


CODES = drawn(3, 100, 1)
MESSAGE = pack(CODES)


def with_part(message, name=b"ROTA", version=1, content=b"1234"):
    """Return a message with one part more."""
    head = message[:6] + (int.from_bytes(message[6:8], "little") + 1).to_bytes(2, "little") + message[8:-4]
    part = name + version.to_bytes(4, "little") + len(content).to_bytes(8, "little") + content
    return resealed(head + part + b"sums")


@pytest.mark.parametrize(
    ("message", "error", "reason"),
    [
        (b"", WireFormatError, "begin with 'LTWC', got nothing"),
        (b"LTW", WireFormatError, "begin with"),
        (b"LTWR" + MESSAGE[4:], WireFormatError, "begin with"),
        (b"LTWC", WireFormatError, "at least 68 bytes, got 4"),
        (MESSAGE[:47], WireFormatError, "at least 68 bytes, got 47"),
        (MESSAGE[:60], WireFormatError, "cut short"),
        (changed(MESSAGE, 4, b"\x01"), WireFormatError, "version 2, got 1"),
        (changed(MESSAGE, 4, b"\x03"), WireFormatError, "version 2, got 3"),
        (changed(MESSAGE, 5, b"\x02"), WireFormatError, "1 bits a level, got 2"),
        (changed(MESSAGE, 6, b"\x02"), WireFormatError, "2 parts of its head, got 1: cut short"),
        (changed(MESSAGE, 6, b"\x00"), WireFormatError, "too long"),
        (changed(MESSAGE, 8, b"\xff"), FingerprintMismatchError, "fingerprint 000102.*got codes of ff0102"),
        (changed(MESSAGE, 24, b"\xff"), FingerprintMismatchError, "side 101112.*got codes of ff1112"),
        (changed(MESSAGE, 40, b"\x65"), WireFormatError, "100 levels a row, got 101"),
        (changed(MESSAGE, 44, b"\x04"), WireFormatError, "'LEVL' must have the 52 bytes of its rows, got 39"),
        (changed(MESSAGE, 44, b"\xff\xff\xff\xff"), WireFormatError, "bytes of its rows, got 39"),
        (changed(MESSAGE, 48, b"ROTA"), WireFormatError, "got 'ROTA', which this lowtide does not know"),
        (changed(MESSAGE, 52, b"\x02"), WireFormatError, "'LEVL' must have version 1, got 2"),
        (changed(MESSAGE, 56, b"\x28"), WireFormatError, "108 bytes of its parts, got 107: cut short"),
        (changed(MESSAGE, 56, b"\x26"), WireFormatError, "got 107: too long"),
        (changed(MESSAGE, 56, b"\xff" * 8), WireFormatError, "cut short"),
        (with_part(MESSAGE), WireFormatError, "got 'ROTA', which this lowtide does not know"),
        (with_part(MESSAGE, b"LEVL"), WireFormatError, "got 'LEVL', twice"),
        (with_part(MESSAGE, b"NORM", content=bytes(12)), WireFormatError, "the parts LEVL, got 'NORM'"),
        (MESSAGE[:-1], WireFormatError, "cut short"),
        (MESSAGE + b"\0", WireFormatError, "too long"),
        (MESSAGE[:-1] + bytes([MESSAGE[-1] ^ 1]), WireFormatError, "checksum"),
        (changed(MESSAGE, 64 + 12, b"\xff"), WireFormatError, "after the last level"),
    ],
)
def test_message_is_refused_with_its_reason(message, error, reason):
    with pytest.raises(error, match=reason):
        unpack(message, CODES)


def test_part_that_is_missing_is_named():
    template = drawn(1, 100, 1, norms=[1.0])
    with pytest.raises(WireFormatError, match="must have a part 'NORM', got LEVL"):
        unpack(MESSAGE, template)


def test_codes_of_another_quantizer_on_the_same_frequencies_are_refused_with_both_sides():
    X = np.random.default_rng(0).standard_normal((5, 4))
    one, other = (lt.RandomFeatures(n_components=64, bits=b, random_state=0).fit(X) for b in (1, 2))
    assert one.fingerprint_ == other.fingerprint_
    with pytest.raises(FingerprintMismatchError, match=f"side {one.side_.hex()}, got codes of {other.side_.hex()}"):
        unpack(pack(other.encode(X)), one)


@pytest.mark.parametrize("norm", [np.nan, -1.0, np.inf])
def test_norm_that_is_none_is_refused(norm):
    codes = drawn(1, 8, 1, norms=[1.0])
    message = changed(pack(codes), 64 + 1 + 16, np.float32(norm).tobytes())
    with pytest.raises(WireFormatError, match="norms"):
        unpack(message, codes)


def test_level_that_the_quantizer_does_not_have_is_refused():
    codes = drawn(1, 4, 5)
    with pytest.raises(WireFormatError, match="below 32, got 200"):
        unpack(changed(pack(codes), 65, bytes([200])), codes)


@pytest.mark.parametrize("bit", range(8 * len(MESSAGE)))
def test_any_flipped_bit_is_found(bit):
    damaged = bytearray(MESSAGE)
    damaged[bit // 8] ^= 1 << bit % 8
    with pytest.raises(LowtideError):
        unpack(bytes(damaged), CODES)


@settings(max_examples=200, deadline=None)
@given(
    st.binary(max_size=120), st.sampled_from([b"", b"LTWC", b"LTWC\x02\x01\x01\0" + MARK, MESSAGE[:48], MESSAGE[:64]])
)
def test_random_bytes_are_refused_or_read_but_never_crash(tail, start):
    for message in (start + tail, resealed(start + tail + b"1234")):
        with contextlib.suppress(LowtideError):
            assert len(unpack(message, CODES)) * 13 + 68 == len(message)


def test_wire_rows_are_padded_to_whole_bytes_only():
    assert [wire_row_bytes(m, 1) for m in (1, 8, 9, 4096)] == [1, 1, 2, 512]


ROWS = np.arange(6, dtype=np.float32).reshape(2, 3)
ROWS_MESSAGE = pack_rows(ROWS)
GOLDEN = DATA / "rows_v2.ltw"


@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (2, 3), (3, 0)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_unpack_of_packed_rows_is_the_same(shape, dtype):
    X = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    found = unpack_rows(pack_rows(X))
    np.testing.assert_array_equal(found.rows, X)
    assert found.rows.dtype == np.float32
    assert found[1:] == ("input", None)


def test_features_carry_their_encoder():
    message = pack_rows(ROWS, side="features", fingerprint=MARK)
    assert unpack_rows(message, fingerprint=MARK)[1:] == ("features", MARK)
    with pytest.raises(FingerprintMismatchError, match="ffff"):
        unpack_rows(message, fingerprint=b"\xff" * 16)


def test_golden_message_of_rows_stays_readable():
    golden = GOLDEN.read_bytes()
    np.testing.assert_array_equal(unpack_rows(golden).rows, ROWS)
    assert pack_rows(ROWS) == golden


def test_rows_that_are_not_contiguous_are_sent_in_order():
    np.testing.assert_array_equal(unpack_rows(pack_rows(ROWS.T)).rows, ROWS.T)


@pytest.mark.parametrize("X", [[[np.nan]], [[np.inf]], [[1e39]], [1.0], 1.0])
def test_pack_refuses_rows_that_float32_cannot_hold(X):
    with pytest.raises(WireFormatError, match="finite float32"):
        pack_rows(X)


def test_pack_refuses_features_of_no_encoder():
    with pytest.raises(WireFormatError, match="16 bytes"):
        pack_rows(ROWS, side="features")
    with pytest.raises(ParameterError, match="side"):
        pack_rows(ROWS, side="codes")


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (b"LTWC" + ROWS_MESSAGE[4:], "begin with 'LTWR'"),
        (ROWS_MESSAGE[:4] + b"\x09" + ROWS_MESSAGE[5:], "version 2, got 9"),
        (changed(ROWS_MESSAGE, 5, b"\x02"), "must be 0 or 1"),
        (changed(ROWS_MESSAGE, 24, b"\x01"), "bytes 24 to 39 zero"),
        (ROWS_MESSAGE[:-2], "cut short"),
        (ROWS_MESSAGE + b"12", "too long"),
        (changed(ROWS_MESSAGE, 40, b"\xff" * 8), "bytes of its rows, got 24"),
        (changed(ROWS_MESSAGE, 48, b"LEVL"), "got 'LEVL', which does not belong here"),
        (with_part(ROWS_MESSAGE, b"NORM"), "got 'NORM', which does not belong here"),
        (ROWS_MESSAGE[:70] + b"\xff" + ROWS_MESSAGE[71:], "checksum"),
        (changed(ROWS_MESSAGE, 64, np.float32(np.nan).tobytes()), "finite"),
    ],
)
def test_message_of_rows_is_refused_with_its_reason(message, reason):
    with pytest.raises(LowtideError, match=reason):
        unpack_rows(message)
