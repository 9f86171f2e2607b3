import dataclasses
import io
import json
import os
import re
import signal
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner
from outline import Outline
from rich.console import Console

import lowtide
from lowtide.cli import demo_measure
from lowtide.cli.demo import notes, progress, reading, render_page, show
from lowtide.cli.main import main
from lowtide.errors import MissingExtraError


@pytest.fixture
def ready_made(monkeypatch, comparison):
    """Let the command find a comparison that was already made."""
    monkeypatch.setattr(demo_measure, "compare", lambda plan, report: comparison)


def run(*arguments):
    return CliRunner().invoke(main, ["demo", *map(str, arguments)])


def test_demo_runs_from_a_shell_and_writes_table_and_page(tmp_path):
    code = "from lowtide.cli.main import main; main()"
    command = [sys.executable, "-c", code, "demo", "--components", "64", "--output", "page.html"]
    finished = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "exact SVM" in finished.stdout
    # No progress where stderr is not a terminal.
    assert finished.stderr.strip() == "Plots and details: page.html"
    assert os.listdir(tmp_path) == ["page.html"]


def test_demo_passes_its_options_on(monkeypatch, comparison):
    plans = []
    monkeypatch.setattr(demo_measure, "compare", lambda plan, report: plans.append(plan) or comparison)
    assert run("--components", 128, "--seed", 5, "--no-html").exit_code == 0
    assert [(plan.n_components, plan.seed) for plan in plans] == [(128, 5)]


def test_json_has_the_documented_fields(ready_made):
    result = run("--json", "--no-html")
    content = json.loads(result.stdout)
    assert content["format"] == 1
    assert {"lowtide", "data", "plan", "gamma", "exact", "same_components", "same_bytes", "curves", "reading"} <= set(
        content
    )
    assert [row["bits"] for row in content["same_components"]] == [32, 4, 2, 1]
    assert len({row["bytes_per_item"] for row in content["same_bytes"]}) == 1
    for row in [content["exact"], *content["same_components"], *content["same_bytes"], *content["curves"]]:
        assert 0 <= row["accuracy"] <= 1
        assert min(row["fit_seconds"], row["predict_seconds"], row["components"], row["bytes_per_item"]) > 0
    for row in content["same_components"] + content["same_bytes"]:
        assert set(row["kernel_error"]) == {"measured", "predicted", "coverage"}


def test_no_html_writes_no_file(ready_made, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run("--no-html").exit_code == 0
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("missing", ["matplotlib", "jinja2"])
def test_missing_extra_is_named_and_the_table_still_shown(ready_made, tmp_path, monkeypatch, missing):
    monkeypatch.setitem(sys.modules, missing, None)
    result = run("--output", tmp_path / "page.html")
    assert result.exit_code == 1
    assert "exact SVM" in result.stdout
    assert "pip install 'lowtide[report]'" in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert os.listdir(tmp_path) == []


def test_missing_extra_leaves_out_a_page_that_nobody_asked_for(ready_made, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = run()
    assert result.exit_code == 0
    assert result.stderr.startswith("No page: ")
    assert "pip install 'lowtide[report]'" in result.stderr
    assert os.listdir(tmp_path) == []


def test_output_that_cannot_be_written_is_refused_before_any_work(tmp_path, monkeypatch):
    monkeypatch.setattr(demo_measure, "compare", lambda plan, report: pytest.fail("worked for nothing"))
    result = run("--output", tmp_path / "no" / "page.html")
    assert result.exit_code == 2
    assert "--output" in result.stderr
    assert "folder that exists" in result.stderr
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("components", [0, 63, 8193, "many"])
def test_components_out_of_range_are_a_usage_error(components):
    result = run("--components", components)
    assert result.exit_code == 2
    assert "--components" in result.stderr


def test_interrupt_leaves_no_file_and_no_traceback(tmp_path):
    code = (
        "import signal\n"
        "from lowtide.cli import demo_measure\n"
        "from lowtide.cli.main import main\n"
        "def wait(plan, report):\n"
        "    print('waiting', flush=True)\n"
        "    while True:\n"
        "        signal.pause()\n"
        "demo_measure.compare = wait\n"
        # A parent in the background may have told its children to ignore the signal.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "main(['demo'])\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with process:
        assert process.stdout.readline() == "waiting\n"
        process.send_signal(signal.SIGINT)
        try:
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 130
    assert errors.strip() == "Interrupted."
    assert os.listdir(tmp_path) == []


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
    assert f"{found['measured']:.4f}" in error
    assert f"{found['predicted']:.4f}" in error


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


@pytest.fixture(scope="module")
def page(comparison):
    return render_page(comparison)


@pytest.fixture(scope="module")
def outline(page):
    return Outline(page)


def test_page_needs_nothing_from_outside(page, outline):
    assert not re.search(r"https?://|//[a-z]|@import|data:", page)
    assert not outline.tags & {"script", "link", "img", "iframe", "object"}
    assert "src" not in {name for name, _ in outline.attributes}
    assert all(value.startswith("#") for name, value in outline.attributes if name == "href")


def test_ids_are_unique_and_every_reference_has_its_target(outline):
    assert len(outline.ids) == len(set(outline.ids))
    assert set(outline.references) <= set(outline.ids)
    assert outline.references


def test_page_is_small(page):
    assert len(page.encode()) < 300_000


def test_page_has_three_drawings_in_the_colors_of_its_style_sheet(page):
    assert page.count("<svg") == 3
    used = set(re.findall(r"var\(--([\w-]+)\)", page))
    style = page[: page.index("</style>")]
    light, dark = style.split("@media (prefers-color-scheme: dark)")
    for name in used:
        assert f"--{name}:" in light
        assert f"--{name}:" in dark
    # What stood for a variable while drawing must be gone.
    assert not re.search(r"#0([1-9a])0\1", page)


def test_page_is_the_same_text_for_the_same_comparison(page, comparison):
    assert render_page(comparison) == page


def test_page_escapes_what_it_is_given(monkeypatch, comparison):
    monkeypatch.setattr(lowtide, "__version__", "<b>1</b>")
    assert "&lt;b&gt;1&lt;/b&gt;" in render_page(comparison)


def test_page_ignores_the_settings_of_the_user(page, comparison):
    import matplotlib as mpl

    with mpl.rc_context({"font.size": 40, "axes.facecolor": "red", "svg.fonttype": "path"}):
        assert render_page(comparison) == page
        assert mpl.rcParams["font.size"] == 40


@pytest.mark.parametrize("missing", ["matplotlib", "jinja2"])
def test_missing_extra_is_an_import_error_that_names_the_remedy(monkeypatch, comparison, missing):
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(MissingExtraError, match=re.escape("pip install 'lowtide[report]'")) as caught:
        render_page(comparison)
    assert isinstance(caught.value, ImportError)
    assert missing in str(caught.value)
