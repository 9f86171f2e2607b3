import numpy as np
import pytest

from lowtide.cli.tables import TableError, npy_file, number_matrix, open_table


def saved(tmp_path, array, **kwargs):
    np.save(tmp_path / "x.npy", array, **kwargs)
    return open_table(tmp_path / "x.npy")


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int8", "uint32", "bool"])
def test_npy_gives_the_numbers_of_the_array(tmp_path, dtype, monkeypatch):
    monkeypatch.setattr(npy_file, "_BLOCK_CELLS", 4)
    array = np.array([[1, 0], [0, 1], [1, 1], [0, 0], [1, 0]], dtype=dtype)
    source = saved(tmp_path, array)
    assert source.names == ("0", "1")
    blocks = list(source.blocks())
    assert [block.first_row for block in blocks] == [1, 3, 5]
    assert np.array_equal(np.vstack([number_matrix(block, ["0", "1"], "choose") for block in blocks]), array)


def test_npy_of_one_dimension_is_one_column_of_numbers_or_texts(tmp_path):
    (block,) = saved(tmp_path, np.array(["u", "v"])).blocks()
    assert block.texts("0").tolist() == ["u", "v"]


@pytest.mark.parametrize(
    ("array", "message"),
    [(np.zeros((2, 3, 4)), "reshape"), (np.zeros((2, 2), dtype=complex), "complex128"), (np.zeros((3, 0)), "shape")],
)
def test_npy_that_is_no_table_is_refused(tmp_path, array, message):
    with pytest.raises(TableError, match=message):
        saved(tmp_path, array)


def test_npy_never_unpickles(tmp_path):
    with pytest.raises(TableError, match="Python objects"):
        saved(tmp_path, np.array([{}, []], dtype=object), allow_pickle=True)


@pytest.mark.parametrize("content", [b"", b"a,b\n1,2\n", b"\x93NUMPY\x01\x00"])
def test_npy_that_is_another_file_is_refused(tmp_path, content):
    (tmp_path / "x.npy").write_bytes(content)
    with pytest.raises(TableError, match="x.npy"):
        open_table(tmp_path / "x.npy")


def test_npz_under_the_wrong_name_is_refused(tmp_path):
    np.savez(tmp_path / "x.npz", a=np.zeros(3))
    (tmp_path / "x.npz").rename(tmp_path / "x.npy")
    with pytest.raises(TableError, match="several"):
        open_table(tmp_path / "x.npy")
