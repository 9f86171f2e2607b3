import io

import pytest
from rich.console import Console

from lowtide.cli.showcase import progress, show


@pytest.fixture(scope="module")
def shown(comparison):
    stream = io.StringIO()
    show(comparison, Console(file=stream, width=80, highlight=False))
    return stream.getvalue()


def test_table_fits_in_80_columns_without_cuts(shown):
    assert max(map(len, shown.splitlines())) <= 80
    assert "…" not in shown


def test_table_has_a_line_for_every_outcome(shown, comparison):
    lines = [line.split() for line in shown.splitlines()]
    for outcome in (comparison.exact, *comparison.same_components, *comparison.same_bytes):
        start = [*outcome.name.split(), str(outcome.n_components), f"{outcome.bytes_per_item:.0f}"]
        assert [*start, f"{100 * outcome.accuracy:.1f}%"] in [line[: len(start) + 1] for line in lines]


def test_text_for_a_file_has_no_escape_sequences(shown):
    assert "\x1b" not in shown


def test_progress_is_silent_when_stderr_is_no_terminal(capsys):
    with progress() as report:
        report(0, 2, "first")
        report(1, 2, "second")
    captured = capsys.readouterr()
    assert captured.err == ""
    assert captured.out == ""
