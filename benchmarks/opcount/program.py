"""Build the program that calls the ops, and run it under callgrind; for ARM under qemu."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.opcount.callgrind import Count, count_of, creator, parse
from benchmarks.opcount.record import ARM_LEVELS, ONE_BY_ONE, Measured

__all__ = ["MissingToolError", "build", "build_arm", "measure", "measure_arm", "pair", "toolchain"]

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "opcount"
VALGRIND = ("valgrind", "--tool=callgrind", "--collect-atstart=no", "--combine-dumps=yes", "--quiet")
ARM_BUILD = ROOT / "build" / "opcount-arm"
ARM_BUILD_ONE_BY_ONE = ROOT / "build" / "opcount-arm-one-by-one"
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


def build_arm(jobs: int) -> tuple[Path, Path]:
    """Cross-compile the program in build/opcount-arm, and again with scalar forms that use no vectors; return both.

    The emulator's plugin is compiled beside the first.
    """
    require("aarch64-linux-gnu-g++", "g++-aarch64-linux-gnu")
    require("qemu-aarch64", "qemu-user")
    require("cc", "gcc")
    options = (*OPTIONS, f"-DCMAKE_TOOLCHAIN_FILE={ARM_TOOLCHAIN}")
    program = compiled(ARM_BUILD, options, jobs)
    one_by_one = compiled(ARM_BUILD_ONE_BY_ONE, (*options, "-DLOWTIDE_ONE_BY_ONE=ON"), jobs)
    subprocess.run(("cc", "-O2", "-shared", "-fPIC", "-o", program.with_name("counter.so"), PLUGIN), check=True)
    return program, one_by_one


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


def counted_by(plugin: Path, program: Path) -> tuple[str, list[Count]]:
    """Run a program once under qemu, with all that it can emulate; return what it printed and its counts."""
    with TemporaryDirectory() as folder:
        out = Path(folder) / "counts"
        command = (*QEMU, "-plugin", f"{plugin},out={out}", program)
        run = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        return run.stdout, pair(run.stdout, out.read_text(encoding="utf-8"))


def measure_arm(programs: tuple[Path, Path]) -> Measured:
    """Run both programs of `build_arm` and return their counts: of the second the scalar forms only."""
    program, one_by_one = programs
    plugin = program.with_name("counter.so")
    printed, counts = counted_by(plugin, program)
    plain = [replace(c, level=ONE_BY_ONE) for c in counted_by(plugin, one_by_one)[1] if c.level == "scalar"]
    version = subprocess.run((QEMU[0], "--version"), check=True, stdout=subprocess.PIPE, text=True).stdout
    counter = " ".join(version.split()[:3])
    return Measured(toolchain(printed, counter), [*plain, *counts], ARM_LEVELS)
