from pathlib import Path

import numpy as np
import pytest
from benchmarks.datasets import FOLDER_VARIABLE
from benchmarks.probabilities import compare, main, price_of_predictions


def bent(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 2))
    return X, (rng.uniform(size=n) < 1.0 / (1.0 + np.exp(4.0 - 4.0 * np.abs(X[:, 0])))).astype(int)


def test_compare_measures_the_same_test_rows_for_all() -> None:
    X, y = bent(900)
    found = compare(X, y, 600, 0, n_components=128)
    assert found.price >= 1.0
    assert 0.0 < found.own < np.log(2.0)
    # 300 rows: a log loss of about a half is known to a tenth.
    assert found.own == pytest.approx(found.sigmoid, rel=0.2)
    assert found.mean == pytest.approx(found.rate, abs=4.0 * np.sqrt(0.25 / 300))


def test_price_is_one_where_the_border_is_right_and_more_where_it_is_not() -> None:
    scores, rng = np.linspace(-1.0, 1.0, 2001), np.random.default_rng(0)
    right = rng.uniform(size=2001) < 1.0 / (1.0 + np.exp(-4.0 * scores))
    wrong = rng.uniform(size=2001) < 1.0 / (1.0 + np.exp(-4.0 * (scores + 0.5)))
    # The border is where half the labels are positive, up to the blocks that isotonic probabilities come in.
    assert 1.0 <= price_of_predictions(scores, right) < 1.01
    assert price_of_predictions(scores, wrong) > 1.02


def test_command_prints_a_line_for_each_case(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    X, y = bent(300)
    np.savez(tmp_path / "tiny.npz", X=X, y=y)
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    main(["--data", "tiny", "--losses", "squared", "--components", "32", "64", "--splits", "1"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    assert lines[2].startswith("| tiny | squared | 32 |")
