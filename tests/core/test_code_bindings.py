"""Arrays that do not fit are refused by the bindings before an op could read past them."""

import numpy as np
import pytest

from lowtide import _core

ROWS = np.zeros((4, 8), np.uint8)
BOOK = np.array([[-1.0], [1.0]], np.float32)


NO_ROW = np.zeros(4, bool)
WIDE = np.zeros((4, 1032), np.uint8)
HUGE = np.zeros((1, 8192), np.uint8)


def f32(*shape):
    return np.zeros(shape, np.float32)


def f64(*shape):
    return np.zeros(shape)


def i64(*shape):
    return np.zeros(shape, np.int64)


def unaligned():
    return np.zeros(33, np.uint8)[1:].reshape(4, 8)


def f64_within_an_item(*shape):
    return np.zeros(8 * np.prod(shape) + 4, np.uint8)[4:].view(np.float64).reshape(shape)


@pytest.mark.parametrize(
    ("op", "arguments", "message"),
    [
        ("pack", (np.zeros((4, 65), np.uint8), 1, ROWS.copy()), "8 \\* ceil"),
        ("pack", (np.zeros((3, 64), np.uint8), 1, ROWS.copy()), "as many rows"),
        ("pack", (np.zeros((4, 8), np.uint8), 5, ROWS.copy()), "1, 2, 3, 4 or 8"),
        ("unpack", (ROWS, 1, np.zeros((4, 65), np.uint8)), "8 \\* ceil"),
        ("unpack", (ROWS, 1, np.zeros((5, 64), np.uint8)), "as many rows"),
        ("unpack", (unaligned(), 1, np.zeros((4, 64), np.uint8)), "multiple of 8"),
        ("decode", (ROWS, 64, 1, f32(4, 1), f32(4, 64)), "2\\^bits"),
        ("decode", (ROWS, 64, 1, f32(2, 3), f32(4, 192)), "1 or 2 values"),
        ("decode", (ROWS, 64, 1, BOOK, f32(4, 63)), "out must be"),
        ("decode", (ROWS, 2**61, 8, f32(256, 1), f32(4, 64)), "2\\^30"),
        ("code_matvec", (ROWS, 64, 1, BOOK, f32(63, 1), f32(4, 1)), "W must have"),
        ("code_matvec", (ROWS, 64, 1, BOOK, f32(64, 2), f32(4, 1)), "out must be"),
        ("code_matvec", (ROWS, 8, 8, f32(256, 1), f32(8, 1), f32(4, 1)), "1, 2, 3 or 4"),
        ("row_product", (ROWS, 64, 1, BOOK, f32(1, 63), f32(4, 1)), "columns must be"),
        ("row_product", (ROWS, 64, 1, BOOK, f64(2, 64), f64(4, 1)), "out must be"),
        ("row_product", (ROWS, 64, 1, f32(4, 1), f64(2, 64), f64(4, 2)), "2\\^bits"),
        ("row_product", (unaligned(), 64, 1, BOOK, f64(2, 64), f64(4, 2)), "multiple of 8"),
        ("row_product", (ROWS, 64, 1, BOOK, f64_within_an_item(2, 64), f64(4, 2)), "pass a copy"),
        ("code_rmatvec", (ROWS, 64, 1, BOOK, f32(3, 1), f32(64, 1)), "R must have"),
        ("code_rmatvec", (ROWS, 64, 1, BOOK, f32(4, 1), f32(63, 1)), "out must be"),
        ("code_rmatvec", (ROWS, 8, 8, f32(256, 1), f32(4, 1), f32(8, 1)), "1, 2, 3 or 4"),
        ("code_gram", (ROWS, 64, BOOK, f32(64, 63)), "out must be"),
        ("code_gram", (ROWS, 63, f32(4, 1), f32(63, 63)), "2\\^bits"),
        ("panel_gram", (ROWS, 64, 1, BOOK, None, False, False, f32(64, 63)), "out must be"),
        ("panel_gram", (ROWS, 64, 1, BOOK, f32(5, 1)[:, 0].copy(), False, False, f32(64, 64)), "weight must have"),
        ("code_top_k", (ROWS, 64, 1, BOOK, f64(2, 63), True, i64(2, 1), f32(2, 1)), "queries must have"),
        ("code_top_k", (ROWS, 64, 1, BOOK, f64(2, 64), True, i64(1, 1), f32(2, 1)), "indices must be"),
        ("code_top_k", (ROWS, 64, 1, BOOK, f64(2, 64), True, i64(2, 1), f32(2, 2)), "scores must be"),
        ("code_top_k", (ROWS, 64, 1, BOOK, f64(2, 64), True, i64(2, 5), f32(2, 5)), "k must be from 1"),
        ("code_top_k", (ROWS, 64, 1, BOOK, f64(2, 64), True, i64(2, 0), f32(2, 0)), "k must be from 1"),
        ("code_top_k", (ROWS, 8, 8, f32(256, 1), f64(2, 8), True, i64(2, 1), f32(2, 1)), "1, 2 or 4"),
        ("code_top_k", (WIDE, 8193, 1, BOOK, f64(2, 8193), True, i64(2, 1), f32(2, 1)), "1024 bytes"),
        ("code_top_k", (ROWS, 64, 1, BOOK, f64(2, 64), True, i64(2, 1), f32(2, 1), f32(4)), "come with offsets"),
        ("code_top_k", (ROWS, 64, 1, BOOK, f64(2, 64), True, i64(2, 1), f32(2, 1), f32(3), f32(3)), "an entry a row"),
        ("code_top_k", (ROWS, 64, 1, BOOK, f64(2, 64), True, i64(2, 1), f32(2, 1), None, None, NO_ROW), "be allowed"),
        ("code_top_k", (ROWS, BOOK, ROWS, BOOK, 64, True, i64(4, 1), f32(4, 1), NO_ROW), "be allowed"),
        ("code_top_k", (ROWS, BOOK, ROWS, f32(2, 2), 64, True, i64(4, 1), f32(4, 1)), "same width"),
        ("code_top_k", (ROWS, BOOK, ROWS, BOOK + 1, 64, True, i64(4, 1), f32(4, 1)), "equal bits alone"),
        ("code_top_k", (ROWS, BOOK, ROWS, BOOK, 64, True, i64(3, 1), f32(4, 1)), "indices must be"),
        ("code_top_k", (ROWS, BOOK, ROWS, BOOK, 63, True, i64(4, 5), f32(4, 5)), "k must be from 1"),
        ("code_top_k", (HUGE, BOOK, HUGE, BOOK, 65536, True, i64(1, 1), f32(1, 1)), "65535"),
        ("panel_dot", (ROWS, 64, 1, BOOK, ROWS, 32, 2, f32(4, 1), None, False, f32(4, 4)), "as many decoded columns"),
        ("panel_dot", (ROWS, 64, 1, BOOK, ROWS[:2], 64, 1, BOOK, None, False, f32(4, 4)), "out must be"),
        (
            "panel_dot",
            (ROWS, 64, 1, BOOK, ROWS, 64, 1, BOOK, f32(63, 1)[:, 0].copy(), False, f32(4, 4)),
            "weight must have",
        ),
        ("bit_dot", (ROWS, BOOK, np.zeros((4, 24), np.uint8), 96, 2, f32(4, 1), False, f32(4, 4)), "8 \\* ceil"),
        ("bit_dot", (ROWS, f32(2, 2), ROWS, 64, 1, BOOK, False, f32(4, 4)), "1 value an entry"),
        ("bit_dot", (ROWS, BOOK, ROWS[:2], 64, 1, BOOK, True, f32(4, 2)), "out must be"),
        ("weights_suffice", (9, f32(0, 1)), "must have entries"),
        ("code_dot", (ROWS, BOOK, np.zeros((2, 16), np.uint8), BOOK, 64, f32(4, 2)), "8 \\* ceil"),
        ("code_dot", (ROWS, BOOK, ROWS, f32(2, 2), 64, f32(4, 4)), "same width"),
        ("code_dot", (ROWS, BOOK, ROWS[:2], BOOK, 64, f32(4, 4)), "out must be"),
    ],
)
def test_binding_refuses_shapes_that_do_not_fit(op, arguments, message):
    with pytest.raises(ValueError, match=message):
        getattr(_core, op)(*arguments)


@pytest.mark.parametrize(
    ("op", "arguments"),
    [
        ("pack", (np.zeros((4, 64), np.int64), 1, ROWS.copy())),
        ("pack", (np.zeros((4, 64), np.uint8), -1, ROWS.copy())),
        ("unpack", (ROWS, 1, np.zeros((4, 64), np.int8))),
        ("decode", (ROWS, 64, 1, BOOK.astype(np.float64), f32(4, 64))),
        ("decode", (ROWS, 64, 1, BOOK, np.zeros((4, 64), np.float16))),
        ("decode", (ROWS, 64, 1, BOOK, f32(64, 4).T)),
        ("code_matvec", (ROWS, 64, 1, BOOK, np.zeros((64, 1)), f32(4, 1))),
        ("code_gram", (ROWS[:, ::-1], 64, BOOK, f32(64, 64))),
    ],
)
def test_binding_refuses_types_that_would_need_a_copy(op, arguments):
    with pytest.raises(TypeError):
        getattr(_core, op)(*arguments)


def test_binding_refuses_a_read_only_result():
    out = f32(4, 64)
    out.flags.writeable = False
    with pytest.raises(TypeError):
        _core.decode(ROWS, 64, 1, BOOK, out)
