"""`lowtide inspect` says what is in a file or a store and how exact its kernel is; `lowtide verify` checks it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click

import lowtide as lt
from lowtide.cli.models import (
    FittedTable,
    check_no_table,
    choice_content,
    choice_table,
    chosen_loss,
    encoder_of,
    encoder_summary,
)
from lowtide.cli.terminal import (
    FILE_OR_STORE,
    Voice,
    amount,
    bytes_in_words,
    check_apart,
    counted,
    sheet,
    voice_options,
)

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
    "metric": "metric",
    "mean": "thresholds",
    "map": "thresholds",
    "upper": "thresholds",
    "lower": "thresholds",
}


@click.command()
@click.argument("file", type=FILE_OR_STORE)
@voice_options
def inspect(file: Path, voice: Voice) -> None:
    """Show what is in a model, encoder or code FILE, or in a store: settings, sizes, and the error of kernel values.

    The checksum of a file is verified as well; for a store use 'lowtide verify'.
    """
    check_apart({"FILE": None}, [file])
    text, content = _inspect_store(file) if file.is_dir() else _inspect_file(file)
    voice.say(text)
    voice.result("inspect", {"file": str(file), **content})


@click.command()
@click.argument("path", type=FILE_OR_STORE)
@voice_options
def verify(path: Path, voice: Voice) -> None:
    """Read all of a store (.zarr) or of a model, encoder or code file, and check it against its checksums.

    If something is not as it was written, the command names every damaged shard and chunk, and its exit code is 1.
    Nothing is changed.
    """
    check_apart({"PATH": None}, [path])
    if path.is_dir():
        store = lt.CodeStore.open(path)
        store.verify()
        n_shards = -(-store.n_rows // store.shard_rows)
        found = {"path": str(path), "kind": "store", "rows": store.n_rows, "shards": n_shards, "bytes": store.nbytes}
        what = f"{counted(store.n_rows, 'row')} in {counted(n_shards, 'shard')}, {bytes_in_words(store.nbytes)}"
    else:
        check_no_table(path, "")
        content = lt.persist.describe(path)
        found = {"path": str(path), "kind": content["kind"], "bytes": content["bytes"]}
        what = f"{content['kind']}, {bytes_in_words(content['bytes'])}"
    voice.say(f"{path} is as it was written: {what}.")
    voice.result("verify", found)


def _inspect_file(file: Path) -> tuple[str, dict[str, Any]]:
    """Return what a model, encoder or code file says of itself, and the errors of its kernel values."""
    check_no_table(file, "")
    content = lt.persist.describe(file)
    thing = (lt.persist.open_codes if content["kind"] == "Codes" else lt.load)(file)
    encoder, classes = encoder_of(thing), thing.classes_.tolist() if hasattr(thing, "classes_") else None
    # Only a kernel of one distance has its errors as a curve, and only frequencies that no task chose have errors.
    states_errors = isinstance(encoder, lt.RandomFeatures) and encoder.drawn_.kept is None
    errors = expected_errors(encoder) if states_errors else {}
    fingerprint = getattr(thing, "decision_", getattr(thing, "drawn_", thing)).fingerprint.hex()
    sizes = sizes_by_part(content)
    score = content["metadata"].get("score")
    projection = _projection(encoder) if isinstance(encoder, lt.RandomFeatures) else ""
    text = sheet(
        [
            ("file", f"{file}, {bytes_in_words(content['bytes'])}, format {content['format']}"),
            ("kind", _kind(thing, content["kind"])),
            ("classes", lt.tables.listed(classes, most=12) if classes else ""),
            ("table", _table(FittedTable.of(thing, content["metadata"])) if hasattr(thing, "n_features_in_") else ""),
            # A text that could move the cursor of a terminal is none of ours.
            ("score", score if isinstance(score, str) and score.isprintable() else ""),
            ("features", "" if encoder is None else encoder_summary(encoder)),
            ("projection", projection),
            ("fingerprint", fingerprint),
            ("bytes", _listed(sizes)),
        ]
    )
    own = {
        "fingerprint": fingerprint,
        "classes": classes,
        "gamma": getattr(encoder, "gamma_", None),
        "bytes_by_part": sizes,
        "choice": choice_content(thing),
        "kernel_error": errors or None,
        "content": content,
    }
    tables = [text, choice_table(thing), error_table(errors) if errors else ""]
    return "\n\n".join(each for each in tables if each), own


def _projection(encoder: lt.RandomFeatures) -> str:
    """Say how the frequencies were drawn, which were kept, and what rows are multiplied by."""
    drawn, words = encoder.drawn_, [str(encoder.projection), f"{encoder.feature_map} map"]
    if encoder.random_state is not None:
        words.append(f"seed {encoder.random_state}")
    if drawn.kept is not None:
        words.append(f"frequencies chosen by a task: {drawn.n_frequencies:,} of {drawn.kept[-1] + 1:,} or more")
    if drawn.metric is not None:
        words.append("metric of " + ("factors" if drawn.metric.ndim == 1 else " x ".join(map(str, drawn.metric.shape))))
    return ", ".join(words)


def _kind(thing: Any, name: str) -> str:
    """Say what a thing is, and what its size or its learning was settled by."""
    if isinstance(thing, lt.persist.CodesFile):
        per_row = counted(thing.template.packed.shape[1], "byte")
        levels = f"{thing.n_levels:,} levels of {_bits(thing.bits)}"
        return f"codes: {counted(len(thing), 'row')} of {levels}, {per_row} a row"
    if hasattr(thing, "C_"):
        how = f"{chosen_loss(thing)} loss" if hasattr(thing, "choice_") else f"system {thing.system}"
        return f"{name}, {how}, C = {amount(thing.C_)}"
    return f"{name}, alpha = {amount(thing.alpha_)}" if hasattr(thing, "alpha_") else name


def _bits(bits: lt.codes.Bits) -> str:
    """Say how many bits levels have: 1 bit, 1 to 8 bits."""
    words = lt.codes.spell_bits(bits)
    return f"{words} bit{'' if words == '1' else 's'}"


def _table(table: FittedTable) -> str:
    """Say which columns a table must have."""
    recipe, target = table.recipe, table.choice.target
    if recipe.is_identity and target is None:
        return f"{counted(len(recipe.columns), 'column')}, as they are"
    parts = [f"numbers {lt.tables.listed(recipe.numeric)} ({table.how})"] if recipe.numeric else []
    parts += [f"categories {name!r} ({n})" for name, n in table.n_categories.items()]
    return ", ".join(parts if target is None else [*parts, f"target {target!r}"])


def _listed(sizes: dict[str, int]) -> str:
    """Say the sizes of parts."""
    return ", ".join(f"{part} {bytes_in_words(n)}" for part, n in sizes.items())


def _inspect_store(path: Path) -> tuple[str, dict[str, Any]]:
    """Return what a store is, without reading its rows."""
    store = lt.CodeStore.open(path)
    sizes = {
        folder.name: sum(file.stat().st_size for file in folder.iterdir() if file.is_file())
        for folder in sorted(path.iterdir())
        if folder.is_dir()
    }
    shards = counted(-(-store.n_rows // store.shard_rows), "shard")
    chunk = f"{counted(store.shard_rows, 'row')} a shard, {counted(store.chunk_rows, 'row')} under a checksum"
    levels = f"{store.n_levels:,} levels of {_bits(store.bits)}"
    progress = store.metadata.get("encode")
    begun = isinstance(progress, dict) and progress.get("done") is False
    text = sheet(
        [
            ("store", f"{path}, {bytes_in_words(sum(sizes.values()))}, Zarr 3"),
            ("codes", f"{counted(store.n_rows, 'row')} of {levels}, {bytes_in_words(store.nbytes)}"),
            ("columns", ", ".join(f"{name!r} ({kind})" for name, kind in store.column_types.items())),
            ("shards", f"{shards}; {chunk}"),
            ("features", "" if store.encoder is None else encoder_summary(store.encoder)),
            ("fingerprint", store.fingerprint.hex()),
            ("bytes", _listed(sizes)),
            ("state", "not complete: the same 'lowtide encode' goes on with it" if begun else ""),
        ]
    )
    content = {
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
        "bytes_by_part": sizes,
        "metadata": store.metadata,
    }
    return text, content


def sizes_by_part(content: dict[str, Any]) -> dict[str, int]:
    """Return bytes by part of what `lowtide.persist.describe` returns, the largest first, the header last."""
    sizes: dict[str, int] = {}
    for name, entry in content["arrays"].items():
        part = next((_PARTS[word] for word in re.split(r"[/.]", name) if word in _PARTS), "other")
        sizes[part] = sizes.get(part, 0) + int(entry["bytes"])
    return {**dict(sorted(sizes.items(), key=lambda item: -item[1])), "header": int(content["header_bytes"])}


def expected_errors(encoder: Any) -> dict[str, dict[str, Any]]:
    """Return the standard error of a kernel value for each pair of sides that an encoder has: the worst, and at values.

    Codes against codes are divided by their value at equal rows, so that all are on the scale of the kernel.
    """
    import numpy as np

    reach = _distance(encoder, _FAR)
    wanted = [0.0 if value == 1.0 else reach if value == 0.0 else _distance(encoder, value) for value in KERNEL_VALUES]
    distances = np.array([*wanted, *np.linspace(0.0, reach, _STEPS)])
    # A step along one axis has the same length in every norm; of the axes, the one that a metric makes the longest.
    metric, n_features = encoder.drawn_.metric, encoder.drawn_.n_features
    lengths = np.ones(n_features)
    if metric is not None:
        lengths = np.linalg.norm(metric.reshape(n_features, -1).astype(float), ord=encoder.kernel_.norm, axis=1)
    axis = int(np.argmax(lengths))
    rows = np.zeros((len(distances), n_features))
    rows[:, axis] = distances / lengths[axis]
    found = {}
    for name, sides in _PAIRS.items():
        if "codes" in sides and not encoder.drawn_.has_codes:
            continue
        _, std = encoder.kernel_estimate(rows[:1] * 0.0, rows, sides=sides, return_std=True, normalize=True)
        at_kernel = {str(value): error for value, error in zip(KERNEL_VALUES, std[0].tolist())}
        found[name] = {"worst": float(std.max()), "at_kernel": at_kernel}
    return found


def _distance(encoder: Any, value: float) -> float:
    """Return a distance at which the kernel has this value."""
    import numpy as np
    from scipy.optimize import brentq

    def gap(distance: float) -> float:
        return float(encoder.kernel_.radial(np.array(distance), encoder.drawn_.n_kernel_features)) - value

    far = 1e-6
    while gap(far) > 0:
        far *= 2
    return float(brentq(gap, 0.0, far))


def error_table(errors: dict[str, dict[str, Any]]) -> str:
    """Return one line per pair of sides, with one column per kernel value."""
    head = f"{'kernel value':16}" + "".join(f"{value:>9.2f}" for value in KERNEL_VALUES) + f"{'worst':>9}"
    lines = [
        f"{sides:16}" + "".join(f"{error:9.4f}" for error in (*curve["at_kernel"].values(), curve["worst"]))
        for sides, curve in errors.items()
    ]
    title = "Standard error of a kernel value, one row on each side:"
    about = "Codes x codes: over its value at equal rows; its mean is a known function of the kernel, not the kernel."
    return "\n".join([title, head, *lines, *([about] if len(errors) > 1 else [])])
