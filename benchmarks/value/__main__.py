"""`python -m benchmarks.value`: accuracy for the bytes an item takes, lowtide against scikit-learn and faiss.

Every method keeps a row in at most so many bytes, learns from the kept rows and predicts kept rows. Columns are
standardized by the training rows, but for images, where that costs both sides accuracy. The best of each side is the
best on the test rows, as nobody could choose; peers have more to choose from.

python -m benchmarks.value --splits 1 --cells cells.jsonl --page docs/guide/value.md     # an hour; goes on after a stop
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.roofline.page import put_into_page
from benchmarks.value import others
from benchmarks.value.page import keep, kept, markdown
from benchmarks.value.study import FULL, METHODS, SMOKE, Study, cells_of, report


def main(arguments: list[str] | None = None) -> int:
    """Print the tables; return 0 when most cells are won, else 1."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.value", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--datasets", nargs="+", default=list(FULL.datasets))
    parser.add_argument("--rows", type=int, default=FULL.rows, help="to train on; of smaller data two thirds")
    parser.add_argument("--test", type=int, default=FULL.test, help="most rows to test on")
    parser.add_argument("--splits", type=int, default=FULL.splits)
    parser.add_argument("--bytes", nargs="+", type=int, default=list(FULL.n_bytes), help="an item, multiples of 8")
    parser.add_argument("--mixed", action="store_true", help="show the peers' codes with lowtide's machine as well")
    parser.add_argument("--out", type=Path, help="file that the tables are written to as well")
    parser.add_argument("--cells", type=Path, help="file that keeps measured cells: those in it are not measured again")
    parser.add_argument("--page", type=Path, help="page whose tables are written anew")
    parser.add_argument("--smoke", action="store_true", help="only digits, one split, 16 bytes: a quarter of a minute")
    options = parser.parse_args(arguments)
    wrong = [n_bytes for n_bytes in options.bytes if n_bytes < 8 or n_bytes % 8]
    if wrong:
        parser.error(f"--bytes must be multiples of 8, as rows of codes are, got {wrong[0]}")
    study = Study(options.datasets, options.rows, options.test, options.splits, options.bytes)
    methods = METHODS + (others.MIXED if options.mixed else ())
    for method in methods:
        if not method.is_there:
            print(f"{method.name} is left out: {method.needs} is not installed, see the group `bench`", file=sys.stderr)
    study, there = SMOKE if options.smoke else study, [method for method in methods if method.is_there]
    how = (study.rows, study.test, study.splits)
    old = {} if options.cells is None else kept(options.cells, how)
    cells = []
    for cell in cells_of(study, there, old):
        cells.append(cell)
        if options.cells is not None and (cell.data, cell.n_bytes) not in old:
            keep(options.cells, how, cell)
        print(f"{cell.data}, {cell.n_bytes} bytes: {cell.contest().difference:+.2f}", file=sys.stderr, flush=True)
    text, is_ahead = report(cells)
    print(text)
    if options.out is not None:
        options.out.write_text(text + "\n")
    if options.page is not None:
        command = f"python -m benchmarks.value --splits {study.splits} --page docs/guide/value.md"
        put_into_page(options.page, markdown(cells, command) + "\n")
    return 0 if is_ahead else 1


if __name__ == "__main__":
    sys.exit(main())
