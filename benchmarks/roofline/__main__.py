"""`python -m benchmarks.roofline`: the machine's limits, each op as a share of what binds it, and how times grow.

`--page docs/guide/roofline.md` rewrites the measured part of that page, and the plots beside it.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy
from threadpoolctl import threadpool_limits

import lowtide
from benchmarks.roofline.counts import Counts
from benchmarks.roofline.encoding import build_encoders
from benchmarks.roofline.figures import draw
from benchmarks.roofline.growth import measure_growth
from benchmarks.roofline.limits import build_limits
from benchmarks.roofline.op import Outcome
from benchmarks.roofline.page import Measured, markdown, put_into_page
from benchmarks.roofline.products import build_products
from benchmarks.roofline.timing import best_times, progress
from lowtide import _core

RESULTS = Path(__file__).resolve().parents[1] / "results"
QUICK, ROUNDS = 32, 16


def measure(quick: bool = False, rounds: int = ROUNDS) -> Measured:
    """Run limits and ops in turn, then the curves in a third of the rounds."""
    shrink = QUICK if quick else 1
    with threadpool_limits(_core.thread_count(), user_api="blas"):
        limits = build_limits(shrink)
        counts = Counts.in_force()
        progress("building what the ops work on")
        ops = [*build_encoders(counts, shrink), *build_products(counts, shrink)]
        progress("limits and ops in turn")
        runs = {limit.name: limit.run for limit in limits} | {f"{op.name}, {op.size}": op.run for op in ops}
        best = best_times(runs, rounds)
        rates = {limit.name: limit.amount / best[limit.name] for limit in limits}
        outcomes = [Outcome(op, best[f"{op.name}, {op.size}"], rates) for op in ops]
        curves = measure_growth(shrink, -(-rounds // 3))
    machine = {
        "instruction set": _core.isa(),
        "threads": str(_core.thread_count()),
        "lowtide": lowtide.__version__,
        "numpy": numpy.__version__,
        "rounds": str(rounds),
    }
    return Measured(machine, limits, rates, outcomes, curves)


def record(run: Measured) -> dict[str, Any]:
    """Return the run as JSON has it."""
    return {
        "machine": dict(run.machine),
        "limits": {limit.name: {"rate": run.rates[limit.name], "unit": limit.unit} for limit in run.limits},
        "ops": [
            {
                "name": outcome.op.name,
                "size": outcome.op.size,
                "seconds": outcome.seconds,
                "least_seconds": outcome.op.least_seconds(run.rates),
                "binds": outcome.binds,
                "fraction": outcome.fraction,
            }
            for outcome in run.outcomes
        ],
        "curves": [asdict(curve) | {"exponent": curve.exponent} for curve in run.curves],
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, write the results, and the page if one is named."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.roofline", description=__doc__)
    parser.add_argument(
        "--out", type=Path, default=RESULTS, help="folder for roofline.json, and without --page for tables and plots"
    )
    parser.add_argument("--page", type=Path, help="page to write the measured part of, plots beside it")
    parser.add_argument("--quick", action="store_true", help="seconds instead of minutes; figures mean nothing")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="times that everything takes its turn")
    given = parser.parse_args(arguments)
    if given.rounds < 1:
        parser.error(f"--rounds must be at least 1, got {given.rounds}.")
    if given.quick and given.page:
        parser.error("--page takes a full run, got --quick. Leave one of them out.")
    run = measure(given.quick, 1 if given.quick else given.rounds)
    words = ["python", "-m", "benchmarks.roofline", *(sys.argv[1:] if arguments is None else arguments)]
    text = markdown(run, shlex.join(words))
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "roofline.json").write_text(json.dumps(record(run), indent=2) + "\n", encoding="utf-8")
    draw(run.outcomes, run.curves, given.page.parent if given.page else given.out)
    if given.page:
        put_into_page(given.page, text)
    else:
        (given.out / "roofline.md").write_text(text, encoding="utf-8")
    print(text, end="")


if __name__ == "__main__":
    main()
