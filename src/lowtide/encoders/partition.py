"""Codes in cells of rows that lie together, of which a search reads the nearest: the coarse partition."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import check_integer, fail
from lowtide.codes import Codes, RowCells, check_in_cells, concatenate, factors_of, lengths_of
from lowtide.spec import Part, State, take_parts

_OWNER = "Partition"
_VERSION = 1
# Rows a cell that centers are learned from, and rounds of that.
_SAMPLE, _ROUNDS = 40, 8
# Rows that are decoded, or compared with all centers, at a time: some 30 MB.
_DECODED, _COMPARED = 1 << 13, 1 << 23
# Best rows that recalls are measured of.
BEST = (1, 10, 100)

Array = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Partition:
    """Codes of `VectorCodes` in the order of cells, with the recall of reading the nearest cells only.

    Cells are by k-means of what the rows decode to. Codes, and with them scores and errors, are what they were; rows go
    by the numbers that they had.

    Attributes
    ----------
    codes : Codes
        The rows in the order of their cells.
    cells : RowCells
        The number that each row had, and where each cell starts.
    centers : ndarray of float32, shape (n_cells, n_features)
        Means of the rows of a cell, rotated as codes are.
    curve : ndarray of float64, shape (3, n_cells)
        Recall of the best 1, 10 and 100 when 1, 2, ... cells are read: the share of what the scan of all codes finds.
    n_measured : int
        Queries that these are means of.
    """

    codes: Codes
    cells: RowCells
    centers: Array
    curve: NDArray[np.float64]
    n_measured: int

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.codes)

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return len(self.centers)

    @property
    def nbytes(self) -> int:
        """Bytes of the codes, of 8 more a row for its number, of the centers and the recalls."""
        beside = (self.cells.names, self.cells.starts, self.centers, self.curve)
        return self.codes.nbytes + sum(part.nbytes for part in beside)

    def cells_for(self, recall: float, k: int) -> tuple[int, float]:
        """Return how many cells to read for a recall of the best k, and the recall that was measured of them.

        Parameters
        ----------
        recall : float in (0, 1]
            1 stands for all cells.
        k : int
            Recalls were measured of the best 1, 10 and 100: the next of these that is not below k counts, or the last.
        """
        if recall == 1:
            return self.n_cells, 1.0
        line = self.curve[min(int(np.searchsorted(BEST, k)), len(BEST) - 1)]
        count = int(np.searchsorted(line, recall))
        return count + 1, float(line[count])

    def nearest(self, full: Array, count: int, is_product: bool) -> NDArray[np.int32]:
        """Return the nearest cells of full rows, nearest first, (q, count); by product alone or by distance.

        Parameters
        ----------
        full : array (q, n_features)
        count : int
        is_product : bool
        """
        half = np.float32(0) if is_product else _half_squares(self.centers)
        found = np.empty((len(full), count), dtype=np.int32)
        for some in _slices(len(full), max(1, _COMPARED // self.n_cells)):
            scores = half - full[some] @ self.centers.T
            if count < self.n_cells:
                near = np.argpartition(scores, count - 1, axis=1)[:, :count]
                order = np.argsort(np.take_along_axis(scores, near, axis=1), axis=1, kind="stable")
                found[some] = np.take_along_axis(near, order, axis=1)
            else:
                found[some] = np.argsort(scores, axis=1, kind="stable")
        return found

    def append(self, codes: Codes) -> Self:
        """Return a partition with more rows, each in the cell that is nearest; recalls stay as they were measured.

        Parameters
        ----------
        codes : Codes
            Of the same encoder. Their numbers follow those of the rows that are there.
        """
        if not isinstance(codes, Codes):
            raise fail(_OWNER, "codes must be Codes", type(codes).__name__, "Encode the rows first: vectors.encode(X).")
        both = concatenate([self.codes, codes])
        old = np.repeat(np.arange(self.n_cells), np.diff(self.cells.starts))
        names = np.concatenate([self.cells.names, self.n_rows + np.arange(len(codes))])
        cells, order = _in_cells(np.concatenate([old, _nearest_centers(codes, self.centers)]), self.n_cells)
        return replace(self, codes=both[order], cells=replace(cells, names=names[order]))

    def __len__(self) -> int:
        return self.n_rows

    @property
    def shape(self) -> tuple[int, int]:
        """Decoded shape, (n_rows, n_features)."""
        return self.codes.shape

    @cached_property
    def _places(self) -> NDArray[np.int64]:
        places = np.empty(self.n_rows, dtype=np.int64)
        places[self.cells.names] = np.arange(self.n_rows)
        return places

    def __getitem__(self, rows: Any) -> Codes:
        """Return the codes of rows by the numbers that they had: a slice, numbers or a mask."""
        return self.codes[self._places[rows]]

    def to_state(self) -> State:
        """Return what a file keeps: the codes in their order, and a part "partition"."""
        arrays: dict[str, NDArray[Any]] = {
            "centers": self.centers,
            "curve": self.curve,
            "names": self.cells.names,
            "starts": self.cells.starts,
        }
        return {**self.codes.to_state(), "partition": Part(_VERSION, {"n_measured": self.n_measured}, arrays)}

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Return the partition of what `to_state` gave; specs and arrays may be anything."""
        take_parts(_OWNER, {name: state[name] for name in state if name == "partition"}, {"partition": _VERSION})
        part = state["partition"]
        codes = Codes.from_state({name: other for name, other in state.items() if name != "partition"})
        n, kept = len(codes), part.arrays
        n_cells = len(kept["starts"]) - 1
        for name, dtype, shape in (
            ("centers", np.float32, (n_cells, codes.shape[1])),
            ("curve", np.float64, (len(BEST), n_cells)),
            ("names", np.int64, (n,)),
            ("starts", np.int64, (n_cells + 1,)),
        ):
            if kept[name].dtype != dtype or kept[name].shape != shape:
                got = f"{kept[name].dtype} {kept[name].shape}"
                raise fail(_OWNER, f"{name} must be {np.dtype(dtype)} of shape {shape}", got)
        centers, curve, names, starts = (np.array(kept[name]) for name in ("centers", "curve", "names", "starts"))
        check_in_cells(codes)
        if n_cells < 1 or starts[0] != 0 or starts[-1] != n or np.any(np.diff(starts) < 0):
            raise fail(_OWNER, f"starts must rise from 0 to the {n} rows", "others")
        if n and (names.min() < 0 or names.max() >= n or np.any(np.bincount(names, minlength=n) != 1)):
            raise fail(_OWNER, f"names must be the numbers from 0 to {n - 1}, each once", "others")
        if np.any(curve < 0) or np.any(curve[:, -1] != 1) or np.any(np.diff(curve) < 0):
            raise fail(_OWNER, "recalls must rise from 0 or more to 1", "others")
        n_measured = check_integer(_OWNER, "n_measured", part.spec["n_measured"], 0)
        return cls(codes, RowCells(names, starts), centers, curve, n_measured)

    def __repr__(self) -> str:
        n, n_features = self.shape
        return f"Partition({n} x {n_features}, {self.n_cells} cells, {self.nbytes} bytes)"


def split(codes: Codes, n_cells: int | None, rng: np.random.Generator) -> Partition:
    """Return codes in cells by k-means; nothing is measured yet, so that recalls are 1 for all cells and 0 else."""
    check_in_cells(codes)
    n = len(codes)
    if n == 0:
        raise fail(_OWNER, "codes must have rows", 0, "Encode some first.")
    most = check_integer(_OWNER, "n_cells", round(n**0.5) if n_cells is None else n_cells, 1, n)
    centers = _means(decoded(codes[np.sort(rng.choice(n, min(n, _SAMPLE * most), replace=False))]), most, rng)
    cells, order = _in_cells(_nearest_centers(codes, centers), most)
    curve = np.zeros((len(BEST), most))
    curve[:, -1] = 1
    return Partition(codes[order], cells, centers, curve, 0)


def measured(cells: Partition, found: NDArray[np.int64], read: NDArray[np.int32]) -> Partition:
    """Return a partition with the recalls of queries of which the best rows, best first, and all cells are known."""
    of_row = np.empty(cells.n_rows, dtype=np.int32)
    of_row[cells.cells.names] = np.repeat(np.arange(cells.n_cells, dtype=np.int32), np.diff(cells.cells.starts))
    ranks = np.empty_like(read)
    np.put_along_axis(ranks, read, np.arange(cells.n_cells, dtype=np.int32)[None], axis=1)
    late = np.take_along_axis(ranks, of_row[found], axis=1)
    curve = np.ones_like(cells.curve)
    for line, best in zip(curve, BEST):
        counts = np.bincount(late[:, :best].ravel(), minlength=cells.n_cells)
        if counts.any():
            line[:] = np.cumsum(counts) / counts.sum()
    return replace(cells, curve=curve, n_measured=len(found))


def decoded(codes: Codes) -> Array:
    """Return what codes stand for in rotated columns, unbiased for the rows less the center, (n, n_features)."""
    return np.asarray(codes) * factors_of(*lengths_of(codes, 0.0))[0][:, None]


def _slices(n: int, size: int) -> Iterator[slice]:
    return (slice(begin, min(begin + size, n)) for begin in range(0, n, size))


def _half_squares(centers: Array) -> Array:
    return np.asarray(np.einsum("cf,cf->c", centers, centers) / np.float32(2))


def _labels(rows: Array, centers: Array, half: Array) -> NDArray[np.int64]:
    """Return the nearest center of each row."""
    labels = np.empty(len(rows), dtype=np.int64)
    for some in _slices(len(rows), max(1, _COMPARED // len(centers))):
        labels[some] = np.argmax(rows[some] @ centers.T - half, axis=1)
    return labels


def _nearest_centers(codes: Codes, centers: Array) -> NDArray[np.int64]:
    """Return the nearest center of each coded row."""
    half, labels = _half_squares(centers), np.empty(len(codes), dtype=np.int64)
    for some in _slices(len(codes), _DECODED):
        labels[some] = _labels(decoded(codes[some]), centers, half)
    return labels


def _means(rows: Array, n_cells: int, rng: np.random.Generator) -> Array:
    """Return centers by k-means; one that no row is nearest to starts again at a row."""
    centers = rows[np.sort(rng.choice(len(rows), n_cells, replace=False))]
    for _ in range(_ROUNDS):
        labels = _labels(rows, centers, _half_squares(centers))
        cells, order = _in_cells(labels, n_cells)
        counts = np.diff(cells.starts)
        filled = np.flatnonzero(counts)
        centers = rows[rng.choice(len(rows), n_cells)]
        sums = np.add.reduceat(rows[order], cells.starts[filled], axis=0)
        centers[filled] = sums / counts[filled, None].astype(np.float32)
    return centers


def _in_cells(labels: NDArray[np.int64], n_cells: int) -> tuple[RowCells, NDArray[np.int64]]:
    """Return the cells of rows with labels, and the order of the rows in them."""
    order = np.argsort(labels, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(labels, minlength=n_cells))]).astype(np.int64)
    return RowCells(order, starts), order
