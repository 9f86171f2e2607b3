"""`lowtide encode` turns the rows of a table into packed codes, in a file or shard by shard in a store."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import lowtide as lt
from lowtide.cli import models
from lowtide.cli import terminal as term
from lowtide.cli.models import FittedTable
from lowtide.cli.terminal import EncoderOptions, TableOptions, Voice, bytes_in_words, counted, refuse
from lowtide.errors import FileFormatError

if TYPE_CHECKING:
    from lowtide.tables import Block, Kind, Source

# What says how a table is read, or how the command speaks, goes with --model too.
_WITH_A_MODEL = ("data", "output", "model", "force", "header", "encoding", "as_json", "quiet", "target")
# Options of a kernel's features, and what vectors have unless they are given.
_OF_A_KERNEL = ("kernel", "gamma", "components", "projection")
_BITS_OF_VECTORS = 4

# \b keeps the lines as they are.
_EXAMPLES = """\b
Examples:
  lowtide encode new.csv --model flowers.lowtide -o new.lowtide
  lowtide encode images.npy -o images.lowtide --bits 2 --save-encoder encoder.lowtide
  lowtide encode big.parquet -o codes.zarr --target label
  lowtide encode embeddings.npy -o db.zarr --metric cosine --bits 2
"""


@click.command(cls=term.TableCommand, epilog=_EXAMPLES)
@click.argument("data", type=term.FILE)
@click.option(
    "--output",
    "-o",
    required=True,
    type=term.NEW_FILE,
    help="What to write: codes (.lowtide), a store for any number of rows (.zarr), or packed bytes alone (.npy).",
)
@click.option("--target", metavar="COLUMN", help="Keep this column beside the codes in a store, to learn it later.")
@click.option(
    "--model",
    type=term.FILE,
    help="Encode as this model or encoder does; options about features and columns are then not allowed.",
)
@click.option("--save-encoder", type=term.NEW_FILE, help="Also write the new encoder, to encode more rows later.")
@click.option("--force", is_flag=True, help="Replace files that exist.")
@term.encoder_options
@term.table_options
@term.voice_options
def encode(
    data: Path,
    output: Path,
    target: str | None,
    model: Path | None,
    save_encoder: Path | None,
    force: bool,
    encoder: EncoderOptions,
    table: TableOptions,
    voice: Voice,
) -> None:
    """Encode the rows of the table DATA into a few bits per feature.

    With --model the codes are those that the model reads: 'lowtide predict' takes them in place of the table. Without
    it, a new encoder is fitted to the table. A store is written piece by piece: if the command is killed, give it
    again and it goes on where it stopped.
    """
    if encoder.metric is not None:
        encoder, table = _of_vectors(encoder, table)
    outputs = {"--output": output} | ({} if save_encoder is None else {"--save-encoder": save_encoder})
    term.check_apart(outputs, [data, model])
    if output.suffix.lower() == ".zarr":
        _check_options(model, encoder.bits)
        if save_encoder is not None:
            refuse("--save-encoder", "must be left out: a store has its encoder.")
        _to_store(data, output, target, model, force, encoder, table, voice)
        return
    if target is not None:
        refuse("--target", "must go with a store, --output codes.zarr.")
    place = term.check_new(output, "--output", force=force)
    if output.suffix.lower() not in (".lowtide", ".npy"):
        endings = "must end in .lowtide, in .zarr for a store, or in .npy for the packed bytes alone"
        refuse("--output", f"{endings}, got {str(output)!r}.")
    kept = None if save_encoder is None else term.check_new(save_encoder, "--save-encoder", force=force)
    _check_options(model, encoder.bits)
    source = models.open_source(data, table.header, table.encoding, voice)
    made, fitted = models.load_encoder(model) if model else _learned(source, encoder, table, voice)
    codes = _codes(source, _coded(made), fitted, voice)
    packed = output.suffix.lower() == ".npy"
    if packed:
        lt.persist.write_whole(place, term.npy_pieces(codes.packed))
    else:
        lt.save(codes, place)
    if kept is not None:
        lt.save(made, kept, metadata=fitted.to_metadata())
    written = f"{output}, {'packed bytes' if packed else 'codes'}, {bytes_in_words(output.stat().st_size)}"
    beside = f"{save_encoder}, {bytes_in_words(save_encoder.stat().st_size)}" if save_encoder else ""
    content = {"output": str(output), "encoder": None if save_encoder is None else str(save_encoder)}
    per_row = codes.nbytes // len(codes) if len(codes) else None
    _tell(voice, made, codes, per_row, content, [("written", written), ("encoder", beside)])


def _of_vectors(encoder: EncoderOptions, table: TableOptions) -> tuple[EncoderOptions, TableOptions]:
    """Return the options of vectors: rows as they are, in more bits, where nothing else was typed."""
    context, typed = click.get_current_context(), click.core.ParameterSource.COMMANDLINE
    others = [str(each.name) for each in context.command.params if each.name not in _OF_A_KERNEL]
    term.check_alone("--metric", others, "must come without {}: vectors have no kernel. Leave one of them out.")
    is_typed = {name: context.get_parameter_source(name) is typed for name in ("bits", "scale")}
    bits = encoder.bits if is_typed["bits"] else _BITS_OF_VECTORS
    return replace(encoder, bits=bits), replace(table, scale=table.scale and is_typed["scale"])


def _check_options(model: Path | None, bits: int | None) -> None:
    """Refuse no bits, and options that --model would silently ignore."""
    if model is not None:
        settled = "must come without {}: the model has its own. Leave one of them out."
        term.check_alone("--model", _WITH_A_MODEL, settled)
    elif bits is None:
        refuse("--bits", "must be 1 to 8 for codes, got 'none'.")


def _learned(source: Source, options: EncoderOptions, table: TableOptions, voice: Voice) -> tuple[Any, FittedTable]:
    """Make a new encoder of a table: of all its rows, or of as many as stand for them."""
    choice = models.choose_columns(source, None, table)
    with voice.working(f"reading {source.file}") as report:
        sample = lt.tables.survey(source, choice, seed=options.seed, report=report).sample
    fitted = models.learned_table(sample, choice, table.scale)
    with voice.hearing():
        encoder = models.make_encoder(options).fit(sample.matrix(fitted.recipe))
    return encoder, fitted


def _coded(encoder: Any) -> Any:
    """Return an encoder that has a coded side, or refuse it."""
    if not encoder.drawn_.has_codes:
        raise lt.tables.TableError("codes need a coded side, 1 to 8 bits a feature, got an encoder with bits=none.")
    return encoder


def _codes(source: Source, encoder: Any, table: FittedTable, voice: Voice) -> lt.Codes:
    """Encode a table block by block: only codes are there as a whole."""
    names = table.align(source, voice)
    with voice.working(f"encoding {source.file}") as report:
        parts = [encoder.encode(table.rows(block, names)) for block in _blocks(source, report)]
    return lt.concatenate(parts) if parts else encoder.drawn_.required_template


def _blocks(source: Source, report: Callable[[int], None], done: int = 0) -> Iterator[Block]:
    """Yield the blocks of a table after the rows that are done, and tell how many rows are."""
    n_rows = 0
    for block in source.blocks():
        n_rows += block.n_rows
        new = n_rows - done
        if new > 0:
            yield block.after(max(0, block.n_rows - new))
        report(n_rows)
    if n_rows < done:
        raise lt.tables.TableError(f"{source.file} must have the {done} rows that the store has, got fewer.")


def _to_store(
    data: Path,
    output: Path,
    target: str | None,
    model: Path | None,
    force: bool,
    options: EncoderOptions,
    table: TableOptions,
    voice: Voice,
) -> None:
    """Encode a table into a store, shard by shard; the column `target` goes along as the column "y"."""
    source = models.open_source(data, table.header, table.encoding, voice)
    column = None if target is None else lt.tables.find_column(source, target, "target")
    status = data.stat()
    # A run goes on with a store only when all of this is as it was.
    request: dict[str, Any] = {
        "table": {"file": data.name, "bytes": status.st_size, "changed": status.st_mtime_ns},
        "target": column,
        "model": None if model is None else lt.persist.describe(model)["sha256"],
        "options": json.loads(json.dumps({**asdict(options), **asdict(table)})),
    }
    progress = {"request": request, "done": False}
    place = _place(output, progress, force)
    store = _begun(place, progress)
    if store is not None:
        voice.note(f"{output} was begun before: going on after {counted(store.n_rows, 'row')}.")
    else:
        made, fitted, kind = _for_store(source, column, model, options, table, voice)
        metadata = {**fitted.to_metadata(), "target": {"name": column, "kind": kind}, "encode": progress}
        store = lt.CodeStore.create(place, _coded(made), metadata=metadata)
    resumed = store.n_rows
    with store:
        _fill(store, source, column, voice)
    if place != output:
        lt.store.replace_store(place, output)
        store = lt.CodeStore.open(output)
    size = sum(path.stat().st_size for path in output.rglob("*") if path.is_file())
    kept = f"{column!r}, column 'y'" if column else ""
    written = f"{output}, store, {bytes_in_words(size)}"
    content = {"output": str(output), "encoder": None, "resumed_rows": resumed, "target": column}
    per_row = store.nbytes // len(store) if len(store) else None
    _tell(voice, store.encoder, store, per_row, content, [("target", kept), ("written", written)])


def _place(output: Path, progress: dict[str, Any], force: bool) -> Path:
    """Return where a store is made: in its place, or beside a store that is there until the new one is complete."""
    term.check_folder_above(output, "--output")
    if output.exists() and not output.is_dir():
        refuse("--output", f"must name a store or nothing, got the file {str(output)!r}. Name another.")
    if not output.exists() or not any(output.iterdir()) or lt.store.is_unfinished(output):
        return output
    if _progress(output) == progress:
        return output
    if not force:
        there = "which is there already, complete or made by another command. Add --force to replace it."
        refuse("--output", f"must name a new store, got {str(output)!r}, {there}")
    # What is neither a store nor left of one is not ours to remove.
    if not (output / "lowtide").is_dir() or output.is_symlink():
        refuse("--output", f"must name a store or nothing, got {str(output)!r}. Remove it by hand, or name another.")
    with suppress(FileFormatError):  # not a whole store, so nobody is writing to it
        lt.CodeStore.open(output, "a").close()
    return output.with_name(f".{output.name}.lowtide-new")


def _begun(place: Path, progress: dict[str, Any]) -> lt.CodeStore | None:
    """Return the store that this very command was making when it ended; None to make a new one."""
    if not place.exists() or not any(place.iterdir()) or lt.store.is_unfinished(place):
        return None
    if _progress(place) == progress:
        return lt.CodeStore.open(place, "a")
    shutil.rmtree(place)  # left by another command that was to replace the same store
    return None


def _progress(place: Path) -> Any:
    """Return what a store says of the command that makes it; None for what is not a whole store."""
    with suppress(FileFormatError):
        return lt.CodeStore.open(place).metadata.get("encode")
    return None


def _for_store(
    source: Source, target: str | None, model: Path | None, options: EncoderOptions, table: TableOptions, voice: Voice
) -> tuple[Any, FittedTable, Kind | None]:
    """Return an encoder, that of the model or one made in one pass over the table, and what the target holds."""
    if model is None:
        choice = models.choose_columns(source, target, table)
        with voice.working(f"reading {source.file}") as report:
            found = lt.tables.survey(source, choice, seed=options.seed, report=report)
        kind = None if found.target is None else lt.tables.read_values(found.target, str(target))[0]
        fitted = models.learned_table(found.sample, choice, table.scale)
        with voice.hearing():
            encoder = models.make_encoder(options).fit(found.sample.matrix(fitted.recipe))
        return encoder, fitted, kind
    encoder, fitted = models.load_encoder(model)
    if target is None:
        return encoder, fitted, None
    with voice.working(f"reading {source.file}") as report:
        return encoder, fitted, lt.tables.target_survey(source, target, report)


def _fill(store: lt.CodeStore, source: Source, target: str | None, voice: Voice) -> None:
    """Encode what the store does not have yet, a commit a shard."""
    table, kind = FittedTable.of(store.encoder, store.metadata), store.metadata["target"]["kind"]
    names = table.align(source, voice)

    def coded(block: Block) -> list[Any]:
        columns = [] if target is None else [lt.tables.target_values(block.column(target), kind)]
        return [store.encoder.encode(table.rows(block, names)), *columns]

    with voice.working(f"encoding {source.file}") as report:
        for part in _by_shards(map(coded, _blocks(source, report, store.n_rows)), store):
            store.append(*part)
    metadata = store.metadata
    metadata["encode"]["done"] = True
    store.annotate(metadata)


def _by_shards(parts: Iterable[list[Any]], store: lt.CodeStore) -> Iterator[list[Any]]:
    """Yield codes and their targets so that shards are filled: what is committed then is never written again."""
    import numpy as np

    def joined() -> list[Any]:
        codes, *targets = zip(*waiting)
        return [lt.concatenate(codes), *map(np.concatenate, targets)]

    waiting: list[list[Any]] = []
    for part in parts:
        waiting.append(part)
        n_rows = sum(len(codes) for codes, *_ in waiting)
        n_whole = n_rows - (store.n_rows + n_rows) % store.shard_rows
        if n_whole > 0:
            together = joined()
            yield [values[:n_whole] for values in together]
            waiting = [[values[n_whole:] for values in together]]
    if waiting:
        yield joined()


def _tell(
    voice: Voice,
    encoder: Any,
    codes: lt.Codes | lt.CodeStore,
    bytes_per_row: int | None,
    content: dict[str, Any],
    lines: list[tuple[str, str]],
) -> None:
    """Say what codes were made with, how many there are and where, in words and as plain values."""
    rows = f"{counted(len(codes), 'row')}, {bytes_in_words(codes.nbytes)}; fingerprint {codes.fingerprint.hex()}"
    voice.say(term.sheet([("features", models.encoder_summary(encoder)), ("codes", rows), *lines]))
    numbers = {
        "rows": len(codes),
        "components": codes.shape[1],
        "bits": codes.bits,
        "levels_per_row": codes.n_levels,
        "bytes_per_row": bytes_per_row,
        "bytes": codes.nbytes,
        "fingerprint": codes.fingerprint.hex(),
    }
    voice.result("encode", {**content, **numbers})
