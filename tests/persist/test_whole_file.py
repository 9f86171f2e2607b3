"""Writing is all or nothing; reading fails with a sentence."""

from __future__ import annotations

import errno
import os
import resource
import stat
import threading

import numpy as np
import pytest
from persist.samples import encoder

import lowtide as lt
from lowtide.codes import Codes
from lowtide.errors import CancelledError, FileAccessError, FileFormatError, LowtideError
from lowtide.persist import write_together, write_whole
from lowtide.persist.container import part_of

OLD = b"an older file"


def _codes(n: int = 1000) -> Codes:
    return Codes(np.ones((n, 64), np.uint8), bits=1, n_levels=512, codebook=[-1, 1], fingerprint=bytes(16))


def _raise(error):
    def fail(*arguments, **options):
        raise error

    return fail


def test_save_leaves_nothing_but_the_file(tmp_path):
    lt.save(_codes(), tmp_path / "c.lowtide")
    assert os.listdir(tmp_path) == ["c.lowtide"]


def test_save_replaces_a_file_and_keeps_its_permissions(tmp_path):
    path = tmp_path / "c.lowtide"
    path.write_bytes(OLD)
    path.chmod(0o640)
    lt.save(_codes(), path)
    assert lt.load(path) == _codes()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_save_gives_a_new_file_the_usual_permissions(tmp_path):
    (tmp_path / "plain").touch()
    lt.save(_codes(), tmp_path / "c.lowtide")
    assert (tmp_path / "c.lowtide").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_save_follows_a_link(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "real")
    lt.save(_codes(), tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert lt.load(tmp_path / "real") == _codes()


def test_save_that_waits_for_the_disk_can_be_stopped(tmp_path, monkeypatch):
    path, may_end = tmp_path / "c.lowtide", threading.Event()
    path.write_bytes(OLD)
    monkeypatch.setattr(os, "fsync", lambda _: may_end.wait())
    with pytest.raises(CancelledError), lt.CancelToken(seconds=0.01):
        lt.save(_codes(), path)
    may_end.set()
    assert os.listdir(tmp_path) == ["c.lowtide"]
    assert path.read_bytes() == OLD


def test_what_must_be_done_once_begun_is_not_stopped(tmp_path):
    token = lt.CancelToken()
    token.cancel()
    with token:
        write_whole(tmp_path / "file", [OLD], can_stop=False)
        with pytest.raises(CancelledError):
            write_whole(tmp_path / "file", [b"new"])
    assert (tmp_path / "file").read_bytes() == OLD
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("call", ["open", "fchmod", "fsync", "replace"])
@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(errno.ENOSPC, "No space left on device")])
def test_save_leaves_the_old_file_when_it_cannot_finish(tmp_path, monkeypatch, call, error):
    path = tmp_path / "c.lowtide"
    path.write_bytes(OLD)
    monkeypatch.setattr(os, call, _raise(error))
    with pytest.raises((KeyboardInterrupt, FileAccessError)):
        lt.save(_codes(), path)
    monkeypatch.undo()
    assert os.listdir(tmp_path) == ["c.lowtide"]
    assert path.read_bytes() == OLD


def test_save_leaves_nothing_when_the_disk_takes_only_a_part(tmp_path):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
    try:
        with pytest.raises(FileAccessError, match="must be writable, got: File too large") as caught:
            lt.save(_codes(), tmp_path / "c.lowtide")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.errno == errno.EFBIG
    assert os.listdir(tmp_path) == []


def test_write_leaves_nothing_when_interrupted_between_two_pieces(tmp_path):
    def pieces():
        yield b"half of it"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_whole(tmp_path / "c.lowtide", pieces())
    assert os.listdir(tmp_path) == []


def test_save_into_a_folder_that_is_not_there_says_so(tmp_path):
    with pytest.raises(FileAccessError, match="No such file or directory. Choose a folder that exists"):
        lt.save(_codes(), tmp_path / "no" / "c.lowtide")


def test_save_does_not_replace_what_is_no_file(tmp_path):
    with pytest.raises(FileAccessError, match="regular file"):
        lt.save(_codes(), tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileAccessError, match="regular file"):
        lt.save(_codes(), tmp_path / "pipe")


def test_save_of_what_cannot_be_saved_touches_nothing(tmp_path):
    path = tmp_path / "c.lowtide"
    path.write_bytes(OLD)
    with pytest.raises(LowtideError):
        lt.save(lt.RandomFeatures(), path)
    assert path.read_bytes() == OLD


def test_save_needs_no_permission_to_list_the_folder(tmp_path, monkeypatch):
    real = os.open

    def refuse_folders(path, flags, *arguments):
        if flags & os.O_DIRECTORY:
            raise PermissionError(errno.EACCES, "Permission denied")
        return real(path, flags, *arguments)

    monkeypatch.setattr(os, "open", refuse_folders)
    lt.save(_codes(), tmp_path / "c.lowtide")
    assert lt.load(tmp_path / "c.lowtide") == _codes()


def test_load_of_a_missing_file_is_an_os_error_with_its_number(tmp_path):
    with pytest.raises(FileAccessError, match="must be readable, got: No such file") as caught:
        lt.load(tmp_path / "no.lowtide")
    assert caught.value.errno == errno.ENOENT
    assert isinstance(caught.value, OSError)


def test_load_of_a_folder_and_of_a_pipe_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(FileAccessError, match="regular file"):
            lt.load(path)


@pytest.mark.parametrize("path", ["", "a\0b", None, 3, object()])
def test_load_of_what_names_no_file_is_refused(path):
    with pytest.raises(FileAccessError, match="path must"):
        lt.load(path)


def test_load_reads_only_the_start_of_a_foreign_file(tmp_path):
    with (tmp_path / "large").open("wb") as stream:
        stream.truncate(1 << 40)  # a hole: takes no room, but reading it would take for ever
    with pytest.raises(FileFormatError, match="must be a file of lowtide.save"):
        lt.load(tmp_path / "large")


def test_load_says_when_a_file_does_not_fit_into_memory(tmp_path, monkeypatch):
    lt.save(encoder(), tmp_path / "e.lowtide")
    monkeypatch.setattr(np, "empty", _raise(MemoryError()))
    with pytest.raises(FileAccessError, match="open_codes"):
        lt.load(tmp_path / "e.lowtide")


def test_load_accepts_text_paths_and_path_objects(tmp_path):
    lt.save(_codes(), str(tmp_path / "c.lowtide"))
    assert lt.load(str(tmp_path / "c.lowtide")) == lt.load(tmp_path / "c.lowtide")


def test_file_that_a_killed_writer_left_is_removed_by_the_next(tmp_path):
    target = tmp_path / "c.lowtide"
    for slot in range(4):
        part_of(target, slot).write_bytes(b"half of it")
    lt.save(_codes(), target)
    assert [path.name for path in tmp_path.iterdir()] == ["c.lowtide"]


def test_file_that_another_writer_is_at_stays(tmp_path):
    target = tmp_path / "c.lowtide"

    def pieces():
        yield b"one"
        lt.save(_codes(), target)  # another writer of the same file, meanwhile
        assert part_of(target, 0).read_bytes() == b"one"
        yield b"two"

    write_whole(target, pieces())
    assert target.read_bytes() == b"onetwo"
    assert len(list(tmp_path.iterdir())) == 1


def test_files_that_belong_together_come_together_or_not_at_all(tmp_path):
    def failing():
        yield b"new"
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (tmp_path / "a").write_bytes(b"old")
    with pytest.raises(FileAccessError, match="No space left"):
        write_together({tmp_path / "a": [b"new"], tmp_path / "b": failing()})
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a": b"old"}
    write_together({tmp_path / "a": [b"new"], tmp_path / "b": [b"new"]})
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a": b"new", "b": b"new"}
