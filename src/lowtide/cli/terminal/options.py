"""Options that several commands have."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click

from lowtide.cli.terminal.values import WordOrNumber
from lowtide.cli.terminal.voice import Voice

__all__ = ["EncoderOptions", "TableOptions", "encoder_options", "table_options", "voice_options"]

Command = Callable[..., Any]


@dataclass(frozen=True)
class EncoderOptions:
    """Which features: kernel, gamma, components (None: by the number of rows), projection (None: by kernel), bits."""

    kernel: str
    gamma: Any
    components: int | None
    projection: str | None
    bits: int | None
    seed: int


@dataclass(frozen=True)
class TableOptions:
    """How a table is read: columns as categories, columns left out, standardized or not, with a header or not."""

    one_hot: tuple[str, ...]
    drop: tuple[str, ...]
    scale: bool
    header: bool


_ENCODER = (
    click.option(
        "--kernel",
        type=click.Choice(["rbf", "laplacian", "matern"]),
        default="rbf",
        show_default=True,
        help="Similarity of two rows.",
    ),
    click.option(
        "--gamma",
        type=WordOrNumber("scale", "median"),
        default="scale",
        show_default=True,
        help="Inverse width of the kernel, as in scikit-learn.",
    ),
    click.option(
        "--components",
        type=click.IntRange(1, 1 << 20),
        help="Random features.  [default: 4096; 2048 up to 2048 rows, 1024 up to 1024]",
    ),
    click.option(
        "--bits",
        type=WordOrNumber("none", whole=(1, 8)),
        default="1",
        show_default=True,
        help="Bits a feature, 1 to 8; none for float features.",
    ),
    click.option(
        "--projection",
        type=click.Choice(["hadamard", "orthogonal", "iid"]),
        help="Layout of the frequencies.  [default: hadamard; iid for the laplacian kernel]",
    ),
    click.option(
        "--seed", type=click.IntRange(0, 2**31 - 1), default=0, show_default=True, help="Of everything random."
    ),
)
_TABLE = (
    click.option("--one-hot", metavar="COLUMN", multiple=True, help="Take a column as categories; may be repeated."),
    click.option("--drop", metavar="COLUMN", multiple=True, help="Leave a column out; may be repeated."),
    click.option(
        "--scale/--no-scale",
        default=True,
        show_default=True,
        help="Standardize the columns of numbers: mean 0, standard deviation 1.",
    ),
    click.option(
        "--no-header",
        "header",
        is_flag=True,
        flag_value=False,
        default=True,
        help="The first line of a CSV file is a row; columns are called 0, 1, 2, ...",
    ),
)
_VOICE = (
    click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object."),
    click.option("--quiet", "-q", is_flag=True, help="Print nothing but errors, and what was asked for."),
)


def encoder_options(command: Command) -> Command:
    """Give a command the options of an encoder, as one argument `encoder`."""
    return _bundled(command, _ENCODER, "encoder", EncoderOptions)


def table_options(command: Command) -> Command:
    """Give a command the options of a table, as one argument `table`."""
    return _bundled(command, _TABLE, "table", TableOptions)


def voice_options(command: Command) -> Command:
    """Give a command --json and --quiet, as one argument `voice`."""
    return _bundled(command, _VOICE, "voice", Voice)


def _bundled(command: Command, options: tuple[Any, ...], argument: str, kind: Callable[..., Any]) -> Command:
    """Add options, and pass their values on as one object."""
    names = [name for name in kind.__init__.__annotations__ if name != "return"]

    @functools.wraps(command)
    def with_one_argument(**values: Any) -> Any:
        bundle = kind(**{name: values.pop(name) for name in names})
        return command(**{argument: bundle}, **values)

    for option in reversed(options):
        with_one_argument = option(with_one_argument)
    return with_one_argument
