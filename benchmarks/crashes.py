"""`python -m benchmarks.crashes`: writers of a code store killed in mid-append, and single bits flipped.

Every row says which it is, so a reopened store can be held to all that was ever acknowledged: `kills` ends a writer
with SIGKILL at random moments; `steps` ends one right before each call that changes a file or a folder, one after the
other; `flips` changes single bits of shards and reads.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import struct
import tempfile
import time
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from lowtide import Codes, CodeStore
from lowtide.errors import FileFormatError

__all__ = ["flips", "kills", "steps"]

LEVELS = 200
# Small shards: many files, and so many moments, in a second.
LAYOUT = {"chunk_rows": 32, "shard_chunks": 4}
MAXIMUM = 12_000
_ENDED = 9


def rows(begin: int, end: int) -> Codes:
    """Return codes whose bytes are a function of the number of the row."""
    numbers = np.arange(begin, end, dtype=np.uint64)[:, None] * np.uint64(0x9E3779B97F4A7C15)
    words = (numbers + np.arange(4, dtype=np.uint64)) * np.uint64(0xBF58476D1CE4E5B9)
    words[:, 3] &= np.uint64(0xFF)  # 200 levels: padding bits are zero
    packed = words.astype("<u8").view(np.uint8)
    return Codes(packed, bits=1, n_levels=LEVELS, codebook=[-1.0, 1.0], fingerprint=bytes(range(16)))


def append_forever(path: Path, seed: int, acknowledge: Callable[[int], None], most: int = MAXIMUM) -> None:
    """Append blocks of random sizes, saying after each how many rows there are."""
    draw = random.Random(seed)
    with CodeStore.open(path, "a") as store:
        while store.n_rows < most:
            begin = store.n_rows
            end = begin + draw.choice((1, 7, 32, 100, 129, 500))
            store.append(rows(begin, end), y=np.arange(begin, end))
            acknowledge(store.n_rows)


def check(path: Path, acknowledged: int) -> dict[str, int]:
    """Hold a store whose writer is gone to what it said; `lost` and `wrong` must be 0."""
    before = CodeStore.open(path)
    lost = max(0, acknowledged - before.n_rows)
    before.verify()
    with CodeStore.open(path, "a") as store:
        store.verify()
        good = store[:] == rows(0, store.n_rows) and store.n_rows == before.n_rows
        good = good and (store.n_rows == 0 or np.array_equal(store.y, np.arange(store.n_rows)))
        return {"lost": lost, "wrong": int(not good), "discarded": int(bool(store.discarded)), "rows": store.n_rows}


def _in_a_child(body: Callable[[Callable[[int], None]], None], moment: float | None) -> tuple[int, bool]:
    """Run a writer in a process of its own, killed after a time; return what it said last and whether it finished."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            body(lambda n_rows: os.write(writing, struct.pack("<q", n_rows)) and None)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    os.close(writing)
    if moment is not None:
        time.sleep(moment)
        os.kill(child, signal.SIGKILL)
    with os.fdopen(reading, "rb") as stream:
        said = stream.read()
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) not in (0, _ENDED):
        raise RuntimeError("the writer failed on its own")
    last = struct.unpack("<q", said[-8:])[0] if said else 0
    return last, os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0


def _new(path: Path) -> None:
    shutil.rmtree(path, ignore_errors=True)
    CodeStore.create(path, rows(0, 0), **LAYOUT).close()


def kills(n: int, folder: Path, seed: int = 0) -> dict[str, int]:
    """Kill writers at random moments; each goes on with the store that the one before has left."""
    draw, path, total = random.Random(seed), folder / "kills.zarr", {"kills": 0, "lost": 0, "wrong": 0, "discarded": 0}
    _new(path)
    acknowledged = 0
    while total["kills"] < n:
        if acknowledged >= MAXIMUM:
            _new(path)
            acknowledged = 0
        moment = draw.uniform(0.0, 0.25)
        said, finished = _in_a_child(lambda say: append_forever(path, draw.randrange(1 << 30), say), moment)
        acknowledged = max(acknowledged, said)
        found = check(path, acknowledged)
        acknowledged = found["rows"]
        total["kills"] += not finished
        for name in ("lost", "wrong", "discarded"):
            total[name] += found[name]
    return total


def steps(folder: Path) -> dict[str, int]:
    """End a writer right before its first change of the disk, its second, and so on until it gets to the end.

    Once for the first rows of a store, which bring its columns, and once for later ones.
    """
    total = {"steps": 0, "lost": 0, "wrong": 0, "discarded": 0}
    for there in (0, 150):
        start, path, step, finished = folder / f"start{there}.zarr", folder / "steps.zarr", 0, False
        _new(start)
        if there:
            with CodeStore.open(start, "a") as store:
                store.append(rows(0, there), y=np.arange(there))
        while not finished:
            shutil.rmtree(path, ignore_errors=True)
            shutil.copytree(start, path)
            body = partial(_append_until, path, there, step)
            said, finished = _in_a_child(body, None)
            found = check(path, max(said, there))
            for name in ("lost", "wrong", "discarded"):
                total[name] += found[name]
            total["wrong"] += found["rows"] not in (there, there + 300)
            step += not finished
        total["steps"] += step
    return total


def _append_until(path: Path, there: int, step: int, say: Callable[[int], None]) -> None:
    """Append once, in a process that ends at its n-th fsync, rename or removal."""
    left = step

    def dying(call: Callable[..., object]) -> Callable[..., object]:
        def instead(*arguments: object, **named: object) -> object:
            nonlocal left
            if left == 0:
                os._exit(_ENDED)
            left -= 1
            return call(*arguments, **named)

        return instead

    store = CodeStore.open(path, "a")
    for name in ("fsync", "replace", "rename", "unlink"):
        setattr(os, name, dying(getattr(os, name)))
    store.append(rows(there, there + 300), y=np.arange(there, there + 300))
    say(store.n_rows)


def flips(n: int, folder: Path, seed: int = 0) -> dict[str, int]:
    """Flip single bits anywhere in the shards; count those that reading and `verify` find and name."""
    draw, path = random.Random(seed), folder / "flips.zarr"
    _new(path)
    with CodeStore.open(path, "a") as store:
        store.append(rows(0, 1000), y=np.arange(1000))
    files = sorted(path.glob("*/c.*"))
    total = {"flips": n, "read": 0, "verify": 0}
    for _ in range(n):
        file = draw.choices(files, [each.stat().st_size for each in files])[0]
        data = file.read_bytes()
        bit = draw.randrange(8 * len(data))
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        file.write_bytes(changed)
        shard = f"shard {file.name.split('.')[1]}"
        total["read"] += _named(lambda: _read(path), shard)
        total["verify"] += _named(lambda: CodeStore.open(path).verify(), shard)
        file.write_bytes(data)
    CodeStore.open(path).verify()
    return total


def _read(path: Path) -> None:
    store = CodeStore.open(path)
    for _ in store.blocks(50):
        pass
    store.column("y")


def _named(action: Callable[[], object], shard: str) -> bool:
    try:
        action()
    except FileFormatError as error:
        return shard in str(error)
    return False


def main() -> None:
    """Run all three and print what was found as JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.crashes", description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--flips", type=int, default=1000)
    parser.add_argument("--folder", help="where the stores are made; that of temporary files by default")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        place = Path(folder)
        found = {
            "kills": kills(arguments.kills, place),
            "steps": steps(place),
            "flips": flips(arguments.flips, place),
        }
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
