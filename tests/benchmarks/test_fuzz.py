"""The fuzzers themselves: each way to fail is seen, inputs can be made again, and what once failed fails no more."""

import os
import shutil
import signal
import subprocess
from pathlib import Path
from random import Random

import numpy as np
import pytest
from benchmarks.fuzz import __main__ as command
from benchmarks.fuzz.changes import changed_array, changed_bytes, changed_json
from benchmarks.fuzz.model import DATA, sealed
from benchmarks.fuzz.running import Limits, WrongError, made, replay, run

from lowtide.errors import FileFormatError
from lowtide.persist import from_bytes

ROOT = Path(__file__).resolve().parents[2]
KEPT = sorted(path for path in (DATA / "fuzz").glob("*/*"))
N = 150


class Scripted:
    """A target whose every input does one thing."""

    def __init__(self, **does):
        self.kinds = dict.fromkeys(does, 1)
        self.does = does

    def open(self, folder):
        assert folder.is_dir()

    def make(self, kind, draw):
        return draw.randbytes(4)

    def judge(self, kind, data):
        self.does[kind]()


def raises(error):
    def judge():
        raise error

    return judge


def spins():
    while True:
        pass


def swallows():
    """Ask for much memory in a place that would make any error one of lowtide's."""
    try:
        np.ones(1 << 30)
    except MemoryError as error:
        raise FileFormatError("cannot be built") from error


DOES = {
    "refused": raises(FileFormatError("no")),
    "taken": lambda: None,
    "crash": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "hang": spins,
    "memory": swallows,
    "exception": raises(KeyError("x")),
    "wrong": raises(WrongError("other numbers")),
}


@pytest.mark.parametrize("outcome", DOES)
def test_every_outcome_is_seen_and_the_run_goes_on(outcome, tmp_path):
    limits = Limits(seconds=0.5)
    report = run(Scripted(x=DOES[outcome]), 3, jobs=2, limits=limits, keep=tmp_path)
    assert report.total == 3
    assert report.counts["x"][outcome] == 3
    is_failure = outcome not in ("refused", "taken")
    assert report.failed == 3 * is_failure
    assert sorted(failure.number for failure in report.failures) == [0, 1, 2] * is_failure
    assert len(list(tmp_path.iterdir())) == 3 * is_failure


def test_what_failed_among_others_is_kept_as_it_was(tmp_path):
    target = Scripted(good=DOES["refused"], bad=DOES["crash"])
    report = run(target, 8, seed=4, jobs=2, keep=tmp_path)
    assert report.failed == report.counts["bad"]["crash"] > 0
    assert report.counts["good"]["refused"] > 0
    kept = {file.read_bytes() for file in tmp_path.iterdir()}
    assert kept <= {made(target, 4, failure.number)[1] for failure in report.failures}
    file = next(tmp_path.iterdir())
    assert replay(target, file).counts == {"bad": {**dict.fromkeys(report.counts["bad"], 0), "crash": 1}}


@pytest.mark.parametrize("name", command.TARGETS)
def test_inputs_are_functions_of_seed_and_number(name):
    first, second = command.target_of(name), command.target_of(name)
    assert [made(first, 1, number) for number in range(30)] == [made(second, 1, number) for number in range(30)]
    assert made(first, 1, 0) != made(first, 2, 0)


@pytest.mark.parametrize("name", command.TARGETS)
def test_few_inputs_of_every_target_do_no_harm(name, tmp_path, capsys):
    assert command.main([name, "--inputs", str(N), "--seed", "1", "--keep", str(tmp_path)]) == 0, (
        capsys.readouterr().out
    )
    assert f"{N} inputs" in capsys.readouterr().out


@pytest.mark.parametrize("file", KEPT, ids=lambda file: f"{file.parent.name}-{file.name}")
def test_what_once_failed_fails_no_more(file):
    report = replay(command.target_of(file.parent.name), file)
    assert (report.total, report.failed) == (1, 0), report.failures


def test_sealed_files_differ_from_whole_ones_by_nothing_and_from_damaged_ones_by_their_sum():
    data = (DATA / "encoder_sketch.lowtide").read_bytes()
    assert sealed(data) == data
    damaged = data[:-1] + bytes([data[-1] ^ 1])
    with pytest.raises(FileFormatError, match="checksum"):
        from_bytes(damaged)
    with pytest.raises(FileFormatError, match="fingerprint must be"):
        from_bytes(sealed(damaged))


def test_changes_always_change_bytes_and_leave_the_original_alone():
    draw = Random(0)
    data, array, text = bytes(range(50)), np.arange(6.0).reshape(2, 3), '{"a": [1, 2.5, {"b": null}], "c": "x"}'
    kept = array.copy()
    for _ in range(300):
        assert changed_bytes(data, draw, [b"other"]) != data
        changed_array(array, draw)
        changed_json(text, draw)
    np.testing.assert_array_equal(array, kept)


def test_libfuzzer_finds_nothing_in_the_reader_of_json(tmp_path):
    if shutil.which("clang++") is None:
        pytest.skip("libFuzzer comes with clang, which is not installed")
    sources = [ROOT / "benchmarks/fuzz/cpp/json_rows.cpp", ROOT / "cpp/lowtide/json_rows.cpp"]
    flags = ["-std=c++20", "-O1", "-g0", "-fsanitize=fuzzer,address,undefined", "-fno-sanitize-recover=all"]
    build = ["clang++", *flags, f"-I{ROOT / 'cpp'}", *map(str, sources), "-o", str(tmp_path / "fuzz")]
    subprocess.run(build, check=True, capture_output=True)
    found = tmp_path / "found"
    found.mkdir()
    corpus = ROOT / "benchmarks/fuzz/corpus/json"
    options = ["-runs=5000", "-seed=1", "-timeout=5", "-max_len=2048", f"-artifact_prefix={tmp_path}/", found, corpus]
    done = subprocess.run([str(tmp_path / "fuzz"), *map(str, options)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]


def test_atheris_finds_nothing_in_messages_within_a_second(tmp_path):
    pytest.importorskip("atheris", reason="the dependency group fuzz is not installed")
    from benchmarks.fuzz.guided import run_atheris

    assert run_atheris("wire", 1, tmp_path).endswith("0 failed")
