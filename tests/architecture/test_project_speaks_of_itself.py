"""The project speaks of itself alone: no paths of a machine, nothing outside the tree."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest
from architecture.surface import ROOT

# Pieces are joined here so that this file does not contain what it forbids.
HOMES = "|".join(("home", "root", "opt", "Users", "work"))
MACHINE_PATH = re.compile(rf"(?<![\w.:/<>-])/(?:{HOMES})(?=/|\b(?![\w-]))")
OUTSIDE = re.compile(r"\.\./" + "shared")


def _tracked_files() -> list[str]:
    """Return what git tracks, or skip where there is no git or no repository."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("needs git and a repository")
    run = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in run.stdout.split("\0") if name and (ROOT / name).is_file()]


def _lines_that_match(pattern: re.Pattern[str]) -> list[str]:
    found = []
    for name in _tracked_files():
        text = (ROOT / name).read_bytes().decode("utf-8", errors="replace")
        found += [f"{name}:{i}: {line.strip()}" for i, line in enumerate(text.splitlines(), 1) if pattern.search(line)]
    return found


@pytest.mark.parametrize("line", ["see " + "/" + "work/x", "'/" + "home/me'", "cd /" + "root"])
def test_a_machine_path_is_recognized(line):
    assert MACHINE_PATH.search(line)


@pytest.mark.parametrize("line", ["a/" + "work", "https://example.org/" + "home", "1 /" + "workers", "Z/" + "root"])
def test_other_text_is_not_taken_for_a_machine_path(line):
    assert not MACHINE_PATH.search(line)


def test_no_tracked_file_names_a_path_of_a_machine():
    assert not _lines_that_match(MACHINE_PATH)


def test_no_tracked_file_points_outside_the_project():
    assert not _lines_that_match(OUTSIDE)
