"""From a table in a file to codes in a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

import lowtide as lt
from lowtide.cli.models import encoder_summary, load_encoder, make_encoder, save_with_recipe
from lowtide.cli.recipe import TableRecipe, align, choose_columns, gather
from lowtide.cli.tables import TableError, open_table, write_array
from lowtide.cli.terminal import EncoderOptions, TableOptions, Voice, bytes_in_words, counted, sheet

__all__ = ["Encoding"]


@dataclass(frozen=True)
class Encoding:
    """A fitted encoder and the recipe of its table."""

    encoder: Any
    recipe: TableRecipe

    @classmethod
    def of_model(cls, path: Path) -> Self:
        """Return that of a model or encoder file."""
        return cls(*load_encoder(path))._with_codes()

    @classmethod
    def of_table(cls, data: Path, table: TableOptions, options: EncoderOptions, voice: Voice) -> Self:
        """Make a new one of a table."""
        source = open_table(data, header=table.header)
        choice = choose_columns(source, target=None, one_hot=table.one_hot, drop=table.drop)
        if source.unnamed:
            voice.note(f"{source.file}: {counted(source.unnamed, 'column')} without a name left out.")
        with voice.working(f"reading {source.file}") as report:
            rows = gather(source, choice, report)
        recipe = TableRecipe.learn(choice, rows.numbers, rows.texts, standardize=table.scale)
        with voice.hearing():
            encoder = make_encoder(options, len(rows.numbers)).fit(recipe.matrix(rows.numbers, rows.texts))
        return cls(encoder, recipe)._with_codes()

    def _with_codes(self) -> Self:
        if not self.encoder._has_codes:
            raise TableError("codes need a coded side, 1 to 8 bits a feature, got an encoder with bits=none.")
        return self

    def run(self, data: Path, *, header: bool, voice: Voice) -> lt.Codes:
        """Encode a table block by block: only codes are there as a whole."""
        source = open_table(data, header=header)
        alignment = align(self.recipe, source)
        for note in alignment.notes:
            voice.note(note)
        parts, n_rows = [], 0
        with voice.working(f"encoding {source.file}") as report:
            for block in source.blocks():
                parts.append(self.encoder.encode(self.recipe.rows(block.renamed(alignment.names))))
                n_rows += block.n_rows
                report(n_rows)
        if not parts:
            parts = [self.encoder.encode(np.empty((0, self.encoder.n_features_in_)))]
        return lt.concatenate(parts)

    def write(self, codes: lt.Codes, place: Path, kept: Path | None) -> None:
        """Write the codes, or their bytes, and the encoder where it is wanted."""
        if place.suffix.lower() == ".npy":
            write_array(place, codes.packed)
        else:
            lt.save(codes, place)
        if kept is not None:
            save_with_recipe(self.encoder, kept, self.recipe)

    def summary(self, codes: lt.Codes, output: Path, kept: Path | None) -> str:
        """Say what was written."""
        packed = output.suffix.lower() == ".npy"
        what = "packed bytes" if packed else "codes"
        lines = [
            ("features", encoder_summary(self.encoder)),
            (
                "codes",
                f"{counted(len(codes), 'row')}, {bytes_in_words(codes.nbytes)}; fingerprint {codes.fingerprint.hex()}",
            ),
            ("written", f"{output}, {what}, {bytes_in_words(output.stat().st_size)}"),
            ("encoder", f"{kept}, {bytes_in_words(kept.stat().st_size)}" if kept else ""),
        ]
        return sheet(lines)

    def to_json(self, codes: lt.Codes, output: Path, kept: Path | None) -> dict[str, Any]:
        """Return the same as plain values."""
        return {
            "output": str(output),
            "encoder": None if kept is None else str(kept),
            "rows": len(codes),
            "components": codes.shape[1],
            "bits": codes.bits,
            "levels_per_row": codes.n_levels,
            "bytes_per_row": codes.packed.shape[1],
            "bytes": codes.nbytes,
            "fingerprint": codes.fingerprint.hex(),
        }
