"""Define the `lowtide` command, the list of its subcommands, and the exit codes of errors."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import click

import lowtide
from lowtide.cli.terminal import refuse
from lowtide.errors import LowtideError, ParameterError

# A new command is a new file and a line here: its name, then module:function. A command's module imports click alone
# and leaves the rest to its function, so that --help stays fast.
COMMANDS = {
    "demo": "lowtide.cli.demo:demo",
    "encode": "lowtide.cli.encode:encode",
    "export-c": "lowtide.cli.export_c:export_c",
    "fit": "lowtide.cli.fit:fit",
    "inspect": "lowtide.cli.inspect:inspect",
    "predict": "lowtide.cli.predict:predict",
    "serve": "lowtide.cli.serve:serve",
    "verify": "lowtide.cli.inspect:verify",
    "versions": "lowtide.cli.main:versions",
}

USAGE_ERROR, FAILURE, INTERRUPTED = 2, 1, 130  # 130 = 128 + SIGINT, what a shell expects after Ctrl-C


class LazyGroup(click.Group):
    """A group that imports a command when it is asked for, and turns the errors of lowtide into exit codes.

    A wrong parameter ends with 2, any other LowtideError with 1, Ctrl-C with 130; each with one line on stderr.

    Examples
    --------
    >>> from lowtide.cli.main import main
    >>> main.list_commands(None)
    ['demo', 'encode', 'export-c', 'fit', 'inspect', 'predict', 'serve', 'verify', 'versions']
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the registered names without importing anything."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command, or None when there is none of that name."""
        if cmd_name not in COMMANDS:
            return None
        module, function = COMMANDS[cmd_name].split(":")
        command: click.Command = getattr(import_module(module), function)
        return command

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; what it raises on purpose becomes a line on stderr and an exit code."""
        try:
            return super().invoke(ctx)
        except LowtideError as error:
            click.echo(f"Error: {' '.join(str(error).split())}", err=True)
            ctx.exit(USAGE_ERROR if isinstance(error, ParameterError) else FAILURE)
        except KeyboardInterrupt:
            click.echo("Interrupted.", err=True)
            ctx.exit(INTERRUPTED)


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
    """Kernel machines on a few bits per feature."""
    for module in modules:
        _import(module)


@click.command()
def versions() -> None:
    """Print versions, instruction set and threads, for bug reports."""
    lowtide.show_versions()


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
