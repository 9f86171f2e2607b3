import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from benchmarks.datasets import FOLDER_VARIABLE
from benchmarks.value import advice, others, ours, page, study
from benchmarks.value.__main__ import main
from benchmarks.value.comparison import Cell, Score, measure, summarize, table, table_of_methods
from benchmarks.value.method import Answer, Method, Split, split_of
from benchmarks.value.quantization import fit_product, fit_rotation, fit_uniform

import lowtide as lt


@pytest.fixture(scope="module")
def split() -> Split:
    """Four blobs in 20 columns."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 500)
    return split_of(2.0 * rng.standard_normal((4, 20))[y] + rng.standard_normal((500, 20)), y, 300, 200, 0)


def score(name: str, side: str, accuracy: list[float], model_bytes: float = 100.0) -> Score:
    return Score(name, side, np.array(accuracy), 8.0, model_bytes)


def test_split_standardizes_by_its_training_rows_alone() -> None:
    X, y = 5.0 + 3.0 * np.random.default_rng(0).standard_normal((60, 2)), np.arange(60)
    made = split_of(X, y, 40, 15, 1)
    np.testing.assert_allclose(made.rows.mean(axis=0), 0.0, atol=1e-6)
    np.testing.assert_allclose(made.rows.std(axis=0), 1.0, rtol=1e-5)
    expected = (X[made.truth] - X[made.labels].mean(axis=0)) / X[made.labels].std(axis=0)
    np.testing.assert_allclose(made.others, expected, rtol=1e-4, atol=1e-6)
    assert not set(made.labels) & set(made.truth)
    np.testing.assert_allclose(split_of(X, y, 40, 15, 1, standardize=False).rows, X[made.labels], rtol=1e-6)


@pytest.mark.parametrize("method", [*ours.METHODS, *others.METHODS], ids=lambda method: f"{method.side}: {method.name}")
def test_method_keeps_its_bytes_and_learns_from_them(method: Method, split: Split) -> None:
    if not method.is_there:
        pytest.skip(f"{method.needs} is not installed")
    answer = method.answer(split, 24)
    assert answer is not None
    assert 0.0 < answer.item_bytes <= 24.0
    assert answer.model_bytes > 0
    # A quarter by chance, with a standard error of 3 in 100.
    assert np.mean(answer.predictions == split.truth) > 0.6


@pytest.mark.parametrize("method", [ours.METHODS[-1], others.METHODS[0]], ids=lambda method: method.side)
def test_rows_in_int8_have_no_form_below_a_byte_a_column(method: Method, split: Split) -> None:
    assert method.answer(split, 16) is None


def test_our_machine_on_a_peers_code_is_counted_for_nobody(split: Split) -> None:
    names = {method.name for method in others.MIXED}
    assert "PCA + int8, lowtide's machine" in names
    (method,) = (method for method in others.MIXED if method.name.startswith("rows in int8"))
    own = ours.METHODS[-1].answer(split, 24)
    mixed = method.answer(split, 24)
    assert own is not None
    assert mixed is not None
    np.testing.assert_array_equal(mixed.predictions, own.predictions)
    assert method.side == "mixed"


def test_uniform_steps_are_off_by_half_a_step_at_most() -> None:
    Z = np.random.default_rng(0).standard_normal((50, 3))
    Z[:, 1] = 7.0
    steps = fit_uniform(Z, 4)
    half = np.ptp(Z, axis=0) / 32.0
    half[1] = 1.0 / 32.0
    assert np.all(np.abs(steps(Z) - Z) <= half * (1.0 + 1e-12))
    assert all(len(np.unique(column)) <= 16 for column in steps(Z).T)
    # Values beyond the range take the last cell.
    np.testing.assert_allclose(
        steps(Z.max(axis=0) + 100.0), Z.max(axis=0) - np.array([half[0], -31 * half[1], half[2]])
    )


def test_product_quantizer_has_a_byte_a_word() -> None:
    pytest.importorskip("faiss")
    Z = np.random.default_rng(0).standard_normal((600, 4))
    decoded, n_bytes = fit_product(Z, 2, 0)
    found = decoded(Z)
    assert all(len(np.unique(found[:, part], axis=0)) <= 256 for part in (slice(0, 2), slice(2, 4)))
    assert n_bytes == 4 * 256 * 4
    # 256 words in the plane, near enough: far below the variance of 1.
    assert np.mean((found - Z) ** 2) < 0.05


def test_rotation_is_one_and_brings_rows_nearer_to_their_signs() -> None:
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    Z = np.sign(rng.standard_normal((200, 4))) @ turn.T
    rotation = fit_rotation(Z, 0)
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(4), atol=1e-12)

    def distance(R: np.ndarray) -> float:
        return float(np.mean((np.sign(Z @ R) - Z @ R) ** 2))

    assert distance(rotation) < distance(np.eye(4))


def test_cell_sets_the_best_of_each_side_against_each_other() -> None:
    cell = Cell(
        "made up",
        16,
        (
            score("small", "lowtide", [0.7, 0.8], 50.0),
            score("large", "lowtide", [0.9, 0.9], 500.0),
            score("tall", "peer", [0.8, 0.9], 400.0),
            score("tiny", "peer", [0.7, 0.9], 40.0),
            score("both", "mixed", [1.0, 1.0], 10.0),
        ),
    )
    free, capped = cell.contest(), cell.contest(cell.cap)
    assert cell.cap == 50.0
    assert (free.ours.name, capped.ours.name) == ("large", "small")
    assert free.theirs is not None
    assert capped.theirs is not None
    assert (free.theirs.name, capped.theirs.name) == ("tall", "tiny")
    assert free.difference == pytest.approx(5.0)
    # Differences of 10 and 0 points: deviation 10 / sqrt 2, over sqrt 2.
    assert free.error == pytest.approx(5.0)
    assert free.is_won
    assert not capped.is_won
    assert "| LOST |" in table([cell], is_capped=True)
    assert "LOST" not in table([cell], is_capped=False)
    assert summarize([cell], is_capped=False) == ("lowtide is at or above the best peer in 1 of 1 cells.", True)
    text, is_ahead = summarize([cell], is_capped=True)
    assert text == "lowtide is at or above the best peer in 0 of 1 cells. Lost: made up 16 (-5.00)."
    assert not is_ahead
    assert "| mixed | both | 100.00 (0 KiB) |" in table_of_methods([cell])
    with pytest.raises(ValueError, match="must be at least 50, got 49"):
        cell.contest(49.0)


def test_cell_without_a_peer_that_fits_is_nobodys() -> None:
    cell = Cell("made up", 8, (score("own", "lowtide", [0.9], 50.0), score("theirs", "peer", [0.5], 51.0)))
    assert not cell.contest(cell.cap).is_won
    assert "| none fits |" in table([cell], is_capped=True)
    text, is_ahead = summarize([cell, cell], is_capped=True)
    assert text == "lowtide is at or above the best peer in 0 of 0 cells. In 2 more no peer is as small."
    assert is_ahead


def test_error_is_unknown_of_one_split() -> None:
    cell = Cell("made up", 8, (score("own", "lowtide", [0.9]), score("theirs", "peer", [0.5])))
    assert np.isnan(cell.contest().error)


def constant(item_bytes: float) -> Callable[[Split, int], Answer | None]:
    def answer(split: Split, n_bytes: int) -> Answer | None:
        return Answer(np.zeros_like(split.truth), item_bytes, 10) if n_bytes >= item_bytes else None

    return answer


def test_measure_leaves_out_what_has_no_such_form_and_refuses_what_is_larger(split: Split) -> None:
    methods = [Method("fits", "lowtide", constant(8.0)), Method("does not", "peer", constant(16.0))]
    cell = measure("blobs", [split, split], 8, methods)
    assert [found.name for found in cell.scores] == ["fits"]
    np.testing.assert_allclose(cell.scores[0].accuracy, np.mean(split.truth == 0))

    def liar(split: Split, n_bytes: int) -> Answer | None:
        return Answer(split.truth, n_bytes + 1.0, 1)

    with pytest.raises(AssertionError, match="liar must keep at most 8 bytes of a row"):
        measure("blobs", [split], 8, [Method("liar", "peer", liar)])


def test_command_prints_both_tables_and_exits_with_the_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "value.md"
    code = main(["--smoke", "--out", str(out)])
    text = capsys.readouterr().out
    assert text == out.read_text()
    assert text.count("| digits | 16 |") == 2
    assert "| lowtide | random, 1 bit |" in text
    assert "lowtide's machine" not in text
    counts = [line for line in text.splitlines() if line.startswith("lowtide is at or above")]
    assert len(counts) == 2
    assert code == int(any(" 0 of 1 " in line for line in counts))


def test_short_form_counts_cells_of_the_data_in_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(0).standard_normal((90, 9))
    for name in study.SHORT.datasets:
        np.savez(tmp_path / f"{name}.npz", X=X, y=(X[:, 0] * X[:, 1] > 0).astype(int))
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    methods = [method for method in study.METHODS if method.name in ("random, 1 bit", "PCA + int8, SVC")]
    monkeypatch.setattr(study, "METHODS", methods)
    text, is_ahead = study.short()
    count = re.match(r"lowtide is at or above the best peer in (\d) of 4 cells\.", text)
    assert count is not None
    assert is_ahead is (int(count[1]) > 2)


def test_command_refuses_bytes_that_no_row_of_codes_has(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--bytes", "12"])
    assert "--bytes must be multiples of 8, as rows of codes are, got 12" in capsys.readouterr().err


def test_table_of_advice_has_a_line_a_code_and_the_rows_once() -> None:
    X, y = np.random.default_rng(0).standard_normal((80, 4)), np.arange(80) % 2
    lines = advice.lines_of("noise", 4, lt.advise(X, y, bytes=(8, 16)), (8, 16))
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert [row[1] for row in cells] == ["random", "sketch", "ternary", "learned"]
    assert [row[0] for row in cells] == ["noise, 4 columns", "", "", ""]
    assert all(re.fullmatch(r"\.\d{3}", cell) for row in cells for cell in row[2:4] if cell)
    assert [bool(row[4]) for row in cells] == [True, False, False, False]


def test_cells_are_kept_and_not_measured_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own, theirs = score("learned", "lowtide", [0.9], 2048.0), score("PCA + int8, SVC", "peer", [0.8], 1024.0)
    cell, how = Cell("digits", 16, (own, theirs)), (study.SMOKE.rows, study.SMOKE.test, study.SMOKE.splits)
    file = tmp_path / "cells.jsonl"
    page.keep(file, how, cell)
    page.keep(file, (1, 1, 1), Cell("digits", 16, (own,)))
    found = page.kept(file, how)
    assert list(found) == [("digits", 16)]
    assert found["digits", 16].contest().difference == pytest.approx(10.0)
    monkeypatch.setattr(study, "measure", None)
    guide = tmp_path / "value.md"
    guide.write_text("# Page\n\n<!-- measured: begin -->\nold\n<!-- measured: end -->\n")
    main(["--smoke", "--cells", str(file), "--page", str(guide)])
    text = guide.read_text()
    assert "old" not in text
    assert "is at or above the best peer in 1 of 1 cells." in text
    assert "| digits | 16 | learned | 90.00 | PCA + int8, SVC | 80.00 | +10.00 |" in text
    assert "| digits | 16 | 2.0 KiB | learned | 90.00 | PCA + int8, SVC | 80.00 | +10.00 |" in text
    assert page.kept(file, how).keys() == found.keys()


def test_page_names_the_cells_that_are_lost() -> None:
    own, theirs = score("own", "lowtide", [0.7]), score("theirs", "peer", [0.8])
    text = page.markdown([Cell("mnist", 8, (own, theirs)), Cell("mnist", 16, (own,))], "command")
    assert "0 of 1 cells where one fits" not in text
    assert text.count("It loses MNIST at 8 bytes (-10.00).") == 2
    assert "Of the 1 cells where one fits" in text
    assert "|  | 16 | 0.1 KiB | own | 70.00 | none fits |  |  |" in text
