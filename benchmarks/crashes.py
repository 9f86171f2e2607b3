"""`python -m benchmarks.crashes`: writers of a code store and commands killed while they write, single bits flipped.

Every row says which it is, so a reopened store can be held to all that was ever acknowledged: `kills` ends a writer
with SIGKILL at random moments; `steps` ends one right before each call that changes a file or a folder, one after the
other; `flips` changes single bits of shards and reads. `commands` ends each command of the command line that writes
before each of its changes of the disk, and at random moments: its output must be the old one or the new one, whole, and
the next run must leave nothing else behind.
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
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from lowtide import Codes, CodeStore
from lowtide.cli.main import main as main_of_commands
from lowtide.errors import FileFormatError

__all__ = ["commands", "flips", "kills", "steps"]

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


def _die_at(step: int) -> None:
    """Let this process end at its n-th fsync, rename or removal."""
    left = step

    def dying(call: Callable[..., object]) -> Callable[..., object]:
        def instead(*arguments: object, **named: object) -> object:
            nonlocal left
            if left == 0:
                os._exit(_ENDED)
            left -= 1
            return call(*arguments, **named)

        return instead

    for name in ("fsync", "replace", "rename", "unlink"):
        setattr(os, name, dying(getattr(os, name)))


def _append_until(path: Path, there: int, step: int, say: Callable[[int], None]) -> None:
    """Append once, in a process that ends at its n-th change of the disk."""
    store = CodeStore.open(path, "a")
    _die_at(step)
    store.append(rows(there, there + 300), y=np.arange(there, there + 300))
    say(store.n_rows)


# What each writes, and what it is given before and when it is killed: the second is to replace the first.
_FIT = "fit t.csv --target y -o m.lowtide --force -q --components 64 --gamma 0.1"
_COMMANDS = {
    "fit": (["m.lowtide"], f"{_FIT} --C 2", f"{_FIT} --C 1"),
    "encode": (
        ["c.lowtide"],
        "encode t.csv --drop y -o c.lowtide --force -q",
        "encode t.csv --drop y -o c.lowtide --force -q --bits 2",
    ),
    "encode to a store": (
        ["s.zarr"],
        "encode t.csv --drop y -o s.zarr --force -q",
        "encode t.csv --drop y -o s.zarr --force -q --bits 2",
    ),
    "predict": (
        ["p.csv"],
        "predict m.lowtide t.csv -o p.csv --force -q",
        "predict m.lowtide t.csv -o p.csv --force -q --scores",
    ),
    "export-c": (
        ["m.h", "m.c"],
        "export-c m.lowtide -o . --force -q",
        "export-c m.lowtide -o . --force -q --weights int4",
    ),
    "demo": (["d.html"], "demo --components 64 --output d.html", "demo --components 64 --output d.html --seed 1"),
}


def commands(n: int, folder: Path, names: Sequence[str] = tuple(_COMMANDS), seed: int = 0) -> dict[str, dict[str, int]]:
    """Kill commands that write, at each of their changes of the disk and at n random moments."""
    draw, base, found = random.Random(seed), folder / "commands", {}
    base.mkdir()
    values = np.random.default_rng(0).standard_normal((200, 4)).tolist()
    lines = [",".join([*map(str, row), "up" if row[0] > 0 else "down"]) for row in values]
    (base / "t.csv").write_text("a,b,c,d,y\n" + "\n".join(lines) + "\n")
    _run(base, f"{_FIT} --C 1")
    for name in names:
        outputs, before, after = _COMMANDS[name]
        start = folder / f"{name} start"
        shutil.copytree(base, start)
        _run(start, before)
        old = [_content(start / output) for output in outputs]
        whole = folder / f"{name} whole"
        shutil.copytree(start, whole)
        begin = time.perf_counter()
        _run(whole, after)
        lasts, new = time.perf_counter() - begin, [_content(whole / output) for output in outputs]
        total, n_random = {"kills": 0, "torn": 0, "mixed": 0, "left": 0}, 0
        step: int | None = 0
        while step is not None or n_random < n:
            place = folder / f"{name} killed"
            shutil.copytree(start, place)
            moment = None if step is not None else draw.uniform(0.0, lasts)
            finished = _run(place, after, step, moment)
            is_new = [content == made for content, made in zip((_content(place / each) for each in outputs), new)]
            is_old = [_content(place / each) == content for each, content in zip(outputs, old)]
            if name == "demo" and not is_old[0]:  # its page has the seconds that it took
                is_new = [_content(place / "d.html")["d.html"].rstrip().endswith(b"</html>")]
            total["kills"] += not finished
            total["torn"] += not all(a or b for a, b in zip(is_old, is_new))
            total["mixed"] += not (all(is_old) or all(is_new))
            _run(place, after)
            kept = {"t.csv", "m.lowtide", *outputs}
            total["left"] += len({path.name for path in place.iterdir()} - kept)
            shutil.rmtree(place)
            n_random += step is None
            step = None if finished or step is None else step + 1
        found[name] = total
    return found


def _content(path: Path) -> dict[str, bytes]:
    """Return the bytes of a file, or of the files of a store but the lock, which has the number of a process."""
    files = [path] if path.is_file() else sorted(each for each in path.rglob("*") if each.is_file())
    return {
        each.name if each == path else str(each.relative_to(path)): each.read_bytes()
        for each in files
        if each.name != "lock"
    }


def _run(folder: Path, command: str, step: int | None = None, moment: float | None = None) -> bool:
    """Run a command in a process of its own, which ends at a step or is killed at a moment; whether it finished."""

    def body(say: Callable[[int], None]) -> None:
        os.chdir(folder)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(1, 2)
        if step is not None:
            _die_at(step)
        main_of_commands(command.split(), standalone_mode=False)

    return _in_a_child(body, moment)[1]


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
    """Run all four and print what was found as JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.crashes", description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--flips", type=int, default=1000)
    parser.add_argument("--commands", type=int, default=20, help="random moments at which each command is killed")
    parser.add_argument("--names", nargs="+", default=list(_COMMANDS), choices=list(_COMMANDS), help="of the commands")
    parser.add_argument("--folder", help="where the stores are made; that of temporary files by default")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        place = Path(folder)
        found = {
            "kills": kills(arguments.kills, place),
            "steps": steps(place),
            "flips": flips(arguments.flips, place),
            "commands": commands(arguments.commands, place, arguments.names),
        }
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
