"""Output files that are either complete or not there."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from lowtide.errors import LowtideError

__all__ = ["check_folder_above", "check_new", "check_writable", "whole_file", "write_whole"]


def check_writable(path: Path, option: str) -> Path:
    """Return where a file will really be written, or refuse before any work is done.

    A link is followed, so that it stays a link. Anything that is there and not a regular file (a folder, a device) is
    refused: the rename at the end would replace it.
    """
    target = path.resolve()
    if target.exists() and not target.is_file():
        problem = f"must name a regular file, got {str(path)!r}. Name a new file."
        raise click.BadParameter(problem, param_hint=f"'{option}'")
    check_folder_above(path, option)
    return target


def check_folder_above(path: Path, option: str) -> None:
    """Refuse a name under which nothing can be made: its folder must be there and writable."""
    folder = path.resolve().parent
    if not folder.is_dir():
        problem = f"must be in a folder that exists, got {str(path)!r}. Make {str(folder)!r} first."
    elif not os.access(folder, os.W_OK | os.X_OK):
        problem = f"must be in a folder you may write to, got {str(path)!r}. Choose another folder."
    else:
        return
    raise click.BadParameter(problem, param_hint=f"'{option}'")


def check_new(path: Path, option: str, *, force: bool) -> Path:
    """Return where a file will be written; one that is there already is replaced only with `force`."""
    target = check_writable(path, option)
    if target.exists() and not force:
        problem = f"must name a new file, got {str(path)!r}, which is there already. Add --force to replace it."
        raise click.BadParameter(problem, param_hint=f"'{option}'")
    return target


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Give the name of a new file beside `path`, and rename it over `path` once it is complete."""
    # Not the process number: in a container it is the same every time, as is that of a run that was killed.
    part = path.with_name(f".lowtide-{secrets.token_hex(8)}.part")
    try:
        yield part
        part.replace(path)
    except LowtideError:
        raise  # of what is read meanwhile, not of this file
    except OSError as error:
        reason = error.strerror or str(error)
        raise click.ClickException(f"{str(path)!r} must be writable, got: {reason}. Choose another file.") from error
    finally:
        part.unlink(missing_ok=True)


def write_whole(path: Path, text: str) -> None:
    """Write text to a file beside `path` and rename it over `path`: a reader sees the old file or the whole new one."""
    with whole_file(path) as part, part.open("x", encoding="utf-8", newline="\n") as stream:
        stream.write(text)
