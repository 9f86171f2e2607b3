"""The packed layout: levels and trits in and out of rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from reference import codes as reference

from lowtide.codes import pack_levels, pack_trits, row_bytes, stored_bits, unpack_levels, unpack_trits
from lowtide.errors import CodeLayoutError, ParameterError


@st.composite
def any_levels(draw):
    bits = draw(st.integers(1, 8))
    shape = (draw(st.integers(0, 5)), draw(st.integers(1, 140)))
    return bits, draw(hnp.arrays(np.uint8, shape, elements=st.integers(0, (1 << bits) - 1)))


@settings(max_examples=60, deadline=None)
@given(any_levels())
def test_pack_then_unpack_is_identity(case):
    bits, levels = case
    packed = pack_levels(levels, bits)
    assert packed.shape == (len(levels), row_bytes(levels.shape[1], bits))
    np.testing.assert_array_equal(packed, reference.packed(levels, stored_bits(bits)))
    np.testing.assert_array_equal(unpack_levels(packed, bits, levels.shape[1]), levels)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.int64, np.uint16])
def test_pack_levels_takes_any_integer_type(dtype):
    levels = np.array([[0, 1, 1], [1, 0, 1]])
    np.testing.assert_array_equal(pack_levels(levels.astype(dtype), 1), pack_levels(levels, 1))


def test_packed_bytes_are_pinned():
    levels = np.array([[1, 5, 7, 0, 2, 6, 3, 4, 1]])
    expected = 0
    for j, level in enumerate(levels[0]):
        expected |= int(level) << (3 * j)
    assert pack_levels(levels, 3)[0].tobytes() == expected.to_bytes(8, "little")


@pytest.mark.parametrize(
    ("levels", "bits"),
    [([[0, 2]], 1), ([[-1, 0]], 4), ([[256]], 8), ([0, 1], 1), ([[0.0, 1.0]], 1), (np.zeros((2, 2, 2), int), 1)],
)
def test_pack_levels_refuses_what_is_not_levels(levels, bits):
    with pytest.raises(CodeLayoutError, match="pack_levels"):
        pack_levels(levels, bits)


@pytest.mark.parametrize("bits", [0, 9, 1.0, True, None])
def test_stored_bits_refuses_other_bits(bits):
    with pytest.raises(ParameterError, match="bits must be an integer from 1 to 8"):
        stored_bits(bits)


def test_row_bytes_refuses_empty_rows():
    with pytest.raises(ParameterError, match="n_levels"):
        row_bytes(0, 1)


def test_unpack_levels_refuses_rows_of_another_width():
    with pytest.raises(CodeLayoutError, match=r"\(n, 16\), got uint8 of shape \(2, 8\)"):
        unpack_levels(np.zeros((2, 8), np.uint8), 1, 65)


LEVELS = hnp.arrays(np.uint8, st.tuples(st.integers(0, 4), st.integers(1, 33)), elements=st.integers(0, 2))


@settings(max_examples=60, deadline=None)
@given(LEVELS)
def test_pack_trits_then_unpack_is_identity(levels):
    packed = pack_trits(levels)
    np.testing.assert_array_equal(packed, reference.trits(levels))
    np.testing.assert_array_equal(unpack_trits(packed, n_levels=levels.shape[1]), levels)


def test_unpack_trits_then_pack_is_identity_for_every_byte():
    packed = np.arange(243, dtype=np.uint8).reshape(-1, 1)
    np.testing.assert_array_equal(pack_trits(unpack_trits(packed, n_levels=5)), packed)


@pytest.mark.parametrize("levels", [[[3]], [[-1]], [0, 1], [[0.5]]])
def test_pack_trits_refuses_what_is_not_trits(levels):
    with pytest.raises(CodeLayoutError, match="pack_trits"):
        pack_trits(levels)


@pytest.mark.parametrize(
    ("packed", "n_levels", "message"),
    [
        (np.array([[243]], np.uint8), 5, "below 243"),
        (np.array([[1]], np.uint8), 6, r"\(n, 2\)"),
        (np.array([[1]], np.int64), 5, "int64"),
        (np.array([[81]], np.uint8), 4, "past the 4"),
    ],
)
def test_unpack_trits_refuses_bytes_that_pack_trits_never_makes(packed, n_levels, message):
    with pytest.raises(CodeLayoutError, match=message):
        unpack_trits(packed, n_levels=n_levels)


def test_unpack_trits_refuses_zero_levels():
    with pytest.raises(ParameterError, match="n_levels"):
        unpack_trits(np.zeros((1, 0), np.uint8), n_levels=0)
