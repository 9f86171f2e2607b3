from pathlib import Path

import numpy as np
import pytest
from benchmarks.datasets import FOLDER_VARIABLE, load


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    return tmp_path


def test_load_reads_an_archive_without_a_split(folder: Path) -> None:
    X, y = np.arange(6.0).reshape(3, 2), np.array([0, 1, 0])
    np.savez(folder / "tiny.npz", X=X, y=y, row=np.arange(3))
    data = load("tiny")
    assert data.n_train is None
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.y, y)
    np.testing.assert_array_equal(data.extra["row"], np.arange(3))
    with pytest.raises(ValueError, match="official split"):
        data.split()


def test_load_puts_training_rows_first_and_splits_them_again(folder: Path) -> None:
    parts = {"X_train": np.zeros((3, 2)), "y_train": np.zeros(3), "X_test": np.ones((2, 2)), "y_test": np.ones(2)}
    np.savez(folder / "tiny.npz", **parts)
    X_train, X_test, y_train, y_test = load("tiny").split()
    np.testing.assert_array_equal(X_train, parts["X_train"])
    np.testing.assert_array_equal(X_test, parts["X_test"])
    np.testing.assert_array_equal(y_train, parts["y_train"])
    np.testing.assert_array_equal(y_test, parts["y_test"])


def test_load_names_the_variable_when_the_archive_is_missing(folder: Path) -> None:
    with pytest.raises(FileNotFoundError, match=FOLDER_VARIABLE):
        load("backdoor")


def test_load_names_the_variable_when_openml_does_not_answer(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **options: object) -> None:
        raise OSError("no network")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", refuse)
    with pytest.raises(FileNotFoundError, match=FOLDER_VARIABLE):
        load("mnist")


@pytest.mark.parametrize(("labels", "expected"), [(["b", "g", "b"], [0, 1, 0]), (["3", "12", "3"], [3, 12, 3])])
def test_load_turns_openml_labels_into_integers(
    folder: Path, monkeypatch: pytest.MonkeyPatch, labels: list[str], expected: list[int]
) -> None:
    class Bunch:
        data = np.zeros((3, 2))
        target = np.array(labels, dtype=object)

    monkeypatch.setattr("sklearn.datasets.fetch_openml", lambda *args, **options: Bunch())
    np.testing.assert_array_equal(load("ionosphere").y, expected)
