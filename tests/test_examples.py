"""Every example runs, is short, draws, and has its place in the gallery."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
GROUPS = runpy.run_path(str(ROOT / "docs" / "gallery_order.py"))["GROUPS"]
EXAMPLES = sorted((ROOT / "examples").rglob("plot_*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(path, tmp_path):
    environment = {**os.environ, "MPLBACKEND": "agg", "MPLCONFIGDIR": str(tmp_path)}
    # Without a screen `show` warns that it shows nothing; every other warning is an error.
    options = ["-W", "error", "-W", "ignore:FigureCanvasAgg is non-interactive"]
    command = [sys.executable, *options, str(path)]
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_is_short_and_draws(path):
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) < 80
    assert "plt.show()" in text


def test_every_example_has_its_place_in_a_group_of_the_gallery():
    listed = {f"{group}/plot_{name}.py" for group, names in GROUPS.items() for name in names}
    assert listed == {path.relative_to(ROOT / "examples").as_posix() for path in EXAMPLES}
    assert all((ROOT / "examples" / group / "GALLERY_HEADER.rst").exists() for group in GROUPS)
