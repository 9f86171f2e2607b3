"""Sessions of the guide run as printed: their Python, and the commands between."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest
from cli.samples import lowtide
from device.harness import needs_host, needs_qemu

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guide"
BLOCK = re.compile(r"^( *)```(console|python)\n(.*?)^ *```", flags=re.DOTALL | re.MULTILINE)


def _commands(text):
    """Return each command of a console block with the lines that are printed below it."""
    session = []
    for line in text.splitlines():
        if line.startswith("$ "):
            session.append((line[2:], []))
        else:
            session[-1][1].append(line)
    return session


def _steady(line):
    """Return a line without what depends on the machine or on the last digits of a solution, nor the room they take."""
    return re.sub(r" +", " ", re.sub(r"\d[\d.,e+-]*", "#", line))


def _run(command, shown):
    """Run one command in this process, and compare what it prints where the page shows it."""
    result = lowtide(*shlex.split(command)[1:])
    printed = (result.stdout + result.stderr).splitlines()
    assert result.exit_code == (1 if shown and shown[0].startswith("Error") else 0), printed
    if shown:
        assert [_steady(line) for line in printed] == [_steady(line) for line in shown]


@pytest.mark.parametrize(("page", "n_commands"), [("command-line", 14), ("csv", 4), ("few-bits", 1)])
def test_session_of_the_guide_prints_what_the_page_shows(page, n_commands, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names, n_run = {}, 0
    for indent, kind, block in BLOCK.findall((GUIDE / f"{page}.md").read_text(encoding="utf-8")):
        if kind == "python":
            exec(compile(block, page, "exec"), names)
            continue
        for command, shown in _commands(re.sub(f"^{indent}", "", block, flags=re.MULTILINE)):
            if command.startswith("lowtide") and "|" not in command:
                _run(command, shown)
                n_run += 1
    assert n_run == n_commands


@needs_host
@needs_qemu
def test_program_of_few_bits_decides_alike_here_and_on_a_microcontroller(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (GUIDE / "few-bits.md").read_text(encoding="utf-8")
    names, shell = {}, re.findall(r"^```sh\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    for _, kind, block in BLOCK.findall(text)[:3]:
        if kind == "python":
            exec(compile(block, "few-bits", "exec"), names)
        else:
            lowtide("export-c", "digits.lowtide", "-o", "firmware")
    run = subprocess.run(["sh", "-c", "".join(shell[:2])], capture_output=True, text=True)
    expected = str(names["model"].predict(names["X"][1200:1201])[0])
    assert [line for line in run.stdout.splitlines() if line.isdigit()] == [expected, expected], run.stderr
