"""`lowtide completion` prints what makes a shell complete commands, options, files and the columns of a table."""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem, get_completion_class

import lowtide as lt
from lowtide.errors import LowtideError

# What click looks for in the environment when a shell asks.
_VARIABLE = "_LOWTIDE_COMPLETE"

# \b keeps the lines as they are.
_EXAMPLES = """\b
Put one of these where your shell starts from:
  eval "$(lowtide completion bash)"        ~/.bashrc
  eval "$(lowtide completion zsh)"         ~/.zshrc
  lowtide completion fish | source         ~/.config/fish/config.fish
"""


@click.command(epilog=_EXAMPLES)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the lines that make a shell complete commands, options and files, and the columns of a table."""
    found = get_completion_class(shell)
    assert found is not None, "click knows these three"
    # The program is only asked when something is to be completed.
    click.echo(found(click.Command("lowtide"), {}, "lowtide", _VARIABLE).source())


def target_option(help: str, **more: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command the option that names a column of its table, or a file."""
    return click.option("--target", metavar="COLUMN", shell_complete=complete_columns, help=help, **more)


def complete_columns(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Return the columns, beginning as typed, of the table that is named before; its first lines tell them.

    A target may be a file of its own, so files are offered where no column begins like that.
    """
    # What stands before an option that is not finished is not parsed yet.
    typed = [context.params.get("data"), *reversed(context.args)]
    data = next((Path(each) for each in typed if each is not None and lt.tables.is_table_name(Path(each))), None)
    names: tuple[str, ...] = ()
    if data is not None and data.is_file():
        with contextlib.suppress(LowtideError, OSError):  # what is wrong with it is said when the command runs
            names = tuple(lt.tables.open_table(data, header=context.params.get("header", True)).names)
    # Of the three shells only bash takes a word as it is.
    quote = shlex.quote if os.environ.get(_VARIABLE) == "bash_complete" else str
    items = [CompletionItem(quote(name)) for name in names if name.startswith(begun) and name.isprintable()]
    return items or ([CompletionItem(begun, type="file")] if parameter.name == "target" else [])
