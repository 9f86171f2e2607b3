"""Codes as messages: what goes in comes out, byte by byte as the guide says, and nothing else is taken."""

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
from lowtide.errors import FingerprintMismatchError, LowtideError, WireFormatError
from lowtide.wire import CodesReader, pack, unpack, wire_row_bytes

DATA = Path(__file__).parents[1] / "data"
MARK = bytes(range(16))


def drawn(n, n_levels, bits, norms=None, seed=0):
    levels = np.random.default_rng(seed).integers(0, 1 << bits, (n, n_levels))
    book = np.arange(1 << bits, dtype=np.float32)
    return Codes(pack_levels(levels, bits), bits=bits, n_levels=n_levels, codebook=book, fingerprint=MARK, norms=norms)


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
    assert len(message) == 36 + n * -(-n_levels * stored_bits(bits) // 8)
    assert unpack(message, codes) == codes


def test_norms_go_along():
    codes = drawn(3, 10, 2, norms=[0.0, 1.5, 3e38])
    assert len(pack(codes)) == 36 + 3 * (3 + 4)
    assert unpack(pack(codes), codes) == codes


def test_message_is_laid_out_as_documented():
    codes = drawn(2, 12, 1)
    message = pack(codes)
    assert message[:4] == b"LTWC"
    assert message[4:8] == bytes([1, 1, 0, 0])
    assert message[8:24] == MARK
    assert message[24:32] == bytes([12, 0, 0, 0, 2, 0, 0, 0])
    assert message[32:36] == codes.packed[:, :2].tobytes()
    assert message[36:] == crc32c(message[:36]).to_bytes(4, "little")


@pytest.mark.parametrize(
    ("name", "codes"),
    [
        ("codes_1bit_v1.ltw", drawn(3, 100, 1)),
        ("codes_3bit_v1.ltw", drawn(2, 21, 3)),
        ("codes_norms_v1.ltw", drawn(2, 9, 4, norms=[1.0, 2.5])),
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
    reader = CodesReader.of(codes)
    joined = reader.codes([reader.read(pack(codes[:1])), reader.read(pack(codes[1:1])), reader.read(pack(codes[1:]))])
    assert joined == codes


CODES = drawn(3, 100, 1)
MESSAGE = pack(CODES)


@pytest.mark.parametrize(
    ("message", "error", "reason"),
    [
        (b"", WireFormatError, "begin with 'LTWC', got nothing"),
        (b"LTW", WireFormatError, "begin with"),
        (b"LTWR" + MESSAGE[4:], WireFormatError, "begin with"),
        (b"LTWC", WireFormatError, "at least 36 bytes, got 4"),
        (MESSAGE[:20], WireFormatError, "at least 36 bytes, got 20"),
        (changed(MESSAGE, 4, b"\x02"), WireFormatError, "version 1, got 2"),
        (changed(MESSAGE, 5, b"\x02"), WireFormatError, "1 bits a level, got 2"),
        (changed(MESSAGE, 6, b"\x01"), WireFormatError, "0 flags, got 1"),
        (changed(MESSAGE, 7, b"\x80"), WireFormatError, "flags must be 0 or 1, got 32768"),
        (changed(MESSAGE, 8, b"\xff"), FingerprintMismatchError, "ff0102"),
        (changed(MESSAGE, 24, b"\x65"), WireFormatError, "100 levels a row, got 101"),
        (changed(MESSAGE, 28, b"\x04"), WireFormatError, "88 bytes of its rows, got 75: cut short"),
        (changed(MESSAGE, 28, b"\x02"), WireFormatError, "got 75: too long"),
        (changed(MESSAGE, 28, b"\xff\xff\xff\xff"), WireFormatError, "cut short"),
        (MESSAGE[:-1], WireFormatError, "cut short"),
        (MESSAGE + b"\0", WireFormatError, "too long"),
        (MESSAGE[:-1] + bytes([MESSAGE[-1] ^ 1]), WireFormatError, "checksum"),
        (changed(MESSAGE, 32 + 12, b"\xff"), WireFormatError, "after the last level"),
    ],
)
def test_message_is_refused_with_its_reason(message, error, reason):
    with pytest.raises(error, match=reason):
        unpack(message, CODES)


@pytest.mark.parametrize("norm", [np.nan, -1.0, np.inf])
def test_norm_that_is_none_is_refused(norm):
    codes = drawn(1, 8, 1, norms=[1.0])
    message = changed(pack(codes), 33, np.float32(norm).tobytes())
    with pytest.raises(WireFormatError, match="norms"):
        unpack(message, codes)


def test_level_that_the_quantizer_does_not_have_is_refused():
    codes = drawn(1, 4, 5)
    with pytest.raises(WireFormatError, match="below 32, got 200"):
        unpack(changed(pack(codes), 33, bytes([200])), codes)


@pytest.mark.parametrize("bit", range(8 * len(MESSAGE)))
def test_any_flipped_bit_is_found(bit):
    damaged = bytearray(MESSAGE)
    damaged[bit // 8] ^= 1 << bit % 8
    with pytest.raises(LowtideError):
        unpack(bytes(damaged), CODES)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=120), st.sampled_from([b"", b"LTWC", b"LTWC\x01\x01\0\0" + MARK, MESSAGE[:32]]))
def test_random_bytes_are_refused_or_read_but_never_crash(tail, start):
    for message in (start + tail, resealed(start + tail + b"1234")):
        with contextlib.suppress(LowtideError):
            assert len(unpack(message, CODES)) * 13 + 36 == len(message)


def test_wire_rows_are_padded_to_whole_bytes_only():
    assert [wire_row_bytes(m, 1) for m in (1, 8, 9, 4096)] == [1, 1, 2, 512]
