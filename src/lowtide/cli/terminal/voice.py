"""How a command speaks: results to stdout, everything else to stderr."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

import lowtide

__all__ = ["Voice"]

_FORMAT = 1  # of the JSON results; grows when a field changes its meaning


class Voice:
    """Results on stdout, as text or as one JSON object; notes and progress on stderr.

    Parameters
    ----------
    as_json : bool, default=False
        The result is JSON, and text results are left out.
    quiet : bool, default=False
        No text results, notes or progress; errors and JSON remain.
    """

    def __init__(self, as_json: bool = False, quiet: bool = False) -> None:
        self.as_json, self.quiet = as_json, quiet
        self.notes: list[str] = []

    @property
    def shows_progress(self) -> bool:
        """Whether somebody looks at stderr."""
        return not self.quiet and sys.stderr.isatty()

    def say(self, text: str, *, aside: bool = False) -> None:
        """Print a text result; `aside` to stderr, where stdout holds a table."""
        if not self.quiet and not self.as_json:
            click.echo(text, err=aside)

    def note(self, text: str) -> None:
        """Print what a reader should know besides the result."""
        self.notes.append(text)
        if not self.quiet:
            click.echo(f"Note: {text}", err=True)

    def result(self, command: str, content: dict[str, Any]) -> None:
        """Print the result as JSON, where that was asked for."""
        if self.as_json:
            head = {"format": _FORMAT, "lowtide": lowtide.__version__, "command": command}
            click.echo(json.dumps({**head, **content, "notes": self.notes}, indent=2))

    @contextmanager
    def working(self, what: str) -> Iterator[Callable[[int], None]]:
        """Show on a terminal that work is going on; gives a function that takes the number of rows done."""
        if not self.shows_progress:
            yield lambda n_rows: None
            return
        from rich.console import Console

        with Console(stderr=True).status(f"{what} ...") as status:
            yield lambda n_rows: status.update(f"{what} ... {n_rows:,} rows")

    @contextmanager
    def hearing(self) -> Iterator[None]:
        """Turn warnings into notes."""
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            yield
        for text in dict.fromkeys(str(warning.message) for warning in heard):
            self.note(text)
