import numpy as np
import pytest

from lowtide.cli.tables import TableError, csv_file, number_matrix, open_table


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
    monkeypatch.setattr(csv_file, "_BLOCK_CELLS", 6)
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
