"""The settings of a run, written and read again."""

import tomllib

import click
import numpy as np
import pytest
from cli.samples import FAST, flower_csv, lowtide, write_csv
from hypothesis import given, settings
from hypothesis import strategies as st

import lowtide as lt
from lowtide.cli.settings import toml_value

ODD = ['price "net"', "a\\b", "näme, [x] = {y}", "tab\there", "two\nlines", "#no comment", "\x7f", "''' \"\"\"", "雪"]


@pytest.fixture
def inside(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    flower_csv(tmp_path / "flowers.csv")
    return tmp_path


def fit(*arguments, code=0):
    result = lowtide("fit", *arguments)
    assert result.exit_code == code, result.stderr
    return result


def test_a_run_is_repeated_from_its_settings(inside):
    fit("flowers.csv", "--target", "species", "-o", "m.lowtide", "--save-settings", "--drop", "a", "--bits", 2, *FAST)
    first = (inside / "m.lowtide").read_bytes()
    (inside / "m.lowtide").unlink()
    fit("--settings", "m.toml")
    assert (inside / "m.lowtide").read_bytes() == first


def test_a_run_on_a_store_is_repeated_from_its_settings(inside):
    lowtide("encode", "flowers.csv", "-o", "s.zarr", "--target", "species", "--components", 64)
    fit("s.zarr", "-o", "m.lowtide", "--save-settings", "--C", 2)
    first = (inside / "m.lowtide").read_bytes()
    (inside / "m.lowtide").unlink()
    fit("--settings", "m.toml")
    assert (inside / "m.lowtide").read_bytes() == first


def test_the_file_has_every_option_and_what_was_chosen(inside):
    options = ("--budget", "64B", "--budget", "2.5s", "--metric", "none", "--no-scale", "--classification", "--cv", 2)
    fit("flowers.csv", "--target", "species", "-o", "m.lowtide", "--save-settings", *options)
    content = tomllib.loads((inside / "m.toml").read_text(encoding="utf-8"))
    chosen = content.pop("chosen")
    model = lt.load("m.lowtide")
    assert chosen["gamma"] == model.choice_.settings["gamma"]
    assert chosen["metric"] == "none"
    parameters = {parameter.name for parameter in click_parameters("fit")}
    spoken = {"settings", "save_settings", "as_json", "quiet", "force"}
    n_absent = (inside / "m.toml").read_text(encoding="utf-8").count(" was not given\n")
    assert len(content) + n_absent == len(parameters - spoken) + 1
    assert content["command"] == "fit"
    assert content["budget"] == ["item:64B", "2.5s"]
    assert (content["metric"], content["scale"], content["task"], content["cv"]) == ("none", False, "classification", 2)
    (inside / "m.lowtide").unlink()
    fit("--settings", "m.toml")


def click_parameters(name):
    from lowtide.cli.main import main

    return main.get_command(click.Context(main), name).params


def test_options_given_on_the_command_line_win(inside):
    (inside / "run.toml").write_text(
        'target = "species"\nbits = 2\ncomponents = 64\ngamma = "scale"\nmetric = "none"\n'
    )
    fit("flowers.csv", "--settings", "run.toml", "--bits", 4, "-o", "m.lowtide", "--C", 1, "--loss", "squared")
    features = lt.load("m.lowtide").features_
    assert (features.bits, features.n_components) == (4, 64)


def test_wishes_for_columns_are_kept(inside):
    options = ("--column", "a=category", "--column", "b=drop", "--encoding", "latin-1")
    fit("flowers.csv", "--target", "species", "-o", "m.lowtide", "--save-settings", *options, *FAST)
    content = tomllib.loads((inside / "m.toml").read_text(encoding="utf-8"))
    assert content["column"] == ["a=category", "b=drop"]
    first = (inside / "m.lowtide").read_bytes()
    (inside / "m.lowtide").unlink()
    fit("--settings", "m.toml")
    assert (inside / "m.lowtide").read_bytes() == first


def test_no_path_of_the_machine_is_written(inside):
    fit(inside / "flowers.csv", "--target", "species", "-o", inside / "m.lowtide", "--save-settings", *FAST)
    text = (inside / "m.toml").read_text(encoding="utf-8")
    assert str(inside) not in text
    assert 'data = "flowers.csv"' in text


def test_odd_names_of_columns_are_kept(inside):
    rng = np.random.default_rng(0)
    write_csv(
        inside / "odd.csv",
        [*ODD, "y"],
        [(*row, i % 2) for i, row in enumerate(rng.standard_normal((20, len(ODD))).tolist())],
    )
    drops = [each for name in ODD[1:] for each in ("--drop", name)]
    fit("odd.csv", "--target", "y", "-o", "m.lowtide", "--save-settings", *drops, *FAST)
    assert tomllib.loads((inside / "m.toml").read_text(encoding="utf-8"))["drop"] == ODD[1:]
    (inside / "m.lowtide").unlink()
    fit("--settings", "m.toml")
    assert lt.load("m.lowtide").decision_.columns == (ODD[0],)


@settings(max_examples=60)
@given(st.text() | st.integers(-(2**63), 2**63 - 1) | st.booleans() | st.floats(allow_nan=False, allow_infinity=False))
def test_values_are_read_back_as_they_were(value):
    assert tomllib.loads(f"x = {toml_value([value, 'more'])}")["x"] == [value, "more"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("targets = 'species'", "got 'targets'. Did you mean 'target'?"),
        ("categorical = ['a']", "got 'categorical'. Did you mean 'categories'?"),
        ("zzz = 1", "got 'zzz'. Known are data, target,"),
        ("force = true", "got 'force'"),
        ("target species", "run.toml must be a TOML file, got: Expected '='"),
        ("drop = 'a'", "run.toml: drop must be a list, got 'a'. Put it in brackets."),
        ("drop = [['a']]", "run.toml: drop must be a text or a number"),
        ("scale = 'no'", "run.toml: scale must be true or false, got 'no'."),
        ("bits = true", "run.toml: bits must be a text or a number, got True."),
        ("bits = 12", "Invalid value for '--bits': must be a whole number from 1 to 8"),
        ("gamma = -1.0", "Invalid value for '--gamma': must be a number above 0"),
        ("task = 'guess'", "run.toml: task must be one of 'classification', 'regression', got 'guess'."),
        ("command = 'tune'", "must be of 'lowtide fit', got one of 'lowtide tune'."),
        ("[options]\nbits = 2", "got 'options'"),
    ],
)
def test_a_wrong_file_of_settings_is_refused_by_name(inside, text, message):
    (inside / "run.toml").write_text(text, encoding="utf-8")
    result = fit("flowers.csv", "--target", "species", "-o", "m.lowtide", "--settings", "run.toml", code=2)
    assert message in result.stderr
    assert not (inside / "m.lowtide").exists()


def test_bytes_that_are_no_text_are_refused(inside):
    (inside / "run.toml").write_bytes(b"\xff\xfe")
    assert "must be a TOML file" in fit("flowers.csv", "--settings", "run.toml", code=2).stderr


def test_settings_replace_no_file_unless_told(inside):
    (inside / "m.toml").write_text("mine")
    options = ("flowers.csv", "--target", "species", "-o", "m.lowtide", "--save-settings")
    assert "m.toml', which is there already" in fit(*options, code=2).stderr
    assert (inside / "m.toml").read_text() == "mine"
    assert not (inside / "m.lowtide").exists()


def test_names_that_are_no_unicode_are_refused():
    with pytest.raises(click.BadParameter, match="needs names that UTF-8 can hold"):
        toml_value("\udcff")
