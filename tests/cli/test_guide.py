"""The session of the guide runs as printed."""

import re
import shlex
from pathlib import Path

from cli.samples import lowtide

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "command-line.md"


def _session(text):
    """Return each command of the page's console blocks with the lines that are printed below it."""
    blocks = re.findall(r"^( *)```console\n(.*?)^ *```", text, flags=re.DOTALL | re.MULTILINE)
    lines = [line.removeprefix(indent) for indent, block in blocks for line in block.splitlines()]
    session = []
    for line in lines:
        if line.startswith("$ "):
            session.append((line[2:], []))
        else:
            session[-1][1].append(line)
    return session


def _steady(line):
    """Return a line without what depends on the machine or on the last digits of a solution, nor the room they take."""
    return re.sub(r" +", " ", re.sub(r"\d[\d.,e+-]*", "#", line))


def test_session_of_the_guide_prints_what_the_page_shows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text(encoding="utf-8")
    exec(re.search(r"```python\n(.*?)```", text, flags=re.DOTALL)[1], {})
    ours = [
        (command, shown) for command, shown in _session(text) if command.startswith("lowtide") and "|" not in command
    ]
    assert len(ours) == 14
    for command, shown in ours:
        result = lowtide(*shlex.split(command)[1:])
        printed = (result.stdout + result.stderr).splitlines()
        assert result.exit_code == (1 if shown and shown[0].startswith("Error") else 0), printed
        if shown:
            assert [_steady(line) for line in printed] == [_steady(line) for line in shown]
