import os

import numpy as np
import pytest

from lowtide.cli.tables import check_can_write, number_matrix, open_table, write_array, write_table

PARTS = [
    {"prediction": np.array(["a, b", "c"]), "share": np.array([0.123456789, 1e-9])},
    {"prediction": np.array(["longer"]), "share": np.array([1.0])},
]


def test_csv_goes_to_stdout_without_a_path(capsys):
    write_table(None, PARTS)
    assert capsys.readouterr().out == 'prediction,share\n"a, b",0.123457\nc,1e-09\nlonger,1\n'


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_written_table_reads_back(tmp_path, ending):
    write_table(tmp_path / f"t.{ending}", PARTS)
    (block,) = open_table(tmp_path / f"t.{ending}").blocks()
    assert block.texts("prediction").tolist() == ["a, b", "c", "longer"]
    assert number_matrix(block, ["share"], "choose")[:, 0] == pytest.approx([0.123456789, 1e-9, 1.0], rel=1e-5)


def test_npy_holds_the_one_column(tmp_path):
    write_table(tmp_path / "t.npy", [{"prediction": np.array([1.5, 2.5])}, {"prediction": np.array([3.5])}])
    assert np.load(tmp_path / "t.npy").tolist() == [1.5, 2.5, 3.5]


@pytest.mark.parametrize("ending", ["csv", "npy", "parquet"])
def test_a_table_that_cannot_be_finished_leaves_the_old_file(tmp_path, ending):
    def parts():
        yield PARTS[0]
        raise KeyboardInterrupt

    path = tmp_path / f"t.{ending}"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt):
        write_table(path, parts())
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == [path.name]


def test_write_array_writes_the_array_alone(tmp_path):
    write_array(tmp_path / "x.npy", np.arange(6, dtype=np.uint8).reshape(2, 3))
    assert np.load(tmp_path / "x.npy").tolist() == [[0, 1, 2], [3, 4, 5]]
    assert os.listdir(tmp_path) == ["x.npy"]


def test_check_can_write_refuses_other_endings_and_several_columns_in_npy(tmp_path):
    assert check_can_write(tmp_path / "t.csv", several=True) == ""
    assert check_can_write(tmp_path / "t.npy", several=False) == ""
    assert ".parquet" in check_can_write(tmp_path / "t.npy", several=True)
    assert "must end in" in check_can_write(tmp_path / "t.xlsx", several=False)
