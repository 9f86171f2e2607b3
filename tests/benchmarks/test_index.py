"""Every numbered item of the papers leads to something that exists, and every name of the theory is on the page."""

import ast
import re
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("matplotlib")

from benchmarks.papers.index import BEYOND, ROOT, Item, read_index
from benchmarks.papers.study import find_studies
from benchmarks.papers.tables import PAPERS, render_page

from lowtide import theory

ITEMS, WORDS = read_index()
STUDIES = set(find_studies())
# What the papers print: equations (first to last), and how often each other kind is numbered.
PRINTED = {
    "Asymmetric RPF": (40, {"Definition": 4, "Proposition": 6, "Lemma": 2, "Theorem": 1, "Corollary": 3, "Table": 1}),
    "One-Sketch": (7, {"Definition": 2, "Theorem": 3, "Proposition": 1, "Algorithm": 1, "Claim": 1, "Fig.": 6}),
    "AsK-RFF": (12, {"Definition": 3, "Algorithm": 2, "Fig.": 3, "Table": 1}),
    "ORF": (22, {"Fig.": 4, "Table": 1}),
    "TRF": (27, {"Theorem": 1, "Corollary": 1, "Lemma": 1, "Definition": 1, "Algorithm": 1, "Fig.": 15, "Table": 1}),
}
# Numbered in one sequence, figures with letters.
OTHERS = {
    "Asymmetric RPF": ["Fig. 1a", "Fig. 1b", "Fig. 2", "Fig. 3", "Fig. 4a", "Fig. 4b", "Fig. 5", "Fig. 6"],
    "AsK-RFF": ["Theorem 1", "Theorem 2", "Theorem 3", "Proposition 4", "Corollary 5", "Proposition 6"],
    "ORF": ["Theorem 1", "Theorem 2", "Proposition 3", "Theorem 4", "Remark 5", "Proposition 6"],
}


def resolve(path: str) -> Any:
    """Return what an import path names: a module first, then attributes."""
    parts = path.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found = import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for name in parts[cut:]:
            found = getattr(found, name)
        return found
    raise ModuleNotFoundError(path)


@cache
def functions_in(path: str) -> set[str]:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def imported_from_theory(file: Path) -> set[str]:
    nodes = [node for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))) if isinstance(node, ast.ImportFrom)]
    return {alias.name for node in nodes if (node.module or "").startswith("lowtide.theory") for alias in node.names}


def test_page_is_what_the_index_makes_of_it() -> None:
    page = PAPERS.read_text(encoding="utf-8")
    assert render_page(page, []) == page, "run: python -m benchmarks.papers tables"


@pytest.mark.parametrize("paper", PRINTED)
def test_every_numbered_item_of_a_paper_has_a_row(paper: str) -> None:
    labels = {label for item in ITEMS if item.paper == paper for label in item.label.split(", ")}
    equations, kinds = PRINTED[paper]
    expected = {f"({number})" for number in range(1, equations + 1)} | set(OTHERS.get(paper, []))
    expected |= {f"{kind} {number}" for kind, count in kinds.items() for number in range(1, count + 1)}
    assert expected - labels == set()


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: f"{item.paper} {item.label}")
def test_row_leads_to_something_that_exists_or_says_why_not(item: Item) -> None:
    for place in item.places:
        assert resolve(place) is not None
    assert set(item.studies) <= STUDIES
    assert bool(item.test) == bool(item.places) or item.studies
    assert item.places or item.studies or item.why
    if item.test:
        path, name = item.test.split("::")
        assert name in functions_in(path)


def test_no_item_is_in_two_rows() -> None:
    labels = [(item.paper, label) for item in ITEMS for label in item.label.split(", ")]
    assert len(set(labels)) == len(labels)


def test_every_name_of_the_theory_is_on_the_page_or_used_by_the_product() -> None:
    source = ROOT / "src" / "lowtide"
    files = [file for file in source.rglob("*.py") if "theory" not in file.relative_to(source).parts]
    used = set().union(*(imported_from_theory(file) for file in files))
    shown = {place.removeprefix("lowtide.theory.") for item in ITEMS for place in item.places}
    assert set(theory.__all__) - used - shown == set()


def test_words_of_the_papers_are_in_the_glossary_and_lead_to_names() -> None:
    asked = "semi-quantized, universal quantization, LSB, QRP-RFF, LP-RFF, StocQ, LM-RFF, AsK-LS, SORF"
    assert set(asked.split(", ")) <= {word.word for word in WORDS}
    for word in WORDS:
        assert all(resolve(place) is not None for place in word.places)


def test_studies_are_on_the_index() -> None:
    assert STUDIES - {name for item in ITEMS for name in item.studies} == set()


def test_rows_are_of_the_papers_or_beyond() -> None:
    assert {item.paper for item in ITEMS} == {*PRINTED, BEYOND}
    assert {word.paper for word in WORDS} <= set(PRINTED)
    assert all(re.search(r"[A-Z(]", item.label) for item in ITEMS if item.paper != BEYOND)
