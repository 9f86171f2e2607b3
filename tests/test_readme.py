"""The README's Python runs as printed."""

from __future__ import annotations

import re
from pathlib import Path

README = (Path(__file__).resolve().parents[1] / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)


def test_first_code_block_is_the_two_commands():
    first = re.search(r"```\w*\n(.*?)```", README, flags=re.DOTALL)
    assert first is not None
    assert [" ".join(line.split()[:2]) for line in first[1].splitlines()] == ["make demo", "make test"]


def test_first_example_has_ten_lines():
    assert len(BLOCKS[0].splitlines()) == 10


def test_examples_run_and_print_what_the_text_says(capsys):
    names: dict[str, object] = {}
    for block in BLOCKS:
        exec(compile(block, "README.md", "exec"), names)
    shape, errors, accuracy = capsys.readouterr().out.strip().splitlines()
    assert shape == "(1797, 4096) 920064"
    mean_error, mean_std = map(float, errors.split())
    # E|error| = sqrt(2/pi) std = 0.8 std for a normal error; entries share frequencies, so the mean of 10,000 keeps
    # about the spread of one: a factor of two either way is five of its standard deviations.
    assert 0.4 < mean_error / mean_std < 1.6
    assert float(accuracy) > 0.9
