import dataclasses

import numpy as np
import pytest

from lowtide.cli.showcase.reading import notes, reading


def with_correct(comparison, exact, one_bit):
    """Return the comparison with these numbers of right rows among the first of the test set."""
    n_test = comparison.n_test
    first = {True: np.arange(n_test) < exact, False: np.arange(n_test) < one_bit}
    changed = dataclasses.replace(comparison.one_bit, correct=first[False].astype(float))
    outcomes = tuple(changed if o is comparison.one_bit else o for o in comparison.outcomes)
    machine = dataclasses.replace(comparison.exact, correct=first[True].astype(float))
    return dataclasses.replace(comparison, exact=machine, outcomes=outcomes)


def test_reading_is_two_sentences_with_the_numbers_of_the_run(comparison):
    accuracy, error = reading(comparison)
    assert f"{100 * comparison.one_bit.accuracy:.1f}%" in accuracy
    assert f"{100 * comparison.exact.accuracy:.1f}%" in accuracy
    assert f"{100 * comparison.same_bytes[0].accuracy:.1f}%" in accuracy
    assert "32 bytes an item" in accuracy
    found = comparison.one_bit.kernel_error
    assert f"{found.measured:.4f}" in error
    assert f"{found.predicted:.4f}" in error


@pytest.mark.parametrize(
    ("exact", "one_bit", "verdict"),
    [
        (590, 588, "too close for 599 rows to tell apart"),  # 2 rows: 0.33 points, standard error 0.24
        (590, 530, "10.0 points more"),
        (530, 590, "10.0 points less"),
        (599, 599, "too close"),
    ],
)
def test_reading_calls_a_difference_only_what_the_rows_can_tell(comparison, exact, one_bit, verdict):
    assert verdict in reading(with_correct(comparison, exact, one_bit))[0]


@pytest.mark.parametrize(("factor", "words"), [(0.5, "fit 2.0 times slower"), (4.0, "fit 4.0 times faster")])
def test_notes_say_who_was_faster(comparison, factor, words):
    machine = dataclasses.replace(comparison.exact, fit_seconds=factor * comparison.one_bit.fit_seconds)
    assert words in notes(dataclasses.replace(comparison, exact=machine))[0]


@pytest.mark.parametrize(("n_bytes", "words"), [(16.0, "smaller than"), (32.0, "as large as"), (256.0, "larger than")])
def test_notes_compare_a_raw_row_with_its_code(comparison, n_bytes, words):
    machine = dataclasses.replace(comparison.exact, bytes_per_item=n_bytes)
    assert words in notes(dataclasses.replace(comparison, exact=machine))[1]
