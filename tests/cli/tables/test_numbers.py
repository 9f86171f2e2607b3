import numpy as np
import pytest

from lowtide.cli.tables import Block, TableError, number_matrix


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
