"""The tables of docs/guide/value.md, and the cells of a long study kept in a file between runs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.value.comparison import Cell, Score

__all__ = ["keep", "kept", "markdown"]

_NAMES = {
    "covtype": "Covertype",
    "embeddings_debian": "text embeddings",
    "fashion_mnist": "Fashion-MNIST",
    "mnist": "MNIST",
}
_KILO = 1024.0


def keep(file: Path, how: Sequence[int], cell: Cell) -> None:
    """Append a cell to a file, with the rows, test rows and splits it was measured with."""
    scores = [
        [score.name, score.side, score.accuracy.tolist(), score.item_bytes, score.model_bytes] for score in cell.scores
    ]
    line = {"how": list(how), "data": cell.data, "n_bytes": cell.n_bytes, "scores": scores}
    with file.open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(line) + "\n")


def kept(file: Path, how: Sequence[int]) -> dict[tuple[str, int], Cell]:
    """Return the cells of a file that were measured in this way, by dataset and bytes."""
    found = {}
    for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else ():
        read = json.loads(line)
        if read["how"] == list(how):
            scores = tuple(Score(name, side, np.array(points), *sizes) for name, side, points, *sizes in read["scores"])
            found[read["data"], read["n_bytes"]] = Cell(read["data"], read["n_bytes"], scores)
    return found


def markdown(cells: Sequence[Cell], command: str) -> str:
    """Return the measured part of the page."""
    (n_won, lost), (n_small, lost_small) = _won(cells, is_capped=False), _won(cells, is_capped=True)
    n_fitting = sum(cell.contest(cell.cap).theirs is not None for cell in cells)
    return "\n\n".join(
        (
            f"Written by `{command}`.",
            "## By bytes an item",
            f"lowtide is at or above the best peer in {n_won} of {len(cells)} cells.{lost}",
            _table(cells, is_capped=False),
            "`rows in int8` is a lowtide model of the rows themselves, with one byte per column: where a row has few "
            "columns, no code is better.",
            "## With models no larger than lowtide's smallest",
            "A learned or projected code needs a matrix where items are encoded and where they are read. If the model "
            "must be small too, many of the other methods do not fit at all. Of the "
            f"{n_fitting} cells where one fits, lowtide is at or above it in {n_small}.{lost_small}",
            _table(cells, is_capped=True),
        )
    )


def _won(cells: Sequence[Cell], is_capped: bool) -> tuple[int, str]:
    """Return how many cells with a peer are won, and a sentence with those that are not."""
    contests = [(cell, cell.contest(cell.cap if is_capped else np.inf)) for cell in cells]
    lost = [
        f"{_NAMES.get(cell.data, cell.data)} at {cell.n_bytes} bytes ({contest.difference:+.2f})"
        for cell, contest in contests
        if contest.theirs is not None and not contest.is_won
    ]
    return sum(contest.is_won for _, contest in contests), f" It loses {', '.join(lost)}." if lost else ""


def _table(cells: Sequence[Cell], is_capped: bool) -> str:
    header = ["data", "bytes", *(["model at most"] if is_capped else []), "lowtide", "%", "best peer", "%", "points"]
    lines, before = [header, ["---"] * len(header)], ""
    for cell in cells:
        contest = cell.contest(cell.cap if is_capped else np.inf)
        theirs, name = contest.theirs, _NAMES.get(cell.data, cell.data)
        lines.append(
            [
                "" if name == before else name,
                str(cell.n_bytes),
                *([f"{cell.cap / _KILO:.1f} KiB"] if is_capped else []),
                contest.ours.name,
                f"{100.0 * contest.ours.mean:.2f}",
                "none fits" if theirs is None else theirs.name,
                "" if theirs is None else f"{100.0 * theirs.mean:.2f}",
                "" if theirs is None else f"{contest.difference:+.2f}",
            ]
        )
        before = name
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
