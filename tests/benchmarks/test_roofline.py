import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from benchmarks.roofline import page, probes
from benchmarks.roofline.__main__ import main
from benchmarks.roofline.counts import Counts
from benchmarks.roofline.figures import COLORS, FRACTIONS, GROWTH
from benchmarks.roofline.growth import Curve
from benchmarks.roofline.op import Op, Outcome, together

from lowtide import _core

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guide"
needs_probes = pytest.mark.skipif(
    probes.compiler() is None or _core.isa() not in probes.FLAGS, reason="needs a C++ compiler and AVX2 or AVX-512"
)


def counts_at(isa: str) -> Counts:
    return Counts(isa, *Counts.LEVELS[isa])


def make_op(**work: float) -> Op:
    return Op("op", "1 x 1", "an entry", "words", 1.0, 100.0, 50.0, work, lambda: None)


def additions_one_by_one(dim: int, keep: int) -> int:
    """Walk through the stages of three rounds and count the sums and differences that are made."""
    count, strides = 0, [dim >> i for i in range(1, dim.bit_length())]
    for _ in range(2):
        count += sum(dim for stride in strides if stride > 1)
    count += dim  # a sum or a difference of two products each
    for stride in strides:
        count += stride if stride >= keep else keep
    return count


@pytest.mark.parametrize(("dim", "keep"), [(64, 64), (1024, 1024), (1024, 512), (4096, 256), (64, 1)])
def test_hadamard_additions_are_those_of_its_stages(dim: int, keep: int) -> None:
    assert counts_at("avx512").hadamard(dim, keep)["additions"] == additions_one_by_one(dim, keep)


def test_hadamard_block_used_in_part_rounds_up_to_a_power_of_two() -> None:
    counts = counts_at("avx2")
    assert counts.hadamard(1024, 300) == counts.hadamard(1024, 512)
    assert counts.hadamard(1024, 2048) == together(counts.hadamard(1024, 1024), times=2)


@pytest.mark.parametrize(("isa", "shuffles"), [("avx2", 8), ("avx512", 11)])
def test_hadamard_instructions_are_additions_shuffles_and_products(isa: str, shuffles: int) -> None:
    counts = counts_at(isa)
    expected = 1024 / counts.lanes * (3 * math.log2(1024) - 1 + shuffles + 3)
    assert counts.hadamard(1024, 1024)["vector"] == expected


@pytest.mark.parametrize("isa", ["avx2", "avx512", "vbmi", "amx"])
def test_work_names_only_limits_that_are_measured(isa: str) -> None:
    counts = counts_at(isa)
    works = [
        counts.hadamard(64, 64),
        counts.common_ones(8),
        counts.gram_trits(8),
        counts.gram_levels(8),
        counts.look_ups(8, 1),
        counts.look_ups(8, 10),
        counts.transposed_bits(8),
        counts.scanned(8, 2),
    ]
    names = {name for work in works for name in work}
    assert names <= set(COLORS)
    assert names <= {"additions", "vector", "popcount", "L1", "sgemm", "tiles"}
    assert all(amount > 0 for work in works for amount in work.values())


def test_outcome_is_bound_by_what_asks_for_most_time() -> None:
    rates = {"read": 100.0, "fresh": 10.0, "write": 25.0, "vector": 2.0, "sgemm": 1000.0}
    in_memory = Outcome(make_op(vector=4.0), 12.0, rates)
    assert (in_memory.binds, in_memory.fraction, in_memory.amount) == ("memory", 6.0 / 12.0, 150.0)
    in_ports = Outcome(make_op(vector=16.0, sgemm=1.0), 16.0, rates)
    assert (in_ports.binds, in_ports.fraction, in_ports.amount) == ("vector", 8.0 / 16.0, 16.0)
    in_kept_pages = Outcome(replace(make_op(vector=4.0), pages="write"), 12.0, rates)
    assert (in_kept_pages.binds, in_kept_pages.fraction) == ("memory", 3.0 / 12.0)


def test_curve_finds_powers_and_logarithms() -> None:
    sizes = (64, 128, 256, 512)
    square = Curve("call", "m", "", sizes, tuple(3e-9 * size**2 for size in sizes))
    assert square.exponent == pytest.approx(2.0)
    assert square.last_exponent == pytest.approx(2.0)
    logarithm = Curve("call", "d", "", sizes, tuple(0.5 + 0.25 * math.log2(size) for size in sizes))
    assert logarithm.per_doubling == pytest.approx((0.5, 0.25))


def test_page_is_rewritten_between_its_markers_only(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text(f"# Title\n\n{page.BEGIN}\nold\n{page.END}\nafter\n")
    page.put_into_page(path, "new\n")
    once = path.read_text()
    assert once == f"# Title\n\n{page.BEGIN}\n\nnew\n\n{page.END}\nafter\n"
    page.put_into_page(path, "new\n")
    assert path.read_text() == once


@pytest.mark.parametrize("text", ["", page.BEGIN, f"{page.END}\n{page.BEGIN}", f"{page.BEGIN}{page.BEGIN}{page.END}"])
def test_page_without_its_markers_is_refused_and_kept(tmp_path: Path, text: str) -> None:
    path = tmp_path / "page.md"
    path.write_text(text)
    with pytest.raises(ValueError, match="measured: begin"):
        page.put_into_page(path, "new")
    assert path.read_text() == text


def test_guide_page_shows_a_full_run_and_its_plots() -> None:
    text = (GUIDE / "roofline.md").read_text(encoding="utf-8")
    measured = text[text.index(page.BEGIN) : text.index(page.END)]
    assert "--page docs/guide/roofline.md" in measured
    assert all(f"]({name})" in measured and (GUIDE / name).is_file() for name in (FRACTIONS, GROWTH))


@needs_probes
def test_probes_do_the_work_that_they_are_timed_for() -> None:
    words = np.arange(1024, dtype=np.uint64)
    lanes = probes.library().vector_bytes() // 8
    assert probes.library().ones(words.ctypes.data, len(words), 3) == 3 * np.bitwise_count(words).sum()
    # The sum of one lane of eight accumulators is the sum of every `lanes`-th word.
    aligned = np.zeros(1024 + 8, np.uint64)
    aligned = aligned[-aligned.ctypes.data % 64 // 8 :][:1024]
    aligned[:] = words
    assert probes.library().read_bytes(aligned.ctypes.data, 8 * 1024, 2) == 2 * words[::lanes].sum()
    assert probes.library().instructions(7) == 12 * 7
    assert probes.library().tile_products(3) == (4 * 64 * 3 if _core.isa() == "amx" else 0)
    assert probes.library().additions(5) == pytest.approx(12 * 5e-9, rel=1e-5)


@pytest.mark.parametrize(
    ("target", "value", "words"),
    [
        ("lowtide._core.isa", "scalar", "avx2, avx512, vbmi and amx"),
        ("benchmarks.roofline.probes.compiler", None, "CXX"),
    ],
)
def test_probes_say_what_they_need(monkeypatch: pytest.MonkeyPatch, target: str, value: str | None, words: str) -> None:
    monkeypatch.setattr("lowtide._core.isa", lambda: "avx2")
    monkeypatch.setattr(target, lambda: value)
    with pytest.raises(RuntimeError, match=words):
        probes.library.__wrapped__()


@needs_probes
def test_quick_run_writes_tables_plots_and_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["--quick", "--out", str(tmp_path)])
    record = json.loads((tmp_path / "roofline.json").read_text())
    text = (tmp_path / "roofline.md").read_text()
    assert capsys.readouterr().out == text
    assert {"read", "copy", "sgemm", "popcount"} <= set(record["limits"])
    assert all(limit["rate"] > 0 for limit in record["limits"].values())
    for op in record["ops"]:
        assert op["binds"] in op["least_seconds"]
        assert op["fraction"] == pytest.approx(max(op["least_seconds"].values()) / op["seconds"])
        assert f"| {op['name']} | {op['size']} |" in text
    assert {(curve["call"], curve["variable"]) for curve in record["curves"]} >= {
        (call, variable) for call in ("encode", "gram", "fit") for variable in ("n", "m")
    }
    assert all((tmp_path / name).read_text().rstrip().endswith("</svg>") for name in (FRACTIONS, GROWTH))


@pytest.mark.parametrize("options", [["--quick"], ["--rounds", "0"]])
def test_runs_that_mean_nothing_do_not_go_into_a_page(tmp_path: Path, options: list[str]) -> None:
    with pytest.raises(SystemExit):
        main([*options, "--page", str(tmp_path / "page.md")])
    assert not list(tmp_path.iterdir())
