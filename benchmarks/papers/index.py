"""The index from numbered items of the papers to their places in lowtide: `docs/papers/index.toml` as tables."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["BEYOND", "Item", "Word", "read_index", "render_figures", "render_glossary", "render_items"]

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "docs" / "papers" / "index.toml"
BEYOND = "Beyond the papers"  # what is derived here and numbered nowhere


@dataclass(frozen=True)
class Item:
    """A numbered item of a paper.

    Attributes
    ----------
    paper, label, says : str
        The paper's short name, the number as printed (several with commas), and the content in a few words.
    places : tuple of str
        Import paths of what implements it.
    studies : tuple of str
        Names of studies that measure it.
    test : str
        The test of the places, `path::name`.
    why : str
        Why it has no place, or no study.
    """

    paper: str
    label: str
    says: str
    places: tuple[str, ...] = ()
    studies: tuple[str, ...] = ()
    test: str = ""
    why: str = ""

    @property
    def is_figure(self) -> bool:
        """Whether the item is one or more figures or tables."""
        return self.label.startswith(("Fig.", "Table"))


@dataclass(frozen=True)
class Word:
    """A paper's own word, with the name it has in lowtide."""

    word: str
    paper: str
    places: tuple[str, ...]
    means: str


def read_index() -> tuple[list[Item], list[Word]]:
    """Return the items in the papers' order and the glossary by word."""
    source = tomllib.loads(SOURCE.read_text(encoding="utf-8"))
    items = [_item(paper["name"], row) for paper in source["paper"] for row in paper["rows"]]
    words = [
        Word(word, paper, tuple(places.split(", ")), means)
        for word, (paper, places, means) in sorted(source["glossary"].items(), key=lambda entry: entry[0].lower())
    ]
    return items, words


def _item(paper: str, row: dict[str, Any]) -> Item:
    if unknown := set(row) - {"label", "says", "in", "study", "test", "why"}:
        raise ValueError(f"{paper} {row.get('label')}: a row has label, says, in, study, test, why; got {unknown}.")
    lists = {"places": tuple(row.get("in", ())), "studies": tuple(row.get("study", ()))}
    return Item(paper, row["label"], row["says"], **lists, test=row.get("test", ""), why=row.get("why", ""))


def render_items(items: list[Item], paper: str) -> tuple[list[str], list[list[str]]]:
    """Return header and rows of one paper's table."""
    rows = [[item.label, item.says, _where(item), _test(item)] for item in items if item.paper == paper]
    return ["number" if paper != BEYOND else "what", "says", "in lowtide", "test"], rows


def render_figures(items: list[Item]) -> tuple[list[str], list[list[str]]]:
    """Return header and rows of all figures and tables with their studies, or the reason why there is none."""
    rows = [
        [item.paper, item.label, item.says, ", ".join(_code(name) for name in item.studies) or item.why]
        for item in items
        if item.is_figure
    ]
    return ["paper", "figure", "shows", "study"], rows


def render_glossary(words: list[Word]) -> tuple[list[str], list[list[str]]]:
    """Return header and rows of the table of the papers' own words."""
    rows = [[word.word, word.paper, ", ".join(map(_code, word.places)), word.means] for word in words]
    return ["word", "paper", "in lowtide", "meaning"], rows


def _where(item: Item) -> str:
    places = [_code(place) for place in item.places]
    places += [f"study {_code(name)}" for name in item.studies]
    return ", ".join(places) if places else item.why


def _test(item: Item) -> str:
    """Return the test as a sentence, after its file."""
    if not item.test:
        return "the study" if item.studies else "-"
    path, name = item.test.split("::")
    sentence = re.sub("_", " ", name.removeprefix("test_"))
    return f"{sentence} (`{path.removeprefix('tests/')}`)"


def _code(name: str) -> str:
    return f"`{name}`"
