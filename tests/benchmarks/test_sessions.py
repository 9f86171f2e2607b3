"""What commands print on the page of the command line is what they print now."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from benchmarks.sessions import by_shell, main, rewritten
from cli.samples import lowtide

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "command-line.md"
# Seconds are the machine's. Bars of hexadecimal digits are fingerprints, and must be equal.
FIGURE = re.compile(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?(?:e-?\d+)?(?![\w.])")
SECONDS = re.compile(r"\bin \d+\.\d s\b")


def figures(text: str) -> np.ndarray:
    return np.array([float(each.replace(",", "")) for each in FIGURE.findall(SECONDS.sub("", text))])


def in_this_process(command: str) -> list[str]:
    if not command.startswith("lowtide ") or "|" in command:
        return by_shell(command)
    result = lowtide(*shlex.split(command)[1:])
    return (result.stdout + result.stderr).splitlines()


def test_page_of_the_command_line_has_what_commands_print() -> None:
    old = PAGE.read_text(encoding="utf-8")
    new = rewritten(old, in_this_process, is_whole=False)

    def words(text: str) -> str:
        return re.sub(r" +", " ", FIGURE.sub("#", SECONDS.sub("", text)))

    assert words(new) == words(old)
    # Losses and bytes of text files differ between processors by the last digits of a solution, no more.
    np.testing.assert_allclose(figures(new), figures(old), rtol=0.01, atol=1e-4)


def test_command_writes_what_is_shown_and_runs_the_rest(tmp_path: Path) -> None:
    page, text = tmp_path / "page.md", "```python\nimport pathlib\npathlib.Path('a.txt').write_text('one')\n```\n\n"
    text += "  ```console\n  $ cat a.txt\n  old\n  $ cp a.txt b.txt\n  ```\n\n```text\nold as it is\n```\n"
    page.write_text(text, encoding="utf-8")
    main([str(page)])
    assert page.read_text(encoding="utf-8") == text.replace("  old", "  one")


def test_session_ends_with_a_command_that_fails_unless_it_says_so() -> None:
    with pytest.raises(ValueError, match=r"cat not-there.txt: exit code 1"):
        rewritten("```console\n$ cat not-there.txt\nold\n```\n")
    wrong = "```console\n$ echo 'Error: no' >&2; exit 1\nold\n```\n"
    assert rewritten(wrong) == wrong.replace("old", "Error: no")
