"""Codes that stay in their file and are read block by block, each verified as it comes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide.codes import Codes, StoredRows, check_padding, row_bits
from lowtide.errors import CodeLayoutError, FileFormatError
from lowtide.persist.container import Outline, PathLike, scan
from lowtide.persist.files import built

_PACKED = "codes/packed"
# A number a row beside the packed bits, in the order in which codes take them.
_BESIDE = ("norms/norms", "norms/corrections")
# Rows that are taken by number are read together where they lie within as many bytes.
_TAKEN_BYTES = 1 << 18


class CodesFile(StoredRows):
    """Codes of a file, read when they are asked for: a `CodeSource` that needs no memory for rows.

    Made by `open_codes`. Rows that were read are copies of their own: nothing that happens to the file changes them.

    Attributes
    ----------
    path : Path
    bits, n_levels, codebook, fingerprint, side, scale : as in `Codes`
    template : Codes
        Zero rows, with the bits, codebook and identity of all.
    """

    def __init__(self, path: Path, outline: Outline) -> None:
        self.path, self._outline = path, outline
        self._beside = [name for name in _BESIDE if name in outline.places]
        places = {name: place.shape for name, place in outline.places.items()}
        self._n_rows = places[_PACKED][0] if len(places.get(_PACKED, ())) == 2 else -1
        if outline.header.get("kind") != "Codes" or self._n_rows < 0:
            got = f"a {outline.header.get('kind')}"
            raise FileFormatError(f"{str(path)!r} must hold Codes, got {got[:80]}. Name another file.")
        for name in self._beside:
            if places[name] != (self._n_rows,):
                raise FileFormatError(f"{str(path)!r} must have a norm a row, {self._n_rows}, got {places[name]}.")
        # What goes for all rows is small, and is what a file of no rows would have.
        arrays = {name: outline.rows(name, 0, 0 if name in (_PACKED, *_BESIDE) else places[name][0]) for name in places}
        self.use_template(built(repr(str(path)), outline.header, arrays, Codes))
        self._used_bits = row_bits(self.n_levels, self.bits)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self._n_rows

    def rows_between(self, begin: int, end: int) -> Codes:
        """Return rows [begin, end), which must be there.

        Parameters
        ----------
        begin, end : int
        """
        packed = self._outline.rows(_PACKED, begin, end)
        beside = [self._outline.rows(name, begin, end) for name in self._beside]
        try:
            check_padding(packed, self._used_bits)
            return self.template.with_rows(packed, *beside)
        except CodeLayoutError as error:  # written with a right checksum, but not by us
            raise FileFormatError(f"{str(self.path)!r}, rows {begin} to {end - 1} must be codes: {error}") from error

    def rows_at(self, index: NDArray[np.intp]) -> Codes:
        """Return rows by number, in any order, each of which must be there.

        Parameters
        ----------
        index : array of int (k,)
        """
        size = max(1, _TAKEN_BYTES // int(self.template.packed.shape[1]))
        packed = np.empty((len(index), self.template.packed.shape[1]), dtype=np.uint8)
        beside = np.empty((len(self._beside), len(index)), dtype=np.float32)
        order = np.argsort(index // size, kind="stable")
        borders = np.flatnonzero(np.diff(index[order] // size, prepend=-1))
        for places in np.split(order, borders[1:]) if len(order) else ():
            wanted = index[places]
            first = int(wanted.min())
            block = self.rows_between(first, int(wanted.max()) + 1)
            packed[places] = block.packed[wanted - first]
            for row, kept in zip(beside, (block.norms, block.corrections)):
                row[places] = np.asarray(kept)[wanted - first]
        return self.template.with_rows(packed, *beside)

    def __reduce__(self) -> tuple[Callable[..., CodesFile], tuple[Any, ...]]:
        return open_codes, (str(self.path),)

    def __repr__(self) -> str:
        n, n_features = self.shape
        return f"CodesFile({str(self.path)!r}, {n} x {n_features}, bits={self.bits})"


def open_codes(path: PathLike) -> CodesFile:
    """Return the codes of a file as a source of blocks; the rows stay in the file.

    Parameters
    ----------
    path : str or path-like
        A file of codes that `save` wrote.

    Returns
    -------
    CodesFile
        What learners, decisions and servers take in place of `Codes`; slices and blocks of it are `Codes`.

    Raises
    ------
    FileAccessError
        Also an OSError: the file is not there or cannot be read; later, when rows are asked for, that it was changed
        in place or cut short.
    FileFormatError
        Also a ValueError: the file is foreign, cut short, damaged, or holds no codes.

    Notes
    -----
    The file is read once, for its checksum, and stays open. Rows are read again when they are asked for, into memory of
    their own, and compared with what was read first: a file that changes is an error, never another answer, and never
    the end of the process, as it would be with a memory map. One that is renamed over it goes unnoticed.

    See Also
    --------
    lowtide.load : all rows in memory
    lowtide.CodeStore : rows that are appended to

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> import lowtide as lt
    >>> codes = lt.RandomFeatures(n_components=256, random_state=0).fit(np.eye(9)).encode(np.eye(9))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "codes.lowtide")
    ...     lt.save(codes, path)
    ...     stored = lt.persist.open_codes(path)
    ...     stored.shape, [len(block) for block in stored.blocks(4)], stored[2:5] == codes[2:5]
    ((9, 256), [4, 4, 1], True)
    """
    outline = scan(path)
    return CodesFile(Path(path).absolute(), outline)
