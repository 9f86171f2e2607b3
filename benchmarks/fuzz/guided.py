"""`python -m benchmarks.fuzz.guided`: inputs that tools find by the code they reach.

libFuzzer (clang) for the C++ readers of bytes, with address and undefined-behavior sanitizers; atheris for the Python
readers, checksums made right after every change; schemathesis for the HTTP description. A tool that is not there is
named and passed over. The exit code is 0 when no input failed.
"""

from __future__ import annotations

import argparse
import importlib.util
import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

from benchmarks.fuzz.__main__ import target_of
from benchmarks.fuzz.running import attempt

__all__ = ["ATHERIS", "run_atheris", "run_libfuzzer", "run_schemathesis"]

ROOT = Path(__file__).resolve().parents[2]
# What atheris looks at to see how far an input came; of the store it changes the manifest.
ATHERIS = {
    "model": ("lowtide.persist", "lowtide.spec", "lowtide.learners", "lowtide.encoders"),
    "wire": ("lowtide.wire",),
    "store": ("lowtide.store", "lowtide.spec"),
    "csv": ("lowtide.tables",),
    "http": ("lowtide.serve", "lowtide.wire"),
}
_INPUTS_OF_TOOL = re.compile(r"(?:Done|#)(?: |)(\d+)(?: runs| DONE)|stat::number_of_executed_units: (\d+)")


def _executed(text: str) -> str:
    found = [int(a or b) for a, b in _INPUTS_OF_TOOL.findall(text)]
    return f"{max(found)} inputs" if found else "no count of inputs"


def run_libfuzzer(seconds: int, keep: Path) -> list[str] | None:
    """Build a program for each C++ reader and run it; return what each has found, None without clang."""
    if shutil.which("clang++") is None:
        return None
    folder = ROOT / "build" / "fuzz-cpp"
    options = ["-DCMAKE_CXX_COMPILER=clang++", "-DCMAKE_BUILD_TYPE=Debug", "-DLOWTIDE_FUZZ=ON", "-DLOWTIDE_PYTHON=OFF"]
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    commands = [["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", *options], ["cmake", "--build", folder]]
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        if done.returncode:
            raise RuntimeError(f"the programs must build, got:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    lines = []
    for program in sorted(folder.glob("lowtide_fuzz_*")):
        name = program.name.removeprefix("lowtide_fuzz_")
        corpus = ROOT / "benchmarks" / "fuzz" / "corpus" / name.partition("_")[0]
        (keep / name).mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as found:
            arguments = [program, f"-max_total_time={seconds}", f"-artifact_prefix={keep / name}/", "-timeout=1"]
            arguments += ["-rss_limit_mb=500", "-max_len=4096", "-print_final_stats=1", found]
            arguments += [corpus] if corpus.is_dir() else []
            done = subprocess.run([*map(str, arguments)], capture_output=True, text=True, check=False)
        verdict = "0 failed" if done.returncode == 0 else f"FAILED, kept in {keep / name}:\n{done.stderr[-2000:]}"
        lines.append(f"libFuzzer {name}: {_executed(done.stderr)}, {verdict}")
    return lines


def run_atheris(name: str, seconds: int, keep: Path) -> str | None:
    """Run atheris on a target in a process of its own; return what it has found, None where it is not installed."""
    if importlib.util.find_spec("atheris") is None:
        return None
    (keep / name).mkdir(parents=True, exist_ok=True)
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory() as corpus, tempfile.TemporaryDirectory(dir=memory) as own:
        for i, seed in enumerate(target_of(name).seeds()):
            Path(corpus, str(i)).write_bytes(seed)
        command = [sys.executable, "-m", "benchmarks.fuzz.guided", "--inside", name, own, f"-max_total_time={seconds}"]
        command += [f"-artifact_prefix={keep / name}/", "-timeout=5", "-rss_limit_mb=2000", "-max_len=8192", corpus]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    verdict = "0 failed" if done.returncode == 0 else f"FAILED, kept in {keep / name}:\n{done.stderr[-2000:]}"
    return f"atheris {name}: {_executed(done.stderr)}, {verdict}"


def run_schemathesis(examples: int) -> str | None:
    """Send what fits and what does not fit the HTTP description; return the verdict, None where it is not installed."""
    if importlib.util.find_spec("schemathesis") is None:
        return None
    command = [sys.executable, "-m", "benchmarks.load.contract", "--examples", str(examples)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    cases = re.findall(r"(\d+) generated", done.stdout)
    verdict = "0 failed" if done.returncode == 0 else f"FAILED:\n{done.stdout[-3000:]}"
    return f"schemathesis: {cases[-1] if cases else 'unknown number of'} requests, {verdict}"


def _inside(name: str, folder: Path, arguments: list[str]) -> None:
    """Let atheris call one target until it is told to stop; what fails ends the process."""
    import atheris

    with atheris.instrument_imports(include=[*ATHERIS[name]]):
        target = target_of(name)
    warnings.simplefilter("ignore")
    logging.disable()
    target.open(folder)

    def one(data: bytes) -> None:
        outcome, what = attempt(target, *target.sealed(data))
        if outcome not in ("refused", "taken"):
            raise RuntimeError(f"{outcome}: {what}")

    atheris.Setup([sys.argv[0], *arguments], one)
    atheris.Fuzz()


def main(arguments: list[str] | None = None) -> int:
    """Run every tool that is there, and say what each has found."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz.guided", description=__doc__)
    parser.add_argument("--seconds", type=int, default=60, help="for each program of libFuzzer and target of atheris")
    parser.add_argument("--examples", type=int, default=100, help="of schemathesis, for each operation")
    parser.add_argument("--targets", nargs="*", choices=ATHERIS, default=[*ATHERIS], help="of atheris")
    parser.add_argument("--keep", type=Path, default=ROOT / "build" / "fuzz", help="where inputs that failed are kept")
    given = parser.parse_args(arguments)
    lines = run_libfuzzer(given.seconds, given.keep) or ["libFuzzer: not run, it needs clang++"]
    print("\n".join(lines), flush=True)
    for name in given.targets:
        lines.append(run_atheris(name, given.seconds, given.keep) or f"atheris {name}: not run, pip install atheris")
        print(lines[-1], flush=True)
    lines.append(run_schemathesis(given.examples) or "schemathesis: not run, pip install schemathesis")
    print(lines[-1], flush=True)
    return int(any("FAILED" in line for line in lines))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"] and sys.argv[2] in ATHERIS:
        _inside(sys.argv[2], Path(sys.argv[3]), sys.argv[4:])
    sys.exit(main())
