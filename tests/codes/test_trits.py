import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from reference import codes as reference

from lowtide.codes import pack_trits, unpack_trits
from lowtide.errors import CodeLayoutError, ParameterError

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
