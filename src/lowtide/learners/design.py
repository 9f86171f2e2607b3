"""The matrix that a solver multiplies with: packed codes, or full features made block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas

from lowtide.codes import Codes, CodeSource
from lowtide.encoders import Encoder

__all__ = ["CodedDesign", "Design", "FullDesign", "encoded_design"]

Array = NDArray[Any]

_BLOCK_VALUES = 1 << 21


class Design(Protocol):
    """D, n rows by m features, by its products alone; nothing of size n x m floats exists."""

    @property
    def is_whole(self) -> bool:
        """Whether the only part is the design itself."""

    @property
    def is_packed(self) -> bool:
        """Whether products run on packed bits, on threads of their own."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""

    def matmul(self, W: Array) -> Array:
        """Return D W, in W's type."""

    def rmatmul(self, R: Array) -> Array:
        """Return D' R, in R's type."""

    def gram(self, weight: Array | None, dtype: type[np.floating[Any]]) -> Array:
        """Return D' diag(weight) D."""

    def squares(self) -> Array:
        """Return the sum of squares of each column, float64 (m,)."""

    def take(self, rows: Array | slice) -> Design:
        """Return some of the rows."""

    def parts(self, n_columns: int = 1, at_least: int = 0) -> Iterator[Design]:
        """Yield all rows in order, as designs in memory.

        Of a part's rows n_columns of float64 can be made; parts hold `at_least` bytes of codes, if there are as many.
        """

    def gathered(self) -> Design:
        """Return the same rows in memory."""

    @property
    def codes(self) -> CodeSource:
        """The codes, of a packed design."""

    def recoded(self, change: Callable[[Codes], Codes]) -> Design:
        """Return the same rows with their codes changed, of a packed design."""


class _InMemory:
    """A design with one part, itself."""

    is_whole: ClassVar[bool] = True

    def parts(self, n_columns: int = 1, at_least: int = 0) -> Iterator[Self]:
        """Yield the design itself."""
        yield self

    def gathered(self) -> Self:
        """Return the design itself."""
        return self


@dataclass(frozen=True)
class CodedDesign(_InMemory):
    """Packed codes."""

    codes: Codes
    is_packed: ClassVar[bool] = True

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return self.codes.shape

    def matmul(self, W: Array) -> Array:
        """Return D W from packed bits."""
        return self.codes @ W

    def rmatmul(self, R: Array) -> Array:
        """Return D' R from packed bits."""
        return self.codes.T @ R

    def gram(self, weight: Array | None, dtype: type[np.floating[Any]]) -> Array:
        """Return D' diag(weight) D from packed bits."""
        return self.codes.gram(weight, dtype=dtype)

    def squares(self) -> Array:
        """Return the sum of squares of each column: column sums under the codebook of squares."""
        exact = self.codes.codebook.astype(np.float64) ** 2
        # A square of a float32 is the sum of two: the sums lose nothing to the codebook's type.
        high = exact.astype(np.float32)
        low = (exact - high).astype(np.float32)
        ones = np.ones(len(self.codes))
        return self.codes.with_codebook(high).T @ ones + self.codes.with_codebook(low).T @ ones

    def take(self, rows: Array | slice) -> CodedDesign:
        """Return some of the rows, still packed."""
        return CodedDesign(self.codes[rows])

    def recoded(self, change: Callable[[Codes], Codes]) -> CodedDesign:
        """Return the same rows with their codes changed."""
        return CodedDesign(change(self.codes))


@dataclass(frozen=True)
class FullDesign(_InMemory):
    """Float features of rows, computed again for every product.

    `method` is the encoder's that makes them of validated rows: "_encode" for a coded side that is not packed,
    "_transform" or "_transform_right" for one side of two.
    """

    encoder: Encoder
    rows: Any
    method: str = "_embed"
    is_packed: ClassVar[bool] = False

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        columns = self.encoder._n_embedded if self.method == "_embed" else self.encoder._n_features_out
        return int(self.rows.shape[0]), columns

    def blocks(self) -> Iterator[tuple[slice, NDArray[np.float32]]]:
        """Yield slices of rows and their features, a few megabytes at a time."""
        n, m = self.shape
        step = max(1, _BLOCK_VALUES // m)
        for start in range(0, n, step):
            part = slice(start, min(start + step, n))
            yield part, getattr(self.encoder, self.method)(self.rows[part])

    def matmul(self, W: Array) -> Array:
        """Return D W."""
        out = np.empty((self.shape[0], W.shape[1]), dtype=W.dtype)
        for part, Z in self.blocks():
            np.matmul(Z.astype(W.dtype, copy=False), W, out=out[part])
        return out

    def rmatmul(self, R: Array) -> Array:
        """Return D' R."""
        out = np.zeros((self.shape[1], R.shape[1]), dtype=R.dtype)
        for part, Z in self.blocks():
            out += Z.astype(R.dtype, copy=False).T @ R[part]
        return out

    def gram(self, weight: Array | None, dtype: type[np.floating[Any]]) -> Array:
        """Return D' diag(weight) D; weights must not be negative."""
        syrk = blas.ssyrk if dtype == np.float32 else blas.dsyrk
        total = np.zeros((self.shape[1],) * 2, dtype=dtype, order="F")
        for part, Z in self.blocks():
            block = Z.astype(dtype)
            if weight is not None:
                block *= np.sqrt(weight[part])[:, None].astype(dtype)
            total = syrk(1.0, block.T, beta=1.0, c=total, overwrite_c=1)
        return _mirrored(total)

    def squares(self) -> Array:
        """Return the sum of squares of each column."""
        return np.sum([np.einsum("ij,ij->j", Z, Z, dtype=np.float64) for _, Z in self.blocks()], axis=0)

    def take(self, rows: Array | slice) -> FullDesign:
        """Return some of the rows."""
        return FullDesign(self.encoder, self.rows[rows], self.method)

    @property
    def codes(self) -> CodeSource:
        """Raise: features that are not packed have no codes."""
        raise TypeError("full features have no codes")

    def recoded(self, change: Callable[[Codes], Codes]) -> FullDesign:
        """Raise: features that are not packed have no codes to change."""
        raise TypeError("full features have no codes")


def _mirrored(upper: Array) -> Array:
    """Copy the upper triangle over the lower one, in place: a second matrix would double the memory of a fit."""
    size = 512
    for j in range(0, len(upper), size):
        corner = upper[j : j + size, j : j + size]
        corner[...] = np.triu(corner) + np.triu(corner, 1).T
        upper[j : j + size, :j] = upper[:j, j : j + size].T
    return upper


def encoded_design(
    encoder: Any, rows: Any, method: str = "_encode", read: Callable[[Codes], Codes] | None = None
) -> Design:
    """Return the coded side of validated rows: packed, or float features where that side is continuous.

    `read` gives packed codes another codebook.
    """
    encode = getattr(encoder, method)
    # A side that is not packed shows in one row; all of it at once would be n x m floats.
    codes = encode(rows[:1])
    if not isinstance(codes, Codes):
        return FullDesign(encoder, rows, method)
    codes = encode(rows) if rows.shape[0] > 1 else codes
    return CodedDesign(codes if read is None else read(codes))
