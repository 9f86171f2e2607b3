"""`lowtide encode` turns the rows of a table into packed codes, in a file or shard by shard in a store."""

from __future__ import annotations

import json
import shutil
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import click

import lowtide as lt
from lowtide.cli.models import (
    FittedTable,
    choose_columns,
    encoder_summary,
    load_encoder,
    make_encoder,
    store_metadata,
    write_encoder,
)
from lowtide.cli.terminal import (
    EncoderOptions,
    TableOptions,
    Voice,
    bytes_in_words,
    check_folder_above,
    check_new,
    column_options,
    counted,
    encoder_options,
    npy_pieces,
    options_beside,
    sheet,
    table_options,
    voice_options,
)
from lowtide.errors import FileFormatError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lowtide.tables import Block, Kind

__all__ = ["Encoding", "StoreEncoding", "encode"]

# What says how a table is read, or how the command speaks, goes with --model too.
_WITH_A_MODEL = ("data", "output", "model", "force", "header", "as_json", "quiet", "target")

# \b keeps the lines as they are.
_EXAMPLES = """\b
Examples:
  lowtide encode new.csv --model flowers.lowtide -o new.lowtide
  lowtide encode images.npy -o images.lowtide --bits 2 --save-encoder encoder.lowtide
  lowtide encode big.parquet -o codes.zarr --target label
"""


@click.command(short_help="Turn the rows of a table into packed codes.", epilog=_EXAMPLES)
@click.argument("data", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--output",
    "-o",
    required=True,
    type=click.Path(path_type=Path),
    help="What to write: codes (.lowtide), a store for any number of rows (.zarr), or packed bytes alone (.npy).",
)
@click.option("--target", metavar="COLUMN", help="Keep this column beside the codes of a store, to learn from.")
@click.option(
    "--model",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Encode as this model or encoder does; the options of features and columns are then its own.",
)
@click.option(
    "--save-encoder", type=click.Path(path_type=Path), help="Write the new encoder too, to encode more rows with."
)
@click.option("--force", is_flag=True, help="Replace files that are there.")
@encoder_options
@table_options
@voice_options
@click.pass_context
@column_options
def encode(
    context: click.Context,
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
    """Encode the rows of DATA (.csv, .tsv, .npy, .parquet) into a few bits a feature.

    With --model the codes are those that the model reads: 'lowtide predict' takes them in place of the table. Without,
    a new encoder is made of the table. A store is written shard by shard: a command that was killed goes on where it
    stopped when it is given again.
    """
    if output.suffix.lower() == ".zarr":
        _check_options(context, model, encoder.bits)
        if save_encoder is not None:
            raise click.BadParameter("must be left out: a store has its encoder.", param_hint="'--save-encoder'")
        stored = StoreEncoding(data, output, target, model, encoder, table, voice)
        with stored.open(force=force) as store:
            stored.run(store)
        voice.say(stored.summary(store))
        voice.result("encode", stored.to_json(store))
        return
    if target is not None:
        raise click.BadParameter("must go with a store, --output codes.zarr.", param_hint="'--target'")
    place = _check_output(output, force=force)
    kept = None if save_encoder is None else check_new(save_encoder, "--save-encoder", force=force)
    _check_options(context, model, encoder.bits)
    encoding = Encoding.of_model(model) if model else Encoding.of_table(data, table, encoder, voice)
    codes = encoding.run(data, header=table.header, voice=voice)
    encoding.write(codes, place, kept)
    voice.say(encoding.summary(codes, output, save_encoder))
    voice.result("encode", encoding.to_json(codes, output, save_encoder))


def _check_output(output: Path, *, force: bool) -> Path:
    """Return where codes will be written, or refuse before any work."""
    place = check_new(output, "--output", force=force)
    if output.suffix.lower() not in (".lowtide", ".npy"):
        problem = (
            f"must end in .lowtide, in .zarr for a store, or in .npy for the packed bytes alone, got {str(output)!r}."
        )
        raise click.BadParameter(problem, param_hint="'--output'")
    return place


def _check_options(context: click.Context, model: Path | None, bits: int | None) -> None:
    """Refuse no bits, and options that --model would silently ignore."""
    if model is None:
        if bits is None:
            raise click.BadParameter("must be 1 to 8 for codes, got 'none'.", param_hint="'--bits'")
        return
    given = options_beside(context, _WITH_A_MODEL)
    if given:
        problem = f"must come without {' and '.join(given)}: the model has its own. Leave one of them out."
        raise click.BadParameter(problem, param_hint="'--model'")


@dataclass(frozen=True)
class Encoding:
    """Encode a table into one file, with a fitted encoder and what is done to its table before."""

    encoder: Any
    table: FittedTable

    @classmethod
    def of_model(cls, path: Path) -> Self:
        """Take the encoder of a model or encoder file."""
        encoder, table = load_encoder(path)
        return cls(_coded(encoder), table)

    @classmethod
    def of_table(cls, data: Path, table: TableOptions, options: EncoderOptions, voice: Voice) -> Self:
        """Make a new encoder of a table."""
        source = lt.tables.open_table(data, header=table.header)
        choice = choose_columns(source, None, table, voice)
        with voice.working(f"reading {source.file}") as report:
            rows = lt.tables.gather(source, choice, report)
        recipe = lt.tables.learn_recipe(choice, rows.numbers, rows.texts, standardize=table.scale)
        with voice.hearing():
            encoder = make_encoder(options, len(rows.numbers)).fit(rows.matrix(recipe))
        return cls(_coded(encoder), FittedTable(recipe, choice))

    def run(self, data: Path, *, header: bool, voice: Voice) -> lt.Codes:
        """Encode a table block by block: only codes are there as a whole."""
        source = lt.tables.open_table(data, header=header)
        names = self.table.align(source, voice)
        parts, n_rows = [], 0
        with voice.working(f"encoding {source.file}") as report:
            for block in source.blocks():
                parts.append(self.encoder.encode(self.table.rows(block, names)))
                n_rows += block.n_rows
                report(n_rows)
        return lt.concatenate(parts) if parts else self.encoder.drawn_.required_template

    def write(self, codes: lt.Codes, place: Path, kept: Path | None) -> None:
        """Write the codes, or their bytes, and the encoder where it is wanted."""
        if place.suffix.lower() == ".npy":
            lt.persist.write_whole(place, npy_pieces(codes.packed))
        else:
            lt.save(codes, place)
        if kept is not None:
            write_encoder(self.encoder, kept, self.table)

    def summary(self, codes: lt.Codes, output: Path, kept: Path | None) -> str:
        """Say what was written."""
        what = "packed bytes" if output.suffix.lower() == ".npy" else "codes"
        written = f"{output}, {what}, {bytes_in_words(output.stat().st_size)}"
        encoder = f"{kept}, {bytes_in_words(kept.stat().st_size)}" if kept else ""
        return sheet([*_of_codes(self.encoder, codes), ("written", written), ("encoder", encoder)])

    def to_json(self, codes: lt.Codes, output: Path, kept: Path | None) -> dict[str, Any]:
        """Return the same as plain values."""
        encoder = None if kept is None else str(kept)
        return {"output": str(output), "encoder": encoder, **_numbers_of(codes, codes.packed.shape[1])}


class StoreEncoding:
    """Encode a table into a store, shard by shard: a run that was killed goes on where it stopped.

    The encoder is that of `model`, or made of the table; the column `target` goes along as the column "y".
    """

    def __init__(
        self,
        data: Path,
        output: Path,
        target: str | None,
        model: Path | None,
        encoder: EncoderOptions,
        table: TableOptions,
        voice: Voice,
    ) -> None:
        self._source = lt.tables.open_table(data, header=table.header)
        self._output, self._model, self._voice = output, model, voice
        self._options, self._table = encoder, table
        self._target = None if target is None else lt.tables.find_column(self._source, target, "target")
        status = data.stat()
        # A run goes on with a store only when all of this is as it was.
        self._request: dict[str, Any] = {
            "table": {"file": data.name, "bytes": status.st_size, "changed": status.st_mtime_ns},
            "target": self._target,
            "model": None if model is None else lt.persist.describe(model)["sha256"],
            "options": json.loads(json.dumps({**asdict(encoder), **asdict(table)})),
        }
        self.resumed_rows = 0

    def open(self, *, force: bool) -> lt.CodeStore:
        """Return the store to append to: a new one, or one that this very command has begun."""
        place = self._output
        check_folder_above(place, "--output")
        if place.exists() and not place.is_dir():
            problem = f"must name a store or nothing, got the file {str(place)!r}. Name another."
            raise click.BadParameter(problem, param_hint="'--output'")
        if place.exists() and any(place.iterdir()) and not lt.store.is_unfinished(place):
            begun = self._begun()
            if begun is not None:
                return begun
            if not force:
                problem = (
                    f"must name a new store, got {str(place)!r}, which is there already, complete or made by "
                    "another command. Add --force to replace it."
                )
                raise click.BadParameter(problem, param_hint="'--output'")
            _remove_store(place)
        return self._created()

    def _begun(self) -> lt.CodeStore | None:
        """Return a store that the same command was making when it ended; None for any other."""
        try:
            found = lt.CodeStore.open(self._output)
        except FileFormatError:
            return None
        if _progress(found.metadata) != {"request": self._request, "done": False}:
            return None
        store = lt.CodeStore.open(self._output, "a")
        self.resumed_rows = store.n_rows
        self._voice.note(f"{self._output} was begun before: going on after {counted(store.n_rows, 'row')}.")
        return store

    def _created(self) -> lt.CodeStore:
        kind: Kind | None = None
        if self._model is not None:
            encoder, table = load_encoder(self._model)
            if self._target is not None:
                with self._voice.working(f"reading {self._source.file}") as report:
                    kind = lt.tables.target_survey(self._source, self._target, report)
        else:
            encoder, table, kind = self._learned()
        metadata = store_metadata(table, {"request": self._request, "done": False}, kind, self._target)
        return lt.CodeStore.create(self._output, _coded(encoder), metadata=metadata)

    def _learned(self) -> tuple[Any, FittedTable, Kind | None]:
        """Make an encoder and a recipe in one pass over the table."""
        source, standardize, seed = self._source, self._table.scale, self._options.seed
        choice = choose_columns(source, self._target, self._table, self._voice)
        with self._voice.working(f"reading {source.file}") as report:
            survey = lt.tables.survey(source, choice, standardize=standardize, seed=seed, report=report)
        n_rows, recipe, sample, kind = survey
        with self._voice.hearing():
            encoder = make_encoder(self._options, n_rows).fit(sample)
        return encoder, FittedTable(recipe, choice), kind

    def run(self, store: lt.CodeStore) -> None:
        """Encode what the store does not have yet, a commit a shard."""
        table = FittedTable.of(store.encoder, store.metadata)
        names = table.align(self._source, self._voice)
        pending, n_rows = _Pending(store), 0
        with self._voice.working(f"encoding {self._source.file}") as report:
            for block in self._source.blocks():
                n_rows += block.n_rows
                done = self.resumed_rows - (n_rows - block.n_rows)
                if done < block.n_rows:
                    new = block.after(max(0, done))
                    codes = store.encoder.encode(table.rows(new, names))
                    pending.add(codes, self._targets(new, store))
                report(n_rows)
        if n_rows < self.resumed_rows:
            raise lt.tables.TableError(
                f"{self._source.file} must have the {self.resumed_rows} rows that the store has, got fewer."
            )
        pending.flush()
        metadata = store.metadata
        _progress(metadata)["done"] = True
        store.annotate(metadata)

    def _targets(self, block: Block, store: lt.CodeStore) -> NDArray[Any] | None:
        if self._target is None:
            return None
        return lt.tables.target_values(block.column(self._target), store.metadata["target"]["kind"])

    def summary(self, store: lt.CodeStore) -> str:
        """Say what was written."""
        target = f"{self._target!r}, column 'y'" if self._target else ""
        size = sum(path.stat().st_size for path in self._output.rglob("*") if path.is_file())
        written = f"{self._output}, store, {bytes_in_words(size)}"
        return sheet([*_of_codes(store.encoder, store), ("target", target), ("written", written)])

    def to_json(self, store: lt.CodeStore) -> dict[str, Any]:
        """Return the same as plain values."""
        own = {"resumed_rows": self.resumed_rows, "target": self._target}
        numbers = _numbers_of(store, store.nbytes // len(store) if len(store) else None)
        return {"output": str(self._output), "encoder": None, **own, **numbers}


class _Pending:
    """Rows that wait until they fill a shard: what is committed then is never written again."""

    def __init__(self, store: lt.CodeStore) -> None:
        self._store = store
        self._codes: list[lt.Codes] = []
        self._targets: list[NDArray[Any]] = []

    def add(self, codes: lt.Codes, targets: NDArray[Any] | None) -> None:
        self._codes.append(codes)
        if targets is not None:
            self._targets.append(targets)
        n_waiting, store = sum(map(len, self._codes)), self._store
        over = (store.n_rows + n_waiting) % store.shard_rows
        if n_waiting > over:
            self._append(n_waiting - over)

    def flush(self) -> None:
        if self._codes:
            self._append(sum(map(len, self._codes)))

    def _append(self, n_rows: int) -> None:
        import numpy as np

        codes = lt.concatenate(self._codes)
        targets = np.concatenate(self._targets) if self._targets else None
        self._store.append(codes[:n_rows], None if targets is None else targets[:n_rows])
        self._codes = [codes[n_rows:]]
        self._targets = [] if targets is None else [targets[n_rows:]]


def _of_codes(encoder: Any, codes: lt.Codes | lt.CodeStore) -> list[tuple[str, str]]:
    """Say what codes were made with, and how many there are."""
    rows = f"{counted(len(codes), 'row')}, {bytes_in_words(codes.nbytes)}; fingerprint {codes.fingerprint.hex()}"
    return [("features", encoder_summary(encoder)), ("codes", rows)]


def _numbers_of(codes: lt.Codes | lt.CodeStore, bytes_per_row: int | None) -> dict[str, Any]:
    """Return the size and the identity of codes as plain values."""
    return {
        "rows": len(codes),
        "components": codes.shape[1],
        "bits": codes.bits,
        "levels_per_row": codes.n_levels,
        "bytes_per_row": bytes_per_row,
        "bytes": codes.nbytes,
        "fingerprint": codes.fingerprint.hex(),
    }


def _coded(encoder: Any) -> Any:
    """Return an encoder that has a coded side, or refuse it."""
    if not encoder.drawn_.has_codes:
        raise lt.tables.TableError("codes need a coded side, 1 to 8 bits a feature, got an encoder with bits=none.")
    return encoder


def _progress(metadata: dict[str, Any]) -> Any:
    return metadata.get("encode")


def _remove_store(place: Path) -> None:
    """Remove a store, or what is left of one; anything else is not ours to remove."""
    if not (place / "lowtide").is_dir() or place.is_symlink():
        problem = f"must name a store or nothing, got {str(place)!r}. Remove it by hand, or name another."
        raise click.BadParameter(problem, param_hint="'--output'")
    with suppress(FileFormatError):  # not a whole store, so nobody is writing to it
        lt.CodeStore.open(place, "a").close()
    shutil.rmtree(place)
