import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")

from benchmarks.papers.study import Claim, find_studies, run_study

STUDIES = find_studies()

# What the papers print and the data contradict; everything else must hold, in the quick form too.
REFUTED = {
    "ask.fig1": {"shift_printed", "sinh_printed", "cosh_printed"},
    "ask.fig2": {"printed"},
    "ask.table1": {"three rings_columns", "two rings_columns"},
    "asymmetric_rpf.fig3": {"printed_wave", "slope_printed"},
    "one_sketch.fig4": {"acceptable_3", "theorem_2_printed"},
    "one_sketch.fig5": {"equal_bits_2_narrow", "equal_columns_2_narrow"},
    "orf.fig2": {"crossing"},
    "orf.fig3": {
        "bounds_stated",
        "prop6_range",
        "equal_width_sqrt",
        "equal_width_chi",
        "form_rff_printed",
    },
    "trf.fig3": {"mixture_rff"},
    "trf.fig10": {"mixture_rff", "mixture_orf", "mixture_ssf", "mixture_nystroem"},
}


def make_claim(relation: str, measured: float, *, error: float = 0.1, slack: float = 0.0) -> Claim:
    return Claim("key", "words", "1", measured, error, relation, 1.0, slack, "a reason" if slack else "")


@pytest.mark.parametrize("name", STUDIES)
def test_study_holds_what_it_should_and_writes_plot_and_claims(name: str, tmp_path: Path) -> None:
    lines = run_study(STUDIES[name], tmp_path, quick=True)
    assert {line["key"] for line in lines if not line["held"]} == REFUTED.get(name, set())
    assert (tmp_path / f"{name}.svg").read_text().rstrip().endswith("</svg>")
    written = [json.loads(line) for line in (tmp_path / "claims.jsonl").read_text().splitlines()]
    assert written == lines
    assert len({line["key"] for line in lines}) == len(lines) > 0


@pytest.mark.parametrize("name", STUDIES)
def test_study_is_named_after_its_module(name: str) -> None:
    assert STUDIES[name].measure.__module__ == f"benchmarks.papers.{name}"


def test_claims_are_appended_to_those_of_earlier_runs(tmp_path: Path) -> None:
    study = STUDIES["orf.fig2"]
    first, second = (run_study(study, tmp_path, quick=True, seed=5, plot="png") for _ in range(2))
    assert [json.loads(line) for line in (tmp_path / "claims.jsonl").read_text().splitlines()] == first + second
    assert (tmp_path / "orf.fig2.png").read_bytes().startswith(b"\x89PNG")
    # The same seed measures the same.
    assert [line["measured"] for line in first] == [line["measured"] for line in second]


@pytest.mark.parametrize(("measured", "held"), [(1.39, True), (1.41, False), (0.61, True), (0.59, False)])
def test_claim_of_equality_is_held_within_four_errors(measured: float, held: bool) -> None:
    assert make_claim("equals", measured).held is held


def test_claim_of_equality_allows_slack_beside_the_error() -> None:
    assert make_claim("equals", 1.49, slack=0.1).held
    assert not make_claim("equals", 1.51, slack=0.1).held


@pytest.mark.parametrize(("slack", "why"), [(0.1, ""), (0.0, "a reason")])
def test_claim_refuses_slack_without_its_reason_and_a_reason_without_slack(slack: float, why: str) -> None:
    with pytest.raises(ValueError, match="slack and why must come together"):
        Claim("key", "words", "1", 1.0, 0.1, "equals", 1.0, slack, why)


@pytest.mark.parametrize(("relation", "sign"), [("below", -1), ("above", 1)])
def test_claim_of_order_needs_two_errors(relation: str, sign: int) -> None:
    assert make_claim(relation, 1 + sign * 0.21).held
    assert not make_claim(relation, 1 + sign * 0.19).held
    assert not make_claim(relation, 1 - sign * 0.5).held


def test_command_line_lists_every_study() -> None:
    root = Path(__file__).resolve().parents[2]
    command = [sys.executable, "-m", "benchmarks.papers"]
    listed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout
    assert [line.split()[0] for line in listed.splitlines()] == list(STUDIES)
