"""What callgrind wrote: a part for each call of an op, named `<case>|<level>|<elements>|<unit>` by the program."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Count", "count_of", "creator", "parse"]

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


def count_of(name: str, instructions: str) -> Count:
    """Return a count of the name that the program gives a call.

    Raises
    ------
    ValueError
        When the name has another form.
    """
    fields = name.split("|")
    if len(fields) != 4:
        raise ValueError(
            f"a counted call must be named case|level|elements|unit, got {name!r}. Was it written by lowtide_opcount?"
        )
    case, level, elements, unit = fields
    return Count(case, level, int(instructions), int(elements), unit)


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
        if len(sums) != 1:
            raise ValueError(
                f"a part of callgrind's output must have one summary, got {len(sums)} summaries for the name "
                f"{names[0]!r}. Was it written by lowtide_opcount?"
            )
        counts.append(count_of(names[0], sums[0]))
    if not counts:
        raise ValueError("callgrind's output must have a part for each call of an op, got none. Was it cut short?")
    return counts


def creator(text: str) -> str:
    """Return the name and version of the tool that wrote the file."""
    lines = [line for line in text.splitlines() if line.startswith(CREATOR)]
    return lines[0].removeprefix(CREATOR) if lines else "unknown"
