"""Files that are cut short, grown, rewritten or replaced while they are read: an error or nothing, never a dead process."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import lowtide as lt
from lowtide.codes import Codes
from lowtide.errors import FileAccessError, FileFormatError

WIDTH, N = 64, 1 << 14  # 1 MiB: more than is read at a time
CHANGES = ("cut", "emptied", "rewritten", "grown", "replaced", "removed")
USES = ("top_k", "matmul", "take", "fit")


def codes(n=N, seed=0):
    packed = np.random.default_rng(seed).integers(0, 256, (n, WIDTH), dtype=np.uint8)
    return Codes(packed, bits=1, n_levels=8 * WIDTH, codebook=[-1.0, 1.0], fingerprint=bytes(16))


def files_of(path):
    return [path] if path.is_file() else sorted((path / "codes").glob("c.*"))


def change(path, how):
    """Do to every file that holds rows what others may do to it."""
    for file in files_of(path):
        size = file.stat().st_size
        if how == "cut":
            os.truncate(file, size // 3)
        elif how == "emptied":
            os.truncate(file, 0)
        elif how == "rewritten":  # in place, as cp does
            with file.open("r+b") as stream:
                stream.write(np.random.default_rng(9).bytes(size))
        elif how == "grown":
            with file.open("ab") as stream:
                stream.write(bytes(1 << 16))
        elif how == "replaced":  # as mv does
            other = file.with_name("other")
            other.write_bytes(b"not codes")
            other.replace(file)
        elif how == "removed":
            file.unlink()


def use(source, what):
    """Yield after the first block, then read the rest."""
    blocks = source.blocks(1024)
    query = np.random.default_rng(1).standard_normal((3, 8 * WIDTH)).astype(np.float32)
    for i, block in enumerate(blocks):
        if what == "top_k":
            block.top_k(query, 5)
        elif what == "matmul":
            block @ query.T
        elif what == "take":
            source[np.arange(i, N, 997)]
        if i == 0:
            yield
    if what == "fit":
        y = np.arange(N) % 2
        lt.KernelClassifier(loss="squared", C=1.0).fit(source, y)


def main():
    """Change a file in the middle of each use, and print what came of it."""
    folder, kind = Path(sys.argv[1]), sys.argv[2]
    rows, found = codes(), {}
    for how in CHANGES:
        for what in USES if how in ("cut", "replaced") else USES[:3]:
            path = folder / f"{how}-{what}"
            if kind == "store":
                with lt.CodeStore.create(path, rows, chunk_rows=1024, shard_chunks=4) as store:
                    store.append(rows)
                source = lt.CodeStore.open(path)
                # As a store that is too large to be kept.
                source._readers["codes"]._keeps = False
            else:
                lt.save(rows, path)
                source = lt.persist.open_codes(path)
            work = use(source, what)
            next(work)
            change(path, how)
            try:
                list(work)
                found[f"{how} {what}"] = "unnoticed"
            except (FileAccessError, FileFormatError) as error:
                found[f"{how} {what}"] = type(error).__name__
    print(json.dumps(found))


@pytest.mark.parametrize("kind", ["file", "store"])
def test_change_of_a_file_in_use_never_ends_the_process(kind, tmp_path):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    command = [sys.executable, "-W", "ignore", __file__, str(tmp_path), kind]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, (run.returncode, run.stderr[-2000:])
    found = json.loads(run.stdout)
    assert len(found) == len(CHANGES) * len(USES) - 4
    for case, outcome in found.items():
        how = case.split()[0]
        if how in ("cut", "emptied", "rewritten"):
            assert outcome != "unnoticed", case
        elif kind == "file":  # the file that was opened is still there
            assert outcome == "unnoticed", case


def test_rows_that_were_read_stay_as_they_were(tmp_path):
    rows = codes(5000)
    lt.save(rows, tmp_path / "c.lowtide")
    with lt.CodeStore.create(tmp_path / "s.zarr", rows) as store:
        store.append(rows)
    kept = lt.load(tmp_path / "c.lowtide"), lt.persist.open_codes(tmp_path / "c.lowtide")[:100], store[:100]
    change(tmp_path / "c.lowtide", "rewritten")
    change(tmp_path / "s.zarr", "rewritten")
    assert kept[0] == rows
    assert kept[1] == kept[2] == rows[:100]


@pytest.mark.parametrize("bit", [0, 5, 8 * 300_000, 8 * (N * WIDTH - 1)])
def test_single_bit_that_changes_after_opening_is_found(bit, tmp_path):
    lt.save(codes(), tmp_path / "c.lowtide")
    stored = lt.persist.open_codes(tmp_path / "c.lowtide")
    before = os.stat(tmp_path / "c.lowtide")
    with (tmp_path / "c.lowtide").open("r+b") as stream:
        stream.seek(before.st_size - N * WIDTH + bit // 8)
        byte = stream.read(1)[0]
        stream.seek(-1, os.SEEK_CUR)
        stream.write(bytes([byte ^ 1 << bit % 8]))
    # Neither its size nor its times tell.
    os.utime(tmp_path / "c.lowtide", ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(FileAccessError, match="must stay as it was when it was opened, got other bytes from"):
        stored[:]
    row = bit // 8 // WIDTH
    with pytest.raises(FileAccessError, match="Open it again"):
        stored[row]
    assert len(stored[(row + N // 2) % N]) == 1


def test_file_that_is_cut_short_while_it_is_opened_is_an_error(tmp_path, monkeypatch):
    lt.save(codes(), tmp_path / "c.lowtide")
    real, calls = os.preadv, []

    def cutting(descriptor, pieces, begin):
        calls.append(begin)
        if len(calls) == 3:
            os.truncate(tmp_path / "c.lowtide", 1 << 19)
        return real(descriptor, pieces, begin)

    monkeypatch.setattr(os, "preadv", cutting)
    for opened in (lt.persist.open_codes, lt.persist.describe, lt.load):
        calls.clear()
        with pytest.raises(FileFormatError, match="damaged or cut short"):
            opened(tmp_path / "c.lowtide")


if __name__ == "__main__":
    main()
