import numpy as np
import pytest
from reference import hadamard
from reference.hadamard import block, pulled_back
from reference.projected import projected
from scipy.linalg import block_diag
from scipy.linalg import hadamard as dense_hadamard

from lowtide import _core

F = np.float32


def draw(n, d, dim, n_blocks, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)).astype(F), hadamard.draw(rng, n_blocks, dim)


def project(X, blocks, p):
    out = np.full((len(X), p), np.nan, F)
    _core.project(X, blocks, np.ones(p, F), out)
    return out


def same_bits(a, b):
    return a.shape == b.shape and a.tobytes() == b.tobytes()


def test_reference_block_is_the_dense_product():
    X, blocks = draw(4, 64, 64, 1)
    H, (s1, rotations, s3) = dense_hadamard(64).astype(float), blocks[0].astype(float)
    back = block_diag(*[[[c, s], [-s, c]] for c, s in rotations.reshape(-1, 2)])
    truth = X @ (H @ np.diag(s3) @ H @ back @ H @ np.diag(s1)).T / 2
    # 18 roundings on a path (16 additions; a product and a sum), each at most 2^-24 of a value that is at most
    # 2^0.5 32 32 64 max |x|: a rotation makes an entry at most 2^0.5 times as large.
    assert np.abs(block(X, blocks[0]) - truth).max() <= 18 * 2**-24 * 2**0.5 * 2**16 * np.abs(X).max()


@pytest.mark.parametrize("dim", [64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 1 << 17])
def test_hadamard_gives_the_bits_of_the_reference(dim):
    X, blocks = draw(2, dim - dim // 5, dim, 2)
    truth = projected(X, blocks, 2 * dim)
    for p in (2 * dim, dim + 1, dim, dim // 2 + 1, dim // 2, dim // 4, dim // 9, 1):
        assert same_bits(project(X, blocks, p), truth[:, :p])


@pytest.mark.parametrize("d", [1, 2, 63, 64])
def test_hadamard_pads_short_rows_with_zeros(d):
    X, blocks = draw(3, d, 64, 33)
    padded = np.zeros((3, 64), F)
    padded[:, :d] = X
    assert same_bits(project(X, blocks, 33 * 64), project(padded, blocks, 33 * 64))


def test_hadamard_keeps_bits_of_extreme_values():
    X, blocks = draw(3, 1024, 1024, 1)
    X[0] *= F(1e-38)
    X[1] *= F(1e28)
    X[2, ::2] = 0
    assert same_bits(project(X, blocks, 1024), projected(X, blocks, 1024))


@pytest.mark.parametrize("dim", [64, 1024])
def test_hadamard_row_does_not_depend_on_its_batch(dim):
    X, blocks = draw(301, dim - 3, dim, 3)
    p = 2 * dim + 5
    whole = project(X, blocks, p)
    assert same_bits(whole[100:101], project(X[100:101], blocks, p))
    assert same_bits(whole[::7], project(X[::7], blocks, p))
    assert same_bits(whole[::-1], project(X[::-1], blocks, p))


def test_hadamard_takes_an_input_without_rows():
    X, blocks = draw(0, 10, 64, 1)
    assert project(X, blocks, 64).shape == (0, 64)


def pull_back(values, blocks, scale, d):
    out = np.full((len(values), d), np.nan, F)
    _core.pull_back(values, blocks, scale, out)
    return out


def draw_values(n, p, dim, seed=0):
    rng = np.random.default_rng(seed)
    blocks = hadamard.draw(rng, -(-p // dim), dim)
    return rng.normal(size=(n, p)).astype(F), blocks, rng.uniform(0.5, 1.5, p).astype(F)


@pytest.mark.parametrize("dim", [64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 1 << 17])
def test_pull_back_gives_the_bits_of_the_reference(dim):
    # One block and nine of the smaller ones: the ops take several at a time, and slices of 1024 values.
    for p in (1, dim // 9, dim // 2 + 1, dim, dim + 1, *((8 * dim + 5,) if dim <= 512 else ())):
        values, blocks, scale = draw_values(2, p, dim, seed=p)
        truth = pulled_back(values, blocks, scale)
        for d in (1, dim - dim // 5, dim):
            assert same_bits(pull_back(values, blocks, scale, d), truth[:, :d])


@pytest.mark.parametrize(("dim", "p"), [(64, 64), (64, 300), (1024, 1500)])
def test_pull_back_is_the_transposed_projection(dim, p):
    values, blocks, scale = draw_values(3, p, dim)
    d = dim - 3
    W = np.empty((d, p), F)
    _core.project(np.eye(d, dtype=F), blocks, scale, W)
    truth = values.astype(np.float64) @ W.T.astype(np.float64)
    # Roundings are random: 3 log2 D + 2 of them on a path leave an error of about the root of that many of 2^-24 of a
    # value's size, and W has as large ones. Six times both is beyond all of the values here.
    slack = 6 * 2 * np.sqrt(3 * np.log2(dim) + 2) * 2**-24 * np.sqrt(np.mean(truth**2))
    assert np.abs(pull_back(values, blocks, scale, d) - truth).max() < slack


@pytest.mark.parametrize("dim", [64, 1024])
def test_pull_back_of_a_row_does_not_depend_on_its_batch(dim):
    p = 2 * dim + 5
    values, blocks, scale = draw_values(301, p, dim)
    whole = pull_back(values, blocks, scale, dim - 3)
    for part in (slice(100, 101), slice(None, None, 7), slice(None, None, -1), slice(0, 0)):
        assert same_bits(whole[part], pull_back(values[part], blocks, scale, dim - 3))
    columns = np.empty((301, p + 3), F)[:, 1 : p + 1]
    columns[:] = values
    assert same_bits(whole, pull_back(columns, blocks, scale, dim - 3))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"values": np.zeros((4, 99), F)}, "as many columns as scale"),
        ({"values": np.zeros((200, 4), F)[:, :].T[:, ::2]}, "contiguous"),
        ({"blocks": np.zeros((2, 2, 64), F)}, r"\(n_blocks, 3, D\)"),
        ({"blocks": np.zeros((2, 3, 96), F)}, "power of two"),
        ({"blocks": np.zeros((1, 3, 64), F)}, r"n_blocks \* D"),
        ({"out": np.zeros((4, 65), F)}, "at most D columns"),
        ({"out": np.zeros((3, 60), F)}, "rows of values"),
    ],
    ids=["width", "strides", "parts", "size", "too_few", "too_wide", "rows"],
)
def test_pull_back_refuses_what_does_not_fit(change, message):
    fitting = {"values": np.zeros((4, 100), F), "blocks": np.zeros((2, 3, 64), F), "scale": np.ones(100, F)}
    with pytest.raises(ValueError, match=message):
        _core.pull_back(**{**fitting, "out": np.zeros((4, 60), F), **change})


@pytest.mark.parametrize(("n", "n_blocks", "p"), [(40, 9, 200), (33, 60, 3000), (3, 1100, 70000)])
def test_places_are_gathered_in_tiles_of_any_number_of_rows(n, n_blocks, p):
    X, blocks = draw(n, 50, 64, n_blocks)
    places = np.sort(np.random.default_rng(1).choice(n_blocks * 64, p, replace=False)).astype(np.uint32)
    truth = project(X, blocks, n_blocks * 64)[:, places]
    for threads in (1, 3):
        before = _core.thread_count()
        try:
            _core.set_thread_count(threads)
            assert same_bits(project(X, (blocks, None, places), p), truth)
        finally:
            _core.set_thread_count(before)


def test_places_and_factors_take_strided_and_reversed_rows():
    X, blocks = draw(30, 64, 64, 4)
    layout = (blocks, np.linspace(0, 2, 64).astype(F), np.array([0, 5, 200], np.uint32))
    whole = project(X, layout, 3)
    assert same_bits(whole[::7], project(X[::7], layout, 3))
    assert same_bits(whole[::-1], project(X[::-1], layout, 3))


@pytest.mark.parametrize("value", [np.nan, np.inf, 3e38])
def test_rows_that_are_not_finite_are_refused_with_factors_and_places(value):
    X, blocks = draw(2, 64, 64, 4)
    X[1, 3] = value
    factors = np.zeros(64, F) if not np.isfinite(value) else np.full(64, 10, F)  # 0 does not hide what is not finite
    with pytest.raises(OverflowError):
        project(X, (blocks, factors, np.array([130], np.uint32)), 1)
