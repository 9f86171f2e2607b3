"""Codes one after the other."""

import numpy as np
import pytest
from codes.drawn import draw_codes

from lowtide.codes import concatenate
from lowtide.errors import CodeLayoutError, FingerprintMismatchError


@pytest.mark.parametrize("bits", [1, 3, 6])
def test_concatenate_puts_rows_one_after_the_other(bits):
    C = draw_codes(9, 65, bits)
    assert concatenate([C[:4], C[4:4], C[4:]]) == C
    assert concatenate((C,)) == C


def test_concatenate_refuses_codes_of_another_encoder_and_names_both():
    C, other = draw_codes(2, 9, 1), draw_codes(2, 9, 1, fingerprint=b"f" * 16)
    with pytest.raises(FingerprintMismatchError, match=f"{C.fingerprint.hex()} and {(b'f' * 16).hex()}"):
        concatenate([C, other])


def test_concatenate_keeps_the_side_and_refuses_another_one():
    C, other = draw_codes(2, 9, 1, side=b"s" * 16), draw_codes(2, 9, 1)
    assert concatenate([C, C]).side == b"s" * 16
    with pytest.raises(CodeLayoutError, match=f"{(b's' * 16).hex()} and {bytes(16).hex()}"):
        concatenate([C, other])


def test_concatenate_refuses_other_bits_of_the_same_width():
    with pytest.raises(CodeLayoutError, match="one codebook"):
        concatenate([draw_codes(2, 8, 1), draw_codes(2, 8, 2)])
    with pytest.raises(CodeLayoutError, match="one codebook"):
        concatenate([draw_codes(2, 8, 1), draw_codes(2, 4, 1, 2)])


def test_concatenate_refuses_another_width_and_codebook():
    C = draw_codes(2, 9, 1)
    with pytest.raises(CodeLayoutError, match="equal widths"):
        concatenate([C, draw_codes(2, 10, 1)])
    with pytest.raises(CodeLayoutError, match="one codebook"):
        concatenate([C, C.with_codebook(-C.codebook)])


@pytest.mark.parametrize("parts", [[], [np.zeros((2, 8), np.uint8)]])
def test_concatenate_refuses_what_is_not_codes(parts):
    with pytest.raises(CodeLayoutError, match="one or more Codes"):
        concatenate(parts)
