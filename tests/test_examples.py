"""Every example runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).resolve().parents[1] / "examples").glob("plot_*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(path, tmp_path):
    environment = {**os.environ, "MPLBACKEND": "agg", "MPLCONFIGDIR": str(tmp_path)}
    # Without a screen `show` warns that it shows nothing; every other warning is an error.
    options = ["-W", "error", "-W", "ignore:FigureCanvasAgg is non-interactive"]
    command = [sys.executable, *options, str(path)]
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_is_short(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) < 80
