"""`python -m benchmarks.peers.page`: the records of `make bench` as tables of the guide and the README.

Records are in benchmarks/records, one a machine and instruction-set level, written by `python -m benchmarks.peers
--record`. The table has a column for each, the best level first.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.peers.__main__ import DUELS
from benchmarks.roofline.page import put_into_page

__all__ = ["main", "notes", "records", "short_table", "table"]

ROOT = Path(__file__).resolve().parents[2]
RECORDS = ROOT / "benchmarks" / "records"
_LEVELS = ("amx", "vbmi", "avx512", "avx2", "i8mm", "dotprod", "neon", "scalar")
_WORDS = {"amx": "AMX", "vbmi": "AVX-512", "avx512": "AVX-512, its first part", "avx2": "AVX2"}
# Rows whose other side is lowtide itself.
_OWN = ("auto-", "cluster-", "store-encode")
_NOTES = ("memory-fit", "memory-large", "memory-store", "accuracy", "accuracy-trits", "gamma-search-accuracy")
# What the README shows: in words, the call, what it replaces, the row.
_SHORT = (
    ("turn 784 columns into 4096 one-bit features", "`RandomFeatures.encode`", "`RBFSampler.transform`", "encode"),
    ("fit 60,000 digits on 4096 features", "`KernelClassifier.fit`", "`RBFSampler` + `RidgeClassifier`", "fit-squared"),
    ("predict 10,000 digits", "`KernelClassifier.predict`", "`RBFSampler` + `RidgeClassifier`", "predict"),
    ("fit 60,000 digits on 65,536 features", "`KernelClassifier.fit`", "`SVC`, exact", "fit-large"),
    ("best 10 of 60,000 vectors in 2 bits", "`VectorCodes.top_k`", "faiss `IndexRaBitQFastScan`", "vectors-2-bit"),
    ("multiply 4-bit codes with each other", "`Codes.dot`", "float32 matrix product", "dot-4-bits"),
    ("fit 3,000 digits on 65,536 features", "`KernelClassifier.fit`", "`KernelRidge`, exact", "fit-wide-64k-ridge"),
)


def records(folder: Path = RECORDS) -> list[dict[str, Any]]:
    """Return the records, the best level first."""
    found = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    return sorted(found, key=lambda record: _LEVELS.index(record["machine"]["instruction set"]))


def _told(found: list[dict[str, Any]]) -> str:
    """Return what all columns were measured on."""
    machines = {", ".join(f"{name} {value}" for name, value in _without_level(record)) for record in found}
    return "Written by `python -m benchmarks.peers.page`, measured on: " + "; ".join(sorted(machines)) + "."


def _without_level(record: dict[str, Any]) -> Iterator[tuple[str, str]]:
    return ((name, value) for name, value in record["machine"].items() if name != "instruction set")


def _head(columns: tuple[str, ...], found: list[dict[str, Any]]) -> list[str]:
    levels = [record["machine"]["instruction set"] for record in found]
    cells = [*columns, *(f"{_WORDS.get(level, 'level')} (`{level}`)" for level in levels)]
    return ["| " + " | ".join(cells) + " |", "| --- " * len(cells) + "|"]


def _ratios(name: str, found: list[dict[str, Any]]) -> list[str]:
    """Return the ratio of a row in each record; a dash where it has none."""
    rows = [{row["name"]: row["ratio"] for row in record["rows"]}.get(name) for record in found]
    return ["-" if ratio is None else _shown(ratio) for ratio in rows]


def _shown(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio < 2 else f"{ratio:.1f}" if ratio < 10 else f"{ratio:,.0f}"


def table(found: list[dict[str, Any]]) -> str:
    """Return all rows whose other side is not lowtide."""
    rows = {row["name"]: row for record in found for row in record["rows"] if not row["name"].startswith(_OWN)}
    lines = _head(("row", "lowtide", "instead of"), found)
    for name in (name for name in DUELS if name in rows):
        row = rows[name]
        lines.append("| " + " | ".join([f"`{name}`", row["lowtide"], row["peer"], *_ratios(name, found)]) + " |")
    return "\n".join(lines)


def short_table(found: list[dict[str, Any]]) -> str:
    """Return the README's rows, of the records that have all of them."""
    wanted = {name for *_, name in _SHORT}
    found = [record for record in found if wanted <= {row["name"] for row in record["rows"]}]
    lines = _head(("what", "lowtide", "instead of"), found)
    lines += ["| " + " | ".join([*words, *_ratios(name, found)]) + " |" for *words, name in _SHORT]
    return "\n".join(lines)


def notes(found: list[dict[str, Any]]) -> str:
    """Return what is no ratio, of the first record that has it."""
    told = {name: note["text"] for record in reversed(found) for name, note in record["notes"].items()}
    return "\n".join(f"- {told[name]}" for name in _NOTES if name in told)


def main(root: Path = ROOT, folder: Path = RECORDS) -> None:
    """Write both pages."""
    found = records(folder)
    if not found:
        raise SystemExit(f"{folder} must hold records, got none. Make one: python -m benchmarks.peers --record FILE")
    promised = "The project promises what stands behind *must*."
    text = f"{_told(found)}\n\n{table(found)}\n\n## Memory and accuracy\n\n{promised}\n\n{notes(found)}\n"
    put_into_page(root / "docs" / "guide" / "speed.md", text)
    put_into_page(root / "README.md", short_table(found) + "\n")


if __name__ == "__main__":
    main()
