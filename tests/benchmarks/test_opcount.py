"""The guard of instruction counts, without valgrind: parsing, comparison, messages, and that every op has a case."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.opcount import __main__ as command
from benchmarks.opcount import program
from benchmarks.opcount.callgrind import Count, creator, parse
from benchmarks.opcount.comparison import OTHER_TOOLCHAIN, TOLERANCE, compare
from benchmarks.opcount.page import against_one_by_one
from benchmarks.opcount.record import ARM_LEVELS, ARM_RECORD, LEVELS, ONE_BY_ONE, RECORD, Measured, Record

SAMPLE = Path(__file__).with_name("callgrind_sample.out").read_text(encoding="utf-8")
OPS = Path(__file__).resolve().parents[2] / "cpp" / "lowtide" / "ops.hpp"
TOOLS = {"compiler": "GNU 12.2.0", "C library": "glibc 2.36", "counter": "callgrind-3.19.0"}


def count(instructions: int = 1000, case: str = "norm", level: str = "avx2") -> Count:
    return Count(case, level, instructions, 100, "entry")


def measured(*counts: Count, tools: dict[str, str] = TOOLS) -> Measured:
    return Measured(tools, counts)


def both_levels(instructions: int = 1000) -> Measured:
    return measured(*(count(instructions, level=level) for level in LEVELS))


RECORDED = Record.of(both_levels())


def test_parse_reads_a_stored_output_of_callgrind():
    counts = parse(SAMPLE)
    assert counts == [
        Count("norm", "scalar", 41093, 4096, "entry"),
        Count("hadamard 4096, half kept", "avx2", 37894, 2048, "output"),
    ]
    assert counts[1].per_element == 37894 / 2048
    assert creator(SAMPLE) == "callgrind-3.19.0"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "got none"),
        ("# callgrind format\nversion: 1\n\npart: 1\nsummary: 5\n", "got none"),
        (SAMPLE.replace("|4096|entry", "|4096"), "case|level|elements|unit"),
        (SAMPLE.replace("summary: 41093\n", ""), "0 summaries"),
        (SAMPLE.replace("summary: 41093", "summary: "), "invalid literal"),
    ],
)
def test_parse_refuses_what_the_program_did_not_write(text: str, message: str):
    with pytest.raises(ValueError, match=re.escape(message)):
        parse(text)


def test_toolchain_joins_what_the_program_printed_and_the_counter():
    printed = "compiler: GNU 12.2.0\nnoise\ncount: a: b\nC library: glibc 2.36\n"
    assert program.toolchain(printed, creator(SAMPLE)) == TOOLS


@pytest.mark.parametrize(
    ("instructions", "verdict", "passed"),
    [(1000, "same", True), (1030, "same", True), (1031, "MORE", False), (970, "same", True), (969, "less", True)],
)
def test_compare_fails_only_above_the_tolerance(instructions: int, verdict: str, passed: bool):
    assert TOLERANCE == 0.03
    comparison = compare(both_levels(instructions), RECORDED)
    assert [row.verdict for row in comparison.rows] == [verdict, verdict]
    assert comparison.passed is passed


def test_remarks_say_what_failed_and_how_to_accept_it():
    comparison = compare(measured(count(1000), count(1100, level="scalar")), RECORDED)
    assert "1 of 2 counts are more than 3% above the record" in comparison.remarks()[-1]
    assert "make opcount RECORD=1" in comparison.remarks()[-1]
    assert "MORE" in comparison.table()
    assert "+10.0%" in comparison.table()


def test_remarks_say_how_to_keep_a_gain():
    remarks = compare(both_levels(500), RECORDED).remarks()
    assert remarks == [
        "2 counts are within 3% of the record or below. 2 are lower; to keep the gain: make opcount RECORD=1"
    ]


def test_compare_widens_the_tolerance_for_another_toolchain_and_says_so():
    assert OTHER_TOOLCHAIN == 1.0
    for instructions, passed in ((1999, True), (2001, False)):
        run = replace(both_levels(instructions), toolchain=TOOLS | {"compiler": "Clang 19.1.0"})
        comparison = compare(run, RECORDED)
        assert comparison.passed is passed
        assert "compiler: GNU 12.2.0 there, Clang 19.1.0 here" in comparison.remarks()[0]
        assert "not comparable" in comparison.remarks()[0]
        assert "over 2 times" in comparison.remarks()[0]


def test_compare_fails_on_a_case_that_is_not_recorded():
    comparison = compare(measured(*both_levels().counts, count(case="crc")), RECORDED)
    assert not comparison.passed
    assert comparison.rows[-1].verdict == "NOT RECORDED"
    assert "make opcount RECORD=1" in comparison.remarks()[-1]
    assert comparison.table().splitlines()[-1].split() == [
        "crc", "avx2", "1,000", "-", "-", "10", "per", "entry", "NOT", "RECORDED"
    ]  # fmt: skip


def test_compare_fails_on_a_recorded_case_that_is_gone():
    record = replace(RECORDED, instructions={**RECORDED.instructions, "old | avx2": 5})
    comparison = compare(both_levels(), record)
    assert not comparison.passed
    assert "no longer counted: old | avx2" in comparison.remarks()[0]


def test_a_level_that_the_processor_lacks_is_said_and_not_compared():
    comparison = compare(measured(count(level="scalar")), RECORDED)
    assert comparison.passed
    assert comparison.remarks()[0] == "Not counted, this processor does not have it: avx2."


def test_a_record_of_some_levels_is_refused():
    with pytest.raises(ValueError, match="got none at avx2"):
        Record.of(measured(count(level="scalar")))


def test_a_record_is_read_as_it_was_written(tmp_path: Path):
    RECORDED.write(tmp_path / "counts.json")
    assert Record.read(tmp_path / "counts.json") == RECORDED


def test_a_missing_record_names_the_command(tmp_path: Path):
    with pytest.raises(FileNotFoundError, match="make opcount RECORD=1"):
        Record.read(tmp_path / "counts.json")


@pytest.fixture
def run_with(monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Run the command on given counts, as if they had been measured."""

    def run(given: Measured, *arguments: str) -> int:
        monkeypatch.setattr(command, "build", lambda jobs: Path("unused"))
        monkeypatch.setattr(command, "measure", lambda path: given)
        return command.main(list(arguments))

    return run


def test_command_records_then_passes_then_fails(
    run_with: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    counts = str(tmp_path / "counts.json")
    assert run_with(both_levels(), "--counts", counts) == 2
    assert "Make one: make opcount RECORD=1" in capsys.readouterr().err
    assert run_with(both_levels(), "--counts", counts, "--record") == 0
    assert run_with(both_levels(), "--counts", counts) == 0
    assert run_with(both_levels(1100), "--counts", counts) == 1
    assert "FAILED: 2 of 2" in capsys.readouterr().out


def test_command_names_the_package_of_a_missing_valgrind(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert command.main([]) == 2
    assert "needs valgrind" in (message := capsys.readouterr().err)
    assert "apt install valgrind" in message


def test_command_says_which_tool_failed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    def fail(jobs: int) -> Path:
        raise subprocess.CalledProcessError(3, ("/usr/bin/cmake", "-S", "."))

    monkeypatch.setattr(command, "build", fail)
    assert command.main([]) == 2
    assert "cmake failed with exit code 3" in capsys.readouterr().err


def test_counts_of_the_emulator_are_paired_with_the_names_of_the_program():
    printed = "compiler: GNU 12.2.0\ncount: norm|scalar|4096|entry\ncount: norm|neon|4096|entry\n"
    assert program.pair(printed, "41091\n6495\n") == [
        Count("norm", "scalar", 41091, 4096, "entry"),
        Count("norm", "neon", 6495, 4096, "entry"),
    ]


@pytest.mark.parametrize(
    ("printed", "written", "message"),
    [
        ("", "", "0 names and 0 counts"),
        ("count: norm|neon|4096|entry\n", "1\n2\n", "1 names and 2 counts"),
        ("count: norm|neon|4096\n", "1\n", "case|level|elements|unit"),
    ],
)
def test_counts_that_do_not_fit_their_names_are_refused(printed: str, written: str, message: str):
    with pytest.raises(ValueError, match=re.escape(message)):
        program.pair(printed, written)


def test_the_page_compares_every_level_with_scalar_code_without_vectors():
    counts = [count(1000, "norm", ONE_BY_ONE), count(300, "norm", "scalar"), count(250, "norm", "neon")]
    more = [count(90, "crc", ONE_BY_ONE), count(80, "crc", "scalar"), count(30, "crc", "neon")]
    text = against_one_by_one(Measured(TOOLS, [*counts, *more, count(10, "crc", "i8mm")], ARM_LEVELS))
    assert "| norm | entry | 10 | 3 | 2.5 |  |  | 4.0 |" in text
    assert "| crc | entry | 0.9 | 0.8 | 0.3 |  | 0.1 | 9.0 |" in text
    assert "2 of 2 cases take at least 4 times fewer" in text
    assert "The others" not in text


def test_the_page_says_why_a_case_saves_less_or_refuses_it():
    def page(case: str) -> str:
        counts = [count(300, case, ONE_BY_ONE), count(200, case, "scalar"), count(100, case, "neon")]
        return against_one_by_one(Measured(TOOLS, counts, ARM_LEVELS))

    assert "0 of 1 cases" in page("row_tile 2 bits")
    assert "- `row_tile 2 bits` (3.00): words are copied" in page("row_tile 2 bits")
    with pytest.raises(ValueError, match=re.escape("got none for norm (3.0)")):
        page("norm")


def test_a_page_without_counts_for_arm_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    with pytest.raises(SystemExit):
        command.main(["--page", str(tmp_path / "page.md")])
    assert "Add --arm" in capsys.readouterr().err


def test_every_op_of_the_table_is_counted_at_every_level():
    table = re.search(r"struct Ops \{(.*?)\};", OPS.read_text(encoding="utf-8"), re.DOTALL)
    assert table is not None
    ops = re.findall(r"(\w+);", table[1])
    assert "hadamard" in ops
    recorded = [*Record.read(RECORD).instructions, *Record.read(ARM_RECORD).instructions]
    counted = {tuple(key.split(" | ")) for key in recorded}
    first_words = {(re.split(r"[ .]", case)[0], level) for case, level in counted}
    missing = [f"{op} at {level}" for op in ops for level in (*LEVELS, "neon") if (op, level) not in first_words]
    assert not missing, "add a case in benchmarks/opcount/cpp, then make opcount RECORD=1"
