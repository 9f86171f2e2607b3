import click
import pytest

from lowtide.cli.values import ColumnAs, Existing, Limit, Share, WordOrNumber


@pytest.mark.parametrize(("text", "value"), [("scale", "scale"), ("SCALE", "scale"), ("0.5", 0.5), ("1e-3", 1e-3)])
def test_word_or_number_takes_both(text, value):
    assert WordOrNumber("scale", "median").convert(text, None, None) == value


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "wide", ""])
def test_word_or_number_refuses_the_rest_with_what_will_do(text):
    with pytest.raises(click.BadParameter, match="a number above 0, or 'scale' or 'median'"):
        WordOrNumber("scale", "median").convert(text, None, None)


@pytest.mark.parametrize("text", ["0", "9", "1.5", "x"])
def test_word_or_whole_number_keeps_its_range(text):
    kind = WordOrNumber("none", whole=(1, 8))
    assert kind.convert("none", None, None) is None
    assert kind.convert("8", None, None) == 8
    with pytest.raises(click.BadParameter, match="from 1 to 8, or 'none'"):
        kind.convert(text, None, None)


@pytest.mark.parametrize(
    ("text", "value"),
    [("64B", ("item", 64)), ("model:1.5kB", ("model", 1500)), ("item:8B", ("item", 8)), ("0.5s", ("seconds", 0.5))],
)
def test_a_limit_is_bytes_or_seconds(text, value):
    assert Limit().convert(text, None, None) == value


@pytest.mark.parametrize("text", ["64", "7B", "0s", "8.5B", "item:2s", "1TB", "", "-8B"])
def test_other_limits_are_refused(text):
    with pytest.raises(click.BadParameter, match="got"):
        Limit().convert(text, None, None)


def test_a_column_is_taken_as_a_kind():
    assert ColumnAs().convert("a=b=number", None, None) == ("a=b", "number")
    with pytest.raises(click.BadParameter, match="must be a column's name, = and one of"):
        ColumnAs().convert("a=colour", None, None)


def test_existing_takes_a_path_that_is_there(tmp_path):
    (tmp_path / "sales.csv").touch()
    assert Existing(exists=True).convert(str(tmp_path / "sales.csv"), None, None) == str(tmp_path / "sales.csv")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("sale.csv", "sale.csv' does not exist. Did you mean '.*sales.csv'.$"),
        ("zebra", "zebra' does not exist. Nothing in '.*' has such a name: look at it, or give the whole path.$"),
        ("no-folder/sales.csv", "sales.csv' does not exist. There is no folder '.*no-folder': look at its name"),
        ("..", "is a directory"),
    ],
)
def test_existing_refuses_the_rest_with_names_that_are_near(tmp_path, name, said):
    (tmp_path / "sales.csv").touch()
    with pytest.raises(click.BadParameter, match=said):
        Existing(exists=True, dir_okay=False).convert(str(tmp_path / name), None, None)


def test_existing_takes_a_folder_only_where_a_store_is_in_it(tmp_path):
    (tmp_path / "codes.zarr" / "lowtide").mkdir(parents=True)
    kind = Existing(exists=True)
    assert kind.convert(str(tmp_path / "codes.zarr"), None, None) == str(tmp_path / "codes.zarr")
    with pytest.raises(click.BadParameter, match="must be a file, or a store of codes, got .* Name a file in it.$"):
        kind.convert(str(tmp_path), None, None)


@pytest.mark.parametrize(("text", "value"), [("0", 0.0), ("0.2", 0.2), (".999", 0.999)])
def test_a_share_is_a_number_below_one(text, value):
    assert Share().convert(text, None, None) == value


@pytest.mark.parametrize("text", ["1", "20", "20%", "-0.1", "nan", "a fifth", ""])
def test_other_shares_are_refused_with_how_to_write_one(text):
    with pytest.raises(click.BadParameter, match="from 0 to less than 1, got .* For a fifth write 0.2.$"):
        Share().convert(text, None, None)
