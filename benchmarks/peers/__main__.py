"""`python -m benchmarks.peers [row ...]`: run the rows, print a Markdown table, write it beside a JSON file.

--record keeps the rows in a record of this machine at this instruction-set level, in place of older ones of the same
names; `python -m benchmarks.peers.page` writes the records into the guide and the README.
"""

from __future__ import annotations

import argparse
import json
import platform
from dataclasses import asdict
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy
import sklearn

import lowtide
from benchmarks.peers import arithmetic, bandwidths, cluster, encoding, learning, nearest, stores, ternary
from benchmarks.peers.duel import Outcome, run
from benchmarks.peers.notes import NOTES
from lowtide import _core

PARTS = (encoding, arithmetic, learning, bandwidths, ternary, nearest, stores, cluster)
DUELS = {duel.name: duel for part in PARTS for duel in part.DUELS}


def machine() -> dict[str, str]:
    """Describe what the figures were measured on."""
    peers = {"faiss": metadata.version("faiss-cpu")} if find_spec("faiss") else {}
    return {
        "processor": _processor(),
        "instruction set": _core.isa(),
        "threads": str(_core.thread_count()),
        "lowtide": lowtide.__version__,
        "numpy": numpy.__version__,
        "scikit-learn": sklearn.__version__,
        **peers,
    }


def machine_told(*without: str) -> str:
    """Return the same in one line, less what has no part in the figures."""
    return ", ".join(f"{name} {value}" for name, value in machine().items() if name not in without)


def _processor() -> str:
    """Return the processor's name and, where Linux tells, its family and model: names like "AMD EPYC" say little."""
    try:
        lines = (line.partition(":") for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines())
        told = {name.strip(): value.strip() for name, _, value in lines}
        return f"{told['model name']} (family {told['cpu family']}, model {told['model']})"
    except (OSError, KeyError):
        return platform.processor() or platform.machine()


def row(outcome: Outcome) -> str:
    """Return one line of the table."""
    return (
        f"| {outcome.name} | {outcome.lowtide} | {outcome.peer} | {outcome.lowtide_seconds * 1e3:.1f} ms "
        f"| {outcome.peer_seconds * 1e3:.1f} ms | {_times(outcome.ratio)} "
        f"| {_times(outcome.lowest_ratio)} to {_times(outcome.highest_ratio)} | {_times(outcome.must)} "
        f"| {_times(outcome.goal)} | {'' if outcome.must is None else 'yes' if outcome.met else 'NO'} |"
    )


def _times(ratio: float | None) -> str:
    """Return a ratio with as many digits as it deserves; nothing where there is none."""
    return "" if ratio is None else f"{ratio:.2f}x" if ratio < 2 else f"{ratio:.1f}x"


def keep(record: dict[str, Any], path: Path) -> None:
    """Put rows and notes into a record; one that is of another machine, level or version is not mixed with them."""
    old = json.loads(path.read_text()) if path.exists() else {"rows": [], "notes": {}}
    if old.get("machine", record["machine"]) != record["machine"]:
        raise SystemExit(
            f"{path} must be of this machine and level, {record['machine']}, got {old['machine']}. Move it."
        )
    rows = {row["name"]: row for row in (*old["rows"], *record["rows"])}
    kept = {
        "machine": record["machine"],
        "rows": [rows[name] for name in DUELS if name in rows],
        "notes": old["notes"] | record["notes"],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(kept, indent=1) + "\n")


def main() -> None:
    """Run the rows that were named, or all."""
    names = (*DUELS, *NOTES)
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("rows", nargs="*", metavar="row", help=f"of {', '.join(names)}; all when left out")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--record", type=Path, help="a JSON file that the rows are kept in, with others of before")
    arguments = parser.parse_args()
    unknown = set(arguments.rows) - set(names)
    if unknown:
        parser.error(f"no row named {', '.join(sorted(unknown))}; choose from {', '.join(names)}")
    wanted = arguments.rows or names
    lines: list[str] = []

    def say(line: str) -> None:
        lines.append(line)
        print(line, flush=True)

    say(machine_told() + "\n")
    say("| row | lowtide | peer | lowtide | peer | ratio | range | must | goal | met |\n" + "| --- " * 10 + "|")
    outcomes = []
    for name in [name for name in DUELS if name in wanted]:
        if DUELS[name].missing:
            say(
                f"| {name} | skipped: {DUELS[name].missing} is not installed, see the group `bench` of pyproject.toml |"
            )
            continue
        outcomes.append(run(DUELS[name]))
        say(row(outcomes[-1]))
    notes = {}
    for name in [name for name in NOTES if name in wanted]:
        notes[name] = NOTES[name]()
        say(f"\n{name}: {notes[name].text} {'Met.' if notes[name].met else 'NOT met.'}")
    record = {
        "machine": machine(),
        "rows": [asdict(outcome) | {"ratio": outcome.ratio} for outcome in outcomes],
        "notes": {name: asdict(note) for name, note in notes.items()},
    }
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "peers.md").write_text("\n".join(lines) + "\n")
    (arguments.out / "peers.json").write_text(json.dumps(record, indent=2) + "\n")
    if arguments.record is not None:
        keep(record, arguments.record)


if __name__ == "__main__":
    main()
