"""The guide's page of studies is what the record of full runs says, and the record is whole."""

from typing import Any

import pytest

pytest.importorskip("matplotlib")

from benchmarks.papers import tables
from benchmarks.papers.study import find_studies, read_record
from benchmarks.papers.tables import render_claims, render_page, render_rows, with_error

PAGE = tables.STUDIES
STUDIES = find_studies()
RECORD = read_record()
CLAIMS = [line for line in RECORD if "table" not in line]


def make_line(**changes: Any) -> dict[str, Any]:
    line = {"study": "a.fig1", "claim": "an error", "source": "paper", "paper_value": "0", "measured": 0.0123}
    line |= {"standard_error": 0.004, "held": True, "explanation": "", "seconds": 60.0}
    return line | {"test": {"relation": "equals", "target": 0.0, "slack": 0.0, "why": ""}} | changes


def test_page_is_what_the_record_makes_of_it() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert render_page(page, RECORD) == page, "run: python -m benchmarks.papers tables"


@pytest.mark.parametrize("name", STUDIES)
def test_study_has_claims_of_a_full_run_and_is_on_the_page(name: str) -> None:
    claims = [line for line in CLAIMS if line["study"] == name]
    assert claims
    assert not any(line["quick"] or line["seed"] for line in claims)
    assert f"<!-- claims {name} -->" in PAGE.read_text(encoding="utf-8")


def test_record_holds_no_study_that_is_gone() -> None:
    assert {line["study"] for line in RECORD} <= set(STUDIES)


def test_every_claim_that_does_not_hold_is_explained_and_every_slack_has_its_reason() -> None:
    unexplained = [(line["study"], line["key"]) for line in CLAIMS if line["held"] == bool(line["explanation"])]
    assert unexplained == []
    assert [line["key"] for line in CLAIMS if bool(line["test"]["slack"]) != bool(line["test"]["why"])] == []


def test_claims_become_rows_with_notes_said_once() -> None:
    slack = {"relation": "equals", "target": 0.0, "slack": 0.1, "why": "the paper says about"}
    lines = [make_line(test=slack), make_line(claim="|t|", source="corrected", test=slack)]
    lines.append(make_line(held=False, explanation="The root is missing."))
    assert render_claims(lines).splitlines() == [
        "",
        "| claim | paper | measured | held |",
        "| --- | --- | --- | --- |",
        "| an error | 0 | 0.012(4) | yes ¹ |",
        "| *corrected*: \\|t\\| | 0 | 0.012(4) | yes ¹ |",
        "| an error | 0 | 0.012(4) | **no** ² |",
        "",
        "- ¹ Within 0.1 beside the error: the paper says about.",
        "- ² Not held: The root is missing.",
        "",
    ]


def test_page_keeps_its_prose_and_gets_every_block_anew() -> None:
    table = {"study": "a.fig1", "table": "sizes", "header": ["n"], "rows": [["3"]]}
    page = "Words.\n\n<!-- summary -->\nold\n<!-- end -->\n\n<!-- table a.fig1 sizes -->\n<!-- end -->\nLast.\n"
    once = render_page(page, [make_line(), make_line(held=False, source="corrected"), table])
    assert "**1 studies, 2 claims: 1 held, 1 did not.**" in once
    assert "old" not in once
    assert once.startswith("Words.\n\n<!-- summary -->\n\n**")
    assert once.endswith(f"<!-- table a.fig1 sizes -->\n{render_rows(['n'], [['3']])}<!-- end -->\nLast.\n")
    assert render_page(once, [make_line(), make_line(held=False, source="corrected"), table]) == once


def test_page_says_which_study_has_no_record_yet() -> None:
    page = render_page("<!-- claims a.fig2 -->\n<!-- end -->\n", [make_line()])
    assert "*Not recorded yet: `python -m benchmarks.papers a.fig2 --record`.*" in page


@pytest.mark.parametrize("words", ["table a.fig1 sizes", "items Nobody"])
def test_page_that_asks_for_what_is_nowhere_is_refused(words: str) -> None:
    with pytest.raises(ValueError, match=f"nothing there for '{words}'"):
        render_page(f"<!-- {words} -->\n<!-- end -->\n", [make_line()])


def test_marker_without_its_end_is_refused() -> None:
    with pytest.raises(ValueError, match="got 2 markers and 1 ends"):
        render_page("<!-- summary -->\n<!-- claims a.fig1 -->\n<!-- end -->\n", [make_line()])


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (0.34218, 0.0041, "0.342(4)"),
        (208.4, 15.7, "208(16)"),
        (32.46, 1.14, "32.5(1.1)"),
        (-0.0001, 0.008, "0.000(8)"),
        (0.5, 0.0999, "0.50(10)"),
        (6.1e-7, 2e-7, "6(2)e-7"),
        (3e-11, 0.0, "3e-11"),
        (312, 0.0, "312"),
        (0.381, 1e-9, "0.381"),
        (20, 40.0, "20(40)"),
    ],
)
def test_value_has_its_error_in_its_last_digits(value: float, error: float, text: str) -> None:
    assert with_error(value, error) == text
