"""What tests of generated C need, or else they are skipped."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest
from benchmarks.clients.c_program import ARM_C, CORTEX_M4, HOST_C, QEMU, STRICT, run_on_arm, run_on_host

__all__ = [
    "ARM_C",
    "CORTEX_M4",
    "HOST_C",
    "STRICT",
    "called_from_elsewhere",
    "compiled",
    "measured",
    "needs_arm",
    "needs_host",
    "needs_qemu",
    "run_on_arm",
    "run_on_host",
]

needs_host = pytest.mark.skipif(HOST_C is None, reason="needs a C compiler, cc or gcc")
needs_arm = pytest.mark.skipif(ARM_C is None, reason="needs arm-none-eabi-gcc (Debian: gcc-arm-none-eabi)")
needs_qemu = pytest.mark.skipif(
    ARM_C is None or QEMU is None,
    reason="needs arm-none-eabi-gcc and qemu-arm (Debian: gcc-arm-none-eabi, libnewlib-arm-none-eabi, qemu-user)",
)


def compiled(made, folder, *flags):
    """Return the object file for a Cortex-M4."""
    _, source = made.write(folder)
    target = folder / "device.o"
    subprocess.run([ARM_C, *STRICT, *CORTEX_M4, *flags, "-fstack-usage", "-c", source, "-o", target], check=True)
    return target


def called_from_elsewhere(target):
    """Return the functions that a linker would have to find in a library."""
    text = subprocess.run([shutil.which("arm-none-eabi-nm"), "-u", target], capture_output=True, text=True, check=True)
    return set(text.stdout.split()) - {"U"}


def measured(made, folder):
    """Return the bytes of flash and of static memory that the linker would see, and the deepest stack."""
    target = compiled(made, folder)
    size = shutil.which("arm-none-eabi-size")
    text = subprocess.run([size, "-A", target], capture_output=True, text=True, check=True).stdout
    sections = {line.split()[0]: int(line.split()[1]) for line in text.splitlines() if line.startswith(".")}
    flash = sum(n for name, n in sections.items() if name.startswith((".text", ".rodata", ".data")))
    static = sum(n for name, n in sections.items() if name.startswith((".data", ".bss")))
    frames = dict(re.findall(r":(\w+)\t(\d+)", target.with_suffix(".su").read_text()))
    # Functions call downward only: no path is longer than all of one entry's frames together.
    inner = sum(int(n) for name, n in frames.items() if not name.startswith(f"{made.name}_"))
    scoring = sum(int(frames.get(f"{made.name}_{name}", 0)) for name in ("scores", "decide"))
    return flash, static, max(int(frames[f"{made.name}_encode"]), scoring) + inner
