"""Keep the settings of a run in a TOML file beside its model, and read them from one in place of options."""

from __future__ import annotations

import difflib
import json
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

import lowtide
from lowtide.cli import terminal as term
from lowtide.cli.terminal import refuse
from lowtide.cli.values import ColumnAs, Limit, OneOf, WordOrNumber

Command = Callable[..., Any]

# How a command speaks, and what it may replace, is not what a run is made of.
_LEFT_OUT = ("settings", "save_settings", "as_json", "quiet", "force", "help")
_CHOSEN = "chosen"


def settings_options(command: Command) -> Command:
    """Give a command --settings, which stands for the options in a file, and --save-settings, which writes one."""
    read = click.option(
        "--settings",
        type=term.FILE,
        is_eager=True,
        expose_value=False,
        callback=_take,
        help="Read options that are not given here from a TOML file that --save-settings wrote.",
    )
    write = click.option(
        "--save-settings", is_flag=True, help="Write the options and the chosen settings next to the model, as TOML."
    )
    return read(write(command))


def place_beside(output: Path, *, force: bool) -> Path:
    """Return where the settings of a model will be written, or refuse before any work is done."""
    name = output.name.removesuffix(".lowtide")
    return term.check_new(output.with_name(f"{name}.toml"), "--save-settings", force=force)


def write_settings(place: Path, chosen: dict[str, Any]) -> None:
    """Write the options of the running command, and what was chosen for those that are left to the data."""
    text = "\n".join(_lines(click.get_current_context(), place.name, chosen)) + "\n"
    lowtide.persist.write_whole(place, [text.encode()])


def toml_value(value: Any) -> str:
    """Return a text, a number, a truth value or a list of these as TOML has it.

    Examples
    --------
    >>> print(toml_value(["price, net", 2, True]))
    ["price, net", 2, true]
    """
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(toml_value, value))}]"
    if isinstance(value, (bool, int, float)):
        return json.dumps(value)
    text = str(value)
    try:
        text.encode()
    except UnicodeEncodeError:
        refuse("--save-settings", f"needs names that UTF-8 can hold, got {text!r}. Leave it out.")
    # A text of JSON is one of TOML, but for the one control character that JSON leaves as it is.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _lines(context: click.Context, name: str, chosen: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of a settings file."""
    command = str(context.command.name)
    yield f"# Settings of a run of lowtide {lowtide.__version__}; to run it again: lowtide {command} --settings {name}"
    yield f"command = {toml_value(command)}"
    for key, parameter in _keys(context.command).items():
        value = context.params.get(str(parameter.name))
        if isinstance(value, Path):
            # Where files are on this machine is nobody's business, and of no use on another.
            value = value.name if value.is_absolute() else value.as_posix()
        elif parameter.name == "target" and value is not None and Path(value).is_absolute():
            value = Path(value).name
        elif isinstance(value, tuple):
            value = [_spelled(parameter.type, each) for each in value]
        else:
            value = _spelled(parameter.type, value)
        yield f"# {key} was not given" if value is None else f"{key} = {toml_value(value)}"
    if chosen:
        yield f'\n# By the data, where an option is "auto"; for you to read, not read back.\n[{_CHOSEN}]'
    for key, value in chosen.items():
        yield f"{key} = {toml_value('none' if value is None else value)}"


def _spelled(kind: Any, value: Any) -> Any:
    """Return what would be typed for a value that an option has read."""
    if isinstance(kind, Limit):
        of, size = value
        return f"{size!r}s" if of == "seconds" else f"{of}:{size}B"
    if isinstance(kind, ColumnAs):
        return "=".join(value)
    return "none" if value is None and isinstance(kind, (WordOrNumber, OneOf)) else value


def _keys(command: click.Command) -> dict[str, click.Parameter]:
    """Return the parameters of a command by what a settings file calls them."""
    found: dict[str, click.Parameter] = {}
    for parameter in command.params:
        if parameter.name in _LEFT_OUT:
            continue
        # A flag goes by the name of what it sets: there may be several of it, or one that means "not".
        is_flag = isinstance(parameter, click.Option) and parameter.is_flag
        key = str(parameter.name).replace("_", "-") if is_flag else parameter.opts[0].lstrip("-")
        found.setdefault(key, parameter)
    return found


def _take(context: click.Context, parameter: click.Parameter, file: Path | None) -> None:
    """Make what a settings file says the defaults of a command's options."""
    if file is None or context.resilient_parsing:
        return
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        refuse("--settings", f"{file.name} must be a TOML file, got: {error}.")
    content.pop(_CHOSEN, None)
    own, command = str(context.command.name), content.pop("command", None)
    if command is not None and command != own:
        refuse("--settings", f"{file.name} must be of 'lowtide {own}', got one of 'lowtide {command}'.")
    keys, defaults = _keys(context.command), {}
    for key, value in content.items():
        if key not in keys:
            near = difflib.get_close_matches(key.replace("_", "-"), keys, 1)
            remedy = f"Did you mean {near[0]!r}?" if near else f"Known are {', '.join(keys)}."
            refuse("--settings", f"{file.name} must have options of 'lowtide {own}', got {key!r}. {remedy}")
        values = [_flag_value(each) for each in context.command.params if each.name == keys[key].name]
        defaults[str(keys[key].name)] = _typed(keys[key], value, f"{file.name}: {key}")
        if isinstance(values[0], str) and value not in values:
            refuse("--settings", f"{file.name}: {key} must be one of {', '.join(map(repr, values))}, got {value!r}.")
    context.default_map = {**(context.default_map or {}), **defaults}


def _typed(parameter: click.Parameter, value: Any, what: str) -> Any:
    """Return a value of a file as the command line would have it: a truth value for a flag, else text."""
    if isinstance(parameter, click.Option) and parameter.multiple:
        if not isinstance(value, list):
            refuse("--settings", f"{what} must be a list, got {value!r}. Put it in brackets.")
        return [_text(each, what) for each in value]
    if isinstance(parameter.type, click.types.BoolParamType):
        if not isinstance(value, bool):
            refuse("--settings", f"{what} must be true or false, got {value!r}.")
        return value
    return _text(value, what)


def _flag_value(parameter: click.Parameter) -> Any:
    return getattr(parameter, "flag_value", None)


def _text(value: Any, what: str) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        refuse("--settings", f"{what} must be a text or a number, got {value!r}.")
    return str(value)
