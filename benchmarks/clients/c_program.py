"""Generated C, compiled and run: by the system's compiler, and as Cortex-M4 code under qemu's user mode."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lowtide.device import DeviceCode

__all__ = ["ARM_C", "CORTEX_M4", "HOST_C", "QEMU", "STRICT", "Answer", "run_on_arm", "run_on_host"]

STRICT = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
CORTEX_M4 = ["-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16", "-Os"]
HOST_C = shutil.which("cc") or shutil.which("gcc")
ARM_C = shutil.which("arm-none-eabi-gcc")
QEMU = shutil.which("qemu-arm")

Job = tuple[DeviceCode, NDArray[np.generic]]

_HOST_START = """
#include <stdio.h>
#include <stdlib.h>
static void get(void *to, uint32_t n) { if (fread(to, 1, n, stdin) != n) exit(9); }
static void give(const void *from, uint32_t n) { fwrite(from, 1, n, stdout); }
static void go(void);
int main(void) { go(); return 0; }
"""

# User mode has no semihosting for M-profile code, so what is read and written goes through Linux's own calls.
_ARM_START = """
static long call(long number, long a, const void *b, long c)
{
    register long r7 __asm__("r7") = number;
    register long r0 __asm__("r0") = a;
    register const void *r1 __asm__("r1") = b;
    register long r2 __asm__("r2") = c;
    __asm__ volatile("svc 0" : "+r"(r0) : "r"(r7), "r"(r1), "r"(r2) : "memory");
    return r0;
}
static void leave(long status) { for (;;) call(1, status, 0, 0); }
static void all(long number, long file, uint8_t *at, uint32_t n)
{
    while (n > 0) {
        const long done = call(number, file, at, (long)n);
        if (done <= 0) leave(9);
        at += done;
        n -= (uint32_t)done;
    }
}
static void get(void *to, uint32_t n) { all(3, 0, to, n); }
static void give(const void *from, uint32_t n) { all(4, 1, (uint8_t *)from, n); }
static void go(void);
void _start(void) { go(); leave(0); }
"""

_MODEL = """
static void go_{p}(void)
{{
    static {x} row[{P}_{size}];
    static uint8_t code[{P}_CODE_BYTES];
    {scores}
    int32_t n, result;
    get(&n, 4);
    while (n-- > 0) {{
        get(row, sizeof row);
        result = {p}_encode(row, code);
        give(&result, 4);
        give(code, sizeof code);
        {after}
    }}
}}
"""


@dataclass(frozen=True)
class Answer:
    """What a program wrote for one model's rows."""

    status: NDArray[np.int32]
    codes: NDArray[np.uint8]
    scores: NDArray[np.generic] | None
    decided: NDArray[np.int32] | None


def run_on_host(folder: Path, jobs: list[Job], flags: tuple[str, ...] = ("-O2",)) -> list[Answer]:
    """Compile all models into one program with the system's compiler and run it."""
    program = folder / "host"
    files = _write(folder, jobs, _HOST_START)
    _check(
        subprocess.run([HOST_C, *STRICT, *flags, *files, "-o", program], capture_output=True, text=True, check=False)
    )
    return _run([program], jobs)


def run_on_arm(folder: Path, jobs: list[Job]) -> list[Answer]:
    """Compile all models for a Cortex-M4 and run that code under qemu."""
    program = folder / "arm"
    files = _write(folder, jobs, _ARM_START)
    options = ["-nostartfiles", "-fno-builtin", "-fomit-frame-pointer"]
    command = [ARM_C, *STRICT, *CORTEX_M4, *options, *files, "-o", program]
    _check(subprocess.run(command, capture_output=True, text=True, check=False))
    return _run([QEMU, "-cpu", "max", program], jobs)


def _write(folder: Path, jobs: list[Job], start: str) -> list[Path]:
    """Write the models and a program that runs their rows one after the other."""
    text = "#include <stdint.h>\n" + "".join(f'#include "{made.name}.h"\n' for made, _ in jobs) + start
    files = [folder / "program.c"]
    for made, rows in jobs:
        files.append(made.write(folder)[1])
        text += _one(made, rows.dtype)
    text += "static void go(void)\n{\n" + "".join(f"    go_{made.name}();\n" for made, _ in jobs) + "}\n"
    files[0].write_text(text)
    return files


def _one(made: DeviceCode, dtype: np.dtype) -> str:
    kinds = {"float64": "double", "float32": "float", "int16": "int16_t", "uint8": "uint8_t"}
    p, P = made.name, made.name.upper()
    # A model of a table has rows of its raw columns.
    size = "COLUMNS" if f"{P}_COLUMNS " in made.header else "FEATURES"
    scores = after = ""
    if f"{p}_scores" in made.header:
        kind = "float" if f"float scores[{P}_SCORES]" in made.header else "int32_t"
        scores = f"static {kind} scores[{P}_SCORES];"
        after = f"{p}_scores(code, scores); give(scores, sizeof scores);"
    if f"{p}_decide" in made.header:
        after += f" result = {p}_decide(code); give(&result, 4);"
    return _MODEL.format(p=p, P=P, size=size, x=kinds[dtype.name], scores=scores, after=after)


def _run(command: list[object], jobs: list[Job]) -> list[Answer]:
    sent = b"".join(np.int32(len(rows)).tobytes() + np.ascontiguousarray(rows).tobytes() for _, rows in jobs)
    run = subprocess.run([str(part) for part in command], input=sent, capture_output=True, check=False)
    assert run.returncode == 0, run.stderr.decode(errors="replace")
    answers, at = [], 0
    for made, rows in jobs:
        kind = _layout(made)
        answers.append(_read(np.frombuffer(run.stdout, dtype=kind, count=len(rows), offset=at)))
        at += kind.itemsize * len(rows)
    assert at == len(run.stdout)
    return answers


def _layout(made: DeviceCode) -> np.dtype:
    """Return what the program writes for a row."""
    P = made.name.upper()
    fields = [("status", "<i4"), ("codes", "u1", (_macro(made, f"{P}_CODE_BYTES"),))]
    if f"{P}_SCORES" in made.header:
        kind = "<f4" if f"float scores[{P}_SCORES]" in made.header else "<i4"
        fields.append(("scores", kind, (_macro(made, f"{P}_SCORES"),)))
    if f"{made.name}_decide" in made.header:
        fields.append(("decided", "<i4"))
    return np.dtype(fields)


def _read(answers: NDArray[np.void]) -> Answer:
    names = answers.dtype.names or ()
    return Answer(*(answers[name] if name in names else None for name in ("status", "codes", "scores", "decided")))


def _macro(made: DeviceCode, name: str) -> int:
    (line,) = (line for line in made.header.splitlines() if line.startswith(f"#define {name} "))
    return int(line.split()[-1])


def _check(run: subprocess.CompletedProcess[str]) -> None:
    assert run.returncode == 0, run.stderr
