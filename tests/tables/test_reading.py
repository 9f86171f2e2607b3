import gzip
import json
import sys

import numpy as np
import pandas as pd
import pyarrow
import pytest

from lowtide.errors import MissingExtraError
from lowtide.tables import TableError, is_table_name, open_table, reading, text_of
from lowtide.tables.cells import numbers_in


def table(tmp_path, content, name="t.csv", **kwargs):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return open_table(path, **kwargs)


def numbers(block, names):
    return np.column_stack([numbers_in(block.column(name)) for name in names])


def texts(block, name):
    return [text_of(cell) for cell in block.column(name).tolist()]


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
        ("t.txt", "a|b\n1|2\n3|4\n"),
    ],
)
def test_csv_is_read_with_the_delimiter_it_has(tmp_path, name, content):
    source = table(tmp_path, content, name)
    assert source.names == ("a", "b")
    assert numbers(only_block(source), ["b", "a"]).tolist() == [[2.0, 1.0], [4.0, 3.0]]


def test_csv_keeps_quoted_delimiters_quotes_and_line_ends(tmp_path):
    block = only_block(table(tmp_path, '"a, b",c\n"x, ""y""",1\n"two\nlines",2\nz,3\n'))
    assert block.names == ("a, b", "c")
    assert texts(block, "a, b") == ['x, "y"', "two\nlines", "z"]
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
    assert np.vstack([numbers(block, ["a"]) for block in blocks])[:, 0].tolist() == list(range(8))
    assert blocks[2].where(0) == "row 7 (line 8)"


def test_csv_without_header_counts_its_columns(tmp_path):
    source = table(tmp_path, "1.5,2\n3,4\n", header=False)
    assert source.names == ("0", "1")
    assert not source.named
    assert numbers(only_block(source), ["0"]).tolist() == [[1.5], [3.0]]


def test_csv_leaves_out_columns_without_a_name(tmp_path):
    source = table(tmp_path, ",a,b\n0,1,2\n1,3,4\n")
    assert source.names == ("a", "b")
    assert source.notes == ("t.csv: 1 column without a name left out.",)
    assert numbers(only_block(source), ["a", "b"]).tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_csv_takes_names_that_count_the_columns_for_names(tmp_path):
    assert only_block(table(tmp_path, "0,1\n5,6\n")).n_rows == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "empty file"),
        ("\n \n", "empty file"),
        ('""\n', "empty file"),
        ("1.5,2\n3,4\n", "--no-header"),
        (b"a,b\n1,2\n\xe9,2\n", r"UTF-8, got byte 0xe9 in line 3. Name its encoding: --encoding windows-1252"),
        (b"\xff\xfea", "UTF-16"),
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
    assert np.array_equal(np.vstack([numbers(block, ["0", "1"]) for block in blocks]), array)


@pytest.mark.parametrize("order", ["C", "F"])
def test_npy_gives_its_rows_in_either_order(tmp_path, order, monkeypatch):
    monkeypatch.setattr(reading, "_NUMBER_CELLS", 6)
    array = np.arange(15.0).reshape(5, 3)
    blocks = saved(tmp_path, np.asarray(array, order=order)).blocks()
    assert np.array_equal(np.vstack([numbers(block, ["0", "1", "2"]) for block in blocks]), array)


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
    assert texts(block, "0") == ["u", "v"]


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
    matrix = np.vstack([numbers(block, ["x", "n", "b"]) for block in blocks])
    assert matrix.tolist() == [[1.5, 1, 1], [2.5, 2, 0], [3.5, 3, 1]]
    assert texts(blocks[0], "city") == ["Bern", "Oslo"]
    assert blocks[1].column("day").astype("datetime64[D]").tolist() == [frame["day"][2].date()]


@pytest.mark.parametrize("name", ["n", "b", "city"])
def test_parquet_cell_without_a_value_is_empty(tmp_path, frame, name):
    frame = frame.astype({"b": "boolean"})
    frame.loc[1, name] = pd.NA
    frame.to_parquet(tmp_path / "t.parquet")
    (block,) = open_table(tmp_path / "t.parquet").blocks()
    assert texts(block, name)[1] == ""


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
    with pytest.raises(TableError, match=r"\.csv, \.tsv, \.jsonl, \.parquet or \.npy"):
        open_table(tmp_path / name)


ROWS = "a;b\n1,5;x\n2.000,25;y\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_csv_is_read_in_the_encoding_it_looks_like(tmp_path, encoding):
    source = table(tmp_path, "größe,näme\n1.5,ä\n2.5,ö\n".encode(encoding))
    block = only_block(source)
    assert block.names == ("größe", "näme")
    assert texts(block, "näme") == ["ä", "ö"]
    assert source.dialect.in_words() == ("" if encoding.startswith("utf-8") else encoding.upper())


def test_csv_is_read_in_the_encoding_that_is_named(tmp_path):
    source = table(tmp_path, "größe\n1\n".encode("cp1252"), encoding="windows-1252")
    assert source.names == ("größe",)


@pytest.mark.parametrize("ending", [".gz", ".zst"])
def test_packed_tables_are_those_that_are_not(tmp_path, ending):
    packed = gzip.compress(ROWS.encode())
    if ending == ".zst":
        with pyarrow.CompressedOutputStream(str(tmp_path / "made"), "zstd") as stream:
            stream.write(ROWS.encode())
        packed = (tmp_path / "made").read_bytes()
    block = only_block(table(tmp_path, packed, f"t.csv{ending}"))
    assert numbers(block, ["a"])[:, 0].tolist() == [1.5, 2000.25]
    assert is_table_name(tmp_path / f"t.csv{ending}")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        # Packed without the time of day: the bytes are part of the test's name, which all processes must agree on.
        ("t.csv.gz", b"a,b\n1,2\n", "must be gzip data, as its name says, got .* Rename"),
        (
            "t.csv.gz",
            gzip.compress(b"a,b\n" + b"1,2\n" * 9999, mtime=0)[:-40],
            "must be whole, got gzip data that are cut short",
        ),
        ("t.csv.zst", b"a,b\n1,2\n", "must be the packed data that its name says"),
        ("t.csv", gzip.compress(b"a,b\n1,2\n", mtime=0), "must be text, as its name says, got gzip data"),
        ("t.csv", b"PK\x03\x04" + bytes(40), "a ZIP archive"),
        ("t.csv", b"a\x00b,\x07\x00\x00\x00\x00\x01,c\x00", "got binary data"),
        ("t.parquet.gz", b"", "only text tables may be packed, got a .parquet file in .gz"),
        ("t.jsonl", '{"a": 1}\n{"a": \n', "line 2 must be JSON, got"),
        ("t.jsonl", '[{"a": 1}]\n', "line 1 must be an object of JSON"),
        ("t.jsonl", '{"a": 1}\n\n{"a": [1, 2]}\n', "line 3, column 'a' must be a text, a number or a truth value"),
        ("t.jsonl", "\n", "must have rows, got an empty file"),
    ],
)
def test_a_file_that_is_not_what_its_name_says_is_refused_with_a_reason(tmp_path, name, content, message):
    with pytest.raises(TableError, match=f"{name}: .*{message}"):
        list(table(tmp_path, content, name).blocks())


def test_zstandard_without_pyarrow_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match="zstd -d"):
        table(tmp_path, b"x", "t.csv.zst")


def test_names_that_come_again_are_told_apart_as_pandas_does(tmp_path):
    source = table(tmp_path, "a,b,a,a.1,a\n1,2,3,4,5\n")
    assert source.names == ("a", "b", "a.2", "a.1", "a.3")
    assert source.notes == ("t.csv: names that come again are told apart, 'a' as 'a.2', 'a' as 'a.3'.",)
    assert table(tmp_path, "a,b,a\n1,2,3\n").names == tuple(pd.read_csv(tmp_path / "t.csv").columns)


@pytest.mark.parametrize("name", ["t.jsonl", "t.ndjson", "t.json"])
def test_lines_of_json_have_the_columns_of_all_rows(tmp_path, name, monkeypatch):
    monkeypatch.setattr(reading, "_TEXT_CELLS", 6)
    rows = [{"a": 1.5, "b": "x"}, {"b": None, "c": True}, {"a": 2}]
    source = table(tmp_path, "\n\n".join(map(json.dumps, rows)), name)
    assert source.names == ("a", "b", "c")
    first, second = source.blocks()
    assert [column.tolist() for column in first.columns] == [[1.5, None], ["x", None], [None, True]]
    assert second.where(0) == "row 3 (line 5)"
