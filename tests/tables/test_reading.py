import sys

import numpy as np
import pandas as pd
import pytest

from lowtide.errors import MissingExtraError
from lowtide.tables import Block, TableError, number_matrix, open_table, reading


def table(tmp_path, content, name="t.csv", **kwargs):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return open_table(path, **kwargs)


def only_block(source):
    blocks = list(source.blocks())
    assert len(blocks) == 1
    return blocks[0]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.csv", "a,b\n1,2\n3,4\n"),
        ("t.csv", "a;b\n1;2\n3;4\n"),
        ("t.tsv", "a\tb\n1\t2\n3\t4\n"),
        ("T.CSV", "a, b\n1, 2\n3, 4"),
    ],
)
def test_csv_is_read_with_the_delimiter_it_has(tmp_path, name, content):
    source = table(tmp_path, content, name)
    assert source.names == ("a", "b")
    assert number_matrix(only_block(source), ["b", "a"], "choose").tolist() == [[2.0, 1.0], [4.0, 3.0]]


def test_csv_keeps_quoted_delimiters_quotes_and_line_ends(tmp_path):
    block = only_block(table(tmp_path, '"a, b",c\n"x, ""y""",1\n"two\nlines",2\nz,3\n'))
    assert block.names == ("a, b", "c")
    assert block.texts("a, b").tolist() == ['x, "y"', "two\nlines", "z"]
    assert block.where(2) == "row 3 (line 5)"


def test_csv_passes_over_blank_lines_and_a_byte_order_mark(tmp_path):
    block = only_block(table(tmp_path, "\ufeff\na,b\n\n1,2\n   \n3,4\n\n"))
    assert block.names == ("a", "b")
    assert block.n_rows == 2
    assert block.where(1) == "row 2 (line 6)"


def test_csv_comes_in_blocks_that_count_on(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "_TEXT_CELLS", 6)
    source = table(tmp_path, "a,b\n" + "".join(f"{i},{2 * i}\n" for i in range(8)))
    blocks = list(source.blocks())
    assert [block.first_row for block in blocks] == [1, 4, 7]
    assert [block.n_rows for block in blocks] == [3, 3, 2]
    assert np.vstack([number_matrix(block, ["a"], "choose") for block in blocks])[:, 0].tolist() == list(range(8))
    assert blocks[2].where(0) == "row 7 (line 8)"


def test_csv_without_header_counts_its_columns(tmp_path):
    source = table(tmp_path, "1.5,2\n3,4\n", header=False)
    assert source.names == ("0", "1")
    assert not source.named
    assert number_matrix(only_block(source), ["0"], "choose").tolist() == [[1.5], [3.0]]


def test_csv_leaves_out_columns_without_a_name(tmp_path):
    source = table(tmp_path, ",a,b\n0,1,2\n1,3,4\n")
    assert source.names == ("a", "b")
    assert source.unnamed == 1
    assert number_matrix(only_block(source), ["a", "b"], "choose").tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_csv_takes_names_that_count_the_columns_for_names(tmp_path):
    assert only_block(table(tmp_path, "0,1\n5,6\n")).n_rows == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "empty file"),
        ("\n \n", "empty file"),
        ('""\n', "empty file"),
        ("1.5,2\n3,4\n", "--no-header"),
        ("a,b,a\n1,2,3\n", "'a' more than once"),
        (b"a,b\n\xe9,2\n", "UTF-8"),
        (b"\xff\xfea", "UTF-8"),
        ('a,"b\n1,2\n', "Quotes"),
    ],
)
def test_csv_that_is_none_is_refused_with_a_reason(tmp_path, content, message):
    with pytest.raises(TableError, match=message):
        list(table(tmp_path, content).blocks())


@pytest.mark.parametrize("line", ["1", "1,2,3"])
def test_csv_line_of_another_length_is_named(tmp_path, line):
    with pytest.raises(TableError, match=r"2 cells, .* got \d in line 3"):
        list(table(tmp_path, f"a,b\n1,2\n{line}\n").blocks())


def saved(tmp_path, array, **kwargs):
    np.save(tmp_path / "x.npy", array, **kwargs)
    return open_table(tmp_path / "x.npy")


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int8", "uint32", "bool"])
def test_npy_gives_the_numbers_of_the_array(tmp_path, dtype, monkeypatch):
    monkeypatch.setattr(reading, "_NUMBER_CELLS", 4)
    array = np.array([[1, 0], [0, 1], [1, 1], [0, 0], [1, 0]], dtype=dtype)
    source = saved(tmp_path, array)
    assert source.names == ("0", "1")
    blocks = list(source.blocks())
    assert [block.first_row for block in blocks] == [1, 3, 5]
    assert np.array_equal(np.vstack([number_matrix(block, ["0", "1"], "choose") for block in blocks]), array)


@pytest.mark.parametrize("order", ["C", "F"])
def test_npy_gives_its_rows_in_either_order(tmp_path, order, monkeypatch):
    monkeypatch.setattr(reading, "_NUMBER_CELLS", 6)
    array = np.arange(15.0).reshape(5, 3)
    blocks = saved(tmp_path, np.asarray(array, order=order)).blocks()
    assert np.array_equal(np.vstack([number_matrix(block, ["0", "1", "2"], "choose") for block in blocks]), array)


def test_npy_that_is_cut_short_while_it_is_read_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "_NUMBER_CELLS", 1 << 12)
    blocks = saved(tmp_path, np.zeros((1 << 14, 2))).blocks()
    next(blocks)
    with (tmp_path / "x.npy").open("r+b") as stream:
        stream.truncate(1 << 12)
    with pytest.raises(TableError, match="must stay as it is while it is read"):
        list(blocks)


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


def description(text, version=1):
    """Return the start of a .npy file, whose description may be any bytes."""
    return b"\x93NUMPY" + bytes([version, 0]) + len(text).to_bytes(2 if version == 1 else 4, "little") + text


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"a,b\n1,2\n",
        b"\x93NUMPY\x01\x00",
        description(b"{'descr': '<f8', 'shape': (2, 2\n"),
        description(b"{'descr': ',i8', 'fortran_order': False, 'shape': (5,), }\n"),
        description(b"(" * 500),
        b"\x93NUMPY\x03\x00\xff\xff\xff\x7f{}\n",
    ],
    ids=["empty", "text", "start", "open", "comma", "deep", "long"],
)
def test_npy_that_is_another_file_is_refused(tmp_path, content):
    (tmp_path / "x.npy").write_bytes(content)
    with pytest.raises(TableError, match="x.npy"):
        open_table(tmp_path / "x.npy")


def test_npy_with_texts_of_numbers_that_are_no_characters_is_refused(tmp_path):
    np.save(tmp_path / "x.npy", np.array([["a"], ["b"]]))
    data = (tmp_path / "x.npy").read_bytes()
    (tmp_path / "x.npy").write_bytes(data[:-4] + (0x110000).to_bytes(4, "little"))
    with pytest.raises(TableError, match="must be of Unicode's characters"):
        list(open_table(tmp_path / "x.npy").blocks())
    np.save(tmp_path / "x.npy", np.array([["", ""]]))
    assert [column.tolist() for column in only_block(open_table(tmp_path / "x.npy")).columns] == [[""], [""]]


def test_csv_whose_header_names_nothing_is_refused(tmp_path):
    with pytest.raises(TableError, match="must name the columns, got empty names"):
        table(tmp_path, ",,\n1,2,3\n")


def test_npz_under_the_wrong_name_is_refused(tmp_path):
    np.savez(tmp_path / "x.npz", a=np.zeros(3))
    (tmp_path / "x.npz").rename(tmp_path / "x.npy")
    with pytest.raises(TableError, match="several"):
        open_table(tmp_path / "x.npy")


@pytest.fixture
def frame():
    return pd.DataFrame(
        {
            "x": [1.5, 2.5, 3.5],
            "n": pd.array([1, 2, 3], dtype="Int32"),
            "b": [True, False, True],
            "city": pd.Categorical(["Bern", "Oslo", "Bern"]),
            "day": pd.to_datetime(["2021-01-01", "2021-01-02", "2021-01-03"]),
        }
    )


def test_parquet_gives_numbers_truth_values_categories_and_dates(tmp_path, frame, monkeypatch):
    monkeypatch.setattr(reading, "_NUMBER_CELLS", 10)
    frame.to_parquet(tmp_path / "t.parquet")
    source = open_table(tmp_path / "t.parquet")
    assert source.names == ("x", "n", "b", "city", "day")
    blocks = list(source.blocks())
    assert [block.first_row for block in blocks] == [1, 3]
    matrix = np.vstack([number_matrix(block, ["x", "n", "b"], "choose") for block in blocks])
    assert matrix.tolist() == [[1.5, 1, 1], [2.5, 2, 0], [3.5, 3, 1]]
    assert blocks[0].texts("city").tolist() == ["Bern", "Oslo"]
    with pytest.raises(TableError, match=r"'day' \('2021-01-01"):
        number_matrix(blocks[0], ["day"], "choose")


@pytest.mark.parametrize("name", ["n", "b", "city"])
def test_parquet_cell_without_a_value_is_empty(tmp_path, frame, name):
    frame = frame.astype({"b": "boolean"})
    frame.loc[1, name] = pd.NA
    frame.to_parquet(tmp_path / "t.parquet")
    (block,) = open_table(tmp_path / "t.parquet").blocks()
    assert block.texts(name)[1] == ""
    if name != "city":
        with pytest.raises(TableError, match=f"an empty cell in row 2, column '{name}'"):
            number_matrix(block, [name], "choose")


def test_parquet_index_of_a_frame_is_no_column(tmp_path, frame):
    frame[frame.x > 2].to_parquet(tmp_path / "t.parquet")
    assert open_table(tmp_path / "t.parquet").names == tuple(frame.columns)


def test_parquet_that_is_another_file_is_refused(tmp_path):
    (tmp_path / "t.parquet").write_text("a,b\n1,2\n")
    with pytest.raises(TableError, match="must be a Parquet file"):
        open_table(tmp_path / "t.parquet")


def test_parquet_without_pyarrow_names_the_extra(tmp_path, frame, monkeypatch):
    frame.to_parquet(tmp_path / "t.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'lowtide\[io\]'"):
        open_table(tmp_path / "t.parquet")


@pytest.mark.parametrize("name", ["t.xlsx", "t"])
def test_a_file_of_another_kind_is_refused_with_those_that_will_do(tmp_path, name):
    (tmp_path / name).touch()
    with pytest.raises(TableError, match=r"\.csv, \.tsv, \.npy or \.parquet"):
        open_table(tmp_path / name)


def block(**columns):
    values = [np.asarray(values, dtype=object if isinstance(values, list) else None) for values in columns.values()]
    return Block("t.csv", tuple(columns), values, first_row=11)


def test_numbers_are_read_as_python_reads_them_and_truth_values_as_0_and_1():
    made = block(
        x=["1", " -2.5 ", "1e3"], t=["True", "false", "TRUE"], n=np.array([1, 2, 3]), b=np.array([True, False, True])
    )
    matrix = number_matrix(made, ["x", "t", "n", "b"], "choose")
    assert matrix.tolist() == [[1, 1, 1, 1], [-2.5, 0, 2, 0], [1000, 1, 3, 1]]
    assert matrix.dtype == np.float64


def test_numbers_and_truth_values_may_be_mixed():
    assert number_matrix(block(x=["1", "true", "2.5"]), ["x"], "choose")[:, 0].tolist() == [1.0, 1.0, 2.5]


def test_every_column_of_text_is_named_with_an_example_and_the_way_out():
    made = block(x=["1", "2"], city=["Bern", "Oslo"], day=["2021-01-01", "2021-01-02"])
    with pytest.raises(TableError) as caught:
        number_matrix(made, ["x", "city", "day"], "choose")
    message = str(caught.value)
    for part in (
        "'city' ('Bern', ...)",
        "'day' ('2021-01-01', ...)",
        "--one-hot city --one-hot day",
        "--drop city --drop day",
    ):
        assert part in message
    assert "'x'" not in message


def test_text_where_a_model_wants_numbers_is_named_without_options():
    with pytest.raises(TableError, match="'city' .* held numbers when") as caught:
        number_matrix(block(city=["Bern", "Oslo"]), ["city"], "reuse")
    assert "--" not in str(caught.value)


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        ("", "an empty cell"),
        ("  ", "an empty cell"),
        (None, "an empty cell"),
        ("NA", "'NA'"),
        ("12 kg", "'12 kg'"),
        ("inf", "'inf'"),
        ("nan", "'nan'"),
    ],
)
def test_a_cell_that_is_no_number_is_named_by_row_and_column(cell, shown):
    with pytest.raises(TableError) as caught:
        number_matrix(block(x=["1", "2", "3"], weight=["5", cell, "7"]), ["x", "weight"], "choose")
    assert f"got {shown} in row 12, column 'weight'" in str(caught.value)
    assert "--drop weight" in str(caught.value)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_typed_cell_that_is_not_finite_is_named(value):
    with pytest.raises(TableError, match="row 13, column 'x'"):
        number_matrix(block(x=np.array([1.0, 2.0, value])), ["x"], "choose")


def test_the_first_of_several_bad_cells_is_named_and_the_rest_counted():
    made = block(x=["1", "2", "", ""], y=["1", "", "3", "4"])
    with pytest.raises(TableError, match="row 12, column 'y'"):
        number_matrix(made, ["x", "y"], "choose")
    with pytest.raises(TableError, match=r"row 13, column 'x' \(and 1 more"):
        number_matrix(made, ["x"], "choose")
