"""Write what the record and the index say into the guide: `studies.md` and `papers.md`, between their markers.

A marker is a comment on a line of its own. What stands between it and the next `<!-- end -->` is replaced:

- `<!-- claims NAME -->`: the claims of a study, each with what was measured and whether it held,
- `<!-- table NAME KEY -->`: a further table of that study,
- `<!-- summary -->`: how many studies and claims there are, and how many held,
- `<!-- figures -->`: every figure and table of the papers with its study,
- `<!-- items PAPER -->`: the numbered items of a paper with their place in lowtide,
- `<!-- glossary -->`: the papers' own words.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.papers.index import ROOT, read_index, render_figures, render_glossary, render_items
from benchmarks.papers.study import read_record

__all__ = [
    "PAPERS",
    "STUDIES",
    "render_claims",
    "render_page",
    "render_rows",
    "render_summary",
    "with_error",
    "write_page",
]

STUDIES, PAPERS = ROOT / "docs" / "guide" / "studies.md", ROOT / "docs" / "guide" / "papers.md"
END = "<!-- end -->"
KINDS = "claims|table|summary|figures|items|glossary"
BLOCK = re.compile(rf"(?P<marker><!-- (?P<words>(?:{KINDS})[^>]*?) -->\n).*?(?={END})", re.DOTALL)
SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")

Line = dict[str, Any]


def write_page(page: Path) -> bool:
    """Rewrite the blocks of a page; say whether anything changed."""
    before = page.read_text(encoding="utf-8")
    after = render_page(before, read_record())
    page.write_text(after, encoding="utf-8")
    return after != before


def render_page(text: str, record: Sequence[Line]) -> str:
    """Return the page with every block made anew from the record and the index.

    Parameters
    ----------
    text : str
        The page as it is.
    record : sequence of dict
        Lines of claims, and of tables under the key "table".
    """
    if (markers := len(re.findall(rf"<!-- (?:{KINDS})", text))) != text.count(END):
        raise ValueError(f"Every marker must have its {END}: got {markers} markers and {text.count(END)} ends.")
    return BLOCK.sub(lambda block: block["marker"] + _render_block(block["words"].split(), record), text)


def _render_block(words: list[str], record: Sequence[Line]) -> str:
    if words[0] in ("claims", "table") and words[1] not in {line["study"] for line in record}:
        return f"\n*Not recorded yet: `python -m benchmarks.papers {words[1]} --record`.*\n\n"
    match words:
        case ["summary"]:
            return render_summary(record)
        case ["claims", study]:
            lines = [line for line in record if line["study"] == study and "table" not in line]
            if lines:
                return render_claims(lines)
        case ["table", study, *key]:
            for line in record:
                if line["study"] == study and line.get("table") == " ".join(key):
                    return render_rows(line["header"], line["rows"])
        case ["figures"]:
            return render_rows(*render_figures(read_index()[0]))
        case ["items", *paper]:
            header, rows = render_items(read_index()[0], " ".join(paper))
            if rows:
                return render_rows(header, rows)
        case ["glossary"]:
            return render_rows(*render_glossary(read_index()[1]))
    raise ValueError(f"The record must have what the page shows: nothing there for {' '.join(words)!r}. Run --record.")


def render_summary(record: Sequence[Line]) -> str:
    """Return a sentence on how many claims held, the papers' own and the corrected ones apart."""
    claims = [line for line in record if "table" not in line]
    studies = {line["study"] for line in claims}

    def count(source: str) -> str:
        held = [line["held"] for line in claims if line["source"] == source]
        return f"{len(held)} ({sum(held)} held, {len(held) - sum(held)} not)"

    held = sum(line["held"] for line in claims)
    return (
        f"\n**{len(studies)} studies, {len(claims)} claims: {held} held, {len(claims) - held} did not.** Of these the "
        f"papers' own words are {count('paper')}, corrected or like for like {count('corrected')}.\n\n"
    )


def render_claims(lines: Sequence[Line]) -> str:
    """Return the table of a study's claims, with the reasons of slack and the explanations of "no" as notes below."""
    notes: list[str] = []
    rows = []
    for line in lines:
        words = ("*corrected*: " if line["source"] == "corrected" else "") + line["claim"]
        verdict = "yes" if line["held"] else "**no**"
        marks = "".join(f" {_mark(notes, note)}" for note in _notes(line))
        rows.append([words, line["paper_value"], with_error(line["measured"], line["standard_error"]), verdict + marks])
    table = render_rows(["claim", "paper", "measured", "held"], rows)
    return table + "".join(f"- {_mark(notes, note)} {note}\n" for note in notes) + ("\n" if notes else "")


def _notes(line: Line) -> Iterable[str]:
    """Return what has to be said about a verdict; equal notes are said once a table."""
    test = line["test"]
    if test["slack"]:
        yield f"Within {test['slack']:g} beside the error: {test['why'].rstrip('.')}."
    if line["explanation"]:
        yield f"Not held: {line['explanation']}"


def _mark(notes: list[str], note: str) -> str:
    if note not in notes:
        notes.append(note)
    return str(notes.index(note) + 1).translate(SUPERSCRIPTS)


def render_rows(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table, with an empty line before and after it."""
    lines = [_row(header), _row(["---"] * len(header)), *(_row(row) for row in rows)]
    return "\n" + "\n".join(lines) + "\n\n"


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(re.sub(r"(?<!\\)\|", r"\\|", cell) for cell in cells) + " |"


def with_error(value: float, error: float) -> str:
    """Return a value with its standard error in its last digits.

    The error has one digit, two where the first is 1; no error is shown for a value that was not sampled.

    Examples
    --------
    >>> with_error(0.34218, 0.0041), with_error(208.4, 15.7), with_error(32.46, 1.14), with_error(6.1e-7, 2e-7)
    ('0.342(4)', '208(16)', '32.5(1.1)', '6(2)e-7')
    """
    largest = max(abs(value), error)
    if error <= 1e-6 * abs(value) or not math.isfinite(largest):
        return f"{value:.5g}".replace("e-0", "e-")
    if not 1e-4 <= largest < 1e6:
        power = math.floor(math.log10(largest))
        return f"{with_error(value / 10.0**power, error / 10.0**power)}e{power}"
    first = math.floor(math.log10(error))
    first = math.floor(math.log10(round(error, -first)))  # 0.096 is 0.10
    digits = 2 if round(error, 1 - first) < 2 * 10.0**first else 1
    decimals = max(0, digits - 1 - first)
    whole = round(error, decimals) >= 1 and decimals > 0
    shown = f"{error:.{decimals}f}" if whole else f"{round(error * 10**decimals):d}"
    value = round(value, decimals) + 0.0  # no minus before a zero
    return f"{value:.{decimals}f}({shown})"
