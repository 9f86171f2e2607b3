"""Parquet, with the extra `io`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide.cli.tables.block import Block
from lowtide.cli.tables.problem import TableError
from lowtide.errors import MissingExtraError

__all__ = ["ParquetFile", "import_pyarrow"]

_BLOCK_CELLS = 1 << 21


def import_pyarrow() -> Any:
    """Return pyarrow with its Parquet module, or say which extra has it."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtraError(
            "Parquet files need pyarrow, which is not installed: pip install 'lowtide[io]'. CSV and .npy need nothing."
        ) from error
    return pyarrow


class ParquetFile:
    """A Parquet table, read in batches of rows.

    Parameters
    ----------
    path : Path

    Attributes
    ----------
    names : tuple of str
    named : bool
    unnamed : int
    """

    named, unnamed = True, 0

    def __init__(self, path: Path) -> None:
        self.file = path.name
        self._arrow = import_pyarrow()
        try:
            # Buffered ahead, a reader keeps what it has read of all row groups, in the end the whole file.
            self._table = self._arrow.parquet.ParquetFile(path, pre_buffer=False)
        except (self._arrow.ArrowException, OSError) as error:
            raise TableError(f"{self.file} must be a Parquet file, got: {error}".splitlines()[0]) from error
        # What a data frame keeps of its index is no column of the data.
        self.names = tuple(name for name in self._table.schema_arrow.names if not name.startswith("__index_level_"))
        if not self.names or len(set(self.names)) < len(self.names):
            raise TableError(f"{self.file}: columns must have different names, got {list(self.names)}.")

    def blocks(self) -> Iterator[Block]:
        """Yield the rows in order, some megabytes at a time."""
        size = max(1, _BLOCK_CELLS // len(self.names))
        n_rows = 0
        try:
            for batch in self._table.iter_batches(batch_size=size, columns=list(self.names)):
                yield Block(self.file, self.names, [self._values(column) for column in batch.columns], n_rows + 1)
                n_rows += batch.num_rows
        except (self._arrow.ArrowException, OSError) as error:
            raise TableError(
                f"{self.file}: rows after {n_rows} must be readable, got: {error}".splitlines()[0]
            ) from error

    def _values(self, column: Any) -> NDArray[Any]:
        """Return numbers and booleans as they are, NaN where there is nothing, and anything else as objects."""
        types = self._arrow.types
        if types.is_dictionary(column.type):
            column = column.dictionary_decode()
        plain = types.is_integer(column.type) or types.is_floating(column.type) or types.is_boolean(column.type)
        if plain or types.is_decimal(column.type):
            values: NDArray[Any] = column.to_numpy(zero_copy_only=False)
            return values
        texts = [None if value is None else str(value) for value in column.to_pylist()]
        return np.array(texts, dtype=object)
