"""Print the table of docs/guide/choosing.md: what `lt.advise` finds on three datasets, by bytes an item.

python -m benchmarks.value.advice --page docs/guide/choosing.md       # some minutes; writes it into the page
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from sklearn.preprocessing import StandardScaler

import lowtide as lt
from benchmarks.datasets import load
from benchmarks.roofline.page import put_into_page

NAMES = {"letter": "letter", "isolet": "isolet", "fashion_mnist": "Fashion-MNIST"}
SIZES = (8, 16, 32, 64, 128, 512)
MOST_IMAGES = 6000


def rows_of(name: str) -> tuple[Any, Any]:
    """Return rows and labels: columns standardized, those of images in [0, 1]."""
    data = load(name)
    if name == "fashion_mnist":
        return data.X[:MOST_IMAGES] / 255, data.y[:MOST_IMAGES]
    return StandardScaler().fit_transform(data.X), data.y


def lines_of(name: str, n_features: int, advice: lt.learners.Advice, sizes: tuple[int, ...] = SIZES) -> list[str]:
    """Return a line of the table for each kind of code; rows are the larger way to keep them, after the sizes."""
    scores: dict[str, dict[int, float]] = {}
    for each in advice.rows:
        scores.setdefault(each.encoder, {})[each.item_bytes] = each.score
    rows = scores.pop("rows")
    lines = []
    for kind, by_size in scores.items():
        cells = [f"{by_size[size]:.3f}".lstrip("0") if size in by_size else "" for size in sizes]
        first = not lines
        whole = f"{rows[max(rows)]:.3f}".lstrip("0") if first else ""
        lines.append(" | ".join([f"| {f'{name}, {n_features} columns' if first else ''}", kind, *cells, f"{whole} |"]))
    return lines


def main(arguments: list[str] | None = None) -> None:
    """Print the table, and write it into a page when asked to."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.value.advice", description=__doc__)
    parser.add_argument("--page", type=Path, help="page whose table is written anew")
    page = parser.parse_args(arguments).page
    table = ["| data | code | 8 bytes | " + " | ".join(map(str, SIZES[1:])) + " | rows |", "| --- " * 9 + "|"]
    for name, shown in NAMES.items():
        X, y = rows_of(name)
        table += lines_of(shown, X.shape[1], lt.advise(X, y, bytes=SIZES))
        print(name, file=sys.stderr, flush=True)
    text = "\n".join(table)
    print(text)
    if page is not None:
        put_into_page(page, text + "\n")


if __name__ == "__main__":
    main()
