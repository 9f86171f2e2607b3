"""Codes go to other libraries by DLPack and Arrow on the same memory, and come back."""

import builtins

import numpy as np
import pyarrow as pa
import pytest
from codes.drawn import draw_codes

from lowtide._checks import host_array
from lowtide.codes import empty_rows
from lowtide.errors import CodeLayoutError, MissingExtraError, ParameterError

CODES = draw_codes(70, 600, 1)
WIDTH = CODES.packed.shape[1]


class Tensor:
    """What a library of the array API shows: DLPack, and nothing that numpy knows."""

    def __init__(self, array, device=1, error=None):
        self.array, self.kind, self.error = array, device, error

    def __dlpack__(self, **asked):
        if self.error:
            raise self.error
        return self.array.__dlpack__(**asked)

    def __dlpack_device__(self):
        return self.kind, 0


class Legacy:
    """A consumer of before DLPack 1.0, which names no version: numpy asks the producer through it."""

    def __init__(self, codes, **asked):
        self.codes, self.asked = codes, asked

    def __dlpack__(self, **_):
        return self.codes.__dlpack__(**self.asked)

    def __dlpack_device__(self):
        return self.codes.__dlpack_device__()


def address(array):
    return array.ctypes.data


def test_dlpack_shares_the_packed_bytes_and_says_that_they_are_read_only():
    taken = np.from_dlpack(CODES)
    assert (taken.dtype, taken.shape, address(taken)) == (np.uint8, CODES.packed.shape, address(CODES.packed))
    assert not taken.flags.writeable


def test_dlpack_serves_consumers_that_cannot_be_told():
    assert address(np.from_dlpack(Legacy(CODES))) == address(CODES.packed)
    assert not CODES.packed.flags.writeable


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.1.0", reason="numpy 2.0 has no DLPack 1.0")
def test_dlpack_of_memory_that_nothing_may_write_to_wants_a_newer_consumer():
    fixed = CODES.with_packed(CODES.packed.tobytes())
    assert np.array_equal(np.from_dlpack(fixed), CODES.packed)
    with pytest.raises(BufferError, match=r"DLPack 1.0. Pass codes.packed.copy\(\)"):
        np.from_dlpack(Legacy(fixed))


@pytest.mark.parametrize("asked", [{"max_version": (1, 0)}, {}])
def test_dlpack_copies_when_asked_to_and_leaves_the_processor_never(asked):
    assert address(np.from_dlpack(Legacy(CODES, copy=True, **asked))) != address(CODES.packed)
    with pytest.raises((BufferError, ValueError)):
        CODES.__dlpack__(dl_device=(2, 0), **asked)


@pytest.mark.parametrize("form", ["binary", "lists"])
def test_arrow_shares_the_packed_bytes(form):
    array = CODES.to_arrow(form)
    expected = pa.binary(WIDTH) if form == "binary" else pa.list_(pa.uint8(), WIDTH)
    assert (array.type, len(array)) == (expected, 70)
    array.validate(full=True)
    assert array.buffers()[-1].address == address(CODES.packed)
    assert CODES.with_packed(array) == CODES


def test_arrow_has_the_decoded_features_as_lists():
    array = CODES.to_arrow("features")
    array.validate(full=True)
    assert array.type == pa.list_(pa.float32(), 600)
    np.testing.assert_array_equal(array.flatten().to_numpy().reshape(CODES.shape), np.asarray(CODES))


def test_arrow_takes_codes_by_its_c_data_interface():
    assert pa.array(CODES).buffers()[1].address == address(CODES.packed)
    assert pa.DataType._import_from_c_capsule(CODES.__arrow_c_schema__()) == pa.binary(WIDTH)


def test_arrow_array_keeps_the_bytes_alive():
    array = draw_codes(70, 600, 1).to_arrow()
    assert CODES.with_packed(array) == CODES


BACK = {
    "array": lambda packed: packed,
    "flat": lambda packed: packed.ravel(),
    "memoryview": lambda packed: memoryview(packed),
    "tensor": lambda packed: Tensor(packed),
    "fixed-size binary": lambda packed: CODES.with_packed(packed).to_arrow(),
    "one chunk": lambda packed: pa.chunked_array([CODES.with_packed(packed).to_arrow()]),
    "lists": lambda packed: CODES.with_packed(packed).to_arrow("lists"),
}


@pytest.mark.parametrize("form", BACK)
def test_packed_rows_come_back_without_a_copy(form):
    packed = CODES.packed.copy()
    back = CODES.with_packed(BACK[form](packed))
    assert back == CODES
    assert address(back.packed) == address(packed)
    assert not back.packed.flags.writeable


ARROW = CODES.to_arrow()


@pytest.mark.parametrize(
    "column",
    [
        ARROW,
        ARROW.cast(pa.binary()),
        ARROW.cast(pa.binary()).cast(pa.large_binary()),
        ARROW.cast(pa.binary()).cast(pa.binary_view()),
        CODES.to_arrow("lists"),
        pa.chunked_array([ARROW[:10], ARROW[10:10], ARROW[10:]]),
    ],
    ids=lambda column: str(column.type),
)
@pytest.mark.parametrize("rows", [slice(0, 70), slice(5, 20), slice(3, 3), slice(69, 70)], ids=str)
def test_every_binary_column_of_arrow_and_its_slices_come_back(column, rows):
    assert CODES.with_packed(column[rows.start : rows.stop]) == CODES[rows]


def test_a_column_without_chunks_has_no_rows():
    assert CODES.with_packed(pa.chunked_array([], pa.binary(WIDTH))).shape == (0, 600)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (pa.array([b"abc"]), "80 bytes a row without nulls, got binary of 3 to 3 bytes"),
        (pa.array([None, bytes(80)], pa.binary(80)), "got 1 nulls. Drop these rows"),
        (pa.array([bytes(8)], pa.binary(8)), r"got fixed_size_binary\[8\]. Give the column"),
        (pa.array([[1] * 80], pa.list_(pa.int8(), 80)), "got fixed_size_list<item: int8>"),
        (pa.array([1, 2]), "got int64"),
        (pa.table({"code": ARROW, "i": range(70)}), "got struct<code: fixed_size_binary"),
        (b"abc", r"shape \(n, 80\), got uint8 of shape \(3,\)"),
        (np.zeros((2, 80), np.int8), r"got int8 of shape"),
        (CODES, "got Codes. Use them as they are"),
        (np.full((2, 80), 255, np.uint8), "bits past the 600 used ones"),
    ],
    ids=["short", "null", "narrow", "int8", "integers", "table", "bytes", "type", "codes", "padding"],
)
def test_what_cannot_be_packed_rows_is_refused(wrong, message):
    with pytest.raises(CodeLayoutError, match=message):
        CODES.with_packed(wrong)


def test_norms_come_back_beside_the_rows():
    norms = np.arange(70.0, dtype=np.float32)
    with_norms = CODES.with_rows(CODES.packed, norms)
    assert with_norms.with_packed(with_norms.to_arrow(), with_norms.norms) == with_norms


def test_arrow_without_pyarrow_names_the_extra(monkeypatch):
    imports = builtins.__import__

    def without(name, *arguments, **named):
        if name == "pyarrow":
            raise ImportError(name)
        return imports(name, *arguments, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match=r"lowtide\[io\]"):
        CODES.to_arrow()


def test_an_unknown_form_is_refused():
    with pytest.raises(ParameterError, match="form must be one of 'binary', 'lists', 'features', got 'list'"):
        CODES.to_arrow("list")


def test_host_array_shares_tensors_of_the_processor_and_passes_on_the_rest():
    rows = np.ones((3, 2))
    assert address(host_array("Encoder", Tensor(rows))) == address(rows)
    assert address(host_array("Encoder", Tensor(rows, device=3))) == address(rows)  # pinned
    for other in (rows, [[1.0]], "text", None):
        assert host_array("Encoder", other) is other


@pytest.mark.parametrize(
    ("tensor", "message"),
    [
        (Tensor(np.ones((3, 2)), device=2), r"got 'a Tensor on device 2 of DLPack'. With torch: X.detach\(\).cpu\(\)"),
        (Tensor(np.ones((3, 2)), error=BufferError("needs grad")), "a Tensor which numpy cannot read: needs grad"),
    ],
    ids=["device", "gradient"],
)
def test_host_array_says_what_to_do_with_other_tensors(tensor, message):
    with pytest.raises(ParameterError, match=f"Encoder: a tensor must be in the processor's own memory.*{message}"):
        host_array("Encoder", tensor)


@pytest.mark.parametrize(("n", "width"), [(0, 8), (1, 8), (1, 4096), (511, 8), (1000, 24)])
def test_empty_rows_are_contiguous_and_large_ones_at_a_line_of_the_cache(n, width):
    rows = empty_rows(n, width)
    assert (rows.shape, rows.dtype, rows.flags.c_contiguous) == ((n, width), np.uint8, True)
    assert n * width < 4096 or address(rows) % 64 == 0
