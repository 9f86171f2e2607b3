"""What a shell is offered while a command is typed."""

import subprocess

import pytest
from cli.samples import flower_csv, lowtide, write_csv
from click.shell_completion import ShellComplete

from lowtide.cli.main import main


@pytest.fixture
def inside(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    flower_csv(tmp_path / "flowers.csv")
    return tmp_path


def offered(*words, begun=""):
    found = ShellComplete(main, {}, "lowtide", "_LOWTIDE_COMPLETE").get_completions([*map(str, words)], begun)
    return [(item.type, item.value) for item in found]


def columns(*words, begun=""):
    return [value for kind, value in offered(*words, begun=begun) if kind == "plain"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_what_a_shell_evaluates(shell):
    result = lowtide("completion", shell)
    assert result.exit_code == 0
    assert f"_LOWTIDE_COMPLETE={shell}_complete" in result.stdout


def test_bash_takes_what_is_printed():
    script = lowtide("completion", "bash").stdout
    run = subprocess.run(["bash", "-c", f"{script}\ncomplete -p lowtide"], capture_output=True, text=True, check=True)
    assert "_lowtide_completion" in run.stdout


def test_other_shells_are_refused():
    assert lowtide("completion", "tcsh").exit_code == 2


def test_commands_and_options_are_offered():
    assert columns(begun="ev") == ["evaluate"]
    assert columns("tune", begun="--bud") == ["--budget"]


def test_arguments_are_files(inside):
    assert offered("fit", begun="fl") == [("file", "fl")]
    assert offered("evaluate", "m.lowtide", begun="n") == [("file", "n")]


def test_columns_of_the_table_are_offered(inside):
    assert columns("fit", "flowers.csv", "--target") == ["a", "b", "c", "d", "species"]
    assert columns("fit", "flowers.csv", "-o", "m.lowtide", "--drop", begun="s") == ["species"]
    assert columns("evaluate", "m.lowtide", "flowers.csv", "--target", begun="s") == ["species"]
    assert columns("tune", "flowers.csv", "--target", begun="s") == ["species"]


def test_bash_gets_quoted_what_has_spaces(inside, monkeypatch):
    write_csv(inside / "spaces.csv", ["petal length", "petals"], [(1, 2)])
    assert columns("fit", "spaces.csv", "--target", begun="p") == ["petal length", "petals"]
    monkeypatch.setenv("_LOWTIDE_COMPLETE", "bash_complete")
    assert columns("fit", "spaces.csv", "--target", begun="p") == ["'petal length'", "petals"]


@pytest.mark.parametrize("data", ["absent.csv", "broken.csv", "m.lowtide"])
def test_a_file_that_cannot_be_read_offers_files(inside, data):
    (inside / "broken.csv").write_bytes(b"")
    assert offered("fit", data, "--target", begun="y") == [("file", "y")]
    assert offered("fit", data, "--drop", begun="y") == []
