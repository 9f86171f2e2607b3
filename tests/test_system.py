"""What differs between operating systems: the ways of others, tried by taking away what this one offers."""

import os
from types import SimpleNamespace

import pytest

from lowtide import _system, load, save
from lowtide.encoders import RandomFeatures
from lowtide.errors import FileAccessError
from lowtide.store import CodeStore


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(bytes(range(100)))
    descriptor = os.open(path, os.O_RDWR | _system.BINARY)
    yield descriptor
    os.close(descriptor)


class ByteLocks:
    """Locks of bytes as Windows has them: one owner each, and the place of the descriptor says which byte."""

    LK_NBLCK, LK_LOCK, LK_UNLCK = 1, 2, 3

    def __init__(self):
        self.owners = {}

    def locking(self, descriptor, how, n_bytes):
        assert n_bytes == 1
        key = os.fstat(descriptor).st_ino, os.lseek(descriptor, 0, os.SEEK_CUR)
        if self.owners.setdefault(key, descriptor) != descriptor:
            raise PermissionError(13, "Permission denied")
        if how == self.LK_UNLCK:
            del self.owners[key]


@pytest.fixture
def elsewhere(monkeypatch):
    """A system without the calls of POSIX: no reads at a place, flags or limits, and locks of bytes."""
    for name in ("pread", "preadv", "pwrite", "fchmod", "sched_getaffinity"):
        monkeypatch.delattr(os, name, raising=False)
    monkeypatch.setattr(os, "supports_dir_fd", set())
    for name, value in {"_fcntl": None, "_resource": None, "_msvcrt": ByteLocks(), "rename_while_open": False}.items():
        monkeypatch.setattr(_system, name, value)
    for name in ("NO_FOLLOW", "NO_WAIT", "DIRECTORY"):
        monkeypatch.setattr(_system, name, 0)


def check_reads(descriptor):
    os.lseek(descriptor, 7, os.SEEK_SET)
    assert _system.read_at(descriptor, 4, 90) == bytes(range(90, 94))
    assert _system.read_at(descriptor, 40, 90) == bytes(range(90, 100))
    pieces = [memoryview(bytearray(3)), memoryview(bytearray(5))]
    assert _system.read_pieces(descriptor, pieces, 10) >= 3
    assert pieces[0] == bytes([10, 11, 12])
    assert _system.read_pieces(descriptor, pieces, 100) == 0
    assert _system.write_at(descriptor, b"ab", 20) == 2
    assert _system.read_at(descriptor, 3, 19) == b"\x13ab"


def test_bytes_are_read_and_written_at_a_place(file):
    check_reads(file)


def test_bytes_are_read_and_written_at_a_place_without_calls_for_it(file, elsewhere):
    check_reads(file)


@pytest.mark.parametrize("has_posix", [True, False])
def test_a_locked_file_is_refused_until_it_is_unlocked(tmp_path, request, has_posix):
    if not has_posix:
        request.getfixturevalue("elsewhere")
    path = tmp_path / "lock"
    first, second = (os.open(path, os.O_RDWR | os.O_CREAT | _system.BINARY) for _ in range(2))
    try:
        _system.lock(first, wait=True)
        with pytest.raises(OSError):  # noqa: PT011 (EWOULDBLOCK or EACCES, by system)
            _system.lock(second)
        _system.unlock(first)
        _system.lock(second)
        assert os.lseek(first, 0, os.SEEK_CUR) == 0
    finally:
        os.close(first)
        os.close(second)


def test_a_system_without_locks_says_so(file, monkeypatch):
    monkeypatch.setattr(_system, "_fcntl", None)
    monkeypatch.setattr(_system, "_msvcrt", None)
    with pytest.raises(OSError, match="no locks"):
        _system.lock(file)
    _system.unlock(file)


def test_there_is_a_processor_on_every_system(elsewhere):
    assert _system.usable_processors() == (os.cpu_count() or 1)


def test_a_limit_of_files_is_raised_as_far_as_it_goes(monkeypatch):
    set_to = []
    limits = SimpleNamespace(
        RLIMIT_NOFILE=7,
        RLIM_INFINITY=-1,
        getrlimit=lambda which: (64, 200),
        setrlimit=lambda which, pair: set_to.append(pair),
    )
    monkeypatch.setattr(_system, "_resource", limits)
    for wanted in (32, 100, 1000):
        _system.raise_file_limit(wanted)
    assert set_to == [(100, 200), (200, 200)]
    monkeypatch.setattr(_system, "_resource", None)
    _system.raise_file_limit(1000)


def test_models_and_stores_are_written_and_read_without_calls_of_posix(tmp_path, elsewhere):
    encoder = RandomFeatures(n_components=64, bits=1, random_state=0).fit([[0.0, 1.0], [1.0, 0.5]])
    save(encoder, tmp_path / "model.lowtide")
    save(encoder, tmp_path / "model.lowtide")  # over the one that is there
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.lowtide"]
    rows = [[0.25, 0.75]]
    codes = load(tmp_path / "model.lowtide").encode(rows)
    assert codes.packed.tobytes() == encoder.encode(rows).packed.tobytes()
    with CodeStore.create(tmp_path / "store", encoder, chunk_rows=8, shard_chunks=3) as store:
        store.append(rows)
        with pytest.raises(FileAccessError, match="one writer at a time"):
            CodeStore.open(tmp_path / "store", mode="a")
    with CodeStore.open(tmp_path / "store", mode="a") as store:
        store.append(rows)
    assert CodeStore.open(tmp_path / "store").rows_between(0, 2).packed.tobytes() == 2 * codes.packed.tobytes()
