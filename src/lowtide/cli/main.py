"""The `lowtide` command and the registry of its subcommands."""

from __future__ import annotations

from importlib import import_module

import click

import lowtide
from lowtide.errors import LowtideError, ParameterError

__all__ = ["COMMANDS", "LazyGroup", "main"]

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
    "verify": "lowtide.cli.verify:verify",
    "versions": "lowtide.cli.versions:versions",
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


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(lowtide.__version__, prog_name="lowtide")
def main() -> None:
    """Kernel machines on a few bits per feature."""
