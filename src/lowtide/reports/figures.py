"""The drawings of a report: each is a plot of numbers alone, so no text of the user's gets into it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from lowtide.reports import drawing
from lowtide.reports.drawing import Series
from lowtide.reports.words import word

if TYPE_CHECKING:
    from lowtide.reports.reporting import Report


def figures(report: Report) -> dict[str, str]:
    """Return the drawings of a report by name, as SVG."""
    plots: dict[str, tuple[float, float, drawing.Plot]] = {
        "bytes": (9.4, 4.6, partial(_bytes, report)),
        "learning": (4.9, 4.4, partial(_learning, report)),
    }
    if report.agreement is not None:
        plots["kernel"] = (4.9, 4.9, partial(drawing.kernel_estimates, pairs=report.agreement))
        plots["law"] = (4.9, 4.9, partial(drawing.error_law, pairs=report.agreement))
    if report.evaluation.reliability:
        plots["reliability"] = (4.9, 4.4, partial(drawing.reliability, bins=report.evaluation.reliability))
    if report.predictions is not None:
        truth, predicted = report.predictions
        plots["predicted"] = (4.9, 4.4, partial(drawing.predicted_against_true, truth=truth, predicted=predicted))
        plots["residuals"] = (4.9, 4.4, partial(drawing.residuals, truth=truth, predicted=predicted))
    return drawing.draw(plots)


def _bytes(report: Report, figure: Any) -> None:
    own = report.own_trial
    series = []
    widths = sorted({each.bits or 0 for each in report.codes}, reverse=True)
    for bits in sorted(widths, key=lambda width: width == own.bits):  # the model's last, above the others
        curve = sorted((each for each in report.codes if each.bits == bits), key=lambda each: each.n_bytes)
        values = ([each.n_bytes for each in curve], [each.score for each in curve], [each.error for each in curve])
        series.append(Series(curve[0].name, bits, *values, strong=bits == own.bits))
    drawing.bytes_against_score(
        figure,
        series,
        [(report.exact.name, report.exact.score), (report.constant.name, report.constant.score)],
        word=word(report),
        fewest=0.5 / len(own.losses),  # a faultless method is drawn at half a mistake
        marked=(own.n_bytes, own.score),
        row_bytes=report.row_bytes,
    )


def _learning(report: Report, figure: Any) -> None:
    points = report.learning
    held = np.array([each.score for each in points]), np.array([each.error for each in points])
    learned = np.array([each.learned_score for each in points])
    drawing.learning(figure, [each.n_rows for each in points], held, learned, word(report))
