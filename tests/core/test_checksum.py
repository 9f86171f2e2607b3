import mmap
import threading

import numpy as np
import pytest
from core.cases import checksum_bytes, checksums

from lowtide import _core
from lowtide.checksum import crc32c
from lowtide.errors import ParameterError


def by_definition(data: bytes, value: int = 0) -> int:
    state = value ^ 0xFFFFFFFF
    for byte in data:
        state ^= byte
        for _ in range(8):
            state = state >> 1 ^ (0x82F63B78 if state & 1 else 0)
    return state ^ 0xFFFFFFFF


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", 0),
        (b"123456789", 0xE3069283),
        (bytes(32), 0x8A9136AA),
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
        (bytes(range(31, -1, -1)), 0x113FDB5C),
    ],
)
def test_crc32c_of_known_bytes_is_the_published_sum(data, expected):
    assert crc32c(data) == expected


@pytest.mark.parametrize("n", [1, 7, 8, 9, 100, 767, 768, 1537, 12289])
def test_crc32c_is_the_definition_for_any_length_and_alignment(n):
    data = checksum_bytes()[3 : 3 + n]
    assert crc32c(data) == by_definition(data.tobytes())


def test_crc32c_of_every_case_is_the_definition():
    data = checksum_bytes().tobytes()
    sums = [by_definition(data[first : first + n]) for first, n in ((0, len(data)), (1, 13000), (5, 800), (7, 0))]
    assert checksums().tolist() == sums


def test_crc32c_continues_from_a_former_sum():
    data = checksum_bytes().tobytes()
    for cut in (0, 1, 4096, 12288, len(data)):
        assert crc32c(data[cut:], crc32c(data[:cut])) == crc32c(data)


def test_crc32c_finds_every_single_flipped_bit():
    data = bytearray(checksum_bytes()[:40].tobytes())
    expected = crc32c(data)
    for bit in range(8 * len(data)):
        data[bit // 8] ^= 1 << bit % 8
        assert crc32c(data) != expected
        data[bit // 8] ^= 1 << bit % 8


def test_crc32c_takes_any_buffer_in_one_piece(tmp_path):
    array = checksum_bytes()[:1024]
    expected = crc32c(array.tobytes())
    (tmp_path / "bytes").write_bytes(array.tobytes())
    frozen = array.copy()
    frozen.setflags(write=False)
    with (tmp_path / "bytes").open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        for same in (
            bytearray(array),
            memoryview(array),
            frozen,
            array.reshape(32, 32),
            array.view(np.float64),
            mapped,
        ):
            assert crc32c(same) == expected
    assert crc32c(np.memmap(tmp_path / "bytes", mode="r")) == expected
    assert crc32c(np.empty((0, 8))) == 0


@pytest.mark.parametrize("buffer", ["text", 5, None, np.zeros((4, 4))[:, 1], np.zeros((3, 4)).T])
def test_crc32c_refuses_what_is_not_bytes_in_one_piece(buffer):
    with pytest.raises(ParameterError, match="in one piece"):
        crc32c(buffer)


@pytest.mark.parametrize("value", [-1, 2**32, 0.5, True])
def test_crc32c_refuses_a_value_that_is_no_sum(value):
    with pytest.raises(ParameterError, match="value must be an integer from 0 to 4294967295"):
        crc32c(b"", value)


def test_crc32c_runs_in_several_threads_at_once():
    data, found = checksum_bytes(), []
    threads = [threading.Thread(target=lambda: found.append(crc32c(data))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [crc32c(data)] * 8


@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (5, 0), (3, 7), (1000, 513)])
def test_row_sums_are_products_modulo_2_to_64(shape):
    rng = np.random.default_rng(0)
    # From the second word on: rows need not start where a vector would.
    words = rng.integers(2**32, size=shape[0] * shape[1] + 1, dtype=np.uint32)[1:].reshape(shape)
    factors = rng.integers(2**64, size=(shape[1], 2), dtype=np.uint64)
    sums = np.ones((shape[0], 2), dtype=np.uint64)
    _core.row_sums(words, factors, sums)
    np.testing.assert_array_equal(sums, words.astype(np.uint64) @ factors)


def test_row_sums_refuse_other_shapes():
    words, factors, sums = np.zeros((3, 4), np.uint32), np.zeros((4, 2), np.uint64), np.zeros((3, 2), np.uint64)
    with pytest.raises(ValueError, match="factors must be"):
        _core.row_sums(words, factors[:3], sums)
    with pytest.raises(ValueError, match="sums must be"):
        _core.row_sums(words, factors, sums[:2])
