"""Writers that die: what was committed stays, and the next writer says what it removed."""

import errno
import json
import logging
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from store.samples import LAYOUT, filled, fitted, rows

import lowtide as lt
from lowtide.errors import FileAccessError
from lowtide.store import writing

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def outcome():
    """What `python -m benchmarks.crashes` finds, with small numbers: a process of its own, since it forks."""
    command = [sys.executable, "-W", "error", "-m", "benchmarks.crashes", "--kills", "8", "--flips", "60"]
    command += ["--commands", "1", "--names", "predict"]
    # What syncing costs on a busy disk is not what is asked here.
    command += ["--folder", "/dev/shm"] if os.access("/dev/shm", os.W_OK) else []
    run = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def test_writers_killed_at_random_moments_lose_no_committed_row(outcome):
    found = outcome["kills"]
    assert (found["kills"], found["lost"], found["wrong"]) == (8, 0, 0)


def test_command_that_is_killed_leaves_the_old_output_or_the_new_one(outcome):
    found = outcome["commands"]["predict"]
    assert found.pop("kills") >= 4
    assert found == {"torn": 0, "mixed": 0, "left": 0}


def test_writers_that_end_before_any_change_of_the_disk_lose_no_committed_row(outcome):
    found = outcome["steps"]
    assert found["steps"] > 20
    assert found["discarded"] > 10
    assert (found["lost"], found["wrong"]) == (0, 0)


def test_every_flipped_bit_of_a_shard_is_found_and_named(outcome):
    assert outcome["flips"] == {"flips": 60, "read": 60, "verify": 60}


def test_next_writer_discards_an_uncommitted_tail_and_says_so(tmp_path, caplog):
    codes = filled(tmp_path / "s.zarr")
    (tmp_path / "s.zarr" / "codes" / "c.9.0").write_bytes(b"a shard that no manifest knows")
    (tmp_path / "s.zarr" / "codes" / ".lowtide-0123456789abcdef.part").write_bytes(b"half a shard")
    (tmp_path / "s.zarr" / "z").mkdir()
    (tmp_path / "s.zarr" / "z" / "c.0").write_bytes(b"a column that never was")
    (tmp_path / "s.zarr" / "z" / ".lowtide-0123456789abcdef.part").write_bytes(b"half of its next shard")
    reader = lt.CodeStore.open(tmp_path / "s.zarr")
    assert reader[:] == codes
    assert reader.discarded == ()
    with caplog.at_level(logging.WARNING, "lowtide.store"), lt.CodeStore.open(tmp_path / "s.zarr", "a") as store:
        parts = ("codes/.lowtide-0123456789abcdef.part", "z/.lowtide-0123456789abcdef.part")
        assert store.discarded == (parts[0], "codes/c.9.0", parts[1], "z/c.0")
        assert store[:] == codes
    assert "discarded what an interrupted writer has left: codes/.lowtide-" in caplog.text
    assert not (tmp_path / "s.zarr" / "z").exists()
    with lt.CodeStore.open(tmp_path / "s.zarr", "a") as store:
        assert store.discarded == ()


def test_writer_leaves_what_others_put_beside_the_codes(tmp_path):
    zarr = pytest.importorskip("zarr")
    filled(tmp_path / "s.zarr")
    group = zarr.open_group(tmp_path / "s.zarr", mode="r+")
    group.create_array("mine", shape=(3,), dtype="int8")[:] = [1, 2, 3]
    (tmp_path / "s.zarr" / "notes").mkdir()
    (tmp_path / "s.zarr" / "notes" / "README").write_text("mine")
    with lt.CodeStore.open(tmp_path / "s.zarr", "a") as store:
        assert store.discarded == ()
        store.append(rows()[:5], y=range(5))
        store.verify()
    assert group["mine"][:].tolist() == [1, 2, 3]
    assert (tmp_path / "s.zarr" / "notes" / "README").read_text() == "mine"


def test_store_has_one_writer_and_any_number_of_readers(tmp_path):
    filled(tmp_path / "s.zarr")
    with lt.CodeStore.open(tmp_path / "s.zarr", "a") as writer:
        with pytest.raises(FileAccessError, match=f"one writer at a time; process {os.getpid()} has it") as refusal:
            lt.CodeStore.open(tmp_path / "s.zarr", "a")
        assert isinstance(refusal.value, OSError)
        assert lt.CodeStore.open(tmp_path / "s.zarr").n_rows == writer.n_rows
    with lt.CodeStore.open(tmp_path / "s.zarr", "a"):
        pass


def test_lock_ends_with_the_process_that_holds_it(tmp_path):
    filled(tmp_path / "s.zarr")
    code = "import sys, lowtide as lt; s = lt.CodeStore.open(sys.argv[1], 'a'); print('has it', flush=True); input()"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "s.zarr")],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout.readline() == "has it\n"
        with pytest.raises(FileAccessError, match=f"process {other.pid} has it"):
            lt.CodeStore.open(tmp_path / "s.zarr", "a")
        other.send_signal(signal.SIGKILL)
        other.wait()
        with lt.CodeStore.open(tmp_path / "s.zarr", "a") as store:
            assert store.n_rows == 61


_FORKS = """
import os, sys
import lowtide as lt
from lowtide.errors import FileAccessError

path, held = sys.argv[1], lt.CodeStore.open(sys.argv[1], "a")
(asked, ask), (told, tell) = os.pipe(), os.pipe()
if os.fork() == 0:
    os.close(ask)
    held.close()
    os.write(tell, b".")
    os.read(asked, 1)
    os._exit(0)
os.read(told, 1)
try:
    lt.CodeStore.open(path, "a")
except FileAccessError:
    held.close()
else:
    raise SystemExit("what a child closes is its own copy, not the lock")
again = lt.CodeStore.open(path, "a")
if os.fork() == 0:
    os.close(ask)
    os.read(asked, 1)
    os._exit(0)
again.close()
lt.CodeStore.open(path, "a").close()
os.write(ask, b"..")
"""


def test_lock_ends_with_the_store_that_a_forked_process_still_has(tmp_path):
    filled(tmp_path / "s.zarr")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    # A process of its own, since this one may have threads.
    command = [sys.executable, "-W", "error", "-c", _FORKS, str(tmp_path / "s.zarr")]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


def test_lock_needs_no_room_on_the_disk(tmp_path, monkeypatch):
    filled(tmp_path / "s.zarr")

    def full(*arguments):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(writing.os, "pwrite", full)
    with (
        lt.CodeStore.open(tmp_path / "s.zarr", "a"),
        pytest.raises(FileAccessError, match="process unknown has it"),
    ):
        lt.CodeStore.open(tmp_path / "s.zarr", "a")


def test_interrupted_append_leaves_the_store_as_it_was(tmp_path, monkeypatch):
    codes = filled(tmp_path / "s.zarr")

    def interrupted(self, rows):
        raise KeyboardInterrupt

    with lt.CodeStore.open(tmp_path / "s.zarr", "a") as store:
        store.encoder  # noqa: B018
        with monkeypatch.context() as patch:
            patch.setattr(type(store.encoder.drawn_), "encode", interrupted)
            with pytest.raises(KeyboardInterrupt):
                store.append(rows()[:100], y=np.arange(100))
        assert store[:] == codes
        store.append(rows()[61:], y=np.arange(61, 200))
        assert store[:] == fitted().encode(rows())
        store.verify()


@pytest.mark.parametrize("work", ["append", "commit", "annotate"])
def test_rows_count_when_the_interrupt_comes_after_their_commit(work, tmp_path, monkeypatch):
    encoder = fitted()

    def interrupted(root, manifest):
        raise KeyboardInterrupt

    with lt.CodeStore.create(tmp_path / "s.zarr", encoder, columns={"y": "int64"}, **LAYOUT) as store:
        store.append(rows()[:48], y=np.arange(48))
        records = [store.shard_writer().write(0, encoder.encode(rows()[48:60]), y=np.arange(48, 60))]
        calls = {
            "append": lambda: store.append(rows()[48:], y=np.arange(48, 200)),
            "commit": lambda: store.commit(records),
            "annotate": lambda: store.annotate({"a": 1}),
        }
        with monkeypatch.context() as patch:
            patch.setattr(writing, "write_documents", interrupted)
            with pytest.raises(KeyboardInterrupt):
                calls[work]()
        assert store.n_rows == {"append": 200, "commit": 60, "annotate": 48}[work]
        assert store.metadata == ({"a": 1} if work == "annotate" else {})
        store.append(rows()[:5], y=range(5))
        expected = lt.concatenate([encoder.encode(rows()[: store.n_rows - 5]), encoder.encode(rows()[:5])])
        assert store[:] == expected
        store.verify()


def test_threads_append_one_after_the_other(tmp_path):
    with lt.CodeStore.create(tmp_path / "s.zarr", fitted(), **LAYOUT) as store:
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(lambda i: store.append(rows()[:10], y=np.full(10, i)), range(12)))
        store.verify()
        assert sorted(store.y.tolist()) == sorted(list(range(12)) * 10)


_FULL_DISK = """
import errno, resource, signal, sys
import numpy as np
import lowtide as lt
from lowtide.errors import FileAccessError

path = sys.argv[1]
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with lt.CodeStore.open(path, "a") as store:
    before = store[:]
    resource.setrlimit(resource.RLIMIT_FSIZE, (1400, resource.RLIM_INFINITY))
    try:
        store.append(np.zeros((300, 6), np.float32), y=np.arange(300))
    except FileAccessError as error:
        assert error.errno == errno.EFBIG, error
        assert "Nothing was appended; the 61 committed rows are as they were" in str(error), error
    else:
        raise SystemExit("the append must fail")
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert store[:] == before
    store.verify()
    store.append(np.zeros((300, 6), np.float32), y=np.arange(300))
    store.verify()
    assert store.n_rows == 361
"""


def test_files_that_cannot_grow_are_a_clear_error_and_cost_no_row(tmp_path):
    filled(tmp_path / "s.zarr", encoder=fitted(n_components=1000))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", _FULL_DISK, str(tmp_path / "s.zarr")],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert not list((tmp_path / "s.zarr").rglob("*.part"))


def _mounted(folder: Path) -> bool:
    command = ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(folder)]
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def test_full_disk_is_a_clear_error_and_costs_no_row(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    if os.geteuid() != 0 or not _mounted(disk):
        pytest.skip("mounting a small tmpfs needs root")
    try:
        encoder = fitted()
        codes = filled(disk / "s.zarr", encoder=encoder)
        with lt.CodeStore.open(disk / "s.zarr", "a") as store:
            many = np.tile(rows(), (200, 1))
            with pytest.raises(
                FileAccessError, match="No space left on device.* Nothing was appended; the 61 committed"
            ):
                store.append(many, y=np.arange(len(many)))
            assert store[:] == codes
            store.verify()
            store.append(rows()[61:], y=np.arange(61, 200))
            assert store[:] == encoder.encode(rows())
        store.verify()
        del store
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)
