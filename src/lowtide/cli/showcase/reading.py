"""The result in plain words, from the numbers of this run alone."""

from __future__ import annotations

from lowtide.cli.showcase.results import Comparison, Outcome

__all__ = ["notes", "percent", "reading"]


def reading(comparison: Comparison) -> list[str]:
    """Say in two sentences what one bit a feature reached and cost, and whether its error bars held."""
    return [_accuracy_sentence(comparison), _error_sentence(comparison)]


def notes(comparison: Comparison) -> list[str]:
    """Say what a reader should hold against the result."""
    return [_time_note(comparison), _size_note(comparison)]


def percent(share: float) -> str:
    """Write a share with one decimal."""
    return f"{100 * share:.1f}%"


def _accuracy_sentence(comparison: Comparison) -> str:
    one_bit, exact, float32 = comparison.one_bit, comparison.exact, comparison.same_bytes[0]
    return (
        f"One bit a feature gets {percent(one_bit.accuracy)} of the test digits right in {one_bit.bytes_per_item:.0f} "
        f"bytes an item; the exact SVM gets {percent(exact.accuracy)} ({_verdict(one_bit, exact)}), float32 features "
        f"in as many bytes {percent(float32.accuracy)}."
    )


def _verdict(outcome: Outcome, exact: Outcome) -> str:
    """Say how far the exact machine is ahead or behind, if the test rows can tell the two apart."""
    gain, error = outcome.gain_over(exact)
    if abs(gain) <= 2 * error:
        return f"too close for {exact.correct.size} rows to tell apart"
    return f"{100 * abs(gain):.1f} points {'less' if gain > 0 else 'more'}"


def _error_sentence(comparison: Comparison) -> str:
    error = comparison.one_bit.kernel_error
    assert error is not None, "the one-bit row of the table has its kernel error measured"
    return (
        f"Its kernel values are off by {error.measured:.4f} (root mean square), predicted {error.predicted:.4f}; "
        f"{percent(error.coverage)} of them lie within two predicted standard errors, where 95.4% should."
    )


def _time_note(comparison: Comparison) -> str:
    exact, one_bit = comparison.exact, comparison.one_bit
    fit = _speed(one_bit.fit_seconds, exact.fit_seconds)
    predict = _speed(one_bit.predict_seconds, exact.predict_seconds)
    return (
        f"Against the exact SVM on these {comparison.n_train} rows, one-bit codes fit {fit} and predict {predict}. "
        f"The SVM's time to fit grows at least with the square of the rows, that of codes in proportion to them."
    )


def _speed(seconds: float, reference: float) -> str:
    ratio = seconds / reference
    return f"{ratio:.1f} times slower" if ratio >= 1 else f"{1 / ratio:.1f} times faster"


def _size_note(comparison: Comparison) -> str:
    exact, one_bit = comparison.exact.bytes_per_item, comparison.one_bit.bytes_per_item
    versus = "as large as" if exact == one_bit else "larger than" if exact > one_bit else "smaller than"
    return (
        f"The SVM reads the {comparison.n_features} pixels themselves: {exact:.0f} bytes in float32, {versus} the "
        f"one-bit code. Codes save memory against float features always, against raw rows when these are long."
    )
