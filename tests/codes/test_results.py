import gc
import os
import pickle
import threading

import numpy as np
import pytest

import lowtide as lt
from lowtide.codes import empty_result

LARGE = (1024, 8192)  # 32 MB in float32: the least that is large


def place(array):
    return array.ctypes.data


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8])
@pytest.mark.parametrize("shape", [(0, 5), (3, 7), LARGE, (4097, 8193)], ids=str)
def test_results_have_shape_and_dtype_and_can_be_written(shape, dtype):
    out = empty_result(shape, dtype)
    assert out.shape == shape
    assert out.dtype == dtype
    assert out.flags.c_contiguous
    assert out.flags.writeable
    out[:] = 3
    assert (out == 3).all()


def test_a_large_result_starts_at_a_page():
    assert place(empty_result(LARGE)) % 4096 == 0


def test_a_result_that_was_let_go_lends_its_pages_to_the_next():
    first = empty_result(LARGE)
    at = place(first)
    del first
    assert place(empty_result(LARGE)) == at


@pytest.mark.parametrize("keep", [np.asarray, np.transpose, lambda a: a[5:6, 1:], memoryview], ids=range(4))
def test_whatever_refers_to_a_result_keeps_it(keep):
    first = empty_result(LARGE)
    first[:] = 1
    kept = keep(first)
    del first
    gc.collect()
    second = empty_result(LARGE)
    second[:] = 2
    assert (np.asarray(kept) == 1).all()


def test_a_result_survives_pickling_and_copies():
    out = empty_result(LARGE)
    out[:] = np.arange(LARGE[1], dtype=np.float32)
    copies = [pickle.loads(pickle.dumps(out)), out.copy()]
    expected = np.broadcast_to(np.arange(LARGE[1], dtype=np.float32), LARGE)
    del out
    empty_result(LARGE)[:] = 0
    assert all(np.array_equal(copy, expected) for copy in copies)


def test_a_result_beyond_memory_says_what_it_needs():
    with pytest.raises(MemoryError, match=r"shape \(1073741824, 4194304\) in float32 needs 1.68e\+07 GiB.*fewer rows"):
        empty_result((1 << 30, 1 << 22))


def test_threads_never_share_a_result():
    wrong = []

    def work(value):
        for _ in range(8):
            out = empty_result(LARGE)
            out[:] = value
            if not (out == value).all():
                wrong.append(value)

    threads = [threading.Thread(target=work, args=(value,)) for value in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_forked_child_does_not_write_into_results_of_its_parent():
    before = empty_result(LARGE)
    before[:] = 1
    del before
    child = os.fork()
    if child == 0:
        empty_result(LARGE)[:] = 2
        os._exit(0)
    ours = empty_result(LARGE)
    ours[:] = 1
    assert os.waitpid(child, 0)[1] == 0
    assert (ours == 1).all()


@pytest.mark.parametrize("n_components", [4096, 4095, 4097])
def test_large_features_have_the_bits_of_small_ones(n_components):
    X = np.random.default_rng(0).standard_normal((2300, 20)).astype(np.float32)
    encoder = lt.RandomFeatures(gamma=0.1, n_components=n_components, random_state=0).fit(X)
    whole = encoder.transform(X)
    assert whole.nbytes >= 32 << 20
    parts = np.concatenate([encoder.transform(X[rows : rows + 100]) for rows in range(0, len(X), 100)])
    assert np.array_equal(whole, parts)


def test_large_features_of_rows_that_overflow_are_refused_and_the_next_are_right():
    X = np.random.default_rng(0).standard_normal((2300, 20)).astype(np.float32)
    encoder = lt.RandomFeatures(gamma=0.1, n_components=4096, random_state=0).fit(X)
    expected = encoder.transform(X).copy()
    with pytest.raises(lt.errors.ParameterError, match="NaN or infinity"):
        encoder.transform(np.where(np.arange(2300)[:, None] == 2000, np.inf, X))
    assert np.array_equal(encoder.transform(X), expected)
