"""From a table in a file to a store, shard by shard: a run that was killed goes on where it stopped."""

from __future__ import annotations

import shutil
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

import lowtide as lt
from lowtide.cli.models import encoder_summary, load_encoder, make_encoder, recipe_in, store_metadata
from lowtide.cli.recipe import (
    Kind,
    TableRecipe,
    align,
    choose_columns,
    find_column,
    survey,
    target_survey,
    target_values,
)
from lowtide.cli.tables import Block, TableError, open_table
from lowtide.cli.terminal import EncoderOptions, TableOptions, Voice, bytes_in_words, counted, sheet
from lowtide.cli.whole_file import check_folder_above
from lowtide.errors import FileFormatError
from lowtide.persist import describe
from lowtide.store import is_unfinished

__all__ = ["StoreEncoding"]


class StoreEncoding:
    """A table on its way into a store.

    Parameters
    ----------
    data : Path
    output : Path
        The store.
    target : str or None
        A column that goes along as the column "y".
    model : Path or None
        Whose encoder is used; None makes one of the table.
    encoder : EncoderOptions
    table : TableOptions
    voice : Voice
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
        self._source = open_table(data, header=table.header)
        self._output, self._model, self._voice = output, model, voice
        self._options, self._table = encoder, table
        self._target = None if target is None else find_column(self._source, target, "--target")
        status = data.stat()
        # A run goes on with a store only when all of this is as it was.
        self._request: dict[str, Any] = {
            "table": {"file": data.name, "bytes": status.st_size, "changed": status.st_mtime_ns},
            "target": self._target,
            "model": None if model is None else describe(model)["sha256"],
            "options": {**asdict(encoder), **_as_json(asdict(table))},
        }
        self.resumed_rows = 0

    def open(self, *, force: bool) -> lt.CodeStore:
        """Return the store to append to: a new one, or one that this very command has begun."""
        place = self._output
        check_folder_above(place, "--output")
        if place.exists() and not place.is_dir():
            problem = f"must name a store or nothing, got the file {str(place)!r}. Name another."
            raise click.BadParameter(problem, param_hint="'--output'")
        if place.exists() and any(place.iterdir()) and not is_unfinished(place):
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
            encoder, recipe = load_encoder(self._model)
            if self._target is not None:
                with self._voice.working(f"reading {self._source.file}") as report:
                    kind = target_survey(self._source, self._target, report)
        else:
            encoder, recipe, kind = self._learned()
        if not encoder._has_codes:
            raise TableError("codes need a coded side, 1 to 8 bits a feature, got an encoder with bits=none.")
        metadata = store_metadata(recipe, {"request": self._request, "done": False}, kind, self._target)
        return lt.CodeStore.create(self._output, encoder, metadata=metadata)

    def _learned(self) -> tuple[Any, TableRecipe, Kind | None]:
        """Make an encoder and a recipe in one pass over the table."""
        source, table = self._source, self._table
        choice = choose_columns(source, target=self._target, one_hot=table.one_hot, drop=table.drop)
        if source.unnamed:
            self._voice.note(f"{source.file}: {counted(source.unnamed, 'column')} without a name left out.")
        with self._voice.working(f"reading {source.file}") as report:
            found = survey(source, choice, standardize=table.scale, seed=self._options.seed, report=report)
        with self._voice.hearing():
            encoder = make_encoder(self._options, found.n_rows).fit(found.sample)
        return encoder, found.recipe, found.kind

    def run(self, store: lt.CodeStore) -> None:
        """Encode what the store does not have yet, a commit a shard."""
        recipe = recipe_in(store.metadata)
        if recipe is None:
            raise FileFormatError(f"{str(self._output)!r} must have the recipe of its table, got none.")
        alignment = align(recipe, self._source)
        for note in alignment.notes:
            self._voice.note(note)
        pending, n_rows = _Pending(store), 0
        with self._voice.working(f"encoding {self._source.file}") as report:
            for block in self._source.blocks():
                n_rows += block.n_rows
                done = self.resumed_rows - (n_rows - block.n_rows)
                if done < block.n_rows:
                    new = block.after(max(0, done))
                    codes = store.encoder.encode(recipe.rows(new.renamed(alignment.names)))
                    pending.add(codes, self._targets(new, store))
                report(n_rows)
        if n_rows < self.resumed_rows:
            raise TableError(
                f"{self._source.file} must have the {self.resumed_rows} rows that the store has, got fewer."
            )
        pending.flush()
        metadata = store.metadata
        _progress(metadata)["done"] = True
        store.annotate(metadata)

    def _targets(self, block: Block, store: lt.CodeStore) -> NDArray[Any] | None:
        if self._target is None:
            return None
        return target_values(block.column(self._target), store.metadata["target"]["kind"])

    def summary(self, store: lt.CodeStore) -> str:
        """Say what was written."""
        rows = f"{counted(len(store), 'row')}, {bytes_in_words(store.nbytes)}; fingerprint {store.fingerprint.hex()}"
        lines = [
            ("features", encoder_summary(store.encoder)),
            ("codes", rows),
            ("target", f"{self._target!r}, column 'y'" if self._target else ""),
            ("written", f"{self._output}, store, {bytes_in_words(_bytes_in(self._output))}"),
        ]
        return sheet(lines)

    def to_json(self, store: lt.CodeStore) -> dict[str, Any]:
        """Return the same as plain values."""
        return {
            "output": str(self._output),
            "encoder": None,
            "rows": len(store),
            "resumed_rows": self.resumed_rows,
            "components": store.shape[1],
            "bits": store.bits,
            "levels_per_row": store.n_levels,
            "bytes_per_row": store.nbytes // len(store) if len(store) else None,
            "bytes": store.nbytes,
            "target": self._target,
            "fingerprint": store.fingerprint.hex(),
        }


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
        codes = lt.concatenate(self._codes)
        targets = np.concatenate(self._targets) if self._targets else None
        self._store.append(codes[:n_rows], None if targets is None else targets[:n_rows])
        self._codes = [codes[n_rows:]]
        self._targets = [] if targets is None else [targets[n_rows:]]


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


def _as_json(options: dict[str, Any]) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in options.items()}


def _bytes_in(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
