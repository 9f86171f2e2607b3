"""Define the `lowtide` command, the list of its subcommands, and the exit codes of errors."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any

import click

import lowtide
from lowtide._later import put_off
from lowtide.cli.terminal import refuse
from lowtide.errors import LowtideError, ParameterError

# A new command is a new file and a line here, in the order in which commands are used: its name, module:function, and
# what the list of commands says, which so takes no import.
# A command's module imports click alone and leaves the rest to its function, so that --help stays fast.
COMMANDS = {
    "fit": ("lowtide.cli.fit:fit", "Learn from a table and write a model file."),
    "predict": ("lowtide.cli.predict:predict", "Predict the rows of a table with a model."),
    "evaluate": ("lowtide.cli.evaluate:evaluate", "Score a model on rows whose target is known."),
    "report": ("lowtide.cli.report:report", "Write a page about a model and a table."),
    "tune": ("lowtide.cli.tune:tune", "Find out how few bytes per item are enough."),
    "serve": ("lowtide.cli.serve:serve", "Serve models over HTTP."),
    "export-c": ("lowtide.cli.export_c:export_c", "Write a model as C for a small device."),
    "encode": ("lowtide.cli.encode:encode", "Turn the rows of a table into packed codes."),
    "search": ("lowtide.cli.search:search", "Find the best rows of vector codes for queries."),
    "inspect": ("lowtide.cli.inspect:inspect", "Show what is in a model, a code file or a store."),
    "verify": ("lowtide.cli.inspect:verify", "Check that a store or a file is undamaged."),
    "demo": ("lowtide.cli.demo:demo", "Compare an exact SVM with features of 32, 4, 2 and 1 bits."),
    "completion": ("lowtide.cli.completion:completion", "Print the lines that turn on completion in a shell."),
    "versions": ("lowtide.cli.main:versions", "Print versions, instruction set and threads."),
}

USAGE_ERROR, FAILURE = 2, 1
INTERRUPTED, CLOSED_PIPE = 130, 141  # 128 + SIGINT and 128 + SIGPIPE: what a shell expects of them


class LazyGroup(click.Group):
    """A group that imports a command when it is asked for, and turns the errors of lowtide into exit codes.

    A wrong parameter ends with 2, any other LowtideError and a full standard output with 1, Ctrl-C with 130; each with
    one line on stderr. A pipe that is closed, as `head` does, ends with 141 and without a word.

    Examples
    --------
    >>> from lowtide.cli.main import main
    >>> main.list_commands(None)
    ['fit', 'predict', 'evaluate', 'report', 'tune', 'serve', 'export-c', 'encode', 'search', 'inspect', 'verify', ...]
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the registered names in the order of their use, without importing anything."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command, or None when there is none of that name."""
        if cmd_name not in COMMANDS:
            return None
        place, summary = COMMANDS[cmd_name]
        module, function = place.split(":")
        command: click.Command = getattr(import_module(module), function)
        command.short_help = summary
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that is named; for another word, say what was probably meant."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            near = get_close_matches(name, COMMANDS, n=1)
            remedy = f"Did you mean {near[0]!r}?" if near else "'lowtide --help' lists the commands."
            if Path(name).is_file():
                remedy = f"A file comes after its command: lowtide fit {name} --target COLUMN -o model.lowtide, say."
            ctx.fail(f"No such command {name!r}. {remedy}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; what it raises on purpose becomes a line on stderr and an exit code."""
        # A quarter of what it takes to import scikit-learn, which wants it for a function that no command calls.
        put_off("scipy.stats")
        try:
            found = super().invoke(ctx)
            if sys.stdout is not None:  # as it is where the shell has closed it
                sys.stdout.flush()  # here, where what goes wrong can still be said
            return found
        except LowtideError as error:
            click.echo(f"Error: {' '.join(str(error).split())}", err=True)
            ctx.exit(USAGE_ERROR if isinstance(error, ParameterError) else FAILURE)
        except click.MissingParameter as error:
            raise _with_example(error) from None
        except KeyboardInterrupt:
            click.echo("Interrupted.", err=True)
            ctx.exit(INTERRUPTED)
        except OSError as error:
            ctx.exit(_lost_output(error))

    def main(self, *arguments: Any, **named: Any) -> Any:
        """Run the command line; help has no command to run, and may not be taken either."""
        try:
            return super().main(*arguments, **named)
        except OSError as error:
            sys.exit(_lost_output(error))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "show_default": True})
@click.version_option(lowtide.__version__, prog_name="lowtide")
@click.option(
    "--import",
    "modules",
    metavar="MODULE",
    multiple=True,
    help="Import a module first, so that the parts it registers with lowtide.register are known; may be repeated.",
)
def main(modules: tuple[str, ...]) -> None:
    """Learn from tables with kernel machines (such as an SVM) that keep each row as packed bits.

    Start with: lowtide fit data.csv --target COLUMN -o model.lowtide
    """
    for module in modules:
        _import(module)


@click.command()
def versions() -> None:
    """Print versions, instruction set and threads, for bug reports."""
    lowtide.show_versions()


def _with_example(error: click.MissingParameter) -> click.MissingParameter:
    """Return an error of what was left out that ends with a whole command, where it says no more."""
    command = error.ctx.command if error.ctx is not None else None
    lines = ((command and command.epilog) or "").splitlines()
    example = next((line.strip() for line in lines if line.startswith("  lowtide ")), None)
    if example is None or error.message:
        return error
    return click.MissingParameter(
        f"For example: {example}", error.ctx, error.param, param_hint=error.param_hint, param_type=error.param_type
    )


def _lost_output(error: OSError) -> int:
    """Return the exit code of an error of standard output, and say what it is; any other is raised again."""
    if error.filename is not None:  # a file that was opened, not the stream that is printed to
        raise error
    # What was not taken goes to nowhere, so that Python does not fail at it once more when it ends.
    with contextlib.suppress(OSError, ValueError), open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())
    if error.errno == errno.EPIPE:  # whoever read it has seen enough
        return CLOSED_PIPE
    problem = f"standard output must take what is printed, got: {error.strerror}"
    click.echo(f"Error: {problem}. Files that were asked for are whole.", err=True)
    return FAILURE


def _import(module: str) -> None:
    """Import a module of the user's: an installed one, or one in the current folder."""
    problem = f"must name a module that can be imported, got {module!r}"
    if not all(part.isidentifier() for part in module.split(".")):
        refuse("--import", f"{problem}. Give it as Python's import statement does.")
    here = str(Path.cwd())
    if not {"", here} & set(sys.path):
        sys.path.append(here)  # last: a file of the user's hides no package that lowtide needs
    try:
        import_module(module)
    except ImportError as error:
        refuse("--import", f"{problem}: {error}. Install it, or go to the folder it is in.")
