"""The record: counts, and the toolchain they hold for."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.opcount.callgrind import Count

__all__ = ["ARM_LEVELS", "ARM_RECORD", "LEVELS", "ONE_BY_ONE", "RECORD", "Measured", "Record"]

RECORD = Path(__file__).with_name("counts.json")
ARM_RECORD = Path(__file__).with_name("counts_arm.json")
LEVELS = ("scalar", "avx2")
# The scalar form twice: as it is built, which is vector code wherever the compiler finds a way, and kept from that.
ONE_BY_ONE = "one by one"
ARM_LEVELS = (ONE_BY_ONE, "scalar", "neon", "dotprod", "i8mm")


@dataclass(frozen=True)
class Measured:
    """What one run gave: the toolchain by name, the counts, and the levels that a full run has."""

    toolchain: Mapping[str, str]
    counts: Sequence[Count]
    levels: Sequence[str] = LEVELS

    def missing_levels(self) -> list[str]:
        """Levels that this machine cannot count."""
        counted = {count.level for count in self.counts}
        return [level for level in self.levels if level not in counted]


@dataclass(frozen=True)
class Record:
    """Instructions by case and level, and the toolchain they hold for."""

    toolchain: Mapping[str, str]
    instructions: Mapping[str, int]

    @classmethod
    def of(cls, measured: Measured) -> Record:
        """Keep what was measured, all levels or none.

        Raises
        ------
        ValueError
            When a level was not counted: its old counts would be lost.
        """
        if missing := measured.missing_levels():
            raise ValueError(
                f"a record must have counts at {' and '.join(measured.levels)}, got none at {' and '.join(missing)}. "
                "Record on a processor that has them."
            )
        return cls(dict(measured.toolchain), {count.key: count.instructions for count in measured.counts})

    @classmethod
    def read(cls, path: Path) -> Record:
        """Read a record.

        Raises
        ------
        FileNotFoundError
            When there is none yet.
        """
        if not path.exists():
            raise FileNotFoundError(f"no record of counts at {path}. Make one: make opcount RECORD=1")
        content = json.loads(path.read_text(encoding="utf-8"))
        return cls(content["toolchain"], content["instructions"])

    def write(self, path: Path) -> None:
        """Write the record, one count a line, so that a change shows what it changed."""
        content = {"toolchain": dict(self.toolchain), "instructions": dict(self.instructions)}
        path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
