"""`python -m benchmarks.opcount [--arm] [--record]`: count the ops' instructions, compare with the record or write it.

`--arm` counts those of a cross build for 64-bit ARM, under qemu; `--page docs/guide/arm.md` writes them beside the
plain form's into that page.

Exit code 0 when no op costs more than recorded, 1 when one does or the record lacks it, 2 when nothing was compared.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from benchmarks.opcount.comparison import compare
from benchmarks.opcount.page import against_one_by_one
from benchmarks.opcount.program import MissingToolError, build, build_arm, measure, measure_arm
from benchmarks.opcount.record import ARM_RECORD, RECORD, Measured, Record
from benchmarks.roofline.page import put_into_page


def report(measured: Measured, counts: Path, record: bool, page: Path | None = None) -> int:
    """Print what was measured beside the record, or write it as the new one, and the page; return the exit code."""
    print(", ".join(f"{name} {value}" for name, value in measured.toolchain.items()) + "\n")
    if page:
        put_into_page(page, against_one_by_one(measured))
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
    parser.add_argument("--arm", action="store_true", help="count for 64-bit ARM, under emulation")
    parser.add_argument("--counts", type=Path, help="the record; that of the repository when left out")
    parser.add_argument("--page", type=Path, help="page to write the counts for ARM into")
    parser.add_argument("--jobs", type=int, default=2, help="compilers at a time")
    chosen = parser.parse_args(arguments)
    if chosen.page and not chosen.arm:
        parser.error("--page takes counts for ARM, got none. Add --arm or leave it out.")
    try:
        if chosen.arm:
            measured = measure_arm(build_arm(chosen.jobs))
            return report(measured, chosen.counts or ARM_RECORD, chosen.record, chosen.page)
        return report(measure(build(chosen.jobs)), chosen.counts or RECORD, chosen.record)
    except (MissingToolError, FileNotFoundError, ValueError) as error:
        print(f"opcount: {error}", file=sys.stderr)
    except subprocess.CalledProcessError as error:
        print(f"opcount: {Path(error.cmd[0]).name} failed with exit code {error.returncode}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
