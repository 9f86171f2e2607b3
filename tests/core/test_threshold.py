import numpy as np
import pytest
from core import cases
from core.cases import SHAPES, F
from reference import line, phases

from lowtide import _core


def stored(quantizer_bits):
    return quantizer_bits if quantizer_bits <= 4 else 8


@pytest.mark.parametrize("shape", [*SHAPES, (4, 1, 64, 1, 3), (3, 16, 64, 1, 64)], ids=str)
def test_norms_give_the_bits_of_the_reference(shape):
    X = cases.draw(shape)[0]
    assert np.array_equal(cases.norms(X), line.norms(X))


def test_norms_are_exact_where_the_length_is():
    X = np.array([[3, 4, 0], [0, 0, 0], [1e30, 0, 0], [0, -1e-30, 0], [1e-40, 0, 0]], F)
    assert np.array_equal(cases.norms(X), np.array([5, 0, 1e30, 1e-30, 1e-40], F))


def test_norms_of_rows_that_are_not_finite_are_not():
    X = np.array([[np.nan, 1], [np.inf, 1], [3e38, 3e38]], F)
    assert not np.isfinite(cases.norms(X)).any()


def test_norms_of_rows_of_no_columns_are_zero():
    assert np.array_equal(cases.norms(np.zeros((3, 0), F)), np.zeros(3, F))


@pytest.mark.parametrize("quantizer_bits", range(1, 9))
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_threshold_gives_the_bits_of_the_reference(shape, quantizer_bits):
    inputs, borders = cases.draw(shape), cases.line_borders(quantizer_bits)
    lengths = line.norms(inputs[0])
    levels = line.levels(line.normalized(*inputs[:3], lengths), borders)
    bits = stored(quantizer_bits)
    assert np.array_equal(cases.threshold(inputs, lengths, borders, bits), phases.pack(levels, bits))


@pytest.mark.parametrize("quantizer_bits", range(1, 9))
def test_threshold_agrees_with_the_reference_at_and_beside_the_borders(quantizer_bits):
    borders = cases.line_borders(quantizer_bits)
    hard = np.concatenate([borders, [0.0, 1e-40, 3e38, np.inf, np.nan]]).astype(F)
    hard = np.concatenate([hard, np.nextafter(hard, F(np.inf)), np.nextafter(hard, F(-np.inf))])
    X = np.concatenate([hard, -hard])[None]
    inputs = X, None, np.ones(X.shape[1], F), None
    levels = line.levels(line.normalized(X, None, inputs[2], np.ones(1, F)), borders)
    bits = stored(quantizer_bits)
    found = cases.threshold(inputs, np.ones(1, F), borders, bits)
    assert np.array_equal(found, phases.pack(levels, bits))


@pytest.mark.parametrize("quantizer_bits", [1, 2, 3, 4, 5, 8])
def test_threshold_reaches_every_level(quantizer_bits):
    borders = cases.line_borders(quantizer_bits)
    centers = np.concatenate([[0.0], borders]) + 1e-3
    X = np.concatenate([-centers[::-1], centers])[None].astype(F)
    bits = stored(quantizer_bits)
    found = cases.threshold((X, None, np.ones(X.shape[1], F), None), np.ones(1, F), borders, bits)
    assert np.array_equal(found, phases.pack(np.arange(2**quantizer_bits)[None], bits))


@pytest.mark.parametrize("length", [0.0, 1e-40, -0.0])
def test_threshold_takes_a_row_without_length_for_zeros(length):
    X = np.array([[-3.0, 2.0, -0.0]], F)
    found = cases.threshold((X, None, np.ones(3, F), None), np.full(1, length, F), cases.line_borders(2), 2)
    assert np.array_equal(found, phases.pack(np.full((1, 3), 2), 2))


def test_threshold_reads_rows_a_stride_apart():
    X, blocks, scale, _ = cases.draw((9, 50, 64, 2, 100))
    wide = np.zeros((9, 60), F)
    wide[:, 5:55] = X
    for view in (wide[:, 5:55], X[::-2], np.broadcast_to(X[:1], X.shape)):
        lengths = cases.norms(view)
        assert np.array_equal(lengths, line.norms(view))
        found = cases.threshold((view, blocks, scale, None), lengths, cases.line_borders(3), 3)
        assert np.array_equal(
            found, cases.threshold((view.copy(), blocks, scale, None), lengths, cases.line_borders(3), 3)
        )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"borders": np.array([1, 2], F)}, "2\\^i - 1 borders"),
        ({"borders": np.array([2, 1, 3], F)}, "positive and ascend"),
        ({"borders": np.array([0, 1, 3], F)}, "positive and ascend"),
        ({"borders": np.arange(1, 8, dtype=F)}, "bits must hold"),
        ({"borders": np.arange(1, 256, dtype=F)}, "at most 127"),
        ({"norms": np.ones(3, F)}, "an entry a row"),
        ({"out": np.zeros((2, 16), np.uint8)}, "bytes wide"),
        ({"out": np.zeros((3, 40), np.uint8)}, "as many rows"),
        ({"bits": 5}, "1, 2, 3, 4 or 8"),
    ],
)
def test_threshold_refuses_what_does_not_fit(change, message):
    X, blocks, scale, _ = cases.draw((2, 50, 64, 2, 100))
    good = {"norms": np.ones(2, F), "borders": cases.line_borders(3), "bits": 3, "out": np.zeros((2, 40), np.uint8)}
    with pytest.raises(ValueError, match=message):
        _core.threshold(X, blocks, scale, **(good | change))


def test_norms_refuse_what_does_not_fit():
    X = np.ones((4, 6), F)
    with pytest.raises(ValueError, match="an entry a row"):
        _core.norms(X, np.zeros(3, F))
    with pytest.raises(ValueError, match="contiguous"):
        _core.norms(X[:, ::2], np.zeros(4, F))
    with pytest.raises(TypeError):
        _core.norms(X.astype(np.float64), np.zeros(4, F))


def test_threshold_says_when_a_projection_overflows():
    X, blocks, scale, _ = cases.draw((2, 50, 64, 2, 100))
    with pytest.raises(OverflowError):
        cases.threshold((X * F(1e38), blocks, scale, None), np.ones(2, F), cases.line_borders(2), 2)
