import json
import os
import signal
import subprocess
import sys

import pytest
from click.testing import CliRunner

from lowtide.cli import demo_measure
from lowtide.cli.main import main


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
