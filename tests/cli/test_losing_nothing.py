"""Nothing is lost by hand: outputs that are inputs, outputs that are full or closed, writers that are killed."""

import errno
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import lowtide as lt
from lowtide.cli.main import main

SMALL = ["--gamma", "0.1", "--components", "64", "-q"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return a folder with a table, a model and a store."""
    folder = tmp_path_factory.mktemp("made")
    X = np.random.default_rng(0).standard_normal((60, 3))
    lines = ["a,b,c,y", *(",".join(map(str, [*row, "u" if row[0] > 0 else "v"])) for row in X.tolist())]
    (folder / "t.csv").write_text("\n".join(lines) + "\n")
    assert run(folder, "fit", "t.csv", "--target", "y", "-o", "m.lowtide", "--C", "1", *SMALL) == 0
    assert run(folder, "encode", "t.csv", "-o", "s.zarr", "--target", "y", *SMALL) == 0
    assert run(folder, "encode", "t.csv", "-o", "c.lowtide", "--model", "m.lowtide", "-q") == 0
    return folder


@pytest.fixture
def copied(made, tmp_path, monkeypatch):
    subprocess.run(["cp", "-r", f"{made}/.", str(tmp_path)], check=True)
    monkeypatch.chdir(tmp_path)
    os.symlink("t.csv", "link.csv")
    os.link("t.csv", "hard.csv")
    os.symlink("s.zarr", "link.zarr")
    os.link("m.lowtide", "hard.lowtide")
    os.link("t.csv", "table.lowtide")
    return tmp_path


def run(folder, *arguments):
    here = os.getcwd()
    os.chdir(folder)
    try:
        return CliRunner().invoke(main, arguments).exit_code
    finally:
        os.chdir(here)


def contents(folder):
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}


@pytest.mark.parametrize(
    "command",
    [
        "predict m.lowtide t.csv -o t.csv",
        "predict m.lowtide t.csv -o link.csv",
        "predict m.lowtide link.csv -o t.csv",
        "predict m.lowtide t.csv -o hard.csv",
        "predict m.lowtide t.csv -o ./s.zarr/../hard.csv",
        "predict m.lowtide s.zarr -o s.zarr/out.csv",
        "predict m.lowtide link.zarr -o s.zarr/codes/out.csv",
        "predict m.lowtide c.lowtide --target t.csv -o t.csv",
        "fit t.csv --target y -o table.lowtide",
        "fit s.zarr -o s.zarr/m.lowtide",
        "encode t.csv -o hard.lowtide --model m.lowtide",
        "encode t.csv -o new.lowtide --save-encoder new.lowtide",
        "encode t.csv -o new.lowtide --save-encoder t.csv",
        "encode s.zarr/table.csv -o s.zarr",
        "encode t.csv -o s.zarr --model s.zarr/lowtide/encoder.lowtide",
        "export-c m.lowtide -o . --name m --check m.c",
    ],
)
def test_output_that_is_an_input_is_refused_even_with_force(command, copied):
    (copied / "s.zarr" / "table.csv").write_bytes((copied / "t.csv").read_bytes())
    (copied / "m.c").write_bytes((copied / "t.csv").read_bytes())
    before = contents(copied)
    result = CliRunner().invoke(main, [*command.split(), "--force"])
    assert result.exit_code == 2, result.output
    assert "must not be, hold or be in what is read" in result.output or "another file than" in result.output
    assert contents(copied) == before


_OUTPUTS = """
import os, sys
from lowtide.cli.main import main

arguments = ["predict", "m.lowtide", "t.csv", "-q"]
reading, closed = os.pipe()
os.close(reading)
for output in (os.open("t.csv", os.O_WRONLY | os.O_APPEND), os.open("/dev/full", os.O_WRONLY), closed):
    os.dup2(output, 1)
    sys.stdout = os.fdopen(1, "w", closefd=False)
    try:
        main(arguments)
    except SystemExit as end:
        print("ended with", end.code, file=sys.stderr)
"""


def test_standard_output_that_is_the_input_or_full_or_closed(copied):
    before = contents(copied)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    command = [sys.executable, "-c", _OUTPUTS]
    result = subprocess.run(command, env=environment, stderr=subprocess.PIPE, text=True, check=True)
    assert contents(copied) == before
    *usage, same, first, full, second, third = result.stderr.splitlines()
    assert usage
    assert "got standard output for" in same
    room = os.strerror(errno.ENOSPC)
    assert (
        full == f"Error: standard output must take what is printed, got: {room}. Files that were asked for are whole."
    )
    assert [first, second, third] == ["ended with 2", "ended with 1", f"ended with {128 + signal.SIGPIPE}"]


@pytest.mark.parametrize(
    "command",
    [
        "predict m.lowtide t.csv -o out.csv",
        "export-c m.lowtide -o .",
        "encode t.csv -o c.lowtide --model m.lowtide",
        "fit t.csv --target y -o m.lowtide --gamma 0.1 --C 1 --components 64",
    ],
)
def test_full_disk_leaves_everything_as_it_was(command, copied):
    (copied / "out.csv").write_text("before\n")
    before, limits = contents(copied), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        result = CliRunner().invoke(main, [*command.split(), "--force", "-q"])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert result.exit_code == 1
    assert "must be writable, got: File too large" in result.output
    assert contents(copied) == before


def test_store_is_replaced_only_by_a_complete_one(copied, monkeypatch):
    before = contents(copied / "s.zarr")
    with monkeypatch.context() as patch:
        patch.setattr(lt.CodeStore, "append", lambda *arguments: 1 / 0)
        result = CliRunner().invoke(
            main, ["encode", "t.csv", "-o", "s.zarr", "--bits", "2", "--drop", "y", "--force", *SMALL]
        )
        assert isinstance(result.exception, ZeroDivisionError)
    assert contents(copied / "s.zarr") == before
    result = CliRunner().invoke(
        main, ["encode", "t.csv", "-o", "s.zarr", "--bits", "2", "--drop", "y", "--force", *SMALL]
    )
    assert result.exit_code == 0, result.output
    assert lt.CodeStore.open("s.zarr").bits == 2
    assert not list(Path().glob(".*lowtide*"))


def test_store_is_replaced_where_names_cannot_be_exchanged(copied, monkeypatch):
    monkeypatch.setattr("lowtide.store.writing._exchange", lambda *names: False)
    result = CliRunner().invoke(
        main, ["encode", "t.csv", "-o", "s.zarr", "--bits", "2", "--drop", "y", "--force", *SMALL]
    )
    assert result.exit_code == 0, result.output
    assert lt.CodeStore.open("s.zarr").bits == 2
    assert not list(Path().glob(".*lowtide*"))


@pytest.mark.parametrize(
    "command", ["fit s.zarr -o new.lowtide --C 1 -q", "verify s.zarr -q", "predict m.lowtide s.zarr -q"]
)
def test_store_without_one_of_its_files_is_an_error_that_names_it(command, copied):
    files = [file for file in (copied / "s.zarr").rglob("*") if file.is_file() and file.name != "lock"]
    assert len(files) == 8
    assert run(copied, "encode", "t.csv", "-o", "s.zarr", "--target", "y", "--model", "m.lowtide", "--force", "-q") == 0
    for file in files:
        data = file.read_bytes()
        file.unlink()
        result = CliRunner().invoke(main, command.split())
        needed = "verify" in command or file.suffix != ".json" or file.name == "manifest.json"
        if "predict" in command and file.name == "encoder.lowtide":
            needed = False
        assert result.exit_code == (1 if needed else 0), (file, result.output, result.exception)
        if needed:
            name = file.name if file.name != "manifest.json" else "s.zarr"
            assert result.output.startswith("Error: ")
            assert name in result.output
        file.write_bytes(data)
        (copied / "new.lowtide").unlink(missing_ok=True)
