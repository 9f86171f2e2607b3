"""The matrix that a solver multiplies with: packed codes, full features made block by block, or a source of codes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, cast

import numpy as np
import scipy
from numpy.typing import NDArray

from lowtide._checks import fail, is_sparse
from lowtide.cancel import add_gram, matmul, mirrored
from lowtide.codes import Codes, CodeSource, concatenate
from lowtide.encoders import check_identity, row_keys, row_keys_of

Array = NDArray[Any]

_BLOCK_VALUES = 1 << 21
# What a pair of bits costs to be counted, over a multiplication of floats.
_COUNTED = 0.1
# Enough rows for products to run at full speed, and little enough to be read into memory that is used again.
_BLOCK_BYTES = 1 << 24
# Float64 values that may be made of a block's rows, a column a class: 128 MB.
_BLOCK_NUMBERS = 1 << 24


class Design(ABC):
    """D, n rows by m features, by its products alone; nothing of size n x m floats exists.

    What is here sums over `parts`; a design that is in memory as a whole, its own only part, has products of its own.
    """

    is_whole: ClassVar[bool] = True
    # Whether products run on packed bits, on threads of their own.
    is_packed: ClassVar[bool] = True

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Rows and features."""

    @abstractmethod
    def take(self, rows: Array | slice) -> Design:
        """Return some of the rows."""

    def parts(self, n_columns: int = 1, at_least: int = 0) -> Iterator[Design]:
        """Yield all rows in order, as designs in memory.

        Of a part's rows n_columns of float64 can be made; parts hold `at_least` bytes of codes, if there are as many.
        """
        yield self

    def joined(self, other: Design) -> Design:
        """Return these rows and, after them, others of the same encoder, in memory."""
        raise TypeError("rows must be in memory to be joined")

    def keys(self) -> Array:
        """Return a hash of each row, uint64 (n,), which depends on nothing but what is kept of the row."""
        return np.concatenate([part.keys() for part in self.parts()])

    def matmul(self, W: Array) -> Array:
        """Return D W, (n, k), in W's type."""
        return np.concatenate([part.matmul(W) for part in self.parts(W.shape[1])])

    def rmatmul(self, R: Array) -> Array:
        """Return D' R, in R's type."""
        total, start = np.zeros((self.shape[1], R.shape[1]), dtype=R.dtype), 0
        for part in self.parts(R.shape[1]):
            stop = start + part.shape[0]
            total += part.rmatmul(R[start:stop])
            start = stop
        return total

    def gram(self, weight: Array | None, dtype: type[np.floating[Any]]) -> Array:
        """Return D' diag(weight) D; weights must not be negative."""
        total, start = np.zeros((self.shape[1],) * 2, dtype=dtype), 0
        for part in self.parts(at_least=total.nbytes // 2):
            stop = start + part.shape[0]
            total += part.gram(None if weight is None else weight[start:stop], dtype)
            start = stop
        return total

    def dense(self) -> Array:
        """Return few rows as float32 (n, m)."""
        raise TypeError("rows must be in memory to be decoded")

    def kernel(self, other: Design, dtype: type[np.floating[Any]]) -> Array:
        """Return D O', the products of these rows with those of another design in memory, (n, n')."""
        raise TypeError("rows must be in memory to be multiplied with each other")

    @property
    def pair_cost(self) -> float:
        """What two entries cost in a Gram or kernel matrix, in multiplications: little where bits are counted."""
        return 1.0

    def squares(self) -> Array:
        """Return the sum of squares of each column, float64 (m,)."""
        return np.sum([part.squares() for part in self.parts()], axis=0)

    @property
    def codes(self) -> CodeSource:
        """The codes, of a packed design."""
        raise TypeError("full features have no codes")

    def recoded(self, change: Callable[[Codes], Codes]) -> Design:
        """Return the same rows with their codes changed, of a packed design."""
        return design_of(RecodedSource(self.codes, change))


@dataclass(frozen=True)
class CodedDesign(Design):
    """Packed codes, all or those at some places, which are copied when they are first asked for."""

    whole: Codes
    places: Array | None = None

    @cached_property
    def packed(self) -> Codes:
        """The codes of the rows."""
        return self.whole if self.places is None else self.whole[self.places]

    def __reduce__(self) -> tuple[Any, ...]:
        """Send no more than the rows to another process."""
        return CodedDesign, (self.packed,)

    @property
    def codes(self) -> Codes:
        """The codes themselves."""
        return self.packed

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        n, m = self.whole.shape
        return n if self.places is None else len(self.places), m

    def matmul(self, W: Array) -> Array:
        """Return D W from packed bits."""
        return self.codes @ W

    def rmatmul(self, R: Array) -> Array:
        """Return D' R from packed bits."""
        return self.codes.T @ R

    def gram(self, weight: Array | None, dtype: type[np.floating[Any]]) -> Array:
        """Return D' diag(weight) D from packed bits."""
        return self.codes.gram(weight, dtype=dtype)

    def dense(self) -> Array:
        """Return the decoded rows."""
        return np.asarray(self.packed)

    def kernel(self, other: Design, dtype: type[np.floating[Any]]) -> Array:
        """Return the products of packed rows, counted where they have one bit."""
        if isinstance(other, CodedDesign):
            return self.codes.dot(other.codes, dtype=dtype)
        return other.kernel(self, dtype).T

    @property
    def pair_cost(self) -> float:
        """A tenth of a multiplication for one bit and for trits."""
        book = self.whole.codebook.ravel()
        # Trits are levels 0, v, -v and one that never comes.
        is_trits = self.whole.bits == 2 and len(book) == 4 and book[0] == book[3] == 0.0 and book[1] == -book[2]
        return _COUNTED if self.whole.bits == 1 or is_trits else 1.0

    def squares(self) -> Array:
        """Return the sum of squares of each column: column sums under the codebook of squares."""
        exact = self.codes.codebook.astype(np.float64) ** 2
        # A square of a float32 is the sum of two: the sums lose nothing to the codebook's type.
        high = exact.astype(np.float32)
        low = (exact - high).astype(np.float32)
        ones = np.ones(len(self.codes))
        return self.codes.with_codebook(high).T @ ones + self.codes.with_codebook(low).T @ ones

    def take(self, rows: Array | slice) -> CodedDesign:
        """Return some of the rows, still packed; most of them are copied only when they are needed."""
        if isinstance(rows, slice) or rows.dtype == bool or self.places is not None or 2 * len(rows) <= len(self.whole):
            return CodedDesign(self.codes[rows])
        return CodedDesign(self.whole, rows)

    def joined(self, other: Design) -> CodedDesign:
        """Return these rows and, after them, others of the same encoder, still packed."""
        return CodedDesign(concatenate([self.packed, cast(CodedDesign, other).packed]))

    def keys(self) -> Array:
        """Return a hash of each row's code, and of its length where that is a factor of it."""
        own = row_keys(self.packed.packed)
        norms = self.packed.norms
        return own if norms is None or not self.packed.is_times_norms else own ^ row_keys(norms[:, None])

    def recoded(self, change: Callable[[Codes], Codes]) -> CodedDesign:
        """Return the same rows with their codes changed."""
        return CodedDesign(change(self.codes))


@dataclass(frozen=True)
class FullDesign(Design):
    """Float features that `make`, a method of a drawn encoder, gives of rows; computed again for every product."""

    make: Callable[[Any], Any]
    rows: Any
    n_columns: int
    is_packed: ClassVar[bool] = False

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return int(self.rows.shape[0]), self.n_columns

    def blocks(self) -> Iterator[tuple[slice, NDArray[np.float32]]]:
        """Yield slices of rows and their features, a few megabytes at a time."""
        n, m = self.shape
        step = max(1, _BLOCK_VALUES // m)
        for start in range(0, n, step):
            part = slice(start, min(start + step, n))
            yield part, self.make(self.rows[part])

    def matmul(self, W: Array) -> Array:
        """Return D W."""
        out = np.empty((self.shape[0], W.shape[1]), dtype=W.dtype)
        for part, Z in self.blocks():
            matmul(Z.astype(W.dtype, copy=False), W, out=out[part])
        return out

    def rmatmul(self, R: Array) -> Array:
        """Return D' R."""
        out = np.zeros((self.shape[1], R.shape[1]), dtype=R.dtype)
        for part, Z in self.blocks():
            out += matmul(Z.astype(R.dtype, copy=False).T, R[part])
        return out

    def gram(self, weight: Array | None, dtype: type[np.floating[Any]]) -> Array:
        """Return D' diag(weight) D; weights must not be negative."""
        total = np.zeros((self.shape[1],) * 2, dtype=dtype, order="F")
        for part, Z in self.blocks():
            block = Z.astype(dtype)
            if weight is not None:
                block *= np.sqrt(weight[part])[:, None].astype(dtype)
            add_gram(total.T, block)
        return mirrored(total.T).T  # in place: a second matrix would double the memory of a fit

    def dense(self) -> Array:
        """Return the features of all rows."""
        return np.asarray(self.make(self.rows))

    def kernel(self, other: Design, dtype: type[np.floating[Any]]) -> Array:
        """Return products of rows, a block of features at a time."""
        out = np.empty((self.shape[0], other.shape[0]), dtype=dtype)
        for part, Z in self.blocks():
            out[part] = other.matmul(np.ascontiguousarray(Z.T, dtype=dtype)).T
        return out

    def squares(self) -> Array:
        """Return the sum of squares of each column."""
        return np.sum([np.einsum("ij,ij->j", Z, Z, dtype=np.float64) for _, Z in self.blocks()], axis=0)

    def take(self, rows: Array | slice) -> FullDesign:
        """Return some of the rows."""
        return replace(self, rows=self.rows[rows])

    def joined(self, other: Design) -> FullDesign:
        """Return these rows and, after them, others of the same encoder."""
        both = self.rows, cast(FullDesign, other).rows
        return replace(
            self,
            rows=scipy.sparse.vstack(both, format="csr") if is_sparse(self.rows) else np.concatenate(both),
        )

    def keys(self) -> Array:
        """Return a hash of each row's numbers, rounded to float32 as encoders round them."""
        return row_keys_of(self.rows)


def encoded_design(
    encode: Callable[[Any], Any], rows: Any, n_columns: int, read: Callable[[Codes], Codes] | None = None
) -> Design:
    """Return a side that `encode` makes of validated rows: packed, or float features where that side is continuous.

    `read` gives packed codes another codebook.
    """
    # A side that is not packed shows in one row; all of it at once would be n x m floats.
    codes = encode(rows[:1])
    if not isinstance(codes, Codes):
        return FullDesign(encode, rows, n_columns)
    codes = encode(rows) if rows.shape[0] > 1 else codes
    return CodedDesign(codes if read is None else read(codes))


def is_source(X: Any) -> bool:
    """Whether X is a source of codes, `Codes` itself or any other; rows of features are none."""
    # An array is what comes most often, and a protocol takes long to be ruled out.
    return not isinstance(X, np.ndarray) and isinstance(X, CodeSource)


def read_as(template: Codes, codes: Codes) -> Codes:
    """Return codes with the codebook of a template: a sketch's levels may come with any other."""
    same = codes.codebook is template.codebook or np.array_equal(codes.codebook, template.codebook)
    if same and codes.is_times_norms == template.is_times_norms:
        return codes
    book = codes.with_codebook(template.codebook)
    return book.times_norms() if template.is_times_norms else book


def check_same(template: Codes, codes: Codes) -> None:
    """Refuse codes of other frequencies, or of another rule that makes levels of phases, than a template's."""
    identity = (template.fingerprint, template.side)
    check_identity("the model's encoder", identity, codes, "Encode the rows with the model's features_.")


def column_of(source: CodeSource, values: Any, default: str | None = None) -> Any:
    """Return values, one per row, as they are, or the column of the source that a text (for None the default) names."""
    name = default if values is None else values
    if not isinstance(name, str) or not hasattr(source, "column"):
        return values
    return source.column(name)


def first_codes(source: CodeSource) -> Codes:
    """Return zero rows of a source that has rows, or of Codes: codebook, width and fingerprint."""
    return source[:0] if isinstance(source, Codes) else next(iter(source.blocks(1)))[:0]


def read_blocks(source: CodeSource, n_columns: int = 1, at_least: int = 0) -> Iterator[Codes]:
    """Yield the rows of a source in order, as much at a time as a process can easily hold; Codes come as they are.

    `n_columns` numbers will be made of each row; a block should have `at_least` bytes, if there are as many.
    """
    if isinstance(source, Codes):
        yield source
    elif source.n_rows:
        row_bytes = first_codes(source).packed.shape[1]
        size = min(max(_BLOCK_BYTES, at_least) // row_bytes, _BLOCK_NUMBERS // n_columns)
        yield from source.blocks(max(1, size))


@dataclass(frozen=True)
class RecodedSource:
    """A source whose blocks are changed as they are read: to another codebook, for example."""

    source: CodeSource
    change: Callable[[Codes], Codes]

    @property
    def n_rows(self) -> int:
        """Rows in all blocks together."""
        return self.source.n_rows

    @property
    def shape(self) -> tuple[int, int]:
        """Decoded shape."""
        return self.n_rows, self.change(first_codes(self.source)).shape[1]

    def blocks(self, size: int) -> Iterator[Codes]:
        """Yield the rows in order, at most `size` of them at a time."""
        return map(self.change, self.source.blocks(size))


@dataclass(frozen=True)
class SelectedSource:
    """The rows of a source that a mask (n_rows,) chooses."""

    source: CodeSource
    chosen: NDArray[np.bool_]

    @property
    def n_rows(self) -> int:
        """Rows in all blocks together."""
        return int(np.count_nonzero(self.chosen))

    @property
    def shape(self) -> tuple[int, int]:
        """Decoded shape."""
        return self.n_rows, self.source.shape[1]

    def blocks(self, size: int) -> Iterator[Codes]:
        """Yield the rows in order, at most `size` of them at a time."""
        start = 0
        for block in self.source.blocks(size):
            chosen = self.chosen[start : start + len(block)]
            start += len(block)
            if chosen.any():
                yield block if chosen.all() else block[chosen]


@dataclass(frozen=True)
class SourceDesign(Design):
    """The rows of a source; nothing of size n is made of codes."""

    source: CodeSource
    is_whole: ClassVar[bool] = False

    @property
    def pair_cost(self) -> float:
        """That of its codes."""
        return CodedDesign(first_codes(self.source)).pair_cost

    @property
    def codes(self) -> CodeSource:
        """The rows."""
        return self.source

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return self.source.shape

    def parts(self, n_columns: int = 1, at_least: int = 0) -> Iterator[CodedDesign]:
        """Yield the rows in order, block by block."""
        return map(CodedDesign, read_blocks(self.source, n_columns, at_least))

    def take(self, rows: Array | slice) -> SourceDesign | CodedDesign:
        """Return some of the rows: a slice, or positions in rising order."""
        n = self.source.n_rows
        positions = np.arange(n)[rows] if isinstance(rows, slice) else np.asarray(rows)
        if len(positions) == 0:
            return CodedDesign(first_codes(self.source))
        if np.any(np.diff(positions) <= 0):
            raise fail("source", "rows of a source must be taken once and in order", positions, "Load them as Codes.")
        mask = np.zeros(n, dtype=np.bool_)
        mask[positions] = True
        if isinstance(self.source, SelectedSource):
            within = self.source.chosen.copy()
            within[within] = mask
            return SourceDesign(replace(self.source, chosen=within))
        return SourceDesign(SelectedSource(self.source, mask))


def design_of(source: CodeSource) -> CodedDesign | SourceDesign:
    """Return codes as a matrix: at once when they are in memory, else block by block."""
    return CodedDesign(source) if isinstance(source, Codes) else SourceDesign(source)
