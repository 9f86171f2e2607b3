"""`python -m benchmarks.search_large`: ten million vectors of 384 columns at 2 bits, in memory, in a store, in cells.

Rows are drawn so that none is a copy of another and so that they are about as hard to put into cells as texts are: a
text embedding, plus a normal step among its 32 nearest texts, plus noise with the covariance of all texts, divided by
its length. They go into a store block by block, and codes of the store into cells; both are kept in the folder, so
that a later run only searches. Each search runs in a process of its own at each instruction-set level that is asked
for: one query, 64 and 256 at a time, with filters that leave half, a hundredth and a ten thousandth of the rows. --page
writes the tables into the guide.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lowtide as lt
from benchmarks.datasets import load
from benchmarks.roofline.page import put_into_page
from lowtide import _core

__all__ = ["drawn", "main", "markdown", "measure", "prepare"]

Array = NDArray[np.float32]
_NEAR, _STEP, _NOISE, _EACH = 32, 1.0, 0.8, 10
_BITS, _BEST = 2, 10
_BATCHES, _SHARES, _RECALLS = (1, 64, 256), (0.5, 0.01, 0.0001), (0.9, 0.95, 0.99)
_FILTERED = 64  # queries at a time behind filters
_HELD_OUT = 256  # rows that are queries, drawn after all others


def drawn(texts: Array, seed: int) -> Iterator[Array]:
    """Yield blocks of drawn rows without end, ten rows around each text, in any order.

    Parameters
    ----------
    texts : array (n, d)
        Each of length one.
    seed : int
    """
    rng = np.random.default_rng(seed)
    near = np.empty((len(texts), _NEAR), dtype=np.int32)
    for start in range(0, len(texts), 1000):
        likeness = texts[start : start + 1000] @ texts.T
        near[start : start + 1000] = np.argpartition(-likeness, _NEAR, axis=1)[:, 1 : _NEAR + 1]
    spread, axes = np.linalg.eigh(np.cov(texts.T))
    root = (axes * np.sqrt(np.maximum(spread, 0)) * _NOISE).T.astype(np.float32)
    while True:
        rows = np.empty((len(texts), _EACH, texts.shape[1]), dtype=np.float32)
        for start in range(0, len(texts), 1000):
            of = slice(start, start + 1000)
            shape = (len(texts[of]), _EACH, _NEAR)
            step = rng.standard_normal(shape, dtype=np.float32) * np.float32(_STEP / np.sqrt(_NEAR))
            some = step @ (texts[near[of]] - texts[of, None]) + texts[of, None]
            some += (rng.standard_normal(some.shape, dtype=np.float32).reshape(-1, len(root)) @ root).reshape(
                some.shape
            )
            rows[of] = some / np.linalg.norm(some, axis=-1, keepdims=True)
        yield rng.permutation(rows.reshape(-1, texts.shape[1]))


def prepare(folder: Path, n_rows: int, texts: Array) -> dict[str, float]:
    """Write the store, the queries and the cells; return what it took, and how hard the rows are."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    blocks = drawn(texts, 0)
    vectors = lt.VectorCodes(_BITS, metric="cosine", random_state=0).fit(next(blocks))
    encoding = written = 0
    with lt.CodeStore.create(folder / "vectors.zarr", vectors) as store:
        while written < n_rows:
            rows = next(blocks)[: n_rows - written]
            start = time.process_time()
            store.append(rows)
            encoding += time.process_time() - start
            written += len(rows)
    np.save(folder / "queries.npy", next(blocks)[:_HELD_OUT])
    start = time.process_time()
    cells = vectors.partition(lt.CodeStore.open(folder / "vectors.zarr"), random_state=0)
    told = {"encode_us": 1e6 * encoding / n_rows, "cells_seconds": time.process_time() - start}
    lt.save(cells, folder / "cells.lowtide")
    some = len(texts)
    for name, rows in (("texts", texts), ("drawn", next(blocks)[:some])):
        few = vectors.partition(vectors.encode(rows), random_state=0)
        told |= {f"{name}_read": few.cells_for(0.95, _BEST)[0], "few_cells": few.n_cells, "few_rows": some}
    return told


def measure(folder: Path) -> dict[str, Any]:
    """Return times of searches at this process's level, wall and processor, in milliseconds a query."""
    store = lt.CodeStore.open(folder / "vectors.zarr")
    vectors, queries = store.encoder, np.load(folder / "queries.npy")
    rng, n = np.random.default_rng(1), store.n_rows
    masks = {share: rng.random(n) < share for share in _SHARES}
    start = time.process_time()
    store.verify()
    verify = time.process_time() - start
    times = _scans("store", store, vectors, queries, masks, _BATCHES[1:])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    codes = store.rows_between(0, n)
    times |= _scans("memory", codes, vectors, queries, masks, _BATCHES)
    true, kept = vectors.top_k(codes, queries, _BEST).indices, {}
    row_bytes = codes.nbytes / n
    cells = lt.load(folder / "cells.lowtide")
    for recall in _RECALLS:
        for many in _BATCHES:
            times[f"cells {recall:g} {many}"] = _times(
                lambda Q, recall=recall: vectors.top_k(cells, Q, _BEST, recall=recall), queries, many
            )
        found = vectors.top_k(cells, queries, _BEST, recall=recall).indices
        shares = np.array([len(np.intersect1d(a, b)) for a, b in zip(found, true)]) / _BEST
        error = float(shares.std() / np.sqrt(len(shares)))
        kept[f"{recall:g}"] = (float(shares.mean()), error, cells.cells_for(recall, _BEST)[0])
    return {
        "level": _core.isa(),
        "n_rows": n,
        "row_bytes": row_bytes,
        "n_cells": cells.n_cells,
        "verify_seconds": verify,
        "store_peak_bytes": peak,
        "times": times,
        "kept": kept,
    }


def _scans(
    name: str,
    source: Any,
    vectors: lt.VectorCodes,
    queries: Array,
    masks: dict[float, NDArray[np.bool_]],
    batches: tuple[int, ...],
) -> dict[str, tuple[float, float]]:
    """Return times of searches of codes or a store, some queries at a time, and behind filters."""
    times = {}
    for many in batches:
        times[f"{name} {many}"] = _times(lambda Q: vectors.top_k(source, Q, _BEST), queries, many)
    for share, mask in masks.items():
        search = partial(vectors.top_k, source, k=_BEST, where=mask)
        times[f"{name} filter {share:g}"] = _times(lambda Q, search=search: search(X=Q), queries, _FILTERED)
    return times


def _times(search: Callable[[Array], object], queries: Array, many: int) -> tuple[float, float]:
    """Return the least wall and processor milliseconds a query, of three calls, after one that warms up."""
    many = len(queries[:many])
    search(queries[:many])
    wall, used = [], []
    for i in range(3):
        some = np.roll(queries, -i * many, axis=0)[:many]
        start, processor = time.perf_counter(), time.process_time()
        search(some)
        wall.append(1e3 * (time.perf_counter() - start) / many)
        used.append(1e3 * (time.process_time() - processor) / many)
    return min(wall), min(used)


def markdown(runs: list[dict[str, Any]], made: dict[str, float]) -> str:
    """Return the measured part of the page."""
    from benchmarks.peers.__main__ import machine_told

    told = machine_told("instruction set", "numpy", "scikit-learn", "faiss")
    first = runs[0]
    size = first["n_rows"] * first["row_bytes"]
    lines = [
        f"Written by `python -m benchmarks.search_large` on: {told}. Milliseconds a query for the best {_BEST} of "
        f"{first['n_rows']:,} rows of {first['row_bytes']:.0f} bytes ({size / 1e9:.2f} GB): of the wall clock, and of "
        "the processor in brackets.",
        "",
        "| | " + " | ".join(f"{run['level']}, {where}" for run in runs for where in ("memory", "store")) + " |",
        "| --- |" + " --- | --- |" * len(runs),
    ]
    names = [(f"{many}", "one query alone" if many == 1 else f"{many} queries at a time") for many in _BATCHES]
    names += [(f"filter {share:g}", f"{_FILTERED} at a time, a filter of {share:.4g} of the rows") for share in _SHARES]
    for key, words in names:
        line = [_milliseconds(run["times"].get(f"{where} {key}")) for run in runs for where in ("memory", "store")]
        lines.append(f"| {words} | " + " | ".join(line) + " |")
    levels = " | ".join(f"{run['level']}, {many} at a time" for run in runs for many in _BATCHES)
    lines.append(f"""
The same codes in {first["n_cells"]:,} [cells](#cells), in memory. What was kept of the scan's best {_BEST} is of
{_HELD_OUT} queries that had no part in the measuring, with the standard error:

| | cells read | kept | {levels} |
| --- | --- | --- |{" --- |" * (len(runs) * len(_BATCHES))}""")
    for recall in _RECALLS:
        mean, error, count = first["kept"][f"{recall:g}"]
        line = [_milliseconds(run["times"][f"cells {recall:g} {many}"]) for run in runs for many in _BATCHES]
        lines.append(f"| `recall={recall:g}` | {count} | {mean:.3f} ± {error:.3f} | " + " | ".join(line) + " |")
    busy = first["times"]["memory 64"][1]
    lines.append(f"""
Encoding into the store took {made["encode_us"]:.1f} microseconds of a core a row, making the cells
{made["cells_seconds"]:.0f} seconds of the processor. To read the whole store from the system's cache and to compare its
checksums takes {first["verify_seconds"]:.2f} s of a core; a process that searches it takes
{first["store_peak_bytes"] / 1e6:.0f} MB at its peak. At 64 queries the scan passes {size / busy / 1e6:.0f} GB of codes
a second of a core for each query: look-ups in tables bind it, neither the disk nor memory.

Of {made["few_rows"]:,.0f} drawn rows in {made["few_cells"]:.0f} cells, {made["drawn_read"]:.0f} cells must be read for
0.95 of the best ten; of as many texts {made["texts_read"]:.0f}.""")
    return "\n".join(lines) + "\n"


def _milliseconds(pair: tuple[float, float] | None) -> str:
    return "-" if pair is None else f"{pair[0]:.3g} ({pair[1]:.3g})"


def main(arguments: list[str] | None = None) -> int:
    """Prepare what is missing, measure at each level, print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.search_large", description=__doc__)
    parser.add_argument(
        "--folder", type=Path, default=Path("build/search-large"), help="where store and cells are kept"
    )
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--levels", nargs="+", default=["", "avx2"], help="values of LOWTIDE_ISA; '' is the best one")
    parser.add_argument("--prepare", action="store_true", help="make store and cells, and time nothing")
    parser.add_argument("--measure", action="store_true", help="print what this process measures as JSON")
    parser.add_argument("--page", type=Path, help="the page of the guide whose part is written")
    chosen = parser.parse_args(arguments)
    if chosen.measure:
        print(json.dumps(measure(chosen.folder)))
        return 0
    kept = chosen.folder / "made.json"
    if chosen.prepare or not kept.exists():
        texts = load("embeddings_debian").split()[0].astype(np.float32)
        kept.write_text(json.dumps(prepare(chosen.folder, chosen.rows, texts)))
    if chosen.prepare:
        return 0
    runs = []
    for level in chosen.levels:
        environment = {name: value for name, value in os.environ.items() if name != "LOWTIDE_ISA"}
        environment |= {"LOWTIDE_ISA": level} if level else {}
        command = [sys.executable, "-m", "benchmarks.search_large", "--measure", "--folder", str(chosen.folder)]
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
        runs.append(json.loads(done.stdout))
    text = markdown(runs, json.loads(kept.read_text()))
    print(text)
    if chosen.page is not None:
        put_into_page(chosen.page, text, "ten million rows")
    return 0


if __name__ == "__main__":
    sys.exit(main())
