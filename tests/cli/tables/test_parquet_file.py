import sys

import numpy as np
import pandas as pd
import pytest

from lowtide.cli.tables import TableError, number_matrix, open_table, parquet_file
from lowtide.errors import MissingExtraError


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
    monkeypatch.setattr(parquet_file, "_BLOCK_CELLS", 10)
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
