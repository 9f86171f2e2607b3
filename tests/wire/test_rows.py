"""Rows of float32 as messages."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lowtide.checksum import crc32c
from lowtide.errors import FingerprintMismatchError, LowtideError, ParameterError, WireFormatError
from lowtide.wire import pack_rows, unpack_rows

MARK = bytes(range(16))
ROWS = np.arange(6, dtype=np.float32).reshape(2, 3)
MESSAGE = pack_rows(ROWS)
GOLDEN = Path(__file__).parents[1] / "data" / "rows_v1.ltw"


def resealed(message):
    return message[:-4] + crc32c(message[:-4]).to_bytes(4, "little")


@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (2, 3), (3, 0)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_unpack_of_pack_is_the_same(shape, dtype):
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


def test_golden_message_stays_readable():
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
        (b"LTWC" + MESSAGE[4:], "begin with 'LTWR'"),
        (MESSAGE[:4] + b"\x09" + MESSAGE[5:], "version 1, got 9"),
        (resealed(MESSAGE[:5] + b"\x02" + MESSAGE[6:]), "side 0 or 1"),
        (resealed(MESSAGE[:6] + b"\x01" + MESSAGE[7:]), "flags"),
        (MESSAGE[:-2], "cut short"),
        (MESSAGE + b"12", "too long"),
        (resealed(MESSAGE[:24] + b"\xff" * 8 + MESSAGE[32:]), "cut short"),
        (MESSAGE[:40] + b"\xff" + MESSAGE[41:], "checksum"),
        (resealed(MESSAGE[:32] + np.float32(np.nan).tobytes() + MESSAGE[36:]), "finite"),
    ],
)
def test_message_is_refused_with_its_reason(message, reason):
    with pytest.raises(LowtideError, match=reason):
        unpack_rows(message)
