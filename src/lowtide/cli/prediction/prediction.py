"""One run over a table: predictions block by block, and the score at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

import lowtide as lt
from lowtide.cli.models import Score, score, stored_target
from lowtide.cli.prediction.predictor import Predictor
from lowtide.cli.recipe import align, comparable, find_column, one_column, target_file
from lowtide.cli.tables import Columns, Source, TableError, listed, open_table
from lowtide.cli.terminal import Voice, counted

__all__ = ["Prediction"]

_CODES_AT_ONCE = 1 << 16
Array = NDArray[Any]


def _codes_in(data: Path) -> Any:
    """Return the codes of a store or a file, None for a table."""
    if data.is_dir():
        return lt.CodeStore.open(data)
    return lt.load(data, kind=lt.Codes, mmap=True) if data.suffix == ".lowtide" else None


class Prediction:
    """Predictions of a table or of codes; the true values, where there are some, are gathered on the way.

    Parameters
    ----------
    predictor : Predictor
    data : Path
    target : str or None
        A column or a file with the true values; None is the model's target, if the table has it.
    header : bool
    voice : Voice
    """

    def __init__(self, predictor: Predictor, data: Path, target: str | None, header: bool, voice: Voice) -> None:
        self._predictor, self._voice, self.n_rows = predictor, voice, 0
        self._codes = _codes_in(data)
        self._source: Source | None = None if self._codes is not None else open_table(data, header=header)
        self.target_name: str | None = target
        self._own_truth: Array | None = None
        self._truth: list[Array] = []
        self._said: list[Array] = []
        self._unseen: dict[str, Counter[str]] = {}
        if self._source is None:
            self._find_target_of_codes(target, data.name, header)
        else:
            self._find_target(self._source, target, header)

    def _find_target_of_codes(self, target: str | None, file: str, header: bool) -> None:
        """Settle where true values come from: a column of a store, or a file."""
        columns = getattr(self._codes, "columns", ())
        if target is None and "y" in columns:
            self.target_name = target = "y"
        if target is None:
            return
        path = target_file(target, columns, file)
        column = stored_target(self._codes, target) if columns else target
        if path is not None:
            self._own_truth = one_column(path, header=header)
        elif column in columns:
            self._own_truth = self._codes.column(column)
        else:
            problem = f"must name a column of {file} ({listed(columns) or 'it has none'}) or a file, got {target!r}."
            raise click.BadParameter(problem, param_hint="'--target'")

    def _find_target(self, source: Source, target: str | None, header: bool) -> None:
        """Settle where true values come from: a column of the table, or a file."""
        self._alignment = align(self._predictor.recipe, source)
        for note in self._alignment.notes:
            self._voice.note(note)
        if target is None:
            known = self._predictor.recipe.target
            self.target_name = known if self._alignment.has(known) else None
            return
        path = target_file(target, source.names, source.file)
        if path is not None:
            self._own_truth = one_column(path, header=header)
        else:
            self.target_name = find_column(source, target, "--target")

    def parts(self) -> Iterator[Columns]:
        """Yield predictions in the order of the rows, at least once."""
        for rows, cells in self._rows():
            columns = self._predictor.columns(rows)
            self.n_rows += len(rows)
            if cells is not None:
                self._truth.append(cells)
                self._said.append(columns["prediction"])
            yield columns
        if self.n_rows == 0:
            yield self._predictor.columns(np.empty((0, self._predictor.model.n_features_in_)))
        if self._own_truth is not None and len(self._own_truth) != self.n_rows:
            raise TableError(f"{self.target_name}: needs a value a row, {self.n_rows}, got {len(self._own_truth)}.")
        self._speak_of_unseen()

    def _rows(self) -> Iterator[tuple[Any, Array | None]]:
        """Yield what the model takes, and the true values as the file has them."""
        if self._codes is not None:
            for codes in self._codes.blocks(_CODES_AT_ONCE):
                yield codes, self._truth_of(self.n_rows, len(codes))
            return
        assert self._source is not None
        recipe, names = self._predictor.recipe, self._alignment.names
        for block in self._source.blocks():
            renamed = block.renamed(names)
            cells = self._truth_of(self.n_rows, block.n_rows)
            if cells is None and self.target_name is not None:
                within = renamed if self.target_name in names else block
                cells = within.column(self.target_name)
            for name, texts in recipe.unseen(renamed).items():
                self._unseen.setdefault(name, Counter()).update(texts)
            yield recipe.rows(renamed), cells

    def _truth_of(self, start: int, n_rows: int) -> Array | None:
        """Return the true values of rows from a file of their own."""
        if self._own_truth is None:
            return None
        cells = self._own_truth[start : start + n_rows]
        if len(cells) < n_rows:
            raise TableError(f"{self.target_name}: needs a value a row, got {len(self._own_truth)} for more rows.")
        return cells

    def _speak_of_unseen(self) -> None:
        for name, texts in self._unseen.items():
            rows = counted(texts.total(), "row")
            self._voice.note(f"column {name!r}: {rows} with categories that were not there at fit, {listed([*texts])}.")

    def all_columns(self) -> Columns:
        """Return all predictions at once."""
        parts = list(self.parts())
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def score(self) -> Score | None:
        """Return the score over the rows whose true value is there, None when there are none."""
        if not self._truth:
            return None
        classes = self._predictor.classes
        truth, there = comparable(np.concatenate(self._truth), classes)
        if there.any() and not there.all():
            self._voice.note(f"{counted(int((~there).sum()), 'row')} without a true value left out of the score.")
        return score(truth[there], np.concatenate(self._said)[there], classes=classes is not None)

    def to_json(
        self, model: Path, data: Path, output: Path | None, found: Score | None, columns: Columns | None
    ) -> dict[str, Any]:
        """Return the run as plain values."""
        return {
            "model": str(model),
            "data": str(data),
            "rows": self.n_rows,
            "output": None if output is None else str(output),
            "score": found and found.to_json(),
            "columns": columns and {name: values.tolist() for name, values in columns.items()},
        }
