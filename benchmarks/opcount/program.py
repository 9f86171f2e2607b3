"""Build the program that calls the ops, and run it under callgrind; for ARM under qemu."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.opcount.callgrind import Count, count_of, creator, parse
from benchmarks.opcount.record import ARM_LEVELS, Measured

__all__ = ["MissingToolError", "build", "build_arm", "measure", "measure_arm", "pair", "toolchain"]

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "opcount"
VALGRIND = ("valgrind", "--tool=callgrind", "--collect-atstart=no", "--combine-dumps=yes", "--quiet")
ARM_BUILD = ROOT / "build" / "opcount-arm"
ARM_TOOLCHAIN = ROOT / "cmake" / "aarch64-linux-gnu.cmake"
PLUGIN = ROOT / "benchmarks" / "opcount" / "cpp" / "qemu_counter.c"
QEMU = ("qemu-aarch64", "-L", "/usr/aarch64-linux-gnu", "-cpu", "max")
OPTIONS = ("-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DLOWTIDE_OPCOUNT=ON", "-DLOWTIDE_PYTHON=OFF")
LABEL = "count: "


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
    return compiled(BUILD, OPTIONS, jobs)


def build_arm(jobs: int) -> Path:
    """Configure and cross-compile in build/opcount-arm, the emulator's plugin beside it, and return the program."""
    require("aarch64-linux-gnu-g++", "g++-aarch64-linux-gnu")
    require("qemu-aarch64", "qemu-user")
    require("cc", "gcc")
    program = compiled(ARM_BUILD, (*OPTIONS, f"-DCMAKE_TOOLCHAIN_FILE={ARM_TOOLCHAIN}"), jobs)
    subprocess.run(("cc", "-O2", "-shared", "-fPIC", "-o", program.with_name("counter.so"), PLUGIN), check=True)
    return program


def compiled(folder: Path, options: tuple[str, ...], jobs: int) -> Path:
    """Configure and compile in a folder, and return the program."""
    require("cmake", "cmake")
    require("ninja", "ninja-build")
    subprocess.run(("cmake", "-S", ROOT, "-B", folder, *options), check=True, stdout=subprocess.DEVNULL)
    subprocess.run(("cmake", "--build", folder, "--parallel", str(jobs), "--", "--quiet"), check=True)
    return folder / "lowtide_opcount"


def toolchain(printed: str, counter: str) -> dict[str, str]:
    """Return what counts depend on: the lines `name: value` that the program printed, and what counted."""
    lines = [line.partition(": ") for line in printed.splitlines() if not line.startswith(LABEL)]
    return {name: value for name, colon, value in lines if colon} | {"counter": counter}


def measure(program: Path) -> Measured:
    """Run the program once under callgrind and return what it counted."""
    with TemporaryDirectory() as folder:
        out = Path(folder) / "callgrind.out"
        command = (*VALGRIND, f"--callgrind-out-file={out}", program)
        run = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        written = out.read_text(encoding="utf-8")
    return Measured(toolchain(run.stdout, creator(written)), parse(written))


def pair(printed: str, written: str) -> list[Count]:
    """Return the counts that the plugin wrote, a line each, by the names that the program printed in the same order.

    Raises
    ------
    ValueError
        When there are not as many of the one as of the other, or none.
    """
    labels = [line.removeprefix(LABEL) for line in printed.splitlines() if line.startswith(LABEL)]
    numbers = written.split()
    if not labels or len(labels) != len(numbers):
        raise ValueError(
            f"the program must name every call that the plugin counts, got {len(labels)} names and {len(numbers)} "
            "counts. Was it cut short?"
        )
    return [count_of(label, number) for label, number in zip(labels, numbers)]


def measure_arm(program: Path) -> Measured:
    """Run the program once under qemu, with all that it can emulate, and return what its plugin counted."""
    with TemporaryDirectory() as folder:
        out = Path(folder) / "counts"
        command = (*QEMU, "-plugin", f"{program.with_name('counter.so')},out={out}", program)
        run = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        written = out.read_text(encoding="utf-8")
    version = subprocess.run((QEMU[0], "--version"), check=True, stdout=subprocess.PIPE, text=True).stdout
    counter = " ".join(version.split()[:3])
    return Measured(toolchain(run.stdout, counter), pair(run.stdout, written), ARM_LEVELS)
