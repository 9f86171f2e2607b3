"""The bare loops of `probes.cpp`, compiled for the instruction set in force and run on all of lowtide's threads."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

from lowtide import _core

__all__ = ["FLAGS", "compiler", "library", "on_threads"]

SOURCE = Path(__file__).with_name("probes.cpp")
# As in CMakeLists.txt.
AVX2 = ("-mavx2", "-mfma", "-mbmi", "-mbmi2", "-mpopcnt")
AVX512 = (*AVX2, *(f"-mavx512{part}" for part in ("f", "bw", "dq", "vl", "vnni")))
VBMI = (*AVX512, "-mavx512vbmi", "-mavx512vpopcntdq")
FLAGS = {"avx2": AVX2, "avx512": AVX512, "vbmi": VBMI, "amx": (*VBMI, "-mamx-tile", "-mamx-int8")}


def compiler() -> str | None:
    """Return the C++ compiler that `CXX` names or the system has, None if there is none."""
    return shutil.which(os.environ.get("CXX", "c++"))


@cache
def library() -> Any:
    """Compile the loops and load them; a call releases the interpreter's lock."""
    level, cxx = _core.isa(), compiler()
    if level not in FLAGS:
        raise RuntimeError(
            f"roofline: instructions are counted for avx2, avx512, vbmi and amx, the level in force is {level}. "
            "Unset LOWTIDE_ISA, or run on a processor that has one of them."
        )
    if cxx is None:
        raise RuntimeError("roofline: needs a C++ compiler to measure the machine, found none. Name one: CXX=g++.")
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "probes.so"
        subprocess.run([cxx, "-O3", "-std=c++20", "-fPIC", "-shared", *FLAGS[level], SOURCE, "-o", target], check=True)
        loaded = ctypes.CDLL(str(target))
    size, address = ctypes.c_size_t, ctypes.c_void_p
    for name, arguments, result in (
        ("vector_bytes", (), size),
        ("read_bytes", (address, size, size), ctypes.c_uint64),
        ("write_bytes", (address, size), None),
        ("additions", (size,), ctypes.c_float),
        ("instructions", (size,), ctypes.c_uint64),
        ("ones", (address, size, size), ctypes.c_uint64),
        ("tile_products", (size,), ctypes.c_int32),
    ):
        function = getattr(loaded, name)
        function.argtypes, function.restype = arguments, result
    return loaded


@cache
def _pool(n_threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(n_threads)


def on_threads(work: Callable[[int], object]) -> None:
    """Call work(0), work(1), ... at once, one on each of the threads that lowtide uses, and wait for all."""
    n_threads = _core.thread_count()
    list(_pool(n_threads).map(work, range(n_threads)))
