"""A target that has a file of its own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from lowtide.cli.tables import TableError, is_table_name, open_table

__all__ = ["one_column", "target_file"]


def target_file(target: str, columns: Sequence[str], file: str) -> Path | None:
    """Return the file that a target names, None when it is a column, or should be one."""
    path = Path(target)
    if target in columns or not is_table_name(path):
        return None
    if not path.is_file():
        problem = f"must name a column of {file} or a file, got {target!r}, which is neither."
        raise click.BadParameter(problem, param_hint="'--target'")
    return path


def one_column(path: Path, *, header: bool) -> NDArray[Any]:
    """Return the values of the only column of a file, as the file has them."""
    source = open_table(path, header=header)
    if len(source.names) != 1:
        raise TableError(f"{path.name}: a target file must have one column, got {len(source.names)}.")
    blocks = [block.columns[0] for block in source.blocks()]
    return np.concatenate(blocks) if blocks else np.empty(0)
