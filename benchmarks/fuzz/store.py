"""Stores: files of the folder changed, cut, left out, exchanged, and checksums at every depth made right again."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any, ClassVar

import numpy as np

import lowtide as lt
from benchmarks.fuzz.changes import changed_bytes, changed_json
from benchmarks.fuzz.model import DATA
from benchmarks.fuzz.running import WrongError
from lowtide.checksum import crc32c
from lowtide.errors import LowtideError
from lowtide.store import CodeStore

__all__ = ["Stores"]

_MANIFEST = "lowtide/manifest.json"
_ZEROS = "0" * 64
_LAYOUT = {"chunk_rows": 8, "shard_chunks": 2}
# What stands in the place of a file, by the mark that an input has for it.
_MISSING, _LINK, _PIPE, _FOLDER = "missing", "link", "pipe", "folder"
_Files = dict[str, bytes]


def _signed(content: Any) -> bytes:
    """Return a manifest of any content, with the checksum that it must have."""
    rest = {name: value for name, value in content.items() if name not in ("format", "sha256")}
    body = json.dumps(rest, separators=(",", ":"))
    text = f'{{"format":{json.dumps(content.get("format", 2))},"sha256":"{_ZEROS}",{body[1:]}\n'
    return text.replace(_ZEROS, hashlib.sha256(text.encode()).hexdigest(), 1).encode()


def _files_of(root: Path) -> _Files:
    files = (path for path in sorted(root.rglob("*")) if path.is_file() and path.name != "lock")
    return {str(path.relative_to(root)): path.read_bytes() for path in files}


class Stores:
    """A store with texts, numbers and norms, and a smaller one without an encoder.

    An input is JSON: which store, and of each changed file the new content in hexadecimal, or what stands there.
    """

    kinds: ClassVar[Mapping[str, int]] = {
        "raw": 40,
        "missing": 6,
        "exchanged": 6,
        "manifest": 28,
        "chunks": 14,
        "appended": 6,
    }

    def __init__(self) -> None:
        self._files = {"golden": _files_of(DATA / "store.zarr")}
        codes = lt.load(DATA / "store_codes.lowtide")
        with tempfile.TemporaryDirectory() as folder:
            with CodeStore.create(Path(folder) / "small", codes[:0], **_LAYOUT) as store:
                store.append(codes[:13], y=np.arange(13) / 4)
            self._files["small"] = _files_of(Path(folder) / "small")
        self._rows: dict[str, list[bytes]] = {}

    def open(self, folder: Path) -> None:
        """Write both stores where inputs will change them, and note what they hold."""
        self._folder = folder
        for name, files in self._files.items():
            self._restore(name, files)
            self._rows[name] = _read(folder / name)

    def _restore(self, name: str, files: _Files) -> None:
        shutil.rmtree(self._folder / name, ignore_errors=True)
        for file, content in files.items():
            (self._folder / name / file).parent.mkdir(parents=True, exist_ok=True)
            (self._folder / name / file).write_bytes(content)

    def make(self, kind: str, draw: Random) -> bytes:
        """Return which files of which store are changed, and to what."""
        name = draw.choice([*self._files])
        files = self._files[name]
        shards = [file for file in files if "/c." in file]
        changed: dict[str, str] = {}
        if kind == "missing":
            file = draw.choice([*files])
            changed[file] = draw.choice((_MISSING, _MISSING, _LINK, _PIPE, _FOLDER))
        elif kind == "exchanged":
            first, second = draw.sample([*files], 2)
            changed = {first: files[second].hex(), second: files[first].hex()}
        elif kind == "manifest" or (kind == "appended" and draw.random() < 0.5):
            changed[_MANIFEST] = _signed(_as_object(changed_json(files[_MANIFEST].decode(), draw))).hex()
        elif kind == "chunks":
            changed = self._other_chunks(files, shards, draw)
        else:
            weights = [8 if file in shards or file == _MANIFEST else 1 for file in files]
            (file,) = draw.choices([*files], weights)
            changed[file] = changed_bytes(files[file], draw, [*files.values()]).hex()
        return json.dumps([name, changed]).encode()

    def _other_chunks(self, files: _Files, shards: list[str], draw: Random) -> dict[str, str]:
        """Return a shard with changed rows under right checksums, in the manifest too half of the time."""
        file = draw.choice(shards)
        content = json.loads(files[_MANIFEST])
        layout = content["parts"]["layout"]["spec"]
        array, _, shard = file.partition("/c.")
        data, n_chunks = bytearray(files[file]), layout["shard_chunks"]
        index = len(data) - 16 * n_chunks - 4
        summed = 0
        for chunk in range(n_chunks):
            begin, size = (int.from_bytes(data[index + 16 * chunk + 8 * i :][:8], "little") for i in (0, 1))
            if begin >= index:
                continue
            rows = changed_bytes(bytes(data[begin : begin + size - 4]), draw)[: size - 4]
            data[begin : begin + len(rows)] = rows
            data[begin + size - 4 : begin + size] = crc32c(bytes(data[begin : begin + size - 4])).to_bytes(4, "little")
            row = (size - 4) // layout["chunk_rows"]
            first = (int(shard.partition(".")[0]) * n_chunks + chunk) * layout["chunk_rows"]
            there = max(0, min(layout["chunk_rows"], content["parts"]["rows"]["spec"]["n_rows"] - first))
            summed = crc32c(bytes(data[begin : begin + there * row]), summed)
        changed = {file: bytes(data).hex()}
        if draw.random() < 0.5:
            content["parts"]["rows"]["spec"]["checksums"][array][int(shard.partition(".")[0])] = f"{summed:08x}"
            changed[_MANIFEST] = _signed(content).hex()
        return changed

    def seeds(self) -> list[bytes]:
        """Return the manifests."""
        return [files[_MANIFEST] for files in self._files.values()]

    def sealed(self, data: bytes) -> tuple[str, bytes]:
        """Return a manifest with its checksum, in the smaller store."""
        start = data.find(b'"sha256":"') + 10
        empty = data[:start] + _ZEROS.encode() + data[start + 64 :]
        whole = empty.replace(_ZEROS.encode(), hashlib.sha256(empty).hexdigest().encode(), 1)
        return "manifest", json.dumps(["small", {_MANIFEST: whole.hex()}]).encode()

    def judge(self, kind: str, data: bytes) -> None:
        """Read all of a changed store and verify it; then make it what it was."""
        name, changed = json.loads(data)
        root, files = self._folder / name, self._files[name]
        try:
            for file, content in changed.items():
                _put(root / file, content)
            if kind == "appended":
                _append(root)
            else:
                self._judge(kind, name, changed, files)
        finally:
            if kind == "appended" or (root / "lowtide" / "lock").exists():
                self._restore(name, files)
            else:
                for file in changed:
                    _remove(root / file)
                    (root / file).write_bytes(files[file])

    def _judge(self, kind: str, name: str, changed: dict[str, str], files: _Files) -> None:
        rows = _read(self._folder / name)
        CodeStore.open(self._folder / name).verify()
        if kind in ("manifest", "chunks"):
            return  # another store, whose numbers were found to be finite
        # Descriptions for other readers may say the same in other bytes; of rows and manifest every byte counts.
        if rows != self._rows[name] or not all(file.endswith("zarr.json") for file in changed):
            same = all(content == files[file].hex() for file, content in changed.items())
            if not same:
                raise WrongError(f"a store was read although {', '.join(changed)} was changed")


def _as_object(content: Any) -> dict[str, Any]:
    return content if isinstance(content, dict) else {"parts": content}


def _put(place: Path, content: str) -> None:
    _remove(place)
    if content == _LINK:
        place.symlink_to(DATA / "store.zarr" / "zarr.json")
    elif content == _PIPE:
        os.mkfifo(place)
    elif content == _FOLDER:
        place.mkdir()
    elif content != _MISSING:
        place.write_bytes(bytes.fromhex(content))


def _remove(place: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        place.rmdir() if place.is_dir() and not place.is_symlink() else place.unlink()


def _read(root: Path) -> list[bytes]:
    """Return all that a store holds, which must be finite where it is numbers."""
    store = CodeStore.open(root)
    blocks = [np.asarray(block) for block in store.blocks(7)]
    columns = [store.column(name) for name in store.columns]
    for values in blocks:
        if not np.isfinite(values).all():
            raise WrongError("a store was read whose codes are not finite")
    encoder = store.encoder
    known = [] if encoder is None else [encoder.fingerprint_]
    texts = [column.astype("U") if column.dtype.kind in "OU" else column for column in columns]
    return [*(values.tobytes() for values in (*blocks, *texts)), *known, json.dumps(store.metadata).encode()]


def _append(root: Path) -> None:
    """Add a row to a changed store: what is then there must be whole, or nothing was added."""
    with CodeStore.open(root, "a") as store:
        before = store.n_rows
        row = store[:1]
        columns = {name: store.column(name)[:1] for name in store.columns}
        store.append(row, **columns)
        if store.n_rows != before + 1:
            raise WrongError(f"a store of {before} rows has {store.n_rows} after one more")
    try:
        CodeStore.open(root)[before : before + 1]
    except LowtideError as error:
        raise WrongError(f"a row was added that cannot be read: {error}") from error
