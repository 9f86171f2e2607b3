"""`python -m benchmarks.value`: accuracy for the bytes an item takes, lowtide against scikit-learn and faiss.

Every method keeps a row in at most so many bytes, learns from the kept rows and predicts kept rows. Columns are
standardized by the training rows, but for images and embeddings, whose columns share a unit: there it costs both sides
accuracy. The best of each side is the best on the test rows, as nobody could choose; peers have more to choose from.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from sklearn.datasets import load_digits

from benchmarks.datasets import Dataset, load
from benchmarks.value import others, ours
from benchmarks.value.comparison import Cell, measure, summarize, table, table_of_methods
from benchmarks.value.method import Method, split_of

DATASETS = ("letter", "isolet", "spambase", "ijcnn1", "mnist", "fashion_mnist", "covtype", "embeddings_debian")
BYTES = (8, 16, 32, 64, 128, 512)
# Columns in one unit, of which the small ones are noise: standardizing these makes the noise as large as the rest.
_ONE_UNIT = frozenset({"mnist", "fashion_mnist", "embeddings_debian", "digits"})
# What `--smoke` sets, and what `make bench` runs.
_SMOKE = {"datasets": ["digits"], "rows": 400, "test": 300, "splits": 1, "bytes": [16]}
_SHORT = {"datasets": ["letter", "isolet"], "rows": 3000, "test": 2000, "splits": 1, "bytes": [16, 32]}


def _load(name: str) -> Dataset:
    """Return a dataset of `benchmarks.datasets`, or the digits that come with scikit-learn."""
    if name == "digits":
        return Dataset(*load_digits(return_X_y=True), None, {})
    return load(name)


def cells_of(options: argparse.Namespace, methods: tuple[Method, ...]) -> Iterator[Cell]:
    """Yield the cells, dataset by dataset."""
    for name in options.datasets:
        data = _load(name)
        n_train = min(options.rows, 2 * len(data.X) // 3)
        sizes = (n_train, options.test)
        splits = [split_of(data.X, data.y, *sizes, seed, name not in _ONE_UNIT) for seed in range(options.splits)]
        for n_bytes in options.bytes:
            yield measure(name, splits, n_bytes, methods)


def short() -> tuple[str, bool]:
    """Return the count of cells won, by bytes an item alone, of a few cells that take two minutes."""
    methods = tuple(method for method in ours.METHODS + others.METHODS if method.is_there)
    return summarize(list(cells_of(argparse.Namespace(**_SHORT), methods)), is_capped=False)


def report(cells: list[Cell]) -> tuple[str, bool]:
    """Return the tables with their counts, and whether most cells of both were won."""
    by_item, is_ahead = summarize(cells, is_capped=False)
    by_model, is_ahead_capped = summarize(cells, is_capped=True)
    text = "\n\n".join(
        (
            "## By bytes an item",
            table(cells, is_capped=False),
            by_item,
            "## With models no larger than lowtide's smallest",
            table(cells, is_capped=True),
            by_model,
            "## Every method: accuracy (model)",
            table_of_methods(cells),
        )
    )
    return text, is_ahead and is_ahead_capped


def main(arguments: list[str] | None = None) -> int:
    """Print the tables; return 0 when most cells are won, else 1."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.value", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--datasets", nargs="+", default=list(DATASETS))
    parser.add_argument("--rows", type=int, default=3000, help="to train on; of smaller data two thirds")
    parser.add_argument("--test", type=int, default=2000, help="most rows to test on")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--bytes", nargs="+", type=int, default=list(BYTES), help="an item, multiples of 8")
    parser.add_argument("--mixed", action="store_true", help="show the peers' codes with lowtide's machine as well")
    parser.add_argument("--out", type=Path, help="file that the tables are written to as well")
    parser.add_argument("--smoke", action="store_true", help="a quarter of a minute: digits, one split, 16 bytes")
    options = parser.parse_args(arguments)
    if options.smoke:
        vars(options).update(_SMOKE)
    wrong = [n_bytes for n_bytes in options.bytes if n_bytes < 8 or n_bytes % 8]
    if wrong:
        parser.error(f"--bytes must be multiples of 8, as rows of codes are, got {wrong[0]}")
    methods = ours.METHODS + others.METHODS + (others.MIXED if options.mixed else ())
    for method in methods:
        if not method.is_there:
            print(f"{method.name} is left out: {method.needs} is not installed, see the group `bench`", file=sys.stderr)
    cells = []
    for cell in cells_of(options, tuple(method for method in methods if method.is_there)):
        cells.append(cell)
        print(f"{cell.data}, {cell.n_bytes} bytes: {cell.contest().difference:+.2f}", file=sys.stderr, flush=True)
    text, is_ahead = report(cells)
    print(text)
    if options.out is not None:
        options.out.write_text(text + "\n")
    return 0 if is_ahead else 1


if __name__ == "__main__":
    sys.exit(main())
