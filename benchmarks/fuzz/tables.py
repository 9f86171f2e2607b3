"""Tables in files: text in any encoding and with any quoting, and arrays of numpy."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import ClassVar

import numpy as np

from benchmarks.fuzz.changes import changed_array, changed_bytes
from benchmarks.fuzz.running import WrongError
from lowtide.errors import LowtideError
from lowtide.tables import Block, choose_columns, learn_recipe, open_table, survey

__all__ = ["Tables"]

_CORPUS = Path(__file__).with_name("corpus") / "csv"
_CELLS = (
    b"",
    b"NaN",
    b"nan",
    b"inf",
    b"-1e309",
    b"1e999",
    b"0x10",
    b"1_000",
    b"1,5",
    b'"',
    b'""',
    b'"a""b"',
    b"'1'",
    b"\xff",
)
_CELLS += (b"\0", b"true", b"-", b"+", b".", b"1e", b"9" * 400, "١٢".encode(), b"\xef\xbb\xbf1", b" 1 ", b"1\r2", b"NA")


def _array_bytes(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=False)
    return stream.getvalue()


class Tables:
    """Text tables with changed bytes or cells, read with a header and without, and arrays whose description lies."""

    kinds: ClassVar[Mapping[str, int]] = {"bytes": 35, "cells": 35, "lines": 15, "npy": 15}

    def __init__(self) -> None:
        self._texts = [file.read_bytes() for file in sorted(_CORPUS.iterdir())]
        numbers = np.arange(24.0).reshape(6, 4)
        self._arrays = [numbers, numbers.astype("f4"), np.array([["a", "bc"], ["d", ""]]), np.arange(5), numbers > 3]

    def open(self, folder: Path) -> None:
        """Take places for the files."""
        self._places = {True: folder / "t.npy", False: folder / "t.csv"}

    def make(self, kind: str, draw: Random) -> bytes:
        """Return a changed table."""
        if kind == "npy":
            array = draw.choice(self._arrays)
            if array.dtype.kind == "f" and draw.random() < 0.5:
                return _array_bytes(changed_array(array, draw))
            return changed_bytes(_array_bytes(array), draw, [_array_bytes(each) for each in self._arrays])
        text = draw.choice(self._texts)
        if kind == "bytes":
            return changed_bytes(text, draw, self._texts)
        lines = text.splitlines(keepends=True)
        for _ in range(draw.choice((1, 2, 3))):
            i = draw.randrange(len(lines))
            if kind == "lines":
                lines[i] = draw.choice(
                    (b"", b"\n", b"\r", lines[i] * 3, lines[i].strip(), lines[i][::-1], b"," * 50 + b"\n")
                )
                draw.random() < 0.2 and draw.shuffle(lines)
            else:
                delimiter = max((b",", b";", b"\t"), key=lines[i].count)
                cells = lines[i].split(delimiter)
                cells[draw.randrange(len(cells))] = draw.choice(_CELLS)
                lines[i] = delimiter.join(cells)
        return b"".join(lines)

    def seeds(self) -> list[bytes]:
        """Return the texts, and the arrays as files."""
        return [*self._texts, *map(_array_bytes, self._arrays)]

    def sealed(self, data: bytes) -> tuple[str, bytes]:
        """Return the file as it is, which has no checksum."""
        return "npy" if data[:1] == b"\x93" else "bytes", data

    def judge(self, kind: str, data: bytes) -> None:
        """Read a table as it is, survey it, and make features of it by the recipe that was learned: all are finite."""
        place = self._places[kind == "npy"]
        place.write_bytes(data)
        refusals = []
        for header in (True,) if kind == "npy" else (True, False):
            try:
                source = open_table(place, header=header)
                for block in source.blocks():
                    _judge(block)
                choice = choose_columns(source)
                sample = survey(source, choice).sample
                recipe, _ = learn_recipe(sample, choice)
            except LowtideError as error:
                refusals.append(error)
                continue
            if not np.isfinite(sample.matrix(recipe)).all():
                raise WrongError("a table was read as features that are not finite")
        if refusals:
            raise refusals[0]


def _judge(block: Block) -> None:
    if any(len(column) != block.n_rows for column in block.columns):
        raise WrongError("a table was read whose columns are not as long as each other")
    block.where(block.n_rows - 1) if block.n_rows else None
