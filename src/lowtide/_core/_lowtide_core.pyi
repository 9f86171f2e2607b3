# Arrays are numpy arrays of exactly the dtype stated, C-ordered; outputs are written in place. A wrong dtype or number
# of dimensions is a TypeError, a wrong shape or value a ValueError.

from typing import Any, overload

import numpy as np
from _typeshed import ReadableBuffer
from numpy.typing import NDArray

# Levels and threads.

def isa() -> str: ...
def detected_isa() -> str: ...
def isa_complaint() -> str: ...

# Whether an op of the table (cpp/lowtide/ops.hpp) has a form of its own at the level in force, faster than what would
# replace it; ValueError for a name that the table does not have.
def is_fast(op: str) -> bool: ...
def thread_count() -> int: ...
def set_thread_count(n: int) -> None: ...

# Work that can be stopped. Ops raise CancelledError when a token that holds for their thread says stop; on the main
# thread they also run the handlers of signals, every 20 ms, and raise what those raise.

class _Token:
    def cancel(self) -> None: ...
    def state(self) -> int: ...  # 0, or 1 once cancelled, or 2 once out of time

def make_token(seconds: float | None) -> _Token: ...
def enter_token(token: _Token) -> None: ...
def leave_token(token: _Token) -> bool: ...
def tokens() -> list[_Token]: ...
def poll() -> None: ...

# Rows to codes and features. X is (n, d); layout holds blocks (n_blocks, 3, D), d <= D, of each its signs S1, a cosine
# and a sine for each pair of neighbors, and its signs S3; or panels (n_panels, d, 16). Without one X is (n, p),
# projected values. Blocks may come with factors (d,) that multiply the columns of X first, and with places (p,) of the
# outputs that are wanted, which rise and are below n_blocks D.

Layout = NDArray[np.float32] | tuple[NDArray[np.float32], NDArray[np.float32] | None, NDArray[np.uint32] | None]

# With a codebook (2^bits, 1 or 2), weights (k, m) and intercepts (k,) scores (n, k) come in place of codes.

@overload
def encode(
    X: NDArray[np.float32],
    layout: Layout | None,
    scale: NDArray[np.float32],
    offset: NDArray[np.float32],
    shifts: NDArray[np.float32],
    borders: NDArray[np.float32],
    table: NDArray[np.uint8],
    even: bool,
    bits: int,
    n_levels: int,
    out: NDArray[np.uint8],
) -> None: ...
@overload
def encode(
    X: NDArray[np.float32],
    layout: Layout | None,
    scale: NDArray[np.float32],
    offset: NDArray[np.float32],
    shifts: NDArray[np.float32],
    borders: NDArray[np.float32],
    table: NDArray[np.uint8],
    even: bool,
    bits: int,
    n_levels: int,
    book: NDArray[np.float32],
    columns: NDArray[np.float64],
    intercept: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None: ...
@overload
def encode_stochastic(
    X: NDArray[np.float32],
    layout: Layout | None,
    scale: NDArray[np.float32],
    offset: NDArray[np.float32],
    shifts: NDArray[np.float32],
    seed: int,
    grid_bits: int,
    bits: int,
    n_levels: int,
    out: NDArray[np.uint8],
) -> None: ...
@overload
def encode_stochastic(
    X: NDArray[np.float32],
    layout: Layout | None,
    scale: NDArray[np.float32],
    offset: NDArray[np.float32],
    shifts: NDArray[np.float32],
    seed: int,
    grid_bits: int,
    bits: int,
    n_levels: int,
    book: NDArray[np.float32],
    columns: NDArray[np.float64],
    intercept: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None: ...
def threshold(
    X: NDArray[np.float32],
    layout: Layout | None,
    scale: NDArray[np.float32],
    norms: NDArray[np.float32],
    borders: NDArray[np.float32],
    bits: int,
    out: NDArray[np.uint8],
    values: NDArray[np.float32] | None = None,
    products: NDArray[np.float64] | None = None,
) -> None: ...
def norms(X: NDArray[np.float32], out: NDArray[np.float32]) -> None: ...
def features(
    X: NDArray[np.float32],
    layout: Layout | None,
    scale: NDArray[np.float32],
    offset: NDArray[np.float32],
    shifts: NDArray[np.float32],
    amplitude: float,
    n_components: int,
    out: NDArray[np.float32],
) -> None: ...
def turns(
    X: NDArray[np.float32],
    layout: Layout | None,
    scale: NDArray[np.float32],
    offset: NDArray[np.float32],
    out: NDArray[np.float32],
) -> None: ...
def project(
    X: NDArray[np.float32],
    layout: Layout | None,
    scale: NDArray[np.float32],
    out: NDArray[np.float32],
) -> None: ...

# The transposed projection: values (n, p) times scale (p,) and blocks (n_blocks, 3, D) to rows (n, d), d <= D.

def pull_back(
    values: NDArray[np.float32],
    blocks: NDArray[np.float32],
    scale: NDArray[np.float32],
    out: NDArray[np.float32],
) -> None: ...

# Trits of a sparse ternary projection: X uint8, int16 (int32 thresholds) or float32 (float32 thresholds).

def ternary_encode(
    X: NDArray[Any],
    lists: NDArray[np.uint16],
    starts: NDArray[np.uint32],
    chunk: int,
    upper: NDArray[Any],
    lower: NDArray[Any],
    even: bool,
    out: NDArray[np.uint8],
) -> None: ...

# Arithmetic on codes.

def pack(levels: NDArray[np.uint8], bits: int, out: NDArray[np.uint8]) -> None: ...
def unpack(rows: NDArray[np.uint8], bits: int, out: NDArray[np.uint8]) -> None: ...
def decode(
    rows: NDArray[np.uint8], n_levels: int, bits: int, book: NDArray[np.float32], out: NDArray[np.floating[Any]]
) -> None: ...
def code_matvec(
    rows: NDArray[np.uint8],
    n_levels: int,
    bits: int,
    book: NDArray[np.float32],
    W: NDArray[np.floating[Any]],
    out: NDArray[np.floating[Any]],
) -> None: ...

# As code_matvec, for few rows: nothing is made of the weights beforehand. `columns` is the transpose of W.
def row_product(
    rows: NDArray[np.uint8],
    n_levels: int,
    bits: int,
    book: NDArray[np.float32],
    columns: NDArray[np.floating[Any]],
    out: NDArray[np.floating[Any]],
) -> None: ...
def code_rmatvec(
    rows: NDArray[np.uint8],
    n_levels: int,
    bits: int,
    book: NDArray[np.float32],
    R: NDArray[np.floating[Any]],
    out: NDArray[np.floating[Any]],
) -> None: ...
def code_gram(
    rows: NDArray[np.uint8], n_levels: int, book: NDArray[np.float32], out: NDArray[np.floating[Any]]
) -> None: ...

# With `digits` by those of the codebook, where they lose no more than float32 sums do; with `pairs` by whole numbers,
# where the codebook is whole numbers times a step; without weight.
def panel_gram(
    rows: NDArray[np.uint8],
    n_levels: int,
    bits: int,
    book: NDArray[np.float32],
    weight: NDArray[np.float32] | None,
    digits: bool,
    pairs: bool,
    out: NDArray[np.float32],
) -> None: ...
def code_dot(
    rows: NDArray[np.uint8],
    book: NDArray[np.float32],
    other: NDArray[np.uint8],
    other_book: NDArray[np.float32],
    n_levels: int,
    out: NDArray[np.floating[Any]],
) -> None: ...

# With `weight` on the decoded columns of the one side; without, `pairs` as in panel_gram.
def panel_dot(
    rows: NDArray[np.uint8],
    n_levels: int,
    bits: int,
    book: NDArray[np.float32],
    other: NDArray[np.uint8],
    other_levels: int,
    other_bits: int,
    other_book: NDArray[np.float32],
    weight: NDArray[np.float32] | None,
    pairs: bool,
    out: NDArray[np.float32],
) -> None: ...

# One-bit rows by rows of any bits, the other codebook rounded by at most 2^-22 of its range; out (rows, others), or
# `turned` (others, rows). The rounding suffices where float32 sums of so many columns may lose as much of every value.
def bit_dot(
    rows: NDArray[np.uint8],
    book: NDArray[np.float32],
    other: NDArray[np.uint8],
    other_levels: int,
    other_bits: int,
    other_book: NDArray[np.float32],
    turned: bool,
    out: NDArray[np.float32],
) -> None: ...
def weights_suffice(n_columns: int, book: NDArray[np.float32]) -> bool: ...
def trit_gram(rows: NDArray[np.uint8], n_levels: int, value: float, out: NDArray[np.floating[Any]]) -> None: ...
def trit_dot(
    rows: NDArray[np.uint8],
    value: float,
    other: NDArray[np.uint8],
    other_value: float,
    n_levels: int,
    out: NDArray[np.floating[Any]],
) -> None: ...
@overload
def code_top_k(
    rows: NDArray[np.uint8],
    n_levels: int,
    bits: int,
    book: NDArray[np.float32],
    queries: NDArray[np.float64],
    largest: bool,
    indices: NDArray[np.int64],
    scores: NDArray[np.float32],
    factors: NDArray[np.float32] | None = None,
    offsets: NDArray[np.float32] | None = None,
    allowed: NDArray[np.bool_] | None = None,
    lengths: tuple[NDArray[np.float32], NDArray[np.float32], float] | None = None,
) -> None: ...
@overload
def code_top_k(
    rows: NDArray[np.uint8],
    n_levels: int,
    bits: int,
    book: NDArray[np.float32],
    queries: NDArray[np.float64],
    largest: bool,
    indices: NDArray[np.int64],
    scores: NDArray[np.float32],
    lengths: tuple[NDArray[np.float32], NDArray[np.float32], float] | None,
    names: NDArray[np.int64],
    starts: NDArray[np.int64],
    read: NDArray[np.int32],
    allowed: NDArray[np.bool_] | None = None,
) -> None: ...
@overload
def code_top_k(
    rows: NDArray[np.uint8],
    book: NDArray[np.float32],
    other: NDArray[np.uint8],
    other_book: NDArray[np.float32],
    n_levels: int,
    largest: bool,
    indices: NDArray[np.int64],
    scores: NDArray[np.float32],
    allowed: NDArray[np.bool_] | None = None,
) -> None: ...

# Memory of large results; MemoryError where the system refuses it.

large_result: int

def result_bytes(size: int) -> NDArray[np.uint8]: ...

# Sums of bytes: any C-contiguous buffer, read-only too.

def crc32c(buffer: ReadableBuffer | NDArray[Any], value: int) -> int: ...

# words @ factors modulo 2^64, factors and sums of two columns.

def row_sums(words: NDArray[np.uint32], factors: NDArray[np.uint64], sums: NDArray[np.uint64]) -> None: ...

# Rows of JSON text; what the columns may be, the faults of `problem` (its name, byte, row, column and count) and the
# rules are in cpp/lowtide/json_rows.hpp. `numbers` is a view (n, columns); `cells` gives those of the column of
# categories from a row on, as many as take about a millisecond. Numbers as JSON text are None unless all are finite.

class JsonTable:
    @property
    def problem(self) -> tuple[str, int, int, int, int] | None: ...
    @property
    def numbers(self) -> NDArray[np.float64]: ...
    def cells(self, column: int, category: int, begin: int) -> list[str | float | int | bool | None]: ...

class JsonForm:
    def __init__(self, columns: list[int], names: list[str], largest: float) -> None: ...
    def read(self, buffer: ReadableBuffer, most_rows: int) -> JsonTable: ...

def json_numbers(values: NDArray[Any], nested: bool) -> bytes | None: ...
