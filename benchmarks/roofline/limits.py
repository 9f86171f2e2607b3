"""The machine's limits, each a piece of work whose amount is known, run on all of lowtide's threads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.roofline.probes import library, on_threads
from lowtide import _core

__all__ = ["Limit", "build_limits"]

SUMS = 12  # additions a round in probes.cpp
# Half of a small first-level cache, and a part of a small second-level one that no first-level cache holds.
L1_BYTES, L2_BYTES = 16_384, 131_072
MIB = 1 << 20


@dataclass(frozen=True)
class Limit:
    """Work of a known amount.

    Attributes
    ----------
    name, unit, words : str
        What is limited, what it is counted in, and how it is measured.
    amount : float
        How much one run does, in units.
    run : callable
        Does it.
    """

    name: str
    unit: str
    words: str
    amount: float
    run: Callable[[], object]


def build_limits(shrink: int = 1) -> list[Limit]:
    """Return every limit; `shrink` divides the work of each, for a quick look.

    A run takes some 40 ms, so that waking the threads, about a millisecond, does not show.
    """
    return [
        *_memory(512 * MIB // shrink),
        _cache("L1", "first-level", L1_BYTES, 6144 * MIB // shrink),
        _cache("L2", "second-level", L2_BYTES, 6144 * MIB // shrink),
        *_ports(20_000_000 // shrink),
        *_tiles(1_000_000 // shrink),
        _sgemm(shrink),
    ]


def _lines(n_bytes: int, value: int) -> np.ndarray:
    """Return bytes that start at a cache line: a load across two of them would count twice."""
    room = np.full(n_bytes + 64, value, np.uint8)
    start = -room.ctypes.data % 64
    return room[start : start + n_bytes]


def _memory(total: int) -> list[Limit]:
    """Reading, copying and writing, of arrays that no cache of a core holds."""
    n_threads = _core.thread_count()
    share = total // n_threads // MIB * MIB
    arrays = [_lines(share, 1) for _ in range(n_threads)]

    def read(thread: int) -> object:
        return library().read_bytes(arrays[thread].ctypes.data, share // 1024 * 1024, 1)

    def copy(thread: int) -> None:
        half = share // 2
        np.copyto(arrays[thread][half : 2 * half], arrays[thread][:half])

    def write(thread: int) -> None:
        library().write_bytes(arrays[thread].ctypes.data, share)

    def fresh() -> None:
        result = np.empty((n_threads, share // 4), np.uint8)
        on_threads(lambda thread: result[thread].fill(1))

    size = f"{n_threads * share / MIB:.0f} MiB"
    return [
        Limit("read", "byte", f"a sum over {size}", n_threads * share, lambda: on_threads(read)),
        Limit(
            "copy", "byte", f"numpy copy within {size}, both ways counted", n_threads * share, lambda: on_threads(copy)
        ),
        Limit("write", "byte", f"stores past the caches over {size}", n_threads * share, lambda: on_threads(write)),
        Limit("fresh", "byte", "fill of a new array, pages never touched before", n_threads * (share // 4), fresh),
    ]


def _cache(name: str, words: str, size: int, total: int) -> Limit:
    """Reading what a core's own cache holds, again and again."""
    lines = [_lines(size, 1) for _ in range(_core.thread_count())]
    repeats = total // size

    def read(thread: int) -> object:
        return library().read_bytes(lines[thread].ctypes.data, size, repeats)

    how = f"a sum over {size // 1024} KiB a thread, again and again: the {words} cache"
    return Limit(name, "byte", how, len(lines) * size * repeats, lambda: on_threads(read))


def _ports(rounds: int) -> list[Limit]:
    """Rates of instructions on registers, and of bits counted in the first-level cache."""
    n_threads, lanes = _core.thread_count(), library().vector_bytes() // 4
    words = [_lines(L1_BYTES, 0x0F) for _ in range(n_threads)]
    repeats = max(1, rounds // 100)

    def count(thread: int) -> object:
        return library().ones(words[thread].ctypes.data, L1_BYTES // 8, repeats)

    done = float(n_threads * SUMS * rounds)
    return [
        Limit(
            "vector",
            "instruction",
            f"additions of {4 * lanes} bytes in registers",
            done,
            lambda: on_threads(lambda _: library().instructions(rounds)),
        ),
        Limit(
            "additions",
            "float32 addition",
            f"additions and multiply-adds by 1 of {lanes} values in registers, in turn",
            done * lanes,
            lambda: on_threads(lambda _: library().additions(rounds)),
        ),
        Limit(
            "popcount",
            "bit",
            f"ones of {L1_BYTES // 1024} KiB a thread counted again and again, nothing else done to them",
            8.0 * n_threads * L1_BYTES * repeats,
            lambda: on_threads(count),
        ),
    ]


def _tiles(rounds: int) -> list[Limit]:
    """Rate of products of tiles of bytes, where the processor has them."""
    if _core.isa() != "amx":
        return []
    words = "products of tiles of bytes, 16 x 64 by 64 x 16, with a tile loaded for each from the first-level cache"
    done = 4.0 * 16 * 16 * 64 * rounds * _core.thread_count()
    return [Limit("tiles", "product", words, done, lambda: on_threads(lambda _: library().tile_products(rounds)))]


def _sgemm(shrink: int) -> Limit:
    n = 2048 if shrink == 1 else 256
    A, B = (np.random.default_rng(seed).standard_normal((n, n), dtype=np.float32) for seed in (0, 1))
    out = np.empty((n, n), np.float32)
    words = f"numpy float32 product of {n} x {n} matrices into an array that is there"
    return Limit("sgemm", "float32 operation", words, 2.0 * n**3, lambda: np.matmul(A, B, out=out))
