import dataclasses

import numpy as np
import pytest

from lowtide.reports import words


def with_losses(report, trial, losses):
    """Return a report in which one trial has other losses."""
    changed = dataclasses.replace(trial, losses=losses, score=1.0 - float(losses.mean()))
    return dataclasses.replace(report, trials=tuple(changed if each is trial else each for each in report.trials))


def plain(report):
    """Return a report in which every trial is equally good, so that nothing is better than the model."""
    own = report.own_trial.losses
    trials = tuple(dataclasses.replace(each, losses=own, score=1.0 - float(own.mean())) for each in report.trials)
    return dataclasses.replace(report, trials=trials)


def test_reading_names_score_bytes_and_which_rows(classes):
    first, second, third = words.reading(classes)
    assert "3 classes" in first
    assert f"{100 * classes.score:.1f}% of the rows right" in second
    assert "60 rows held out, when it is fitted anew on the other 180" in second
    assert "16 bytes" in third
    assert "larger than its row of 12 bytes" in third


def test_reading_of_numbers_has_the_error_in_their_unit(numbers):
    _, second, _ = words.reading(numbers)
    assert f"R² = {numbers.score:.3f}" in second
    assert "(root mean square)" in second


def test_a_larger_code_is_held_against_the_model(classes):
    text = next(text for text in words.against(classes) if "is larger than your row" in text)
    assert text.startswith("A code of 16 bytes is larger than your row of 12 bytes")
    smaller = dataclasses.replace(classes, row_bytes=100)
    assert not any("is larger than your row" in text for text in words.against(smaller))


@pytest.mark.parametrize(("n_better", "is_said"), [(0, False), (1, False), (20, True)])
def test_a_baseline_is_called_better_only_when_the_rows_can_tell(classes, n_better, is_said):
    wrong = (np.arange(60) < 30).astype(float)
    report = with_losses(plain(classes), plain(classes).own_trial, wrong)
    own = dataclasses.replace(classes.own_trial, losses=wrong, score=0.5)
    exact = dataclasses.replace(classes.exact, losses=(np.arange(60) < 30 - n_better).astype(float))
    report = dataclasses.replace(classes, trials=(own, exact, dataclasses.replace(classes.constant, losses=wrong)))
    said = [text for text in words.against(report) if text.startswith("An exact SVC is")]
    assert bool(said) is is_said
    if said:
        assert f"{100 * n_better / 60:.1f} points better" in said[0]


def test_float_features_that_are_better_are_said_with_their_bytes(classes):
    own = dataclasses.replace(classes.own_trial, losses=np.ones(60))
    floats = dataclasses.replace(
        own, name="float32", bits=32, n_bytes=512, losses=np.zeros(60), n_components=own.n_components, is_model=False
    )
    report = dataclasses.replace(classes, trials=(own, floats, classes.exact, classes.constant))
    assert any("100.0 points better, in 32 times the bytes" in text for text in words.against(report))


def test_unequal_classes_and_calibration_are_said(classes):
    evaluation = dataclasses.replace(classes.evaluation, baseline=0.9, calibration_error=0.2, n_unknown=3)
    texts = " ".join(words.against(dataclasses.replace(classes, evaluation=evaluation)))
    assert "always naming the most common one is right in 90.0%" in texts
    assert "calibration error is 0.200" in texts
    assert "3 rows are of classes that the model does not know" in texts


def test_few_rows_are_said_with_what_they_can_tell(classes):
    texts = words.against(dataclasses.replace(classes, error=0.03))
    assert any("over 60 of them the score is known to ±6 points" in text for text in texts)
    assert not any(text.startswith("Few rows") for text in words.against(dataclasses.replace(classes, error=0.01)))


def test_a_curve_that_still_rises_asks_for_rows(classes):
    *others, last = classes.learning
    for gain, error, is_said in ((0.1, 0.01, True), (0.1, 0.2, False), (-0.1, 0.01, False)):
        point = dataclasses.replace(last, gain=gain, gain_error=error)
        texts = words.against(dataclasses.replace(classes, learning=(*others, point)))
        assert any(text.startswith("It is still learning") for text in texts) is is_said


def test_numbers_that_are_far_off_are_said(numbers):
    evaluation = dataclasses.replace(numbers.evaluation, rmse=100.0, median_absolute_error=10.0)
    texts = words.against(dataclasses.replace(numbers, evaluation=evaluation))
    assert any("10.0 times the median error" in text for text in texts)


def test_nothing_to_hold_against_it_is_a_sentence_too(classes):
    report = plain(classes)
    constant = dataclasses.replace(report.trials[-1], losses=np.ones(60))
    report = dataclasses.replace(
        report,
        trials=(*report.trials[:-1], constant),
        row_bytes=1000,
        error=0.001,
        seen_gain=(0.0, 0.1),
        learning=(dataclasses.replace(report.learning[-1], gain=0.0),),
        evaluation=dataclasses.replace(report.evaluation, calibration_error=0.01, per_class=()),
    )
    assert words.against(report) == ["Nothing that these rows can tell."]
