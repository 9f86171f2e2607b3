"""The result in plain words, from the numbers of this run alone."""

from __future__ import annotations

from lowtide.cli.showcase.results import Comparison, Outcome

__all__ = ["notes", "percent", "reading"]


def reading(comparison: Comparison) -> list[str]:
    """Say in two sentences what one bit a feature kept and cost, and whether its error bars held."""
    return [_accuracy_sentence(comparison), _error_sentence(comparison)]


def notes(comparison: Comparison) -> list[str]:
    """Say what a reader should hold against the result."""
    return [_time_note(comparison), _size_note(comparison)]


def percent(share: float) -> str:
    """Write a share with one decimal."""
    return f"{100 * share:.1f}%"


def _accuracy_sentence(comparison: Comparison) -> str:
    one_bit, exact, float32 = comparison.one_bit, comparison.exact, comparison.same_bytes[0]
    shrink = comparison.same_components[0].bytes_per_item / one_bit.bytes_per_item
    return (
        f"One bit a feature gets {percent(one_bit.accuracy)} of the test digits right, {_against(one_bit, exact)}, in "
        f"{one_bit.bytes_per_item:.0f} bytes an item, {shrink:.0f} times fewer than the same features in float32; "
        f"float32 features in the same {float32.bytes_per_item:.0f} bytes get {percent(float32.accuracy)}."
    )


def _against(outcome: Outcome, exact: Outcome) -> str:
    """Compare with the exact machine, as far as the test rows can tell the two apart."""
    gain, error = outcome.gain_over(exact)
    if abs(gain) <= 2 * error:
        return f"no fewer than the exact SVM as far as {exact.correct.size} rows can tell ({percent(exact.accuracy)})"
    how = "more" if gain > 0 else "fewer"
    return f"{100 * abs(gain):.1f} points {how} than the exact SVM ({percent(exact.accuracy)})"


def _error_sentence(comparison: Comparison) -> str:
    error = comparison.one_bit.kernel_error
    assert error is not None, "the one-bit row of the table has its kernel error measured"
    return (
        f"Its kernel values are off by {error.measured:.4f} (root mean square), where the closed form predicts "
        f"{error.predicted:.4f}; {percent(error.coverage)} of the pairs are within two predicted standard errors "
        f"(95.4% expected)."
    )


def _time_note(comparison: Comparison) -> str:
    exact, one_bit = comparison.exact, comparison.one_bit
    ratio = one_bit.fit_seconds / exact.fit_seconds
    verdict = f"{ratio:.1f} times slower" if ratio >= 1 else f"{1 / ratio:.1f} times faster"
    return (
        f"Fitting on one-bit codes was {verdict} than the exact SVM on these {comparison.n_train} rows. The SVM's time "
        f"grows with the square of the rows or faster, that of codes in proportion to them."
    )


def _size_note(comparison: Comparison) -> str:
    exact, one_bit = comparison.exact, comparison.one_bit
    ratio = exact.bytes_per_item / one_bit.bytes_per_item
    verdict = "as many as" if ratio == 1 else f"{ratio:.1f} times" if ratio > 1 else f"only {ratio:.2f} of"
    return (
        f"The SVM reads the {comparison.n_features} pixels themselves, {exact.bytes_per_item:.0f} bytes in float32, "
        f"{verdict} the bytes of the one-bit code: codes save memory against features, and against raw rows only when these are longer."
    )
