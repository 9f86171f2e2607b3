"""`python -m benchmarks.interrupts`: send SIGINT at random moments of long work, and time the answers.

Each row is a process of its own. Its work is done once to know its result and how long it takes, and then stopped at
random moments of that time. Then it is done again and must give the same result. Memory is what the process has grown
by from the second interrupted call to the last, and what of that is in use: the C library keeps what was freed, up to
some tens of megabytes for each thread that there was at a time.

python -m benchmarks.interrupts --scale 0.2 --page docs/guide/reliability.md       # some minutes; writes the table
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

import lowtide as lt
from benchmarks.peers.__main__ import machine_told
from benchmarks.roofline.page import put_into_page

_DIMENSION, _CLASSES = 50, 10


def draw(n: int) -> tuple[Any, Any]:
    """Return rows (n, 50) and labels of ten classes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, _DIMENSION)).astype(np.float32)
    scores = X @ rng.normal(size=(_DIMENSION, _CLASSES)) + rng.normal(size=(n, _CLASSES))
    return X, scores.argmax(axis=1)


def features(n_components: int, bits: int = 1) -> lt.RandomFeatures:
    """Return the encoder of every row of the table."""
    return lt.RandomFeatures(n_components=n_components, bits=bits, gamma=0.01, random_state=0)


def encode(scale: float) -> Callable[[], Any]:
    """Return rows to one-bit codes of 65,536 components."""
    X, _ = draw(int(120_000 * scale))
    encoder = features(65_536).fit(X[:1000])
    return lambda: encoder.encode(X).packed[::997].copy()


def gram(scale: float) -> Callable[[], Any]:
    """Return D' D of two-bit codes."""
    X, _ = draw(int(60_000 * scale))
    codes = features(4096, bits=2).fit(X[:1000]).encode(X)
    return lambda: codes.gram()[::31].copy()


def top_k(scale: float) -> Callable[[], Any]:
    """Return the ten nearest of 512-bit codes."""
    X, _ = draw(400_000)
    codes = features(512).fit(X[:1000]).encode(X)
    queries = codes[: int(25_000 * scale)]
    return lambda: codes.top_k(queries, 10)[0]


def fit(loss: str, n: int, n_components: int, scale: float) -> Callable[[], Any]:
    """Return weights of a classifier; hinge tells two classes apart."""
    X, y = draw(int(n * scale))
    y = y > _CLASSES // 2 if loss == "hinge" else y

    def work() -> Any:
        model = lt.KernelClassifier(features=features(n_components), loss=loss, C=1.0, tol=1e-5)
        return model.fit(X, y).decision_.weights

    return work


def predict(scale: float) -> Callable[[], Any]:
    """Return classes of many rows."""
    X, y = draw(int(1_000_000 * scale))
    model = lt.KernelClassifier(features=features(8192), loss="squared", C=1.0).fit(X[:3000], y[:3000])
    return lambda: model.predict(X)


def append(scale: float) -> Callable[[], Any]:
    """Return the rows of a store to which many are appended; what was stopped must have left it as it was."""
    X, _ = draw(int(150_000 * scale))
    folder = tempfile.TemporaryDirectory()
    path = Path(folder.name, "store")
    encoder = features(32_768).fit(X[:1000])
    lt.CodeStore.create(path, encoder).close()

    def work() -> Any:
        with lt.CodeStore.open(path) as store:
            is_large = store.n_rows > 3 * len(X)
        if is_large:  # appends that were done before they were stopped are not to fill the disk
            shutil.rmtree(path)
            lt.CodeStore.create(path, encoder).close()
        with lt.CodeStore.open(path, mode="a") as store:
            before = store.n_rows
            try:
                store.append(X[:1000])
                store.append(X)
            except KeyboardInterrupt:
                # All rows of an append or none: an interrupt that comes after the commit finds them there.
                if store.n_rows - before not in (0, 1000, 1000 + len(X)):
                    raise AssertionError(f"{store.n_rows - before} rows of an append that was stopped") from None
                raise
            return np.asarray([store.n_rows - before, folder is not None])

    return work


def components(scale: float) -> Callable[[], Any]:
    """Return principal components, half as many as there are columns: one call of LAPACK for all eigenvectors."""
    n = int(2400 * scale)
    codes = features(n).fit(draw(1000)[0]).encode(draw(2 * n)[0])
    return lambda: np.abs(lt.CodePCA(n_components=n // 2, random_state=0).fit(codes).singular_values_).round(6)


def asymmetric(scale: float) -> Callable[[], Any]:
    """Return weights of an asymmetric machine: the largest singular value, and LU factors."""
    X, y = draw(int(6000 * scale))
    encoder = lt.AsymmetricFeatures(n_components=int(3072 * scale), random_state=0)
    return lambda: lt.AsymmetricLSSVC(features=encoder).fit(X, y).decision_.weights


def advise(scale: float) -> Callable[[], Any]:
    """Return the accuracies that an advice compares."""
    X, y = draw(int(3000 * scale))
    return lambda: np.asarray([code.score for code in lt.advise(X, y).rows])


WORK: dict[str, Callable[[float], Callable[[], Any]]] = {
    "encode": encode,
    "gram": gram,
    "top_k": top_k,
    "fit squared": partial(fit, "squared", 40_000, 6144),
    "fit squared_hinge": partial(fit, "squared_hinge", 60_000, 4096),
    "fit logistic": partial(fit, "logistic", 60_000, 4096),
    "fit hinge": partial(fit, "hinge", 60_000, 4096),
    "fit components": components,
    "fit asymmetric": asymmetric,
    "predict": predict,
    "store append": append,
    "advise": advise,
}


class _Allocated(ctypes.Structure):
    """What glibc's mallinfo2 says."""

    _fields_: ClassVar = [
        (name, ctypes.c_size_t)
        for name in ("arena", "chunks", "bins", "maps", "mapped", "most", "binned", "used", "free", "top")
    ]


def memory() -> tuple[int, int]:
    """Return the bytes that this process has in memory, and those that are allocated, as far as glibc tells."""
    gc.collect()
    allocated = getattr(ctypes.CDLL(None), "mallinfo2", _Allocated)
    allocated.restype = _Allocated
    found = allocated()
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")
    return resident, found.used + found.mapped


def answer_seconds(work: Callable[[], Any], delay: float) -> float | None:
    """Return the time from a SIGINT after so long to KeyboardInterrupt; None where the work was done before."""
    sent = [0.0]

    def send() -> None:
        sent[0] = time.perf_counter()
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(delay, send)
    try:
        timer.start()
        work()
        timer.cancel()
        timer.join()
    except KeyboardInterrupt:
        return time.perf_counter() - sent[0]
    return None


def measure(name: str, n_times: int, scale: float) -> str:
    """Return a row of the table."""
    warnings.simplefilter("ignore")
    work = WORK[name](scale)
    start = time.perf_counter()
    expected = work()
    took = seconds = time.perf_counter() - start
    rng, sizes, slowest = np.random.default_rng(1), [], 0.0
    while len(sizes) < n_times:
        # Work may take less time than the first time did: then the next moment is tried.
        answer = answer_seconds(work, float(rng.uniform(0.02, 0.9)) * seconds)
        if answer is None:
            seconds *= 0.9
            continue
        slowest = max(slowest, answer)
        sizes.append(memory())
    right = "yes" if np.array_equal(work(), expected) else "NO"
    grown = [(end - begin) / 2**20 for begin, end in zip(sizes[min(1, n_times - 1)], sizes[-1])]
    return f"| {name} | {took:.1f} s | {1000 * slowest:.0f} ms | {right} | {grown[0]:+.0f} MB | {grown[1]:+.1f} MB |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.interrupts", description=__doc__)
    parser.add_argument("rows", nargs="*", help=f"some of {', '.join(WORK)}; all unless given")
    parser.add_argument("--times", type=int, default=10, help="interrupts of each")
    parser.add_argument("--scale", type=float, default=1.0, help="of the rows of all work")
    parser.add_argument("--one", action="store_true", help="measure one row in this process")
    parser.add_argument("--page", type=Path, help="page whose table of interrupts is written anew")
    given = parser.parse_args()
    unknown = set(given.rows) - set(WORK)
    if unknown:
        parser.error(f"no such row: {', '.join(sorted(unknown))}")
    if given.one:
        print(measure(given.rows[0], given.times, given.scale))
        return
    command = f"python -m benchmarks.interrupts --scale {given.scale:g}"
    lines = [
        f"Written by `{command} --page docs/guide/reliability.md` on: {machine_told()}.",
        "",
        "| work | takes | slowest answer | next call right | memory | in use |",
        "| --- | ---: | ---: | --- | ---: | ---: |",
    ]
    print(*lines, sep="\n", flush=True)
    for name in given.rows or WORK:
        options = ["--one", "--times", str(given.times), "--scale", str(given.scale)]
        one = [sys.executable, "-m", "benchmarks.interrupts", name, *options]
        lines.append(subprocess.run(one, check=True, stdout=subprocess.PIPE, text=True).stdout.strip())
        print(lines[-1], flush=True)
    if given.page is not None:
        put_into_page(given.page, "\n".join(lines) + "\n", "interrupts")


if __name__ == "__main__":
    main()
