"""Sparse projections by -1, 0 and +1: additions and subtractions only, made again from a seed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from lowtide._checks import check_integer, check_interval, fail
from lowtide.spec import Spec

# Features of a chunk: a tile of 64 rows by 1024 features is 128 KB of int16, within a second-level cache.
_LARGEST_CHUNK = 1024
# Entries drawn at a time: 32 MB of raw words.
_BLOCK_ENTRIES = 1 << 23


@dataclass(eq=False, repr=False)
class SparseTernary(Spec):
    """Entries 0 with probability eps, +-(1 - eps)^(-1/2) with (1 - eps)/2 each: mean 0, variance 1.

    Parameters
    ----------
    sparsity : float from 0 to 0.999, default=0.9
        eps, the share of zeros.

    Notes
    -----
    Sums over many entries are close to normal, and then the kernel is that of normal frequencies: d (1 - eps) of 30 or
    more is a rule of thumb.

    References
    ----------
    TRF (Tiomoko Ali, Liao and Couillet), (4).

    Examples
    --------
    >>> drawn = SparseTernary(0.9).draw(784, 4096, seed=0)
    >>> drawn.nbytes // 1024, round(drawn.n_terms / (784 * 4096), 3)    # KB; as a matrix of bytes 3136
    (658, 0.1)
    """

    sparsity: float = 0.9

    def check(self) -> None:
        """Refuse a share of zeros outside its limits."""
        remedy = "More zeros than that leave rows of W empty."
        check_interval("SparseTernary", "sparsity", self.sparsity, 0.0, 0.999, remedy)

    def draw(self, n_features: int, n_outputs: int, seed: int) -> SparseTernaryProjection:
        """Return the projection that belongs to a seed.

        Bits come from raw words of PCG64, whose sequence no version of numpy changes: entry k of output j takes half
        k % 2 of word k // 2 of its ceil(n_features / 2) words, outputs one after the other. Below
        2^31 (1 - eps), rounded, it is +1, below twice that -1, else 0.
        """
        n_features = check_integer("SparseTernary", "n_features", n_features, 1)
        n_outputs = check_integer("SparseTernary", "n_outputs", n_outputs, 1)
        n_chunks = -(-n_features // _LARGEST_CHUNK)
        chunk = -(-n_features // n_chunks)
        half = round((1.0 - self.sparsity) * 2**31)
        words = np.random.PCG64(check_integer("SparseTernary", "seed", seed, 0))
        found: list[list[tuple[NDArray[np.uint16], NDArray[np.int64]]]] = [[] for _ in range(n_chunks)]
        step = max(1, _BLOCK_ENTRIES // n_features)
        for first in range(0, n_outputs, step):
            entries = _entries(words, min(step, n_outputs - first), n_features)
            for c, of_chunk in enumerate(found):
                of_chunk.append(_lists(entries[:, c * chunk : (c + 1) * chunk], half))
        lists, counts = zip(*(pair for of_chunk in found for pair in of_chunk))
        starts = np.cumsum(np.concatenate([[0], *counts]))
        if starts[-1] > np.iinfo(np.uint32).max:
            raise fail("SparseTernary", "W must have fewer than 2^32 entries that are not 0", int(starts[-1]))
        return SparseTernaryProjection(
            n_features, n_outputs, half / 2**31, chunk, np.concatenate(lists), starts.astype(np.uint32)
        )


@dataclass(frozen=True)
class SparseTernaryProjection:
    """Drawn entries as lists of features: 2 bytes an entry that is not 0, 8 an output and chunk.

    Attributes
    ----------
    density : float
        Share of entries that are not 0, 1 - eps.
    chunk : int
        Features of a chunk.
    lists : uint16 array
        Features, counted from the start of their chunk: by chunk, in it by output, the pluses before the minuses.
    starts : uint32 array (2 n_outputs n_chunks + 1,)
        Where each list starts, and the end.

    Examples
    --------
    >>> drawn = SparseTernary(0.5).draw(4, 2, seed=0)
    >>> drawn.signs().toarray()
    array([[ 0,  0,  0, -1],
           [-1,  1,  1,  1]], dtype=int8)
    """

    n_features: int
    n_outputs: int
    density: float
    chunk: int
    lists: NDArray[np.uint16]
    starts: NDArray[np.uint32]

    @property
    def n_terms(self) -> int:
        """Entries that are not 0: additions and subtractions a row."""
        return len(self.lists)

    @property
    def row_cost(self) -> int:
        """An addition or subtraction an entry that is not 0."""
        return self.n_terms

    @property
    def nbytes(self) -> int:
        """Bytes of the lists."""
        return self.lists.nbytes + self.starts.nbytes

    @cached_property
    def most_terms(self) -> int:
        """Most pluses, or minuses, of an output."""
        return int(np.diff(self.starts).reshape(-1, self.n_outputs, 2).sum(axis=0).max())

    def signs(self) -> scipy.sparse.csr_array[Any]:
        """Return the entries' signs, int8 (n_outputs, n_features), built on request."""
        sizes = np.diff(self.starts)
        of_list = np.repeat(np.arange(len(sizes)), sizes)
        chunk, output = np.divmod(of_list // 2, self.n_outputs)
        values = np.where(of_list % 2 == 0, 1, -1).astype(np.int8)
        shape = (self.n_outputs, self.n_features)
        return scipy.sparse.csr_array((values, (output, chunk * self.chunk + self.lists)), shape=shape)

    def weights(self) -> NDArray[np.float32]:
        """Return W, frequencies in columns, (n_features, n_outputs), built on request."""
        return self.signs().toarray().T.astype(np.float32) * np.float32(1.0 / math.sqrt(self.density))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what was drawn, for a fingerprint; a file keeps the seed alone."""
        return {"lists": self.lists, "starts": self.starts}


def _lists(entries: NDArray[np.uint32], half: int) -> tuple[NDArray[np.uint16], NDArray[np.int64]]:
    """Return the features of each row's pluses, then its minuses, in one array, and how many each has."""
    n, width = entries.shape
    signed = np.empty((n, 2, width), dtype=bool)
    np.less(entries, half, out=signed[:, 0])
    # Not `less` than 2 half, which may not fit 32 bits: given `out`, numpy 2.0.0 then crashes now and then.
    np.less_equal(entries, 2 * half - 1, out=signed[:, 1])
    signed[:, 1] ^= signed[:, 0]
    features = np.flatnonzero(signed) % width
    return features.astype(np.uint16), np.count_nonzero(signed, axis=2).ravel()


def _entries(words: np.random.PCG64, n_rows: int, n_columns: int) -> NDArray[np.uint32]:
    """Return uniform 32-bit integers (n_rows, n_columns), the low half of a word before the high one."""
    per_row = -(-n_columns // 2)
    raw = words.random_raw(n_rows * per_row).astype("<u8", copy=False)
    return np.asarray(raw.view("<u4").reshape(n_rows, 2 * per_row)[:, :n_columns])
