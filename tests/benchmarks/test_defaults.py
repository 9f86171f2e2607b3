import numpy as np
import pytest
from benchmarks.defaults import Cell, compare, main, summarize
from sklearn.svm import SVC

import lowtide as lt


def cell(points: list[float], allowed: float = 0.5) -> Cell:
    """A cell whose splits gain so many points over a peer at 0.8, and ten more over another."""
    peer = np.full(len(points), 0.8)
    return Cell("made up", peer + np.array(points) / 100.0, {"a": peer, "b": peer - 0.1}, 1.0, 2.0, allowed)


@pytest.mark.parametrize(
    ("points", "allowed", "is_met"),
    [
        ([0.0, 0.0], 0.5, True),
        ([-0.49, -0.49], 0.5, True),
        ([-0.51, -0.51], 0.5, False),
        ([-0.01, -0.01], 0.0, False),
        # A mean of -1 with an error of 1.
        ([0.0, -2.0], 0.5, True),
    ],
)
def test_cell_is_met_within_what_is_allowed_or_one_standard_error(points, allowed, is_met):
    assert cell(points, allowed).is_met is is_met
    gain, _ = cell(points, allowed).differences["a"]
    assert gain == pytest.approx(np.mean(points), abs=1e-9)
    assert ("| yes |" if is_met else "| NO |") in str(cell(points, allowed))


def test_all_cells_must_be_met_and_the_mean_above_zero():
    assert summarize([cell([1.0, 1.0]), cell([-0.4, -0.4])])[1]
    assert not summarize([cell([0.1, 0.1]), cell([-0.4, -0.4])])[1]
    assert not summarize([cell([5.0, 5.0]), cell([-0.6, -0.6])])[1]


def test_both_sides_have_the_same_rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 3)) * [1.0, 100.0, 1.0]
    found = compare(
        "made up",
        X,
        X[:, 0] > 0,
        lambda seed: lt.KernelClassifier(n_components=64, metric=None, random_state=seed),
        {"SVC": SVC},
        0.5,
        n_splits=2,
    )
    # Standardized, the first column tells the class; as it is, the second hides it. Chance is 0.5, its error 0.06.
    assert found.ours.shape == found.peers["SVC"].shape == (2,)
    assert min(found.ours.min(), found.peers["SVC"].min()) > 0.75
    assert "n_components 64" in found.chosen


def test_command_prints_a_table_and_says_whether_it_holds(capsys):
    code = main(["--datasets", "wine", "--splits", "2"])
    printed = capsys.readouterr().out
    assert "| wine |" in printed
    assert ("Holds." in printed) is (code == 0)
