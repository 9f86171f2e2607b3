"""Counts of faster forms beside those of the plain one, as a table of the guide."""

from __future__ import annotations

from benchmarks.opcount.record import Measured

__all__ = ["against_scalar"]

LEAST = 4  # what a faster form of an op that is used often is to save


def against_scalar(measured: Measured) -> str:
    """Return a Markdown table: instructions at each level for an element, and how many times fewer than plain C++."""
    counts = {(count.case, count.level): count for count in measured.counts}
    levels = [level for level in measured.levels if level != "scalar"]
    lines = [
        f"Written by `make opcount`: {', '.join(f'{name} {value}' for name, value in measured.toolchain.items())}.",
        "",
        f"| op | of one | scalar | {' | '.join(levels)} | fewer |",
        f"| --- | --- | ---: | {' | '.join('---:' for _ in levels)} | ---: |",
    ]
    few = 0
    plain = [count for count in measured.counts if count.level == "scalar"]
    for count in plain:
        own = [counts.get((count.case, level)) for level in levels]
        best = min(other.instructions for other in own if other is not None)
        few += count.instructions >= LEAST * best
        cells = [f"{other.per_element:.3g}" if other else "" for other in own]
        ratio = f"{count.instructions / best:.1f}"
        lines.append(f"| {count.case} | {count.unit} | {count.per_element:.3g} | {' | '.join(cells)} | {ratio} |")
    return "\n".join([*lines, "", f"{few} of {len(plain)} cases take at least {LEAST} times fewer instructions.", ""])
