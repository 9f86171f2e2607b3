"""Counts against their record: which ops cost more, and what to say of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.opcount.callgrind import Count
from benchmarks.opcount.record import Measured, Record

__all__ = ["OTHER_TOOLCHAIN", "TOLERANCE", "Comparison", "Row", "compare"]

# Counts repeat to the instruction with one toolchain; the tolerance leaves room for a call moved or a register spilled.
TOLERANCE = 0.03
# Another compiler unrolls and vectorizes differently, but what doubles has lost its fast form.
OTHER_TOOLCHAIN = 1.0


@dataclass(frozen=True)
class Row:
    """A count beside the recorded one, None when there is none."""

    count: Count
    recorded: int | None
    tolerance: float

    @property
    def change(self) -> float:
        """Relative change, positive when the op costs more; 0 without a record."""
        return 0.0 if self.recorded is None else self.count.instructions / self.recorded - 1

    @property
    def verdict(self) -> str:
        """One word or two."""
        if self.recorded is None:
            return "NOT RECORDED"
        if self.count.instructions > self.recorded * (1 + self.tolerance):
            return "MORE"
        return "less" if self.count.instructions < self.recorded * (1 - self.tolerance) else "same"

    @property
    def bad(self) -> bool:
        """Whether the row fails the comparison."""
        return self.verdict in ("MORE", "NOT RECORDED")


@dataclass(frozen=True)
class Comparison:
    """Rows in the order of the run, recorded counts that nobody measured, levels not counted here."""

    rows: Sequence[Row]
    gone: Sequence[str]
    missing_levels: Sequence[str]
    differences: Sequence[str]
    tolerance: float

    @property
    def passed(self) -> bool:
        """Whether no op costs more, and the record has the cases that the program has."""
        return not self.gone and not any(row.bad for row in self.rows)

    def table(self) -> str:
        """Return one aligned line a count."""
        lines = [("op", "level", "instructions", "recorded", "change", "per element", "")]
        for row in self.rows:
            count = row.count
            lines.append(
                (
                    count.case,
                    count.level,
                    f"{count.instructions:,}",
                    "-" if row.recorded is None else f"{row.recorded:,}",
                    "-" if row.recorded is None else f"{100 * row.change:+.1f}%",
                    f"{count.per_element:.3g} per {count.unit}",
                    row.verdict,
                )
            )
        return aligned(lines, right=(2, 3, 4))

    def remarks(self) -> list[str]:
        """Return sentences: what was compared how, what fails and what to do."""
        said = []
        if self.differences:
            said.append(
                f"The record is of another toolchain ({'; '.join(self.differences)}): counts are not comparable to a "
                f"few percent, so only what costs over {1 + self.tolerance:.3g} times the recorded count fails."
            )
        said += [f"Not counted, this processor does not have it: {level}." for level in self.missing_levels]
        said += [f"In the record but no longer counted: {key}." for key in self.gone]
        said.append(self._outcome())
        return said

    def _outcome(self) -> str:
        more = sum(row.verdict == "MORE" for row in self.rows)
        less = sum(row.verdict == "less" for row in self.rows)
        allowed = f"{100 * self.tolerance:.3g}%"
        if more:
            return (
                f"FAILED: {more} of {len(self.rows)} counts are more than {allowed} above the record. If the price is "
                "meant: make opcount RECORD=1, and say why in the change."
            )
        if not self.passed:
            return "FAILED: the record does not have the cases of the program. Record them: make opcount RECORD=1"
        keep = f" {less} are lower; to keep the gain: make opcount RECORD=1" if less else ""
        return f"{len(self.rows)} counts are within {allowed} of the record or below.{keep}"


def aligned(lines: Sequence[Sequence[str]], right: Sequence[int]) -> str:
    """Return columns as wide as their widest cell, those named in `right` flush right."""
    widths = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
    padded = [
        [cell.rjust(width) if k in right else cell.ljust(width) for k, (cell, width) in enumerate(zip(line, widths))]
        for line in lines
    ]
    return "\n".join("  ".join(line).rstrip() for line in padded)


def differences(recorded: Mapping[str, str], here: Mapping[str, str]) -> list[str]:
    """Return what differs between two toolchains, in words."""
    names = [*recorded, *(name for name in here if name not in recorded)]
    return [
        f"{name}: {recorded.get(name, 'none')} there, {here.get(name, 'none')} here"
        for name in names
        if recorded.get(name) != here.get(name)
    ]


def compare(measured: Measured, record: Record) -> Comparison:
    """Compare a run with the record, within `TOLERANCE`, or `OTHER_TOOLCHAIN` when made by other tools."""
    different = differences(record.toolchain, measured.toolchain)
    tolerance = OTHER_TOOLCHAIN if different else TOLERANCE
    rows = [Row(count, record.instructions.get(count.key), tolerance) for count in measured.counts]
    missing = measured.missing_levels()
    keys = {count.key for count in measured.counts}
    gone = [key for key in record.instructions if key not in keys and key.rpartition(" | ")[2] not in missing]
    return Comparison(rows, gone, missing, different, tolerance)
