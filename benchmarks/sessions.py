"""`python -m benchmarks.sessions PAGE ...`: run the commands of pages of the guide, and write what they print.

A page's blocks of Python and of commands (```` ```console ````) run in their order in an empty folder. Where the page
shows what a command prints, that is written anew; a command with nothing below it runs and stays so. Blocks of text
that begin with `$ lowtide` are commands too, which take too long for tests.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

__all__ = ["by_shell", "main", "rewritten"]

_BLOCK = re.compile(r"^( *)```(console|python|text)\n(.*?)^ *```", flags=re.DOTALL | re.MULTILINE)


def by_shell(command: str) -> list[str]:
    """Return the lines that a command prints in a process of its own, those of stderr last."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    run = subprocess.run(["sh", "-c", command], capture_output=True, text=True, env={**os.environ, "PATH": path})
    if run.returncode and not run.stderr.startswith("Error: "):
        raise ValueError(f"{command}: exit code {run.returncode}: {run.stderr.strip()}")
    return (run.stdout + run.stderr).splitlines()


def _session(text: str, run: Callable[[str], list[str]]) -> list[str]:
    """Return the lines of a block of commands with what they print now."""
    lines: list[str] = []
    commands = re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]
    for each in commands:
        command, _, shown = each.partition("\n")
        printed = run(command)
        lines += [f"$ {command}", *(printed if shown.strip() else [])]
    return lines


def rewritten(text: str, run: Callable[[str], list[str]] = by_shell, *, is_whole: bool = True) -> str:
    """Return the text of a page with what its commands print now; those in blocks of text only for the whole page."""
    names: dict[str, object] = {}

    def block(found: re.Match[str]) -> str:
        indent, kind, inside = found.groups()
        if kind == "python":
            exec(compile(inside, "page", "exec"), names)
            return found[0]
        if kind == "text" and not (is_whole and inside.lstrip().startswith("$ lowtide ")):
            return found[0]
        lines = _session(re.sub(f"^{indent}", "", inside, flags=re.MULTILINE), run)
        body = "".join(f"{indent}{line}".rstrip() + "\n" for line in lines)
        return f"{indent}```{kind}\n{body}{indent}```"

    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        return _BLOCK.sub(block, text)


def main(arguments: list[str] | None = None) -> None:
    """Write what commands print into the pages."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sessions", description=__doc__.split("\n", 1)[0])
    parser.add_argument("pages", nargs="+", type=Path, metavar="PAGE")
    for page in parser.parse_args(arguments).pages:
        page.write_text(rewritten(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
