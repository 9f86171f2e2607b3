import io
import json
import os
import warnings
from pathlib import Path

import click
import numpy as np
import pytest

from lowtide.cli.terminal import (
    Voice,
    amount,
    bytes_in_words,
    check_writable,
    counted,
    npy_pieces,
    sheet,
)


def test_numbers_are_said_with_units_nouns_and_as_many_digits_as_mean_something():
    assert [bytes_in_words(n) for n in (512, 51_234, 7_900_000)] == ["512 bytes", "51.2 kB", "7.9 MB"]
    assert [counted(n, "row") for n in (1, 12_000)] == ["1 row", "12,000 rows"]
    said = {0.0312345: "0.03123", 999.94: "999.9", 27479.6: "27,480", -1234567.0: "-1,234,567", 1.5e12: "1.5e+12"}
    assert {value: amount(value) for value in said} == said


def test_sheet_leaves_out_lines_without_text():
    assert sheet([("rows", "150"), ("score", ""), ("classes", "3")]) == "rows       150\nclasses    3"


@pytest.mark.parametrize(
    ("as_json", "quiet", "out", "err"),
    [
        (False, False, "text\n", "Note: beware\n"),
        (True, False, "json", "Note: beware\n"),
        (False, True, "", ""),
        (True, True, "json", ""),
    ],
)
def test_voice_puts_results_on_stdout_and_notes_on_stderr(capsys, as_json, quiet, out, err):
    voice = Voice(as_json, quiet)
    voice.say("text")
    voice.note("beware")
    voice.result("fit", {"rows": 3})
    printed = capsys.readouterr()
    assert printed.err == err
    if out == "json":
        content = json.loads(printed.out)
        assert (content["command"], content["rows"], content["notes"]) == ("fit", 3, ["beware"])
    else:
        assert printed.out == out


def test_voice_turns_warnings_into_notes_once(capsys):
    voice = Voice()
    with voice.hearing():
        for _ in range(2):
            warnings.warn("slow", UserWarning, stacklevel=1)
    assert voice.notes == ["slow"]
    assert capsys.readouterr().err == "Note: slow\n"


def test_voice_shows_no_progress_without_a_terminal(capsys):
    with Voice().working("reading") as report:
        report(5)
    assert capsys.readouterr().err == ""


def test_voice_shows_one_progress_at_a_time(monkeypatch, capsys):
    monkeypatch.setattr(Voice, "shows_progress", True)
    voice = Voice()
    for _ in range(2):
        with voice.working("folds", "done") as report, voice.working("reading") as inner:
            report(1)
            inner(5)
    assert "reading" not in capsys.readouterr().err


def test_check_writable_refuses_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(click.BadParameter, match="folder that exists"):
        check_writable(tmp_path / "no" / "page.html", "--output")


def test_check_writable_refuses_a_folder_and_a_device(tmp_path):
    for path in (tmp_path, Path(os.devnull)):
        with pytest.raises(click.BadParameter, match="regular file"):
            check_writable(path, "--output")


def test_check_writable_refuses_a_folder_without_permission(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write anywhere
    with pytest.raises(click.BadParameter, match="may write to"):
        check_writable(tmp_path / "page.html", "--output")


def test_check_writable_follows_a_link(tmp_path):
    (tmp_path / "real.html").touch()
    (tmp_path / "link.html").symlink_to(tmp_path / "real.html")
    assert check_writable(tmp_path / "link.html", "--output") == (tmp_path / "real.html").resolve()


@pytest.mark.parametrize(
    "array", [np.arange(6, dtype=np.uint8).reshape(2, 3), np.array(["a", "bcd"]), np.empty(0), np.eye(3)[:, ::2].T]
)
def test_npy_pieces_are_the_bytes_of_numpy(array):
    stream = io.BytesIO()
    np.save(stream, np.ascontiguousarray(array))
    assert b"".join(npy_pieces(array)) == stream.getvalue()
