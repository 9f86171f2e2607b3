"""The table of solvers says what was asked for, and the memory of its last row."""

from benchmarks.forms import Fit, markdown


def test_rows_are_told_apart_by_who_chose_the_solver():
    fits = [
        Fit(3_000, 2_048, "auto", "primal", 0.1234, 0, 0.9, 768_000),
        Fit(60_000, 65_536, "iterative", "iterative", 12.3, 28, 0.972, 491_520_000),
    ]
    text = markdown(fits, 1_347_000_000)
    assert "| 3,000 | 2,048 | primal | 0.12 |  | 90.0% |" in text
    assert "| 60,000 | 65,536 | iterative, asked for | 12 | 28 | 97.2% |" in text
    assert "the codes took 492 MB, and the whole process took 1.3 GB" in text
