"""Say what was measured in plain sentences: what was reached, and what speaks against it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lowtide.reports.page import amount, percent, plain, size_in_words

if TYPE_CHECKING:
    from lowtide.learners import Evaluation
    from lowtide.reports.reporting import Report
    from lowtide.reports.trials import Trial

# Standard errors beyond which a difference counts.
_CLEAR = 2.0
_WIDE_ERROR, _POORLY_CALIBRATED, _UNEQUAL = 0.02, 0.05, 0.75
_SELDOM, _UNFOUND = 20, 0.5


def word(report: Report) -> str:
    """Return what a score is called."""
    return "accuracy" if report.task == "classification" else "R²"


def points(report: Report, difference: float) -> str:
    """Write a difference of scores: points of a hundred, or of R²."""
    if report.task == "classification":
        return f"{100 * abs(difference):.1f} points"
    return f"{abs(difference):.3f} of R²"


def score(report: Report, value: float) -> str:
    """Write a score."""
    return percent(value) if report.task == "classification" else f"{round(value, 3) + 0.0:.3f}"


def error(report: Report, value: float) -> str:
    """Write the standard error of a score."""
    return f"{100 * value:.1f}" if report.task == "classification" else f"{value:.3f}"


def bare_points(report: Report, difference: float) -> str:
    """Write a difference of scores without its unit."""
    value, digits = (100 * difference, 1) if report.task == "classification" else (difference, 3)
    return f"{round(value, digits) + 0.0:.{digits}f}"  # no minus before a zero


def judged_by(report: Report) -> str:
    """Say which rows and which fit the answers are of."""
    if report.unseen:
        return f"The model's own answers on all {report.n_rows:,} rows, which it has not seen."
    return f"On the {report.n_held:,} rows held out, after a fit without them."


def class_scores(evaluation: Evaluation) -> list[tuple[str, str]]:
    """Return the scores over all classes, a label and a text each."""
    shares = [("balanced accuracy", evaluation.balanced_accuracy), ("most common class alone", evaluation.baseline)]
    found = [(label, percent(value)) for label, value in shares if value is not None]
    numbers = [
        ("log-loss", evaluation.log_loss),
        ("Brier score", evaluation.brier_score),
        ("calibration error", evaluation.calibration_error),
    ]
    return [*found, *((label, f"{value:.3f}") for label, value in numbers if value is not None)]


def reading(report: Report) -> list[str]:
    """Say in a few sentences what was learned, how well, and what an item takes."""
    n_features = sum(bool(column.features) for column in report.columns)
    what = f"{plain(report.target)!r} from {n_features:,} column{'s' * (n_features != 1)}"
    if report.task == "classification":
        n_classes = len(report.evaluation.classes or ())
        task = f"The model tells {n_classes} classes apart: it predicts {what}."
        right = f"{score(report, report.score)} of the rows right"
        reached = f"It gets {right} (standard error {error(report, report.error)})"
    else:
        task = f"The model predicts a number: {what}."
        reached = f"It explains R² = {report.score:.3f} of the variance (standard error {report.error:.3f})"
        reached += f", and is off by {amount(report.evaluation.rmse or 0.0)} (root mean square)"
    if report.unseen:
        which = f"all {report.n_rows:,} rows, which it has not seen"
    else:
        which = f"{report.n_held:,} rows held out, when it is fitted anew on the other {report.n_learned:,}"
    smaller = "larger than" if report.code_bytes > report.row_bytes else "smaller than"
    smaller = "as large as" if report.code_bytes == report.row_bytes else smaller
    size = (
        f"An item takes {size_in_words(report.code_bytes)} in the form that the model reads, {smaller} its row of "
        f"{size_in_words(report.row_bytes)}; the model's file takes {size_in_words(report.model_bytes)}."
    )
    return [task, f"{reached}: measured on {which}.", size]


def rows_in_words(report: Report) -> str:
    """Say which rows everything was measured on."""
    some = "" if report.n_rows == report.n_given else f", {report.n_rows:,} drawn by chance"
    absent = "" if not report.n_unanswered else f" ({report.n_unanswered:,} more without a true value were left out)"
    return (
        f"{report.n_given:,} rows were given{absent}{some}. A quarter of them, {report.n_held:,}, was held out; "
        f"everything that is refitted learned from the other {report.n_learned:,} or from some of these, and equal "
        "rows are on one side. Columns are read as the model's recipe has them."
    )


def against(report: Report) -> list[str]:
    """Say what a reader should hold against the model, the weightier first."""
    found = [
        *_about_rows(report),
        *_about_size(report),
        *_about_others(report),
        *_about_classes(report),
        *_about_numbers(report),
    ]
    return found or ["Nothing that these rows can tell."]


def _about_rows(report: Report) -> list[str]:
    found = []
    gain, deviation = report.seen_gain
    if not report.unseen and gain > _CLEAR * deviation and gain > 0:
        found.append(
            f"On the rows held out the model as it is scores {points(report, gain)} more than when it is fitted "
            "without them: it has probably learned from these rows, or from many others. Its own score on them, "
            f"{score(report, report.own_score)}, says little about new ones."
        )
    if report.error > _WIDE_ERROR:
        n = report.n_rows if report.unseen else report.n_held
        width = (
            f"±{100 * 2 * report.error:.0f} points" if report.task == "classification" else f"±{2 * report.error:.2f}"
        )
        found.append(f"Few rows: over {n:,} of them the score is known to {width} (two standard errors).")
    last = report.learning[-1]
    if last.gain > _CLEAR * last.gain_error and last.gain > 0:
        found.append(
            f"It is still learning: twice the rows brought {points(report, last.gain)} last, so more rows would help."
        )
    if report.stand_in:
        found.append(
            f"A {report.kind} cannot be fitted anew: where that is done, a kernel machine on the same features stands "
            "in."
        )
    return found


def _about_size(report: Report) -> list[str]:
    if report.code_bytes <= report.row_bytes:
        return []
    text = (
        f"A code of {size_in_words(report.code_bytes)} is larger than your row of {size_in_words(report.row_bytes)}: "
        "to store or to send, the row itself is smaller."
    )
    own = report.own_trial
    smaller = [
        each
        for each in report.codes
        if each.n_bytes < own.n_bytes and report.gain(each, own)[0] >= -report.gain(each, own)[1]
    ]
    if smaller:
        least = min(smaller, key=lambda each: each.n_bytes)
        text += f" {size_in_words(least.n_bytes)} ({least.name}) would not be clearly worse."
    return [text]


def _about_others(report: Report) -> list[str]:
    """Compare with float features, the exact machine, and a constant."""
    found, own = [], report.own_trial
    floats = next((t for t in report.trials if t.name == "float32" and t.n_components == own.n_components), None)
    if floats is not None and floats is not own and _is_better(report, floats, own):
        found.append(
            f"Float features, as many of them, are {points(report, report.gain(floats, own)[0])} better, in "
            f"{floats.n_bytes / own.n_bytes:.0f} times the bytes."
        )
    exact, constant = report.exact, report.constant
    if _is_better(report, exact, own):
        found.append(
            f"An {exact.name} is {points(report, report.gain(exact, own)[0])} better on the same "
            f"{report.n_compared:,} rows, and reads the rows themselves."
        )
    better = [each for each in report.codes if _is_better(report, each, own) and each.n_bytes <= own.n_bytes]
    if better:
        best = max(better, key=lambda each: each.score)
        found.append(
            f"{best.n_components:,} features of {best.name} are {points(report, report.gain(best, own)[0])} better in "
            f"no more bytes ({best.n_bytes:,})."
        )
    if not _is_better(report, own, constant):
        found.append(f"It is not clearly better than {constant.name}: {score(report, constant.score)} without a model.")
    return found


def _is_better(report: Report, one: Trial, other: Trial) -> bool:
    gain, deviation = report.gain(one, other)
    return gain > _CLEAR * deviation and gain > 0


def _about_classes(report: Report) -> list[str]:
    found: list[str] = []
    evaluation = report.evaluation
    if report.task != "classification":
        return found
    if evaluation.baseline is not None and evaluation.baseline >= _UNEQUAL:
        balanced = f"{percent(evaluation.balanced_accuracy)}" if evaluation.balanced_accuracy is not None else ""
        found.append(
            f"Classes are unequal: always naming the most common one is right in {percent(evaluation.baseline)} of "
            f"rows. The mean share found of each class (balanced accuracy) is {balanced}."
        )
    weak = [each for each in evaluation.per_class or () if each.support and each.recall < _UNFOUND]
    if weak:
        names = ", ".join(repr(plain(each.label)) for each in weak[:4])
        more = f" and {len(weak) - 4} more" if len(weak) > 4 else ""
        found.append(f"Less than half of the rows of {names}{more} are found.")
    few = [each for each in evaluation.per_class or () if 0 < each.support < _SELDOM]
    if few:
        least = min(few, key=lambda each: each.support)
        found.append(
            f"Some classes are seldom ({plain(least.label)!r}: {least.support:,} rows that judge): what is said of "
            "each of them rests on little."
        )
    calibration = evaluation.calibration_error
    if calibration is not None and calibration > _POORLY_CALIBRATED:
        found.append(
            f"Probabilities are off: their calibration error is {calibration:.3f}. Calibrate before you decide by them."
        )
    if evaluation.n_unknown:
        found.append(f"{evaluation.n_unknown:,} rows are of classes that the model does not know.")
    return found


def _about_numbers(report: Report) -> list[str]:
    quantiles = report.evaluation.residual_quantiles
    if report.task != "regression" or quantiles is None or report.evaluation.median_absolute_error is None:
        return []
    middle, rmse = report.evaluation.median_absolute_error, report.evaluation.rmse or 0.0
    if middle > 0 and rmse > 3 * middle:
        return [
            f"Some rows are far off: the root mean square error, {amount(rmse)}, is {rmse / middle:.1f} times the "
            f"median error, {amount(middle)}. The squared loss lets few rows decide; a logarithm of the target may "
            "help."
        ]
    return []
