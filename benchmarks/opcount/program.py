"""Build the program that calls the ops, and run it under callgrind."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.opcount.callgrind import creator, parse
from benchmarks.opcount.record import Measured

__all__ = ["MissingToolError", "build", "measure", "toolchain"]

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "opcount"
VALGRIND = ("valgrind", "--tool=callgrind", "--collect-atstart=no", "--combine-dumps=yes", "--quiet")
OPTIONS = ("-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DLOWTIDE_OPCOUNT=ON", "-DLOWTIDE_PYTHON=OFF")


class MissingToolError(Exception):
    """A program that counting needs is not installed."""


def require(tool: str, package: str) -> None:
    """Raise when a program is not on the path."""
    if shutil.which(tool) is None:
        raise MissingToolError(
            f"counting instructions needs {tool}, which is not on the path. On Debian: apt install {package}"
        )


def build(jobs: int) -> Path:
    """Configure and compile in build/opcount, and return the program."""
    require("valgrind", "valgrind")  # its package has the header too
    require("cmake", "cmake")
    require("ninja", "ninja-build")
    subprocess.run(("cmake", "-S", ROOT, "-B", BUILD, *OPTIONS), check=True, stdout=subprocess.DEVNULL)
    subprocess.run(("cmake", "--build", BUILD, "--parallel", str(jobs), "--", "--quiet"), check=True)
    return BUILD / "lowtide_opcount"


def toolchain(printed: str, written: str) -> dict[str, str]:
    """Return what counts depend on: the lines `name: value` that the program printed, and the version of callgrind."""
    lines = [line.partition(": ") for line in printed.splitlines()]
    return {name: value for name, colon, value in lines if colon} | {"counter": creator(written)}


def measure(program: Path) -> Measured:
    """Run the program once under callgrind and return what it counted."""
    with TemporaryDirectory() as folder:
        out = Path(folder) / "callgrind.out"
        command = (*VALGRIND, f"--callgrind-out-file={out}", program)
        run = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        written = out.read_text(encoding="utf-8")
    return Measured(toolchain(run.stdout, written), parse(written))
