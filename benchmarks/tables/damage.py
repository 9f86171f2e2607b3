"""Ten ways in which a table comes damaged or unusual, each through every command that takes one."""

from __future__ import annotations

import csv
import gzip
import json
import re
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.request import Request, urlopen

import numpy as np
import pandas as pd

import lowtide as lt
from benchmarks.load.serving import server
from benchmarks.tables.raw import RawTable, points, run, split

__all__ = ["VARIANTS", "try_all"]

Cells = list[list[str]]  # the header first
# Points that a damaged table may lose against the same table undamaged.
_ALLOWED = 5.0
_LARGE = 200_000
_SMALL = ("--rows", "600")  # what tune and report learn from here
_NUMBER = re.compile(r"-?\d+\.?\d*(e-?\d+)?", re.IGNORECASE)


@dataclass(frozen=True)
class Variant:
    """A way of damaging a table: what becomes of its cells, and how they are written."""

    name: str
    damage: Callable[[Cells, str, np.random.Generator], Cells]
    ending: str = ".csv"
    encoding: str = "utf-8"
    separator: str = ","


def _as_it_is(cells: Cells, target: str, rng: np.random.Generator) -> Cells:
    return cells


def _missing(cells: Cells, target: str, rng: np.random.Generator) -> Cells:
    """One cell of twenty holds nothing, written in the ways that people have."""
    at, words = cells[0].index(target), ["", "NA", "n/a", "null", "?", "-"]
    lost = [[j != at and rng.random() < 0.05 for j in range(len(row))] for row in cells[1:]]
    rows = [[str(rng.choice(words)) if gone else cell for cell, gone in zip(*pair)] for pair in zip(cells[1:], lost)]
    return [cells[0], *rows]


def _dates(cells: Cells, target: str, rng: np.random.Generator) -> Cells:
    """Two more columns: a day as Europeans write it, with some missing, and a time with an offset."""
    header, *rows = cells
    days = pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 900, len(rows)), unit="D")
    times = pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 900 * 86400, len(rows)), unit="s")
    some = ["" if rng.random() < 0.03 else day.strftime("%d.%m.%Y") for day in days]
    stamps = [time.strftime("%Y-%m-%dT%H:%M:%S+02:00") for time in times]
    return [[*header, "day", "time"], *([*row, *more] for row, *more in zip(rows, some, stamps))]


def _decimal_comma(cells: Cells, target: str, rng: np.random.Generator) -> Cells:
    return [cells[0], *([cell.replace(".", ",") if _NUMBER.fullmatch(cell) else cell for cell in r] for r in cells[1:])]


def _quoted_newlines(cells: Cells, target: str, rng: np.random.Generator) -> Cells:
    """A column of remarks with line ends, separators and quotes in them."""
    remarks = ['fine\nas it is, "more or less"', "see\r\npage 2", "none, really"]
    return [["remark", *cells[0]], *([str(rng.choice(remarks)), *row] for row in cells[1:])]


def _duplicate_names(cells: Cells, target: str, rng: np.random.Generator) -> Cells:
    j = next(j for j, name in enumerate(cells[0]) if name != target)
    return [[*row, row[j]] for row in cells]


def _mixed_types(cells: Cells, target: str, rng: np.random.Generator) -> Cells:
    """A word in one of thirty cells of a column of numbers."""
    header, *rows = cells
    j = next(
        j
        for j, name in enumerate(header)
        if name != target and all(_NUMBER.fullmatch(row[j]) for row in rows[:200] if row[j] not in ("", "NA"))
    )
    changed = [[*row[:j], "unknown" if rng.random() < 1 / 30 else row[j], *row[j + 1 :]] for row in rows]
    return [header, *changed]


def _empty_columns(cells: Cells, target: str, rng: np.random.Generator) -> Cells:
    return [["", *cells[0], "notes"], *(["", *row, ""] for row in cells[1:])]


def _many_rows(cells: Cells, target: str, rng: np.random.Generator) -> Cells:
    """So many rows of their kind: one cell of five is another row's, and what tells rows apart goes on to do so.

    Rows that only come again would be known by heart, and those left out of a fit would be among those learned from.
    """
    header, *rows = cells
    drawn, others = rng.integers(0, len(rows), (2, _LARGE))
    columns = []
    for name, column in zip(header, map(np.array, zip(*rows))):
        taken = np.where((rng.random(_LARGE) < 0.2) & (name != target), column[others], column[drawn])
        if len(set(column.tolist())) == len(column):
            is_number = all(_NUMBER.fullmatch(cell) for cell in column)
            taken = [str(i) if is_number else f"{cell} {i}" for i, cell in enumerate(taken.tolist())]
        columns.append(list(taken))
    return [header, *map(list, zip(*columns))]


VARIANTS = (
    Variant("missing values", _missing),
    Variant("dates", _dates),
    Variant("decimal comma", _decimal_comma, separator=";"),
    Variant("UTF-16", _as_it_is, encoding="utf-16"),
    Variant("gzip", _as_it_is, ending=".csv.gz"),
    Variant("quoted newlines", _quoted_newlines),
    Variant("duplicate names", _duplicate_names),
    Variant("mixed types", _mixed_types),
    Variant("empty columns", _empty_columns),
    Variant("200,000 rows", _many_rows),
)
_CLEAN = Variant("as it is", _as_it_is)


def _read(path: Path) -> Cells:
    with path.open(newline="", encoding="utf-8-sig") as stream:
        return list(csv.reader(stream))


def _write(path: Path, cells: Cells, variant: Variant) -> None:
    opened = gzip.open if variant.ending.endswith(".gz") else open
    with opened(path, "wt", newline="", encoding=variant.encoding) as stream:
        csv.writer(stream, delimiter=variant.separator).writerows(cells)


def try_all(folder: Path, tables: Sequence[RawTable], names: Sequence[str] = ()) -> bool:
    """Put every variant of every table through all commands, print a line each, and say whether all held."""
    held = True
    for table in tables:
        with tempfile.TemporaryDirectory() as name:
            train, test, *_ = split(folder / f"{table.name}.csv", table, 0, Path(name))
            cells = _read(train), _read(test)
            clean = None
            for variant in (_CLEAN, *(v for v in VARIANTS if not names or v.name in names)):
                score, faults = _try(table, variant, *cells, Path(name))
                clean = score if clean is None else clean
                if score is not None and clean is not None and score < clean - _ALLOWED:
                    faults.append(f"{score:.1f} points, {clean:.1f} undamaged")
                shown = "-" if score is None else f"{score:.2f}"
                print(f"{table.name:20}{variant.name:18}{shown:>8}  {'; '.join(faults) or 'held'}", flush=True)
                held = held and not faults
    return held


def _try(table: RawTable, variant: Variant, train: Cells, test: Cells, folder: Path) -> tuple[float | None, list[str]]:
    """Return the points on damaged test rows, and what went wrong."""
    learned, asked = (folder / f"{name}{variant.ending}" for name in ("learned", "asked"))
    # Not more rows to ask for than there are.
    damages = (variant.damage, _as_it_is if variant.damage is _many_rows else variant.damage)
    for path, cells, damage, seed in zip((learned, asked), (train, test), damages, (1, 2)):
        _write(path, damage(cells, table.target, np.random.default_rng(seed)), variant)
    model, out, page = (folder / name for name in ("model.lowtide", "out.csv", "report.html"))
    for old in (model, out, page):
        old.unlink(missing_ok=True)
    goal = ("--target", table.target)
    commands = {
        "fit": (str(learned), *goal, "-o", str(model)),
        "predict": (str(model), str(asked), "-o", str(out)),
        "evaluate": (str(model), str(asked)),
        "tune": (str(learned), *goal, *_SMALL),
        "report": (str(model), str(asked), "-o", str(page), *_SMALL),
    }
    faults: list[str] = []
    for name, words in commands.items():
        if name != "fit" and name != "tune" and not model.is_file():
            continue
        code, said = run(name, *words)
        if code == 0:
            continue
        if code == 70 or "Traceback" in said:
            faults.append(f"{name}: {said.strip().splitlines()[-1]}")
        else:
            print(f"    {name} says: {' '.join(said.split())[-300:]}")
            # A sentence that a person can act on is as right as a result.
            lacks = [word for word in (learned.name, "column", "line") if word not in said]
            faults += [f"{name} refuses without {', '.join(lacks)}"] if lacks else []
    score = None
    if out.is_file():
        truth = pd.Series([row[train[0].index(table.target)] for row in test[1:]])
        predicted = pd.read_csv(out).iloc[:, 0]
        score = points(table, truth if table.is_classes else truth.astype(float), predicted)
        faults += _served(model, asked, variant, table, predicted)
    return score, faults


def _served(model: Path, asked: Path, variant: Variant, table: RawTable, predicted: pd.Series) -> list[str]:
    """Ask a server for a row as the file has it, by name, and compare with what `predict` wrote."""
    opened = gzip.open if variant.ending.endswith(".gz") else open
    with opened(asked, "rt", newline="", encoding=variant.encoding) as stream:
        header, row = list(csv.reader(stream, delimiter=variant.separator))[:2]
    recipe = lt.load(model).decision_.recipe
    kinds = dict(zip(recipe.columns, recipe.kinds))
    with server(str(model), "--no-log") as (address, _):
        cells = {name: _cell(cell, kinds[name], variant) for name, cell in zip(header, row) if name in kinds}
        body = json.dumps({"rows": [cells]}).encode()
        request = Request(f"{address}/v1/predict", body, {"content-type": "application/json"})
        try:
            answer = json.load(urlopen(request))["predictions"][0]
        except OSError as error:
            detail = json.load(error)["detail"] if hasattr(error, "read") else str(error)  # type: ignore[arg-type]
            return [f"serve: {detail}"]
    same = str(answer) == str(predicted[0]) if table.is_classes else np.isclose(float(answer), predicted[0], rtol=1e-6)
    return [] if same else [f"serve says {answer}, predict {predicted[0]}"]


def _cell(cell: str, kind: str, variant: Variant) -> str | float | None:
    """Return a cell of a file as JSON has it: a number, a text, or nothing."""
    if cell.strip().lower() in ("", "na", "n/a", "null", "?", "-", "unknown"):
        return None
    if kind == "number":
        return float(cell.replace(",", ".") if variant.separator == ";" else cell)
    return cell
