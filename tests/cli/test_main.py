import os
import subprocess
import sys
from functools import partial
from types import ModuleType

import click
import pytest
from click.testing import CliRunner

import lowtide
from lowtide.cli.main import COMMANDS, main
from lowtide.errors import FingerprintMismatchError, MissingExtraError, ParameterError

HEAVY = ("numpy", "scipy", "sklearn", "matplotlib", "rich", "jinja2")


def modules_after(*arguments):
    """Run the command in a fresh interpreter and return which heavy packages it loaded."""
    code = (
        "import sys\n"
        "from lowtide.cli.main import main\n"
        f"main({list(arguments)!r}, standalone_mode=False)\n"
        f"print('LOADED', *[name for name in {HEAVY!r} if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return run.stdout.splitlines()[-1].split()[1:]


@pytest.fixture
def failing(monkeypatch):
    """Register a command that raises what it is given, and return a function that runs it."""

    def run(error):
        module = ModuleType("failing_command")

        @click.command()
        def fail():
            raise error

        module.fail = fail
        monkeypatch.setitem(sys.modules, "failing_command", module)
        monkeypatch.setitem(COMMANDS, "fail", ("failing_command:fail", "Fail."))
        return CliRunner().invoke(main, ["fail"])

    return run


@pytest.mark.parametrize("arguments", [["--help"], ["demo", "--help"], ["versions", "--help"], ["--version"]])
def test_help_and_version_load_nothing_heavy(arguments):
    assert modules_after(*arguments) == []


def test_help_lists_every_command_with_a_sentence():
    output = CliRunner().invoke(main, ["--help"]).stdout
    for name in COMMANDS:
        line = next(line for line in output.splitlines() if line.strip().startswith(name))
        assert len(line.split()) > 3


def test_version_is_that_of_the_package():
    assert CliRunner().invoke(main, ["--version"]).stdout.strip() == f"lowtide, version {lowtide.__version__}"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_registered_command_is_found_under_its_name(name):
    command = main.get_command(click.Context(main), name)
    assert command is not None
    assert command.name == name


@pytest.mark.parametrize(
    ("word", "remedy"),
    [
        ("ftt", "Did you mean 'fit'?"),
        ("zebra", "'lowtide --help' lists the commands."),
        ("sales.csv", "lowtide fit sales.csv --target COLUMN -o model.lowtide"),
    ],
)
def test_unknown_command_is_a_usage_error_that_says_what_to_write(word, remedy, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sales.csv").touch()
    result = CliRunner().invoke(main, [word, "x"])
    assert result.exit_code == 2
    assert f"No such command {word!r}. " in result.stderr
    assert remedy in result.stderr


@pytest.mark.parametrize("name", ["fit", "predict", "evaluate", "report", "tune", "export-c", "encode", "search"])
def test_a_command_without_what_it_needs_shows_one_that_is_whole(name):
    result = CliRunner().invoke(main, [name])
    assert result.exit_code == 2
    assert "Missing argument" in result.stderr
    assert f". For example: lowtide {name} " in result.stderr


def test_a_command_without_an_example_says_what_is_missing():
    assert CliRunner().invoke(main, ["verify"]).stderr.endswith("Error: Missing argument 'PATH'.\n")


def test_versions_prints_the_version_of_lowtide():
    result = CliRunner().invoke(main, ["versions"])
    assert result.exit_code == 0
    assert lowtide.__version__ in result.stdout


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ParameterError("bits must be 1 to 8,\n got 9."), 2),
        (FingerprintMismatchError("two encoders"), 1),
        (MissingExtraError("no matplotlib"), 1),
    ],
)
def test_an_error_of_lowtide_is_one_line_and_an_exit_code(failing, error, code):
    result = failing(error)
    assert result.exit_code == code
    assert result.stderr == f"Error: {' '.join(str(error).split())}\n"
    assert result.stdout == ""


def test_other_errors_are_not_hidden(failing):
    assert isinstance(failing(RuntimeError("a bug")).exception, RuntimeError)


def test_interrupt_ends_with_130_and_one_line(failing):
    result = failing(KeyboardInterrupt())
    assert result.exit_code == 130
    assert result.stderr.strip() == "Interrupted."


def test_import_runs_a_module_of_the_folder_before_the_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_parts_of_mine.py").write_text("print('registered')\n")
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    result = CliRunner().invoke(main, ["--import", "own_parts_of_mine", "versions"])
    monkeypatch.delitem(sys.modules, "own_parts_of_mine")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[0] == "registered"


@pytest.mark.parametrize("module", ["no_such_module_anywhere", "a b", ".relative", ""])
def test_import_of_what_is_no_module_is_a_usage_error(module):
    result = CliRunner().invoke(main, ["--import", module, "versions"])
    assert result.exit_code == 2
    assert "must name a module that can be imported" in " ".join(result.stderr.split())
    assert result.stdout == ""


_PARTS_OF_MINE = """
from dataclasses import dataclass

import lowtide as lt
from lowtide.kernels import Gaussian


@lt.register
@dataclass(eq=False, repr=False)
class GaussianOfMine(Gaussian):
    pass
"""
_WRITE = """
import sys

import numpy as np
import parts_of_mine

import lowtide as lt

X = np.random.default_rng(0).standard_normal((60, 3))
encoder = lt.RandomFeatures(parts_of_mine.GaussianOfMine(2.0), n_components=64, random_state=0)
lt.save(lt.KernelClassifier(encoder, C=1.0).fit(X, X[:, 0] > 0), "m.lowtide")
np.save("X.npy", X)
"""


def test_import_makes_parts_of_a_file_known_that_are_registered_there(tmp_path):
    (tmp_path / "parts_of_mine.py").write_text(_PARTS_OF_MINE)
    run = partial(subprocess.run, cwd=tmp_path, capture_output=True, text=True, check=False)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([".", *(entry for entry in sys.path if entry)])}
    assert run([sys.executable, "-c", _WRITE], env=environment).stderr == ""
    script = "import sys; sys.path.remove(''); from lowtide.cli.main import main; main()"  # as the script of a wheel
    command = [sys.executable, "-c", script]
    known = run([*command, "--import", "parts_of_mine", "predict", "m.lowtide", "X.npy"])
    assert (known.returncode, len(known.stdout.splitlines())) == (0, 61)
    unknown = run([*command, "predict", "m.lowtide", "X.npy"])
    assert (unknown.returncode, unknown.stdout) == (1, "")
    assert "GaussianOfMine" in unknown.stderr
    assert "register" in unknown.stderr
