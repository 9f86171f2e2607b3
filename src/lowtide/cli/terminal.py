"""Give every command its shared options, and one way to speak; loads nothing heavier than click."""

from __future__ import annotations

import functools
import io
import json
import os
import stat
import sys
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

import lowtide
from lowtide.cli.completion import complete_columns
from lowtide.cli.values import ColumnAs, Encoding, Existing, Limit, OneOf, WordOrNumber
from lowtide.errors import LowtideError

if TYPE_CHECKING:
    from numpy.typing import NDArray

Command = Callable[..., Any]
FILE = Existing(exists=True, dir_okay=False, path_type=Path)
FILE_OR_STORE = Existing(exists=True, path_type=Path)
NEW_FILE = click.Path(path_type=Path)
_MOST_COMPONENTS = 1 << 20
_FORMAT = 1  # of the JSON results; grows when a field changes its meaning


def bytes_in_words(n_bytes: int) -> str:
    """Return a number of bytes in a unit that fits: 51.2 kB."""
    if n_bytes < 1000:
        return counted(n_bytes, "byte")
    for power, unit in enumerate(("kB", "MB", "GB"), 1):
        if n_bytes < 999.5 * 1000**power:
            return f"{n_bytes / 1000**power:.3g} {unit}"
    return f"{n_bytes / 1000**4:.3g} TB"


def counted(n: int, what: str) -> str:
    """Return a number with its noun: 12,000 rows."""
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def amount(value: float) -> str:
    """Return a number with four digits, or with all before the point, as the report does."""
    return f"{value:,.0f}" if 1e3 <= abs(value) < 1e9 else f"{value:.4g}"


def sheet(lines: Iterable[tuple[str, str]]) -> str:
    """Return labels and texts in two columns; lines without text are left out."""
    kept = [(label, text) for label, text in lines if text]
    width = max(len(label) for label, _ in kept) + 4
    return "\n".join(f"{label:{width}}{text}" for label, text in kept)


class Voice:
    """Print results on stdout, as text or as one JSON object, and notes and progress on stderr.

    With `as_json` text results are left out; `quiet` leaves out notes and progress too, not errors and JSON.
    """

    def __init__(self, as_json: bool = False, quiet: bool = False) -> None:
        self.as_json, self.quiet = as_json, quiet
        self.notes: list[str] = []
        self._is_working = False

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
    def working(self, what: str, unit: str = "rows") -> Iterator[Callable[[int], None]]:
        """Show on a terminal that work is going on; gives a function that takes the number of rows, or so, done."""
        if not self.shows_progress or self._is_working:  # a terminal has one line for it
            yield lambda n_done: None
            return
        from rich.console import Console

        self._is_working = True
        try:
            with Console(stderr=True).status(f"{what} ...") as status:
                yield lambda n_done: status.update(f"{what} ... {n_done:,} {unit}")
        finally:
            self._is_working = False

    @contextmanager
    def hearing(self) -> Iterator[None]:
        """Turn warnings into notes."""
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            yield
        for text in dict.fromkeys(str(warning.message) for warning in heard):
            self.note(text)


@dataclass(frozen=True)
class EncoderOptions:
    """Say which features are wanted; projection None goes by the kernel, metric None is for features, not vectors."""

    kernel: str
    gamma: Any
    components: int
    projection: str | None
    bits: int | None
    metric: str | None
    seed: int


@dataclass(frozen=True)
class LearnerOptions:
    """Say how a model learns, and on which features; "auto" is left to the data, as in the library."""

    loss: str
    C: Any
    kernel: str
    gamma: Any
    components: Any
    bits: int | None
    metric: str | None
    prune: Any
    budget: tuple[tuple[str, float], ...]
    seed: int


@dataclass(frozen=True)
class TableOptions:
    """Say how a table is read: what columns are taken as, whether numbers are standardized, how the file is written."""

    columns: tuple[tuple[str, str], ...]
    categories: tuple[str, ...]
    drop: tuple[str, ...]
    scale: bool
    header: bool
    encoding: str | None


def header_option(help: str) -> Callable[[Command], Command]:
    """Give a command the option that a CSV file has no header."""
    flag: dict[str, Any] = {"is_flag": True, "flag_value": False, "default": True, "show_default": False}
    return click.option("--no-header", "header", help=help, **flag)


_KERNEL = click.option(
    "--kernel", type=click.Choice(["rbf", "laplacian", "matern"]), default="rbf", help="Similarity of two rows."
)


def _bits_option(text: str, **how: Any) -> Callable[..., Any]:
    return click.option("--bits", type=WordOrNumber("none", whole=(1, 8)), default="1", help=text, **how)


seed_option = click.option("--seed", type=click.IntRange(0, 2**31 - 1), default=0, help="Seed of everything random.")
budget_option = click.option(
    "--budget",
    type=Limit(),
    multiple=True,
    help="Limit the bytes per item (64B), of the model (model:100kB), or the seconds of the fit (2s); may be repeated.",
)
_LOSSES = click.Choice(["auto", "squared", "logistic", "squared_hinge", "hinge"])
_LAYOUTS = click.Choice(["hadamard", "orthogonal", "iid"])
_ENCODER = (
    _KERNEL,
    click.option(
        "--gamma",
        type=WordOrNumber("scale", "median"),
        default="scale",
        help="Inverse width of the kernel, as in scikit-learn.",
    ),
    click.option(
        "--components", type=click.IntRange(1, _MOST_COMPONENTS), default=1024, help="Number of random features."
    ),
    _bits_option("Bits per feature or column, 1 to 8.", metavar="NUMBER"),
    click.option(
        "--projection",
        type=_LAYOUTS,
        help="Layout of the frequencies.  [default: hadamard; iid for the laplacian kernel]",
    ),
    click.option(
        "--metric",
        type=click.Choice(["cosine", "inner_product", "l2"]),
        help="Keep rows as vectors to search by this score ('lowtide search'), not as features of a kernel: in 4 bits "
        "and not standardized unless you say so.",
    ),
    seed_option,
)
_LEARNER = (
    click.option("--loss", type=_LOSSES, default="auto", help="Loss of a classifier; regression always has squared."),
    click.option(
        "--C",
        "C",
        type=WordOrNumber("auto"),
        default="auto",
        help="Inverse of the regularization: a larger C fits the rows more closely.",
    ),
    _KERNEL,
    click.option(
        "--gamma",
        type=WordOrNumber("auto", "scale", "median"),
        default="auto",
        help="Inverse width of the kernel, as in scikit-learn.",
    ),
    click.option(
        "--components",
        type=WordOrNumber("auto", whole=(1, _MOST_COMPONENTS)),
        default="auto",
        help="Number of random features.",
    ),
    _bits_option("Bits per feature, 1 to 8; none for floats."),
    click.option(
        "--metric",
        type=OneOf("auto", "diagonal", "full", "none"),
        default="auto",
        help="Stretch columns by how much they matter (diagonal), or mix them by a matrix (full).",
    ),
    click.option(
        "--prune",
        type=WordOrNumber("auto", "none", whole=(2, 64)),
        default="auto",
        help="Draw this many times as many features, and keep the best.",
    ),
    budget_option,
    seed_option,
)
_COLUMNS: dict[str, Any] = {"metavar": "COLUMN", "multiple": True, "shell_complete": complete_columns}
encoding_option = click.option(
    "--encoding",
    type=Encoding(),
    help="Encoding of a text file: latin-1, windows-1252, ...  [default: UTF-8 or UTF-16]",
)
_TABLE = (
    click.option(
        "--column",
        "columns",
        type=ColumnAs(),
        multiple=True,
        help="Take a column as number, category, truth, date (or ymd, dmy, mdy), or drop it; may be repeated.",
    ),
    click.option("--categories", **_COLUMNS, help="Take a column as categories; may be repeated."),
    click.option("--drop", **_COLUMNS, help="Leave a column out; may be repeated."),
    click.option(
        "--scale/--no-scale", default=True, help="Standardize the columns of numbers: mean 0, standard deviation 1."
    ),
    header_option("The first line of a CSV file is a row; columns are called 0, 1, 2, ..."),
    encoding_option,
)
_VOICE = (
    click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object."),
    click.option("--quiet", "-q", is_flag=True, help="Print only errors, and results that were asked for."),
)


def _bundled(options: tuple[Any, ...], argument: str, kind: Callable[..., Any], command: Command) -> Command:
    """Give a command options, whose values it is passed as one argument."""
    names = [name for name in kind.__init__.__annotations__ if name != "return"]

    @functools.wraps(command)
    def with_one_argument(**values: Any) -> Any:
        bundle = kind(**{name: values.pop(name) for name in names})
        return command(**{argument: bundle}, **values)

    for option in reversed(options):
        with_one_argument = option(with_one_argument)
    return with_one_argument


encoder_options = functools.partial(_bundled, _ENCODER, "encoder", EncoderOptions)
learner_options = functools.partial(_bundled, _LEARNER, "learner", LearnerOptions)
table_options = functools.partial(_bundled, _TABLE, "table", TableOptions)
voice_options = functools.partial(_bundled, _VOICE, "voice", Voice)


class TableCommand(click.Command):
    """A command that ends with a usage error of the option that chose columns which cannot be."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except LowtideError as error:
            if not isinstance(error, lowtide.tables.ChoiceError):
                raise
            hint = "DATA" if error.parameter == "data" else f"--{error.parameter.replace('_', '-')}"
            raise click.BadParameter(error.problem, ctx, param_hint=f"'{hint}'") from error


def refuse(option: str, problem: str) -> NoReturn:
    """End with a usage error of an option or an argument."""
    raise click.BadParameter(problem, param_hint=f"'{option}'")


def check_alone(option: str, allowed: Collection[str], problem: str) -> None:
    """Refuse an option beside which others were typed than the allowed ones; these fill the {} of the problem."""
    context = click.get_current_context()
    given = [
        parameter.opts[0]
        for parameter in context.command.params
        if parameter.name not in allowed
        and context.get_parameter_source(str(parameter.name)) is click.core.ParameterSource.COMMANDLINE
    ]
    if given:
        refuse(option, problem.format(" and ".join(given)))


def check_writable(path: Path, option: str) -> Path:
    """Return where a file will really be written (a link stays a link), or refuse before any work is done.

    Anything there that is no regular file is refused: the rename at the end would replace it.
    """
    target = path.resolve()
    if target.exists() and not target.is_file():
        refuse(option, f"must name a regular file, got {str(path)!r}. Name a new file.")
    check_folder_above(path, option)
    return target


def check_folder_above(path: Path, option: str) -> None:
    """Refuse a name under which nothing can be made: its folder must be there and writable."""
    folder = path.resolve().parent
    if not folder.is_dir():
        refuse(option, f"must be in a folder that exists, got {str(path)!r}. Make {str(folder)!r} first.")
    if not os.access(folder, os.W_OK | os.X_OK):
        refuse(option, f"must be in a folder you may write to, got {str(path)!r}. Choose another folder.")


def check_new(path: Path, option: str, *, force: bool) -> Path:
    """Return where a file will be written; one that is there already is replaced only with `force`."""
    target = check_writable(path, option)
    if target.exists() and not force:
        refuse(option, f"must name a new file, got {str(path)!r}, which is there already. Add --force to replace it.")
    return target


def check_apart(outputs: Mapping[str, Path | None], inputs: Iterable[Path | str | None]) -> None:
    """Refuse an output that is an input, by whatever name, link or folder; what is to be read must be there to the end.

    `outputs` are named by their options, None is standard output; an input may be a text that is no file.
    """
    read = [Path(each).absolute() for each in inputs if each is not None and _status(Path(each)) is not None]
    marks = {_identity(_status(place)): place for place in read}
    for option, output in outputs.items():
        status = _stdout_status() if output is None else _status(output)
        there = marks.get(_identity(status))
        if there is None and output is not None:
            there = next((marks[mark] for mark in map(_identity, _folders(output)) if mark in marks), None)
            inside = [place for place in read if status and _identity(status) in map(_identity, _folders(place))]
            there = there or next(iter(inside), None)
        if there is not None:
            what = "standard output" if output is None else repr(str(output))
            refuse(option, f"must not be, hold or be in what is read, got {what} for {str(there)!r}. Name another.")
    written = [_identity(_status(output)) or output.resolve() for output in outputs.values() if output is not None]
    if len(set(written)) < len(written):
        refuse(next(iter(outputs)), "must name another file than the other output.")


def _status(place: Path) -> os.stat_result | None:
    try:
        return place.stat()
    except (OSError, ValueError):  # a text that is no name of a file
        return None


def _stdout_status() -> os.stat_result | None:
    """Return what standard output is, where that is a file: of a terminal or a pipe nothing can be lost."""
    try:
        status = os.fstat(sys.stdout.fileno())
    except (OSError, ValueError, AttributeError):
        return None
    return status if stat.S_ISREG(status.st_mode) else None


def _identity(status: os.stat_result | None) -> tuple[int, int] | None:
    return None if status is None else (status.st_dev, status.st_ino)


def _folders(place: Path) -> list[os.stat_result]:
    """Return the folders that a place is in, links followed, but for the root and those that are not there."""
    found = [_status(folder) for folder in place.resolve().parents[:-1]]
    return [status for status in found if status is not None]


def npy_pieces(array: NDArray[Any]) -> Iterator[Any]:
    """Yield the bytes of a .npy file, the array's own without a copy."""
    import numpy as np

    array, head = np.ascontiguousarray(array), io.BytesIO()
    np.lib.format.write_array_header_1_0(head, np.lib.format.header_data_from_array_1_0(array))
    yield head.getvalue()
    yield array.reshape(-1).view(np.uint8).data
