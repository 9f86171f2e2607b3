"""`lowtide inspect` says what is in a file or a store and how exact its kernel is; `lowtide verify` checks it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import click

import lowtide as lt
from lowtide.cli.models import FittedTable, encoder_of, encoder_summary, score_in
from lowtide.cli.terminal import Voice, amount, bytes_in_words, counted, sheet, voice_options

__all__ = ["ErrorCurve", "Inspection", "StoreInspection", "expected_errors", "inspect", "sizes_by_part", "verify"]

KERNEL_VALUES = (1.0, 0.75, 0.5, 0.25, 0.0)

_PAIRS = {"codes x full": ("codes", "full"), "codes x codes": ("codes", "codes"), "full x full": ("full", "full")}
_FAR = 1e-4  # a kernel value that counts as 0
_STEPS = 64

# By the words of an array's name: that of its part, or its own.
_PARTS = {
    "decision": "weights",
    "weights": "weights",
    "projection": "frequencies",
    "offset": "dither",
    "left_offset": "dither",
    "packed": "packed rows",
    "norms": "norms",
    "codebook": "codebook",
    "scale": "column factors",
    "mean": "thresholds",
    "map": "thresholds",
    "upper": "thresholds",
    "lower": "thresholds",
}


@click.command(short_help="Say what is in a model, a code file or a store.")
@click.argument("file", type=click.Path(exists=True, path_type=Path))
@voice_options
def inspect(file: Path, voice: Voice) -> None:
    """Say what is in a model, encoder or code FILE, or a store, how large its parts are, and how exact its kernel is.

    A file's checksum is verified on the way; 'lowtide verify' does that for a store.
    """
    found = StoreInspection.of(file) if file.is_dir() else Inspection.of(file)
    voice.say(found.report())
    voice.result("inspect", found.to_json())


@click.command(short_help="Compare a store or a file with its checksums.")
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@voice_options
def verify(path: Path, voice: Voice) -> None:
    """Read all of a store (.zarr) or of a model, encoder or code file, and compare it with its checksums.

    Ends with 1 and names every damaged shard and chunk when something is not what was written. Nothing is changed.
    """
    if path.is_dir():
        store = lt.CodeStore.open(path)
        store.verify()
        n_shards = -(-store.n_rows // store.shard_rows)
        found = {"path": str(path), "kind": "store", "rows": store.n_rows, "shards": n_shards, "bytes": store.nbytes}
        what = f"{counted(store.n_rows, 'row')} in {counted(n_shards, 'shard')}, {bytes_in_words(store.nbytes)}"
    else:
        content = lt.persist.describe(path)
        found = {"path": str(path), "kind": content["kind"], "bytes": content["bytes"]}
        what = f"{content['kind']}, {bytes_in_words(content['bytes'])}"
    voice.say(f"{path} is as it was written: {what}.")
    voice.result("verify", found)


@dataclass(frozen=True)
class Inspection:
    """Summarize a model, encoder or code file: what it says of itself, and the error of its kernel values."""

    file: Path
    content: dict[str, Any]
    thing: Any
    errors: list[ErrorCurve]

    @classmethod
    def of(cls, file: Path) -> Self:
        """Read a file."""
        content = lt.persist.describe(file)
        thing = lt.load(file, mmap=True)
        encoder = encoder_of(thing)
        # Only a kernel of one distance has its errors as a curve.
        return cls(file, content, thing, expected_errors(encoder) if isinstance(encoder, lt.RandomFeatures) else [])

    def report(self) -> str:
        """Say it in words."""
        content, thing, encoder = self.content, self.thing, encoder_of(self.thing)
        size = bytes_in_words(content["bytes"])
        sizes = [f"{part} {bytes_in_words(n)}" for part, n in sizes_by_part(content).items()]
        text = sheet(
            [
                ("file", f"{self.file}, {size}, format {content['format']}"),
                ("kind", self._kind()),
                ("classes", lt.tables.listed(thing.classes_.tolist(), most=12) if hasattr(thing, "classes_") else ""),
                ("table", self._table()),
                ("score", score_in(content["metadata"])),
                ("features", "" if encoder is None else encoder_summary(encoder)),
                ("projection", self._projection(encoder)),
                ("fingerprint", self._fingerprint()),
                ("bytes", ", ".join(sizes)),
            ]
        )
        return f"{text}\n\n{error_table(self.errors)}" if self.errors else text

    def _kind(self) -> str:
        thing = self.thing
        name = str(self.content["kind"])
        if isinstance(thing, lt.Codes):
            per_row = counted(thing.packed.shape[1], "byte")
            levels = f"{thing.n_levels:,} levels of {counted(thing.bits, 'bit')}"
            return f"codes: {counted(len(thing), 'row')} of {levels}, {per_row} a row"
        if hasattr(thing, "C_"):
            how = f"{thing.loss} loss" if hasattr(thing, "loss") else f"system {thing.system}"
            return f"{name}, {how}, C = {amount(thing.C_)}"
        return f"{name}, alpha = {amount(thing.alpha_)}" if hasattr(thing, "alpha_") else name

    def _table(self) -> str:
        """Say which columns a table must have."""
        if not hasattr(self.thing, "n_features_in_"):
            return ""
        table = FittedTable.of(self.thing, self.content["metadata"])
        recipe = table.recipe
        if recipe.is_identity and table.choice.target is None:
            return f"{counted(len(recipe.columns), 'column')}, as they are"
        parts = [f"numbers {lt.tables.listed(recipe.numeric)} ({table.how})"] if recipe.numeric else []
        parts += [f"categories {name!r} ({n})" for name, n in table.n_categories.items()]
        if table.choice.target is not None:
            parts.append(f"target {table.choice.target!r}")
        return ", ".join(parts)

    @staticmethod
    def _projection(encoder: Any) -> str:
        if not isinstance(encoder, lt.RandomFeatures):
            return ""
        seed = "" if encoder.random_state is None else f", seed {encoder.random_state}"
        return f"{encoder.projection}, {encoder.feature_map} map{seed}"

    def _fingerprint(self) -> str:
        thing = getattr(self.thing, "decision_", getattr(self.thing, "drawn_", self.thing))
        return str(thing.fingerprint.hex())

    def to_json(self) -> dict[str, Any]:
        """Return the file's own description, its sizes by part and the errors."""
        errors = {
            curve.sides: {"worst": curve.worst, "at_kernel": {str(value): std for value, std in curve.at.items()}}
            for curve in self.errors
        }
        encoder, thing = encoder_of(self.thing), self.thing
        own = {
            "file": str(self.file),
            "fingerprint": self._fingerprint(),
            "classes": thing.classes_.tolist() if hasattr(thing, "classes_") else None,
            "gamma": getattr(encoder, "gamma_", None),
            "bytes_by_part": sizes_by_part(self.content),
            "kernel_error": errors or None,
        }
        return {**own, "content": self.content}


@dataclass(frozen=True)
class StoreInspection:
    """Summarize a store without reading its rows."""

    path: Path
    store: lt.CodeStore

    @classmethod
    def of(cls, path: Path) -> Self:
        """Open a store for reading."""
        return cls(path, lt.CodeStore.open(path))

    @property
    def _sizes(self) -> dict[str, int]:
        """Bytes of the files in each folder of the store."""
        return {
            folder.name: sum(file.stat().st_size for file in folder.iterdir() if file.is_file())
            for folder in sorted(self.path.iterdir())
            if folder.is_dir()
        }

    def report(self) -> str:
        """Say it in words."""
        store = self.store
        shards = counted(-(-store.n_rows // store.shard_rows), "shard")
        chunk = f"{counted(store.shard_rows, 'row')} a shard, {counted(store.chunk_rows, 'row')} under a checksum"
        levels = f"{store.n_levels:,} levels of {counted(store.bits, 'bit')}"
        columns = ", ".join(f"{name!r} ({kind})" for name, kind in store.column_types.items())
        progress = store.metadata.get("encode")
        begun = isinstance(progress, dict) and progress.get("done") is False
        return sheet(
            [
                ("store", f"{self.path}, {bytes_in_words(sum(self._sizes.values()))}, Zarr 3"),
                ("codes", f"{counted(store.n_rows, 'row')} of {levels}, {bytes_in_words(store.nbytes)}"),
                ("columns", columns),
                ("shards", f"{shards}; {chunk}"),
                ("features", "" if store.encoder is None else encoder_summary(store.encoder)),
                ("fingerprint", store.fingerprint.hex()),
                ("bytes", ", ".join(f"{name} {bytes_in_words(n)}" for name, n in self._sizes.items())),
                ("state", "not complete: the same 'lowtide encode' goes on with it" if begun else ""),
            ]
        )

    def to_json(self) -> dict[str, Any]:
        """Return the same as plain values."""
        store = self.store
        return {
            "file": str(self.path),
            "kind": "store",
            "rows": store.n_rows,
            "components": store.shape[1],
            "bits": store.bits,
            "levels_per_row": store.n_levels,
            "chunk_rows": store.chunk_rows,
            "shard_rows": store.shard_rows,
            "columns": store.column_types,
            "fingerprint": store.fingerprint.hex(),
            "bytes": store.nbytes,
            "bytes_by_part": self._sizes,
            "metadata": store.metadata,
        }


def sizes_by_part(content: dict[str, Any]) -> dict[str, int]:
    """Return bytes by part, the largest first, the header last.

    Parameters
    ----------
    content : dict
        As `lowtide.persist.describe` returns it.

    Examples
    --------
    >>> arrays = {"decision/weights": {"bytes": 8}, "encoder/projection.signs": {"bytes": 24}}
    >>> sizes_by_part({"arrays": arrays, "header_bytes": 100})
    {'frequencies': 24, 'weights': 8, 'header': 100}
    """
    sizes: dict[str, int] = {}
    for name, entry in content["arrays"].items():
        part = next((_PARTS[word] for word in re.split(r"[/.]", name) if word in _PARTS), "other")
        sizes[part] = sizes.get(part, 0) + int(entry["bytes"])
    return {**dict(sorted(sizes.items(), key=lambda item: -item[1])), "header": int(content["header_bytes"])}


@dataclass(frozen=True)
class ErrorCurve:
    """Standard errors of one pair of sides.

    Attributes
    ----------
    sides : str
    at : dict of float
        The standard error at `KERNEL_VALUES`.
    worst : float
        The largest over all distances.
    """

    sides: str
    at: dict[float, float]
    worst: float


def expected_errors(encoder: Any) -> list[ErrorCurve]:
    """Return the standard error of a kernel value for each pair of sides that an encoder has.

    Codes against codes are divided by their value at equal rows, so that all are on the scale of the kernel.

    Parameters
    ----------
    encoder : RandomFeatures, fitted
    """
    import numpy as np

    reach = _distance(encoder, _FAR)
    wanted = [0.0 if value == 1.0 else reach if value == 0.0 else _distance(encoder, value) for value in KERNEL_VALUES]
    distances = np.array([*wanted, *np.linspace(0.0, reach, _STEPS)])
    # A step along one axis has the same length in every norm.
    rows = np.zeros((len(distances), encoder.drawn_.n_features))
    rows[:, 0] = distances
    curves = []
    for name, sides in _PAIRS.items():
        if "codes" in sides and not encoder.drawn_.has_codes:
            continue
        _, std = encoder.kernel_estimate(rows[:1] * 0.0, rows, sides=sides, return_std=True, normalize=True)
        errors = dict(zip(KERNEL_VALUES, std[0].tolist()))
        curves.append(ErrorCurve(name, errors, float(std.max())))
    return curves


def _distance(encoder: Any, value: float) -> float:
    """Return a distance at which the kernel has this value."""
    import numpy as np
    from scipy.optimize import brentq

    d = encoder.drawn_.n_features

    def gap(distance: float) -> float:
        return float(encoder.kernel_.radial(np.array(distance), d)) - value

    far = 1e-6
    while gap(far) > 0:
        far *= 2
    return float(brentq(gap, 0.0, far))


def error_table(curves: Sequence[ErrorCurve]) -> str:
    """Return a line a pair of sides, a column a kernel value."""
    values = list(curves[0].at)
    head = f"{'kernel value':16}" + "".join(f"{value:>9.2f}" for value in values) + f"{'worst':>9}"
    lines = [
        f"{curve.sides:16}" + "".join(f"{error:9.4f}" for error in (*curve.at.values(), curve.worst))
        for curve in curves
    ]
    title = "Standard error of a kernel value, one row on each side:"
    about = "Codes x codes: over its value at equal rows; its mean is a known function of the kernel, not the kernel."
    return "\n".join([title, head, *lines, *([about] if len(curves) > 1 else [])])
