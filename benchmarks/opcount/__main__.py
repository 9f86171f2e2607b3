"""`python -m benchmarks.opcount [--record]`: count the ops' instructions, and compare with the record or write it.

Exit code 0 when no op costs more than recorded, 1 when one does or the record lacks it, 2 when nothing was compared.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from benchmarks.opcount.comparison import compare
from benchmarks.opcount.program import MissingToolError, build, measure
from benchmarks.opcount.record import RECORD, Measured, Record


def report(measured: Measured, counts: Path, record: bool) -> int:
    """Print what was measured beside the record, or write it as the new one; return the exit code."""
    print(", ".join(f"{name} {value}" for name, value in measured.toolchain.items()) + "\n")
    if record:
        Record.of(measured).write(counts)
        print(f"Recorded {len(measured.counts)} counts in {counts}.")
        return 0
    comparison = compare(measured, Record.read(counts))
    print(comparison.table() + "\n")
    print("\n".join(comparison.remarks()))
    return 0 if comparison.passed else 1


def main(arguments: list[str] | None = None) -> int:
    """Build, count, compare; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.opcount", description=__doc__)
    parser.add_argument("--record", action="store_true", help="write the counts as the new record")
    parser.add_argument("--counts", type=Path, default=RECORD, help="the record; that of the repository when left out")
    parser.add_argument("--jobs", type=int, default=2, help="compilers at a time")
    chosen = parser.parse_args(arguments)
    try:
        return report(measure(build(chosen.jobs)), chosen.counts, chosen.record)
    except (MissingToolError, FileNotFoundError, ValueError) as error:
        print(f"opcount: {error}", file=sys.stderr)
    except subprocess.CalledProcessError as error:
        print(f"opcount: {Path(error.cmd[0]).name} failed with exit code {error.returncode}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
