"""Codes: packed levels and the codebook that gives them their values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from lowtide._checks import check_integer, check_option
from lowtide.codes import arithmetic
from lowtide.codes.arithmetic import Rows, TransposedCodes, aligned_rows, check_padding, rows_of
from lowtide.codes.exchange import (
    arrow_array,
    describe,
    dlpack_capsule,
    foreign_rows,
    kept_bits,
    restore,
    unpack_levels,
)
from lowtide.codes.layout import (
    Bits,
    check_same_frequencies,
    row_bits,
    row_bytes,
    same_array,
    spell_bits,
)
from lowtide.codes.top_k import RowTerms, lengths_of, row_mask, top_k
from lowtide.errors import CodeLayoutError
from lowtide.spec import Part, State, take_parts

# Of the parts "codes", "norms" and "template".
_VERSION = 1


class Codes:
    """Hold rows as packed integer levels with a codebook, and multiply them without unpacking.

    With D = np.asarray(C), D[i, j w + p] = codebook[level_ij, p] scale[j w + p], w = 1 or 2 values a level:
    `C @ W` = D W, `C.T @ R` = D' R, `C.gram()` = D' D, `C.dot(O)` = D O'.

    Parameters
    ----------
    packed : uint8 array (n, row_bytes(n_levels, bits))
        Rows as `pack_levels` makes them, padding bits zero. Shared, not copied, when contiguous and at a multiple of
        8 bytes.
    bits : int from 1 to 8, or a tuple of n_levels of them
        Bits of the quantizer; 5 to 7 are stored in 8. Ternary levels have 2. A tuple gives each level of a row bits of
        its own, which follow one another without gaps.
    n_levels : int
        Levels stored a row.
    codebook : array (2^bits,) or (2^bits, 2)
        Finite value of each level, or pair of values (interleaved: decoded columns 2j and 2j + 1), kept as float32.
        Where each level has bits of its own, the values of all levels of the first, then of the next, and so on.
    fingerprint : bytes of length 16
        Identity of the frequencies (kernel, projection, dither) that the codes were made with. Only codes of the same
        frequencies meet.
    side : bytes of length 16, default=sixteen zero bytes
        Identity of the rule that made levels of the phases: the quantizer with its thresholds, not the codebook.
    scale : array (n_levels * w,), optional
        Factors of the decoded columns, for encoders whose columns differ in weight; None for ones.
    norms : array (n,), optional
        A finite length of at least 0 a row, kept beside the packed bits in float32; D takes no notice of it until
        `times_norms`.
    corrections : array (n,), optional
        Finite products of decoded rows with what they stand for, kept beside norms in float32; D takes no notice.

    Attributes
    ----------
    shape : decoded shape, (n, n_levels * w)
    nbytes : packed bytes, and those of norms and corrections

    Notes
    -----
    Memory is row_bytes a row. Levels of up to 4 bits are multiplied by table look-ups on the packed bits; Gram
    matrices and dots of one bit and of trits, codebook (0, v, -v, 0), are counted; the rest decodes one block at a
    time. Nothing allocates n times n_features floats but np.asarray. Results agree with the same arithmetic on
    np.asarray(C) to rounding of the operands' type, and do not depend on the thread count.

    Codes of zero rows carry bits, codebook and identity too: as a *template*, `with_rows` makes codes of it.

    Examples
    --------
    >>> import numpy as np
    >>> from lowtide.codes import Codes, pack_levels
    >>> packed = pack_levels(np.array([[0, 1, 1], [1, 1, 0]]), bits=1)
    >>> C = Codes(packed, bits=1, n_levels=3, codebook=[-1.0, 1.0], fingerprint=bytes(16))
    >>> C
    Codes(2 x 3, bits=1, 16 bytes, fingerprint=00000000...)
    >>> np.asarray(C)
    array([[-1.,  1.,  1.],
           [ 1.,  1., -1.]], dtype=float32)
    >>> C @ np.array([1.0, 10.0, 100.0])
    array([109., -89.])
    >>> C.gram()
    array([[ 2.,  0., -2.],
           [ 0.,  2.,  0.],
           [-2.,  0.,  2.]], dtype=float32)
    """

    __slots__ = ("_bits", "_codebook", "_corrections", "_fingerprint", "_norms", "_rows", "_side")
    __array_ufunc__ = None  # W @ C comes to __rmatmul__ instead of decoding silently
    __hash__: ClassVar[None] = None  # type: ignore[assignment]
    ndim = 2
    dtype = np.dtype(np.float32)

    def __init__(
        self,
        packed: NDArray[np.uint8],
        *,
        bits: Bits,
        n_levels: int,
        codebook: ArrayLike,
        fingerprint: bytes,
        side: bytes = bytes(16),
        scale: ArrayLike | None = None,
        norms: ArrayLike | None = None,
        corrections: ArrayLike | None = None,
    ) -> None:
        rows = aligned_rows(packed, row_bytes(n_levels, bits))
        check_padding(rows, row_bits(n_levels, bits))
        for name, mark in (("fingerprint", fingerprint), ("side", side)):
            if not isinstance(mark, bytes) or len(mark) != 16:
                raise CodeLayoutError(f"Codes: {name} must be 16 bytes, got {mark!r}.")
        rows = rows.view()
        rows.flags.writeable = False
        self._bits, self._fingerprint, self._side = bits if isinstance(bits, tuple) else int(bits), fingerprint, side
        self._norms, self._corrections = arithmetic.checked_beside(norms, corrections, len(rows))
        self._codebook, self._rows = rows_of(rows, int(n_levels), self._bits, codebook, scale)

    def with_rows(
        self, packed: NDArray[np.uint8], norms: ArrayLike | None = None, corrections: ArrayLike | None = None
    ) -> Codes:
        """Return codes with other packed rows, and with the bits, codebook and identity of these.

        Norms and corrections are those of the new rows; padding bits are taken to be zero.
        """
        if self.is_times_norms and norms is None:
            raise CodeLayoutError("Codes: rows that are times their norms must have norms, got none. Give norms.")
        old = self._rows
        rows = aligned_rows(packed, old.rows.shape[1]).view()
        rows.flags.writeable = False
        beside = arithmetic.checked_beside(norms, corrections, len(rows))
        return self._with(old.with_rows(rows, beside[0] if self.is_times_norms else None), *beside)

    def with_packed(self, packed: Any, norms: ArrayLike | None = None) -> Codes:
        """Return codes of packed rows from another library, with the bits, codebook and identity of these.

        `packed` is a numpy array, a tensor in the processor's memory, a column of Arrow, or bytes: rows as `C.packed`
        has them, of the same encoder. Shared where contiguous and at a multiple of 8 bytes.
        """
        if isinstance(packed, Codes):
            raise CodeLayoutError("Codes.with_packed: packed must be rows of bytes, got Codes. Use them as they are.")
        rows = aligned_rows(foreign_rows(packed, self.packed.shape[1]), self.packed.shape[1])
        check_padding(rows, row_bits(self.n_levels, self._bits))
        return self.with_rows(rows, norms)

    def to_arrow(self, form: str = "binary") -> Any:
        """Return the rows as a pyarrow array without norms: packed, on the same memory, or decoded; needs lowtide[io].

        `form` is "binary" or "lists", packed rows as binary or uint8 lists of fixed size, or "features", float32 lists.
        """
        check_option("Codes.to_arrow", "form", form, ("binary", "lists", "features"))
        return arrow_array(np.asarray(self) if form == "features" else self.packed, as_lists=form != "binary")

    def __arrow_c_schema__(self) -> Any:
        return self.to_arrow().type.__arrow_c_schema__()

    def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
        """Return the packed rows as Arrow's C data, on the same memory."""
        return self.to_arrow().__arrow_c_array__(requested_schema)

    def __dlpack__(self, *, max_version: tuple[int, int] | None = None, **asked: Any) -> Any:
        """Return the packed rows as a DLPack capsule, uint8 (n, row bytes), on the same memory."""
        return dlpack_capsule(self.packed, max_version, **asked)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.packed.__dlpack_device__()

    def _with(self, rows: Rows, norms: NDArray[np.float32] | None, corrections: NDArray[np.float32] | None) -> Codes:
        """Return codes of other rows, norms and corrections, all checked, that have the identity of these."""
        new = object.__new__(Codes)
        new._bits, new._codebook = self._bits, self._codebook
        new._fingerprint, new._side = self._fingerprint, self._side
        new._rows, new._norms, new._corrections = rows, norms, corrections
        return new

    @property
    def packed(self) -> NDArray[np.uint8]:
        """Packed rows, read-only, (n, row bytes)."""
        return self._rows.rows

    @property
    def bits(self) -> Bits:
        """Bits per level; a tuple where each level of a row has bits of its own."""
        return self._bits

    @property
    def n_levels(self) -> int:
        """Number of levels stored per row."""
        return self._rows.n_levels

    @property
    def packing(self) -> tuple[int, int, int]:
        """Levels stored per row, the bits that each takes (0 where they differ), and the bytes of a row."""
        return self._rows.n_levels, self._rows.bits, self.packed.shape[1]

    @property
    def codebook(self) -> NDArray[np.float32]:
        """Value of each level, read-only, (2^bits,) or (2^bits, 2)."""
        return self._codebook

    @property
    def scale(self) -> NDArray[np.float32] | None:
        """Factors of the decoded columns, read-only, or None for ones."""
        return self._rows.scale

    @property
    def fingerprint(self) -> bytes:
        """Identity of the frequencies that the codes were made with, 16 bytes."""
        return self._fingerprint

    @property
    def side(self) -> bytes:
        """Identity of the rule that made levels of the phases, 16 bytes."""
        return self._side

    @property
    def shape(self) -> tuple[int, int]:
        """Decoded shape, (n, n_features)."""
        return self._rows.shape

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self._rows.rows.shape[0]

    @property
    def norms(self) -> NDArray[np.float32] | None:
        """Length of each row, read-only, (n,), or None when none are kept."""
        return self._norms

    @property
    def corrections(self) -> NDArray[np.float32] | None:
        """Product of each decoded row with what it stands for, read-only, (n,), or None when none are kept."""
        return self._corrections

    @property
    def is_times_norms(self) -> bool:
        """Whether rows decode to their values times their norms."""
        return self._rows.row_scale is not None

    @property
    def nbytes(self) -> int:
        """Bytes of the packed rows, norms and corrections; the codebook is not counted."""
        beside = (self._norms, self._corrections)
        return self.packed.nbytes + sum(0 if part is None else part.nbytes for part in beside)

    @property
    def T(self) -> TransposedCodes:  # noqa: N802
        """The transpose, for C.T @ R."""
        return TransposedCodes(self, self._rows)

    def __len__(self) -> int:
        return self.n_rows

    def __getitem__(self, key: Any) -> Codes:
        """Return the rows of a slice, integer, integer array or mask, still packed; an integer gives one row."""
        rows = arithmetic.row_key(key)
        beside = (None if part is None else part[rows] for part in (self._norms, self._corrections))
        return self.with_rows(self.packed[rows], *beside)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        """Return the decoded rows, D."""
        if copy is False:
            raise ValueError("Codes cannot be seen as an array without a copy: decoding makes one. Use copy=None.")
        wish = np.dtype(np.float32 if dtype is None else dtype)
        if wish == np.float64:
            return self._rows.decode(np.float64)
        return self._rows.decode().astype(wish, copy=False)

    def __matmul__(self, W: Any) -> NDArray[Any]:
        """Return D W, W (n_features,) or (n_features, c) float32 or float64, in W's type; integers count as float64."""
        operand = arithmetic.as_operand("Codes @ W", W, self._rows.shape[1])
        product = self._rows.matmul(operand if operand.ndim == 2 else operand[:, None])
        return product if operand.ndim == 2 else product[:, 0]

    def __rmatmul__(self, R: Any) -> NDArray[Any]:
        """Return R D = (D' R')', R (n,) or (c, n)."""
        return (self.T @ np.asarray(R).T).T

    def gram(self, sample_weight: ArrayLike | None = None, *, dtype: DTypeLike = np.float32) -> NDArray[Any]:
        """Return D' diag(sample_weight) D, with D the decoded codes.

        Parameters
        ----------
        sample_weight : array (n,), default=None
            Finite numbers of any sign; None counts every row once.
        dtype : {float32, float64}, default=float32
            Type of the result.

        Returns
        -------
        array (n_features, n_features), symmetric

        Notes
        -----
        One bit or trits without weights: exact counts, n F^2 / 2 bit operations, below 2^32 rows, rounded once.
        Otherwise n F^2 / 2 multiply-adds: in float32 of values decoded in cache, in a fixed order; in float64 one BLAS
        rank-k update a decoded block of at most 2^22 values.
        """
        kind, n = arithmetic.float_dtype("Codes.gram", dtype), self.n_rows
        if sample_weight is not None:
            need = f"sample_weight must be {n} finite numbers, one a row"
            sample_weight = arithmetic.checked_floats(need, sample_weight, (n,), kind=float)
        return self._rows.gram(sample_weight, kind)

    def dot(self, other: Codes, *, dtype: DTypeLike = np.float32) -> NDArray[Any]:
        """Return D O' with codes of the same frequencies, array (n, other's n); bits, sides and codebooks may differ.

        Raises
        ------
        FingerprintMismatchError
            When the two were made with different frequencies.
        CodeLayoutError
            When their decoded widths differ.

        Notes
        -----
        One bit against one bit and trits against trits are counted; one bit against more is, for float32, summed in
        integers, its codebook rounded by at most 2^-22 of its range; anything else is decoded in cache or in blocks.

        Examples
        --------
        >>> from lowtide.codes import Codes, pack_levels
        >>> same = {"n_levels": 3, "fingerprint": bytes(16)}
        >>> store = Codes(pack_levels([[3, 0, 2]], 2), bits=2, codebook=[-3, -1, 1, 3], **same)
        >>> query = Codes(pack_levels([[1, 0, 0]], 1), bits=1, codebook=[-1, 1], **same)
        >>> query.dot(store)
        array([[5.]], dtype=float32)
        """
        if not isinstance(other, Codes):
            raise CodeLayoutError(f"Codes.dot: other must be Codes, got {type(other).__name__}. Use C @ W for arrays.")
        check_same_frequencies("Codes.dot", self, other)
        return self._rows.dot(other._rows, arithmetic.float_dtype("Codes.dot", dtype))

    def top_k(
        self,
        query: Any,
        k: int,
        *,
        largest: bool = True,
        where: Any = None,
        factors: ArrayLike | None = None,
        offsets: ArrayLike | None = None,
        square: float | None = None,
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return the k rows with the largest (or smallest) product with each query, and those products.

        scores[q, j] = factors[i] sum_f D[i, f] query[q, f] + offsets[i], i = indices[q, j], best first, equal scores by
        lower index. Exact: what sorting all of them would give, without making them.

        Parameters
        ----------
        query : Codes of the same frequencies, or array (q, n_features)
            Rows of a coded side, whatever its bits, or weights on the decoded features (the full side, a model's
            coefficients), finite.
        k : int from 1 to the number of rows
        largest : bool, default=True
            False gives the smallest products, smallest first.
        where : mask (n,) or array of row numbers, optional
            Rows to choose from. Where they are fewer than k, so are the columns of the result.
        factors, offsets : arrays (n,), optional
            Of each row, finite, factors at least 0; None for ones and zeros.
        square : float, optional
            In place of both, of codes with norms r and corrections c: r / c, 0 where c <= 0, and square r^2.

        Returns
        -------
        indices : int64 array (q, k)
        scores : float32 array (q, k)
            Summed in float64, rounded once.

        Notes
        -----
        No index is built or kept: packed rows are read once for every 64 queries, and the result does not depend on
        threads. One-bit codes against one-bit codes are counted; 64 or more of them against wider codes are summed in
        integers with a bound on the error. Other codes are decoded, some at a time; they and arrays go through byte
        tables with such a bound, on 1, 2 or 4 bits and up to 1024 bytes a row. What a bound cannot rule out is scored
        in full. Anything else is multiplied by blocks. Never n times q numbers. Rows that `where` leaves out are not
        scored, 64 of them together not read, and where it leaves few they are copied first.

        Examples
        --------
        >>> import numpy as np
        >>> from lowtide.codes import Codes, pack_levels
        >>> packed = pack_levels(np.array([[0, 1, 1], [1, 1, 0], [1, 1, 1]]), bits=1)
        >>> C = Codes(packed, bits=1, n_levels=3, codebook=[-1.0, 1.0], fingerprint=bytes(16))
        >>> C.top_k(np.array([[1.0, 10.0, 100.0]]), k=2)
        (array([[2, 0]]), array([[111., 109.]], dtype=float32))
        >>> C.top_k(C[:1], k=3, where=[0, 1])
        (array([[0, 1]]), array([[ 3., -1.]], dtype=float32))
        """
        if isinstance(query, Codes):
            check_same_frequencies("Codes.top_k", self, query)
            query = query._rows
        n, need = self.n_rows, "must be finite numbers, one a row, for top_k"
        allowed = None if where is None else row_mask(where, n)
        factors = None if factors is None else arithmetic.checked_floats(f"factors {need}", factors, (n,), least=0)
        offsets = None if offsets is None else arithmetic.checked_floats(f"offsets {need}", offsets, (n,))
        terms = RowTerms(factors, offsets, allowed, None if square is None else lengths_of(self, square))
        return top_k(self._rows, query, k, terms, largest=largest)

    def with_codebook(self, codebook: ArrayLike) -> Codes:
        """Return the same bytes, shared, with other values: float32 (2^bits,) or (2^bits, 2); the rest is kept.

        Norms are kept beside them; rows are not times their norms, whatever they were.
        """
        new = self._with(self._rows, self._norms, self._corrections)
        new._codebook, new._rows = rows_of(self.packed, self.n_levels, self._bits, codebook, self.scale)
        return new

    def times_norms(self) -> Codes:
        """Return the same bytes, shared, with D's rows multiplied by their norms in all arithmetic."""
        if self._norms is None:
            raise CodeLayoutError("Codes: norms must be kept for rows to be multiplied by them, got none.")
        return self._with(self._rows.with_rows(self.packed, self._norms), self._norms, self._corrections)

    def levels(self) -> NDArray[np.uint8]:
        """Return the unpacked levels, uint8 (n, n_levels)."""
        return unpack_levels(self.packed, self._bits, self.n_levels)

    def blocks(self, size: int) -> Iterator[Codes]:
        """Yield the rows in order, at most `size` at a time, without copying: what makes Codes a `CodeSource`."""
        size = check_integer("Codes.blocks", "size", size, 1)
        for begin in range(0, self.n_rows, size):
            yield self[begin : begin + size]

    def __eq__(self, other: object) -> bool:
        """Whether bits, width, codebook, scale, norms, both identities and every level are the same."""
        if not isinstance(other, Codes):
            return NotImplemented
        return (
            (self._bits, self.n_levels) == (other._bits, other.n_levels)
            and (self._fingerprint, self._side) == (other._fingerprint, other._side)
            and np.array_equal(self._codebook, other._codebook)
            and same_array(self.scale, other.scale)
            and np.array_equal(self.packed, other.packed)
            and self.is_times_norms == other.is_times_norms
            and same_array(self._norms, other._norms)
            and same_array(self._corrections, other._corrections)
        )

    def to_state(self) -> State:
        """Return what a file keeps: a part "codes", and a part "norms" where there are any."""
        spec, arrays = describe(self)
        state = {"codes": Part(_VERSION, spec, {**arrays, "packed": self.packed})}
        if self._norms is not None:
            beside = {} if self._corrections is None else {"corrections": self._corrections}
            state["norms"] = Part(_VERSION, {"times_norms": self.is_times_norms}, {"norms": self._norms, **beside})
        return state

    @classmethod
    def from_state(cls, state: State) -> Codes:
        """Return the codes of what `to_state` gave; specs and arrays may be anything, packed rows are shared."""
        take_parts("Codes", state, required={"codes": _VERSION}, optional={"norms": _VERSION})
        codes, norms = state["codes"], state.get("norms")
        packed = codes.arrays["packed"]
        if norms is None:
            return restore(cls, codes, packed, {}, False)
        return restore(cls, codes, packed, norms.arrays, norms.spec["times_norms"])

    def template_state(self) -> State:
        """Return what a file keeps of these codes without their rows: a part "template"."""
        spec, arrays = describe(self)
        spec["times_norms"] = None if self._norms is None else self.is_times_norms
        if self._corrections is not None:
            spec["corrections"] = True
        return {"template": Part(_VERSION, spec, arrays)}

    @classmethod
    def template_from_state(cls, state: State) -> Codes:
        """Return codes of zero rows from the part "template" of a state."""
        part = state["template"]
        take_parts("Codes", {"template": part}, required={"template": _VERSION})
        packed = np.empty((0, row_bytes(part.spec["n_levels"], kept_bits(part.spec))), dtype=np.uint8)
        times_norms = part.spec["times_norms"]
        names = [] if times_norms is None else ["norms", *(["corrections"] if part.spec.get("corrections") else [])]
        return restore(cls, part, packed, {name: np.empty(0, np.float32) for name in names}, times_norms or False)

    def __reduce__(self) -> tuple[Callable[..., Codes], tuple[Any, ...]]:
        return Codes.from_state, (self.to_state(),)

    def __repr__(self) -> str:
        n, n_features = self.shape
        size = f"bits={spell_bits(self._bits)}, {self.nbytes} bytes"
        return f"Codes({n} x {n_features}, {size}, fingerprint={self._fingerprint[:4].hex()}...)"
