"""What tests of generated C need, or else they are skipped."""

from __future__ import annotations

import pytest
from benchmarks.clients.c_program import ARM_C, CORTEX_M4, HOST_C, QEMU, STRICT, run_on_arm, run_on_host

__all__ = [
    "ARM_C",
    "CORTEX_M4",
    "HOST_C",
    "STRICT",
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
