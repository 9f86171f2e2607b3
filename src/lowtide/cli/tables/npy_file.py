"""One numpy array: rows without names of columns."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide.cli.tables.block import Block
from lowtide.cli.tables.problem import TableError

__all__ = ["NpyFile"]

_BLOCK_CELLS = 1 << 21


class NpyFile:
    """A .npy array (n, d) or (n,), mapped into memory; its columns are called 0, 1, 2, ...

    Parameters
    ----------
    path : Path

    Attributes
    ----------
    names : tuple of str
    named : bool
    unnamed : int
    """

    named, unnamed = False, 0

    def __init__(self, path: Path) -> None:
        self.file = path.name
        array = self._load(path)
        self._array = array[:, None] if array.ndim == 1 else array
        if self._array.ndim != 2 or self._array.shape[1] == 0:
            raise TableError(
                f"{self.file}: an array must have rows and columns, got shape {array.shape}. Flatten the rows: "
                "array.reshape(len(array), -1)."
            )
        if array.dtype.kind not in "biufU":
            raise TableError(
                f"{self.file}: an array must hold numbers, booleans or texts, got {array.dtype}. Convert it with "
                "array.astype('float64')."
            )
        self.names = tuple(str(j) for j in range(self._array.shape[1]))

    def _load(self, path: Path) -> NDArray[Any]:
        try:
            array = np.load(path, mmap_mode="r", allow_pickle=False)
        except (ValueError, EOFError) as error:
            raise TableError(
                f"{self.file} must hold one numpy array of numbers, got another kind of file, or Python objects. Write "
                "it with numpy.save(file, array)."
            ) from error
        except OSError as error:
            raise TableError(f"{self.file} must be readable, got: {error.strerror or error}.") from error
        if not isinstance(array, np.ndarray):
            raise TableError(f"{self.file} must hold one numpy array, got several. Write one with numpy.save.")
        return array

    def blocks(self) -> Iterator[Block]:
        """Yield the rows in order, some megabytes at a time."""
        size = max(1, _BLOCK_CELLS // len(self.names))
        for start in range(0, len(self._array), size):
            part = self._array[start : start + size]
            if part.dtype.kind == "U":
                part = part.astype(object)
            yield Block(self.file, self.names, list(np.asarray(part).T), start + 1)
