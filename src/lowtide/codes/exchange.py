"""Codes outside: what files keep of them, and the bytes that other libraries share by DLPack or Arrow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lowtide import _core
from lowtide._checks import host_array, missing_extra
from lowtide.codes.arithmetic import aligned_rows
from lowtide.codes.layout import Bits, field_places, row_bytes, stored_bits
from lowtide.errors import CodeLayoutError
from lowtide.spec import Part

if TYPE_CHECKING:
    from lowtide.codes.codes import Codes

# From 2.1 on numpy says of a read-only array that it is one, as DLPack 1.0 can.
_SAYS_READ_ONLY = np.lib.NumpyVersion(np.__version__) >= "2.1.0"
_COLUMN = "Codes.with_packed: an Arrow column must be binary of {} bytes a row without nulls"


def describe(codes: Codes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return what a file keeps of codes that goes for all rows: a specification ready for JSON, and arrays."""
    identity = {"fingerprint": codes.fingerprint.hex(), "side": codes.side.hex()}
    # Said in the spec too, so that a file that lost its factors is not read without them.
    bits = list(codes.bits) if isinstance(codes.bits, tuple) else codes.bits
    spec = {"bits": bits, "n_levels": codes.n_levels, **identity, "scaled": codes.scale is not None}
    return spec, {"codebook": codes.codebook} | ({} if codes.scale is None else {"scale": codes.scale})


def restore(
    kind: type[Codes], part: Part, packed: NDArray[Any], beside: dict[str, NDArray[Any]], times_norms: Any
) -> Codes:
    """Return codes of what `describe` gave, of packed rows, and of norms and corrections where there are any."""
    spec, arrays = part.spec, part.arrays
    if spec["scaled"] is not ("scale" in arrays):
        raise CodeLayoutError(f"Codes: factors of columns must be as the spec says, got {sorted(arrays)}.")
    if not set(beside) <= {"norms", "corrections"}:
        raise CodeLayoutError(f"Codes: rows must have norms and corrections beside them, got {sorted(beside)}.")
    if any(array.dtype != np.float32 for array in beside.values()) or not isinstance(times_norms, bool):
        raise CodeLayoutError(f"Codes: norms must be float32, times_norms true or false, got {times_norms!r}.")
    codes = kind(
        packed,
        bits=kept_bits(spec),
        n_levels=spec["n_levels"],
        codebook=arrays["codebook"],
        fingerprint=bytes.fromhex(spec["fingerprint"]),
        side=bytes.fromhex(spec["side"]),
        scale=arrays.get("scale"),
        **beside,
    )
    return codes.times_norms() if times_norms else codes


def kept_bits(spec: dict[str, Any]) -> Bits:
    """Return the bits of a spec from JSON, which has lists for tuples."""
    bits: Any = spec["bits"]
    return tuple(bits) if isinstance(bits, list) else bits


def unpack_levels(packed: Any, bits: Bits, n_levels: int) -> NDArray[np.uint8]:
    """Return the levels (n, n_levels), uint8, of packed rows: the inverse of `pack_levels`.

    Examples
    --------
    >>> import numpy as np
    >>> from lowtide.codes import pack_levels
    >>> levels = np.array([[3, 0, 2]], dtype=np.uint8)
    >>> unpack_levels(pack_levels(levels, bits=2), bits=2, n_levels=3)
    array([[3, 0, 2]], dtype=uint8)
    """
    rows = aligned_rows(packed, row_bytes(n_levels, bits))
    if isinstance(bits, tuple):
        return field_places(bits).levels(rows).astype(np.uint8)
    out = np.empty((rows.shape[0], n_levels), dtype=np.uint8)
    _core.unpack(rows, stored_bits(bits), out)
    return out


def dlpack_capsule(rows: NDArray[np.uint8], max_version: tuple[int, int] | None, **asked: Any) -> Any:
    """Return read-only rows as a DLPack capsule of the same memory.

    A consumer that asks for version 1 is told that they are read-only. Others, such as JAX, cannot be told; they get
    the memory all the same, unless nothing at all may write to it.
    """
    if asked.pop("copy", None):
        rows = rows.copy()
    if max_version is not None and max_version >= (1, 0) and _SAYS_READ_ONLY:
        return rows.__dlpack__(max_version=max_version, **asked)
    if asked.pop("dl_device", None) not in (None, rows.__dlpack_device__()):
        raise BufferError("Codes: DLPack's device must be the processor, where the codes are. Copy them afterwards.")
    rows = rows.view()
    try:
        rows.flags.writeable = True
    except ValueError:
        raise BufferError(
            "Codes: read-only memory, as of a file, must go to a consumer of DLPack 1.0. Pass codes.packed.copy()."
        ) from None
    return rows.__dlpack__(**asked)


def import_arrow() -> Any:
    """Return pyarrow, or say which extra has it."""
    try:
        import pyarrow
    except ImportError as error:
        raise missing_extra("Codes are exchanged with Arrow by pyarrow, which is not installed", "io") from error
    return pyarrow


def arrow_array(values: NDArray[Any], as_lists: bool) -> Any:
    """Return a contiguous array (n, width) as n lists of Arrow, or as n values of `width` bytes, not copied."""
    arrow = import_arrow()
    buffer, (n, width) = arrow.py_buffer(values), values.shape
    if not as_lists:
        return arrow.Array.from_buffers(arrow.binary(width), n, [None, buffer])
    kind = arrow.from_numpy_dtype(values.dtype)
    flat = arrow.Array.from_buffers(kind, n * width, [None, buffer])
    return arrow.Array.from_buffers(arrow.list_(kind, width), n, [None], children=[flat])


def foreign_rows(packed: Any, width: int) -> NDArray[np.uint8]:
    """Return packed rows that another library holds, uint8 (n, width), of the same memory where that can be.

    Taken are Arrow's arrays and streams of one column, tensors, numpy's arrays, and bytes; what is flat becomes rows.
    """
    if hasattr(packed, "__arrow_c_array__") or hasattr(packed, "__arrow_c_stream__"):
        rows = _arrow_bytes(packed, width)
    elif isinstance(packed, (bytes, bytearray, memoryview)):
        rows = np.frombuffer(packed, dtype=np.uint8)
    else:
        rows = np.asarray(host_array("Codes.with_packed", packed))
    return rows.reshape(-1, width) if rows.ndim == 1 and rows.size % width == 0 else rows


def _arrow_bytes(data: Any, width: int) -> NDArray[np.uint8]:
    """Return the bytes of Arrow's values of `width` bytes each, flat; those of several chunks are copied into one."""
    arrow = import_arrow()
    column = arrow.array(data) if hasattr(data, "__arrow_c_array__") else arrow.chunked_array(data)
    if column.null_count:
        raise CodeLayoutError(f"{_COLUMN.format(width)}, got {column.null_count} nulls. Drop these rows first.")
    chunks = column.chunks if isinstance(column, arrow.ChunkedArray) else [column]
    parts = [_chunk_bytes(chunk, width) for chunk in chunks]
    return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, dtype=np.uint8), *parts])


def _chunk_bytes(chunk: Any, width: int) -> NDArray[np.uint8]:
    """Return the bytes of an Arrow array without nulls, flat, of the same memory unless it is of views."""
    arrow = import_arrow()
    kind, n, types = chunk.type, len(chunk), arrow.types
    if types.is_fixed_size_binary(kind) and kind.byte_width == width:
        return np.frombuffer(chunk.buffers()[1], dtype=np.uint8)[chunk.offset * width :][: n * width]
    if types.is_fixed_size_list(kind) and kind.list_size == width and kind.value_type == arrow.uint8():
        return np.asarray(chunk.flatten().to_numpy())
    if types.is_binary_view(kind):
        return _chunk_bytes(chunk.cast(arrow.large_binary()), width)
    if types.is_binary(kind) or types.is_large_binary(kind):
        _, ends, values = chunk.buffers()
        ends = np.frombuffer(ends, np.int32 if types.is_binary(kind) else np.int64)[chunk.offset :][: n + 1]
        sizes = np.diff(ends)
        if np.all(sizes == width):
            return np.frombuffer(values, dtype=np.uint8)[ends[0] : ends[-1]] if n else np.empty(0, dtype=np.uint8)
        kind = f"{kind} of {sizes.min()} to {sizes.max()} bytes"
    raise CodeLayoutError(f"{_COLUMN.format(width)}, got {kind}. Give the column that holds packed rows.")
