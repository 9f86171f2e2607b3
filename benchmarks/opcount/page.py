"""Counts of vector forms beside those of the scalar one, as a table of the guide."""

from __future__ import annotations

import re
from collections.abc import Sequence

from benchmarks.opcount.record import ONE_BY_ONE, Measured

__all__ = ["against_one_by_one"]

LEAST = 4  # what a vector form of an op that is used often is to save

# Why the cases of an op do not save that much, by the first words of their names.
REASONS = {
    "row_tile": "words are copied, and beside a load and a store of every two there are permutations.",
    "panel_fill columns": "levels of 16 rows are moved side by side before they are looked up, and a value comes "
    "together from four look-ups of a byte; the scalar form is two loads and a store.",
    "code_tables_f64": "two lanes, and done once for a product. One column has 256 sums of every byte, where the "
    "scalar form has 16 of every nibble, so that the product has half as many look-ups.",
    "pair_product": "not used on ARM, which multiplies floats as fast as whole numbers; there is no form of its own.",
    "row_scan": "not used on ARM, where look-ups serve any number of queries; there is no form of its own.",
    "bit_dot bits": "done once for a product; the scalar form only copies words.",
    "bit_dot weights": "done once for a product: the digits of sixteen sums of every four weights are written, where "
    "the scalar form only converts the weights.",
}


def against_one_by_one(measured: Measured) -> str:
    """Return a Markdown table: instructions of each form for an element, and how many times fewer the best one takes.

    The scalar form without vectors is what the best is compared with; cases that save less than `LEAST` times stand
    below the table once more, with the reason.
    """
    counts = {(count.case, count.level): count for count in measured.counts}
    levels = [level for level in measured.levels if level != ONE_BY_ONE]
    lines = [
        f"Written by `make opcount`: {', '.join(f'{name} {value}' for name, value in measured.toolchain.items())}.",
        "",
        f"| op | of one | {ONE_BY_ONE} | {' | '.join(levels)} | fewer |",
        f"| --- | --- | ---: | {' | '.join('---:' for _ in levels)} | ---: |",
    ]
    below = []
    plain = [count for count in measured.counts if count.level == ONE_BY_ONE]
    for count in plain:
        own = [counts.get((count.case, level)) for level in levels]
        best = min(other.instructions for other in own[1:] if other is not None)
        cells = [f"{other.per_element:.3g}" if other else "" for other in own]
        ratio = count.instructions / best
        below += [] if ratio >= LEAST else [(count.case, ratio)]
        lines.append(f"| {count.case} | {count.unit} | {count.per_element:.3g} | {' | '.join(cells)} | {ratio:.1f} |")
    reached = len(plain) - len(below)
    lines += ["", f"{reached} of {len(plain)} cases take at least {LEAST} times fewer instructions.", *reasons(below)]
    return "\n".join([*lines, ""])


def reasons(below: Sequence[tuple[str, float]]) -> list[str]:
    """Return lines that say why cases save less, each with how many times fewer instructions it takes.

    Raises
    ------
    ValueError
        When a case has no reason.
    """
    if not below:
        return []
    cases: dict[str, list[str]] = {}
    for case, ratio in below:
        found = [text for words, text in REASONS.items() if re.match(rf"{words}\b", case)]
        if not found:
            raise ValueError(
                f"a case that takes less than {LEAST} times fewer instructions must have a reason, got none for {case} "
                f"({ratio:.1f}). Make it cheaper, or say why it cannot be in REASONS of benchmarks/opcount/page.py."
            )
        cases.setdefault(found[0], []).append(f"`{case}` ({ratio:.2f})")
    return ["", "The others, and why:", "", *(f"- {', '.join(some)}: {text}" for text, some in cases.items())]
