from pathlib import Path

import numpy as np
import pytest
from benchmarks.datasets import FOLDER_VARIABLE
from benchmarks.strength import Cell, compare, main, report, summarize

import lowtide as lt


def cell(points: list[float]) -> Cell:
    """A cell whose splits gain so many points over 0.8."""
    fixed = np.full(len(points), 0.8)
    return Cell("made up", 1000, 256, fixed, fixed + np.array(points) / 100.0, np.ones(len(points)))


@pytest.mark.parametrize(
    ("points", "is_met"),
    [
        ([0.0, 0.0, 0.0], True),
        ([-0.19, -0.19, -0.19], True),
        ([-0.21, -0.21, -0.21], False),
        # A mean of -0.4 with an error of 0.42, and the same mean with one of 0.02.
        ([0.5, -1.3, -0.5, -1.3, 0.6], True),
        ([-0.4, -0.45, -0.35, -0.4, -0.4], False),
        ([-0.3], False),
    ],
)
def test_cell_is_met_within_a_fifth_of_a_point_or_one_standard_error(points: list[float], is_met: bool) -> None:
    assert cell(points).is_met is is_met
    assert cell(points).difference == pytest.approx(np.mean(points), abs=1e-12)
    assert report(cell(points)).endswith("| yes |" if is_met else "| NO |")


def test_error_is_that_of_the_paired_difference() -> None:
    # Accuracies differ much between splits, differences do not.
    fixed = np.array([0.5, 0.7, 0.9])
    found = Cell("made up", 1000, 256, fixed, fixed + 0.01, np.ones(3))
    assert found.error == pytest.approx(0.0, abs=1e-12)
    assert cell([1.0, 2.0, 3.0]).error == pytest.approx(1.0 / np.sqrt(3.0), rel=1e-9)


def test_summary_holds_when_all_cells_are_met_and_the_mean_is_above_zero() -> None:
    good, equal, slightly_worse, bad = (cell([points] * 3) for points in (2.0, 0.0, -0.1, -0.5))
    assert summarize([good, slightly_worse])[1]
    assert not summarize([equal])[1]
    assert not summarize([slightly_worse, equal])[1]
    text, holds = summarize([good, bad])
    assert not holds
    assert text.startswith("1 of 2 cells met")


def bent(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 3))
    return X, (np.abs(X[:, 0]) + 0.3 * rng.standard_normal(n) > 0.7).astype(int)


def test_compare_fits_both_on_the_same_standardized_rows() -> None:
    X, y = bent(400)
    X[:, 1] = 50.0 + 9.0 * X[:, 1]
    found = compare("bent", X, y, 300, 100, 2, 32)
    order = np.random.default_rng(1).permutation(400)
    train, test = order[:300], order[300:]
    rows = ((X - X[train].mean(axis=0)) / X[train].std(axis=0)).astype(np.float32)
    for C, accuracy in ((1.0, found.fixed[1]), (found.chosen[1], found.auto[1])):
        model = lt.KernelClassifier(gamma="scale", n_components=32, metric=None, loss="squared", C=C, random_state=1)
        model.fit(rows[train], y[train])
        # One of the 100 test rows may change sides: standardized values differ in the last digit of float32.
        assert model.score(rows[test], y[test]) == pytest.approx(accuracy, abs=0.011)


def test_command_exits_with_the_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    X, y = bent(400)
    np.savez(tmp_path / "tiny.npz", X=X, y=y)
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    code = main(["--datasets", "tiny", "--rows", "200", "9999", "--components", "16", "--splits", "2", "--test", "200"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    assert lines[2].startswith("| tiny | 200 | 16 |")
    assert code == (0 if lines[3].endswith(" Holds.") else 1)
