"""`python -m benchmarks.peers [row ...]`: run the rows, print a Markdown table, write it beside a JSON file."""

from __future__ import annotations

import argparse
import json
import platform
from dataclasses import asdict
from pathlib import Path

import numpy
import sklearn

import lowtide
from benchmarks.peers import arithmetic, encoding
from benchmarks.peers.duel import Outcome, run
from benchmarks.peers.memory import LIMIT_MB, encoding_peak_mb
from lowtide import _core

DUELS = {duel.name: duel for duel in (*encoding.DUELS, *arithmetic.DUELS)}


def machine() -> dict[str, str]:
    """Describe what the figures were measured on."""
    return {
        "processor": platform.processor() or platform.machine(),
        "instruction set": _core.isa(),
        "threads": str(_core.thread_count()),
        "lowtide": lowtide.__version__,
        "numpy": numpy.__version__,
        "scikit-learn": sklearn.__version__,
    }


def row(outcome: Outcome) -> str:
    """Return one line of the table."""
    return (
        f"| {outcome.name} | {outcome.lowtide} | {outcome.peer} | {outcome.lowtide_seconds * 1e3:.1f} ms "
        f"| {outcome.peer_seconds * 1e3:.1f} ms | {outcome.ratio:.1f}x "
        f"| {outcome.lowest_ratio:.1f} to {outcome.highest_ratio:.1f} | {outcome.must:.2g}x | {'yes' if outcome.met else 'NO'} |"
    )


def main() -> None:
    """Run the rows that were named, or all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("rows", nargs="*", metavar="row", help=f"one of {', '.join(DUELS)}, memory; all when left out")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    wanted = parser.parse_args()
    unknown = set(wanted.rows) - {*DUELS, "memory"}
    if unknown:
        parser.error(f"no row named {', '.join(sorted(unknown))}; choose from {', '.join(DUELS)}, memory")
    lines = [", ".join(f"{name} {value}" for name, value in machine().items()), ""]
    lines += ["| row | lowtide | peer | lowtide | peer | ratio | range | must | met |", "| " + "--- | " * 9]
    print("\n".join(lines), flush=True)
    outcomes = []
    for name, duel in DUELS.items():
        if not wanted.rows or name in wanted.rows:
            outcomes.append(run(duel))
            lines.append(row(outcomes[-1]))
            print(lines[-1], flush=True)
    record: dict[str, object] = {"machine": machine(), "rows": [asdict(o) | {"ratio": o.ratio} for o in outcomes]}
    if not wanted.rows or "memory" in wanted.rows:
        peak = encoding_peak_mb()
        record["encoding_peak_mb"] = peak
        lines.append(
            f"\nEncoding 20,000 x 784 to 4096 bits adds {peak:.0f} MB at its peak (must stay below {LIMIT_MB} MB)."
        )
        print(lines[-1])
    wanted.out.mkdir(parents=True, exist_ok=True)
    (wanted.out / "peers.md").write_text("\n".join(lines) + "\n")
    (wanted.out / "peers.json").write_text(json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    main()
