"""What callgrind wrote: a part for each call of an op, named `<case>|<level>|<elements>|<unit>` by the program."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Count", "creator", "parse"]

TRIGGER = "desc: Trigger: Client Request: "
SUMMARY = "summary: "
CREATOR = "creator: "


@dataclass(frozen=True)
class Count:
    """Instructions of one call: of which case, at which level, for how many elements of which unit."""

    case: str
    level: str
    instructions: int
    elements: int
    unit: str

    @property
    def key(self) -> str:
        """Name in the record."""
        return f"{self.case} | {self.level}"

    @property
    def per_element(self) -> float:
        """Instructions for one element."""
        return self.instructions / self.elements


def parse(text: str) -> list[Count]:
    """Return the counts of a file of combined dumps, in the order of the calls.

    Raises
    ------
    ValueError
        When a named part has no sum, a name has another form, or there is no named part at all.
    """
    counts = []
    for part in text.split("\npart: ")[1:]:
        lines = part.splitlines()
        names = [line.removeprefix(TRIGGER) for line in lines if line.startswith(TRIGGER)]
        if not names:  # what is left at the end of the program
            continue
        sums = [line.removeprefix(SUMMARY) for line in lines if line.startswith(SUMMARY)]
        fields = names[0].split("|")
        if len(fields) != 4 or len(sums) != 1:
            raise ValueError(
                f"a part of callgrind's output must be named case|level|elements|unit and have one summary, got the "
                f"name {names[0]!r} and {len(sums)} summaries. Was it written by lowtide_opcount?"
            )
        case, level, elements, unit = fields
        counts.append(Count(case, level, int(sums[0]), int(elements), unit))
    if not counts:
        raise ValueError("callgrind's output must have a part for each call of an op, got none. Was it cut short?")
    return counts


def creator(text: str) -> str:
    """Return the name and version of the tool that wrote the file."""
    lines = [line for line in text.splitlines() if line.startswith(CREATOR)]
    return lines[0].removeprefix(CREATOR) if lines else "unknown"
