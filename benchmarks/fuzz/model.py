"""Model files: any bytes, any header, any arrays; the checksum right, and the encoder's identity too."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any, ClassVar

import numpy as np

import lowtide as lt
from benchmarks.fuzz.changes import changed_array, changed_bytes, changed_json
from benchmarks.fuzz.running import WrongError
from lowtide.encoders import Encoder, Partition
from lowtide.errors import FileFormatError
from lowtide.persist import from_bytes, to_bytes

__all__ = ["DATA", "ModelFiles", "sealed"]

DATA = Path(__file__).resolve().parents[2] / "tests" / "data"
_SUM = re.compile(rb'"sha256":"[^"]{64}"')
# An encoder says what its identity must be, and a forger listens.
_IDENTITY = re.compile(r"the (?:fingerprint|side) must be ([0-9a-f]{32}), as when it was saved, got ([0-9a-f]{32})")
_CODES = {"F64": "f8", "F32": "f4", "F16": "f2", "I64": "i8", "I8": "i1", "U8": "u1"}
_NAMES = {np.dtype(code): name for name, code in _CODES.items()}
_MOST_FEATURES = 4096
# Products of three such numbers, summed, are still finite in float64, and of two in float32.
_LARGE, _BIG = 1e15, re.compile(r"e\+?(?:1[5-9]|[2-9]\d|\d{3})|[1-9]\d{15}|e-\d{2}")
# Fits that a file may ask for anew take longest: few of them are enough.
_SLOW = ("asymmetric_lssvc",)


def sealed(data: bytes) -> bytes:
    """Return a file with its text's length and its checksum made right, as far as it has places for them."""
    text = data[8:]
    size = int.from_bytes(data[:8], "little")
    if size > len(text):
        data = len(text).to_bytes(8, "little") + text
    found = _SUM.search(data)
    if found is None:
        return data
    empty = data[: found.start() + 10] + b"0" * 64 + data[found.end() - 1 :]
    digest = hashlib.sha256(empty).hexdigest().encode()
    return empty[: found.start() + 10] + digest + empty[found.start() + 74 :]


class _Parts:
    """A file taken to pieces, without the reader that is attacked."""

    def __init__(self, data: bytes) -> None:
        end = 8 + int.from_bytes(data[:8], "little")
        self.data, self.text, self.rest = data, data[8:end], data[end:]
        table = json.loads(self.text)
        self.header = table.pop("__metadata__")["header"]
        self.table = table
        self.arrays = {
            name: np.frombuffer(self.rest[slice(*entry["data_offsets"])], _CODES[entry["dtype"]]).reshape(
                entry["shape"]
            )
            for name, entry in table.items()
        }


def _joined(text: bytes, rest: bytes) -> bytes:
    text += b" " * (-len(text) % 8)
    return sealed(len(text).to_bytes(8, "little") + text + rest)


def _packed(header: Any, arrays: dict[str, np.ndarray]) -> bytes:
    table, end, pieces = {}, 0, []
    for name, array in sorted(arrays.items(), key=lambda item: (-item[1].itemsize, item[0])):
        begin, end = end, end + array.nbytes
        dtype = _NAMES.get(array.dtype, str(array.dtype))
        table[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": [begin, end]}
        pieces.append(array.tobytes())
    inner = header if isinstance(header, str) else json.dumps(header)
    text = json.dumps({"__metadata__": {"lowtide": "2", "sha256": "0" * 64, "header": inner}, **table})
    return _joined(text.replace('": ', '":').replace(', "', ',"').encode(), b"".join(pieces))


class ModelFiles:
    """Files of every kind that can be saved, from those that pin the format."""

    kinds: ClassVar[Mapping[str, int]] = {"raw": 40, "text": 12, "header": 24, "table": 6, "arrays": 12, "mixed": 6}

    def __init__(self) -> None:
        files = sorted(DATA.glob("*.lowtide"))
        self._files = [_Parts(file.read_bytes()) for file in files]
        self._weights = [1 if file.stem in _SLOW else 20 for file in files]
        self._bytes = [each.data for each in self._files]

    def open(self, folder: Path) -> None:
        """Take a place for the inputs that are read as files."""
        self._place = folder / "model.lowtide"

    def make(self, kind: str, draw: Random) -> bytes:
        """Return a changed file."""
        (file,) = draw.choices(self._files, self._weights)
        if kind == "raw":
            return changed_bytes(file.data, draw, self._bytes)
        if kind == "text":
            return _joined(changed_bytes(file.text, draw, [other.text for other in self._files]), file.rest)
        if kind == "header":
            return _packed(changed_json(file.header, draw), file.arrays)
        if kind == "table":
            metadata = {"lowtide": "2", "sha256": "0" * 64, "header": file.header}
            table = changed_json(json.dumps(file.table), draw)
            whole = {"__metadata__": metadata, **table} if isinstance(table, dict) else table
            return _joined(json.dumps(whole, separators=(",", ":")).encode(), file.rest)
        if kind == "arrays":
            arrays = dict(file.arrays)
            for _ in range(draw.choice((1, 1, 2))):
                name = draw.choice([*arrays])
                arrays[name] = changed_array(arrays[name], draw)
            return _packed(file.header, arrays)
        other = draw.choice(self._files)
        header, given = json.loads(file.header), json.loads(other.header)
        taken = [name for name in given["parts"] if draw.random() < 0.7]
        header["parts"].update({name: given["parts"][name] for name in taken})
        header["kind"] = draw.choice((header["kind"], given["kind"]))
        moved = {name: array for name, array in other.arrays.items() if name.partition("/")[0] in taken}
        return _packed(header, {**file.arrays, **moved})

    def seeds(self) -> list[bytes]:
        """Return whole files."""
        return self._bytes

    def sealed(self, data: bytes) -> tuple[str, bytes]:
        """Return a file whose checksum is right."""
        return "text", sealed(data)

    def judge(self, kind: str, data: bytes) -> None:
        """Load an input, use what comes of it, save it and load it again."""
        if kind == "raw":
            self._loaded(data)
            raise WrongError("a file was loaded although its bytes were changed")
        model = _forged(data)
        _check_finite(data)
        first = _used(model, data)
        again = to_bytes(model, weights="float64") if hasattr(model, "predict") else to_bytes(model)
        restored = from_bytes(again)
        second = _used(restored, data)
        if type(restored) is not type(model) or first != second:
            raise WrongError(f"a {type(model).__name__} gives other numbers after it was saved and loaded again")

    def _loaded(self, data: bytes) -> Any:
        """Read one input in eight as a file, half of those without loading it."""
        way = data[-1] % 16 if data else 1
        if way >= 2:
            return from_bytes(data)
        self._place.write_bytes(data)
        return lt.load(self._place) if way else lt.persist.open_codes(self._place)


def _forged(data: bytes) -> Any:
    """Return the object of a file, once the encoder's identity has been made the one of what the file holds."""
    for _ in range(3):
        try:
            return from_bytes(data)
        except FileFormatError as error:
            found = _IDENTITY.search(str(error))
            if found is None or found[1].encode() not in data:
                raise
            data = sealed(data.replace(found[1].encode(), found[2].encode()))
    return from_bytes(data)


def _rows(model: Any) -> Any:
    """Return rows that a model takes; a table where it was fitted on one."""
    names = getattr(model, "feature_names_in_", None)
    if names is not None and "tide" in names:
        import pandas as pd

        return pd.DataFrame({"tide": ["ebb", "slack", "flood"], "depth": [0.5, -1.0, 2.0]})
    return np.arange(3 * model.n_features_in_, dtype=np.float64).reshape(3, -1) % 7 / 8 - 0.3


def _overflows(data: bytes) -> bool:
    """Whether a file has finite numbers so large that sums of their products overflow: its writer asked for it."""
    parts = _Parts(data)
    floats = [array for array in parts.arrays.values() if array.dtype.kind == "f"]
    return any(np.abs(array).max(initial=0) > _LARGE for array in floats) or bool(_BIG.search(parts.header))


def _check_finite(data: bytes) -> None:
    """Raise for a file that was loaded although it has NaN or infinity anywhere."""
    parts = _Parts(data)
    wrong = [name for name, array in parts.arrays.items() if array.dtype.kind == "f" and not np.isfinite(array).all()]
    json.loads(parts.header, parse_constant=wrong.append)
    if wrong:
        raise WrongError(f"a file was loaded although it is not finite: {', '.join(wrong)}")


def _used(model: Any, data: bytes) -> list[bytes]:
    """Return all that a model makes of some rows: finite numbers, unless the file itself has huge ones."""
    if isinstance(model, lt.Codes):
        results = [np.asarray(model[:50])]
    elif isinstance(model, Partition):
        full = np.linspace(-1, 1, 2 * model.shape[1], dtype=np.float32).reshape(2, -1)
        results = [np.asarray(model[:50]), model.nearest(full, model.cells_for(0.5, 10)[0], is_product=False)]
    elif model.n_features_in_ > _MOST_FEATURES:
        results = []
    elif isinstance(model, Encoder):
        X = _rows(model)
        results = [model.transform(X)]
        if model.drawn_.has_codes:
            results.append(np.asarray(model.encode(X)))
    else:
        X = _rows(model)
        methods = ("transform", "decision_function", "predict_proba", "predict")
        results = [getattr(model, name)(X) for name in methods if hasattr(model, name)]
    for result in results:
        if result.dtype.kind == "f" and not np.isfinite(result).all() and not _overflows(data):
            raise WrongError(f"a {type(model).__name__} was taken that gives NaN or infinity")
    return [
        np.asarray(result).astype("U" if result.dtype.kind == "O" else result.dtype).tobytes() for result in results
    ]
