"""`python -m benchmarks.fuzz TARGET --inputs N --seed S --jobs 2`: hostile inputs, and what became of them.

The exit code is 0 when none failed. What failed is kept under build/fuzz, and made again with --only NUMBER.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from importlib import import_module
from pathlib import Path

from benchmarks.fuzz.running import Target, attempt, made, run

__all__ = ["TARGETS", "target_of"]

# Modules and classes by the name of the target: one that needs an extra must not stop the others.
TARGETS = {
    "model": ("model", "ModelFiles"),
    "wire": ("wire", "Messages"),
    "store": ("store", "Stores"),
    "csv": ("tables", "Tables"),
    "http": ("requests", "Requests"),
    "json": ("bodies", "Bodies"),
}
_SHOWN = 20


def target_of(name: str) -> Target:
    """Return a target by its name."""
    module, kind = TARGETS[name]
    target: Target = getattr(import_module(f"benchmarks.fuzz.{module}"), kind)()
    return target


def main(arguments: list[str] | None = None) -> int:
    """Run what was asked for, print a table of outcomes a target, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="+", choices=TARGETS, metavar="TARGET", help=", ".join(TARGETS))
    parser.add_argument("--inputs", type=int, default=100_000, help="how many of each target")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--seconds", type=float, help="stop each target after so long")
    parser.add_argument("--keep", type=Path, default=Path("build/fuzz"), help="where inputs that failed are kept")
    parser.add_argument("--only", type=int, metavar="NUMBER", help="judge one input, in this process")
    given = parser.parse_args(arguments)
    failed = 0
    for name in given.targets:
        target = target_of(name)
        if given.only is not None:
            kind, data = made(target, given.seed, given.only)
            with tempfile.TemporaryDirectory() as folder:
                target.open(Path(folder))
                print(kind, *attempt(target, kind, data))
            continue
        keep = given.keep / name
        report = run(target, given.inputs, seed=given.seed, jobs=given.jobs, keep=keep, seconds=given.seconds)
        print(f"{name}\n{report.table()}", flush=True)
        for failure in report.failures[:_SHOWN]:
            print(f"  {failure.outcome} {failure.kind} --seed {given.seed} --only {failure.number}: {failure.what}")
        failed += report.failed
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
