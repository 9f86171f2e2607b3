"""`python -m benchmarks.search`: recall beside speed of vector search on few bits, against other libraries.

Every row is a method at a size, all bytes a row counted: its recall of the exact best 10 and 100, queries a second of
one call with all queries, processor time a query, and seconds to build. RaBitQ gets rotated vectors, as its authors
mean it. Recalls of `VectorCodes` and RaBitQ are means over several rotations, since one moves them by as much as they
differ. Data are text embeddings (cosine) and images reduced by PCA to 256 columns (squared distance), from the folder
that LOWTIDE_DATA names.

Training takes most of the time, and needs no quiet machine: --prepare trains, builds and counts what is found, and
keeps all of it in the folder; a run without it then only times searches, a few minutes in all. --plot draws the curves
and --page writes the table into the guide. The exit code is 1 where `VectorCodes` of 1, 2 or 4 bits finds fewer of the
best ten than RaBitQ of as many bits by more than two standard errors over queries.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Callable, Container, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lowtide as lt
from benchmarks.datasets import load
from benchmarks.roofline.page import put_into_page
from lowtide import _core

__all__ = ["Row", "behind", "main", "methods", "pairs", "prepared", "rows_of", "timed"]

Array = NDArray[np.float32]
# Finds the numbers of the best k rows, (q, k), of queries.
Search = Callable[[Array, int], NDArray[Any]]
# Makes rows searchable under a metric, with what is random from a seed, and says the bytes of a row; what takes long is
# kept in a file, if one is named, and read from it when it is there.
Build = Callable[[Array, str, int, Path | None], tuple[Search, float]]
# What may go wrong with a library of another version, or that is not installed.
_FAILURES = (ImportError, AttributeError, TypeError, RuntimeError)
OWN, RABITQ = "lowtide VectorCodes", "faiss RaBitQ"
# Rounds of OPQ's training: of its 50 the first ones bring most, and all take minutes.
_OPQ_ROUNDS = 10
_SETS = ("text", "mnist", "fashion")
_COLUMNS = 256
_BITS = (1, 2, 4, 8)
_TICKS = (32, 64, 128, 256, 512)  # bytes


@dataclass(frozen=True)
class Row:
    """What one method gave on one data set; `hits` are how many of the best ten each query found, over rotations."""

    data: str
    method: str
    bits: float
    row_bytes: float
    recall_10: float
    recall_100: float
    build_seconds: float
    hits: tuple[float, ...]
    queries_a_second: float = 0.0  # until it is timed
    processor_us: float = 0.0


def vectors_of(name: str, n_queries: int) -> tuple[Array, Array, str]:
    """Return rows to search, queries, and the metric."""
    if name == "text":
        rows, queries, _, _ = load("embeddings_debian").split()
        return rows.astype(np.float32), queries[:n_queries].astype(np.float32), "cosine"
    rows, queries, _, _ = load({"mnist": "mnist", "fashion": "fashion_mnist"}[name]).split()
    rows, queries = (part.astype(np.float32) / np.float32(255) for part in (rows, queries[:n_queries]))
    mean = rows.mean(axis=0)
    axes = np.linalg.eigh(np.cov((rows - mean).T))[1][:, ::-1][:, :_COLUMNS].astype(np.float32)
    return (rows - mean) @ axes, (queries - mean) @ axes, "l2"


def exact(rows: Array, queries: Array, metric: str, k: int) -> NDArray[Any]:
    """Return the numbers of the best k rows of each query."""
    scores = queries.astype(np.float64) @ rows.astype(np.float64).T
    if metric == "l2":
        scores -= np.sum(rows.astype(np.float64) ** 2, axis=1) / 2
    return np.argsort(-scores, axis=1, kind="stable")[:, :k]


def own(bits: int) -> Build:
    """Return what makes our codes of so many bits searchable."""

    def build(rows: Array, metric: str, seed: int, _kept: Path | None) -> tuple[Search, float]:
        vectors = lt.VectorCodes(bits, metric=metric, random_state=seed).fit(rows)
        codes = vectors.encode(rows)
        return lambda Q, k: vectors.top_k(codes, Q, k).indices, codes.nbytes / len(rows)

    return build


def rescored(bits: int) -> Build:
    """Return the same, with the best four times k scored again by codes of eight bits."""

    def build(rows: Array, metric: str, seed: int, _kept: Path | None) -> tuple[Search, float]:
        few, many = (lt.VectorCodes(b, metric=metric, random_state=seed).fit(rows) for b in (bits, 8))
        codes, finer = few.encode(rows), many.encode(rows)
        size = (codes.nbytes + finer.nbytes) / len(rows)
        return lambda Q, k: few.top_k(codes, Q, k, rescore=4, finer=finer).indices, size

    return build


def of_faiss(make: Callable[[Any, int, int], Any], *, is_rotated: bool = False) -> Build:
    """Return what builds a faiss index: make(faiss, d, metric), of rows that may be rotated first."""

    def build(rows: Array, metric: str, seed: int, kept: Path | None) -> tuple[Search, float]:
        import faiss

        faiss.omp_set_num_threads(_core.thread_count())
        index = (
            faiss.read_index(str(kept)) if kept is not None and kept.exists() else trained(faiss, rows, metric, seed)
        )
        if kept is not None and not kept.exists():
            kept.parent.mkdir(parents=True, exist_ok=True)
            faiss.write_index(index, str(kept))
        inner = faiss.downcast_index(index.index) if isinstance(index, faiss.IndexPreTransform) else index
        return lambda Q, k: index.search(Q, k)[1], float(inner.sa_code_size())

    def trained(faiss: Any, rows: Array, metric: str, seed: int) -> Any:
        kind = faiss.METRIC_L2 if metric == "l2" else faiss.METRIC_INNER_PRODUCT
        d = rows.shape[1]
        index = make(faiss, d, kind)
        if is_rotated:
            turn = faiss.RandomRotationMatrix(d, d)
            turn.init(1 + seed)
            index = faiss.IndexPreTransform(turn, index)
        index.train(rows)
        index.add(rows)
        return index

    return build


def _scalar(name: str) -> Callable[[Any, int, int], Any]:
    return lambda faiss, d, kind: faiss.IndexScalarQuantizer(d, getattr(faiss.ScalarQuantizer, name), kind)


def _product(n_columns: int, optimized: bool) -> Callable[[Any, int, int], Any]:
    def make(faiss: Any, d: int, kind: int) -> Any:
        index = faiss.IndexPQ(d, d // n_columns, 8, kind)
        if not optimized:
            return index
        turn = faiss.OPQMatrix(d, d // n_columns)
        turn.niter = _OPQ_ROUNDS
        return faiss.IndexPreTransform(turn, index)

    return make


def of_signs(rows: Array, _metric: str, seed: int, _kept: Path | None) -> tuple[Search, float]:
    """Return the search of rotated signs by the number of those that differ."""
    import faiss

    faiss.omp_set_num_threads(_core.thread_count())
    d = rows.shape[1]
    turn, center = faiss.RandomRotationMatrix(d, d), rows.mean(axis=0)
    turn.init(1 + seed)

    def signs(part: Array) -> NDArray[np.uint8]:
        return np.packbits(turn.apply(part - center) > 0, axis=1)

    index = faiss.IndexBinaryFlat(8 * -(-d // 8))
    index.add(signs(rows))
    return lambda Q, k: index.search(signs(Q), k)[1], float(index.code_size)


def of_usearch(dtype: str) -> Build:
    """Return usearch's exact search of bytes, or of signs."""

    def build(rows: Array, metric: str, _seed: int, _kept: Path | None) -> tuple[Search, float]:
        from usearch.index import MetricKind, search

        mean = rows.mean(axis=0)
        largest = float(np.abs(rows).max())

        def coded(part: Array) -> NDArray[Any]:
            if dtype == "b1":
                return np.packbits(part - mean > 0, axis=1)
            return np.clip(np.rint(part * (127 / largest)), -127, 127).astype(np.int8)

        stored, kind = coded(rows), MetricKind.L2sq if metric == "l2" else MetricKind.Cos
        kind = MetricKind.Hamming if dtype == "b1" else kind

        def find(Q: Array, k: int) -> NDArray[Any]:
            return np.asarray(search(stored, coded(Q), k, kind, exact=True, threads=_core.thread_count()).keys)

        return find, stored.nbytes / len(rows)

    return build


def methods() -> Iterator[tuple[str, float, Build]]:
    """Yield name, bits a column, and what builds the search."""
    for bits in _BITS:
        yield OWN, bits, own(bits)
    for bits in (1, 2):
        yield f"{OWN}, rescored by 8 bits", bits, rescored(bits)
    for bits in _BITS:
        yield RABITQ, bits, of_faiss(lambda f, d, m, b=bits: f.IndexRaBitQ(d, m, b), is_rotated=True)
    for bits in (1, 2, 4):
        make = of_faiss(lambda f, d, m, b=bits: f.IndexRaBitQFastScan(d, m, 32, b), is_rotated=True)
        yield f"{RABITQ}FastScan", bits, make
    for bits, name in ((4, "QT_4bit"), (6, "QT_6bit"), (8, "QT_8bit")):
        yield "faiss scalar quantizer", bits, of_faiss(_scalar(name))
    for columns in (8, 4):  # two columns a byte take an hour to train
        yield "faiss PQ", 8 / columns, of_faiss(_product(columns, False))
        yield "faiss OPQ", 8 / columns, of_faiss(_product(columns, True))
    yield "faiss IndexBinaryFlat", 1, of_signs
    yield "usearch i8", 8, of_usearch("i8")
    yield "usearch b1", 1, of_usearch("b1")


def _file(folder: Path | None, name: str, method: str, bits: float, seed: int) -> Path | None:
    words = re.sub(r"[^a-z0-9]+", "-", method.lower())
    return None if folder is None else folder / name / f"{words}-{bits:g}-{seed}.index"


def prepared(
    name: str,
    n_queries: int,
    wanted: Callable[[str], object] = lambda _: True,
    rotations: int = 3,
    folder: Path | None = None,
    done: Container[tuple[str, float]] = (),
) -> Iterator[Row]:
    """Yield a row a method that is not done, without times; one that is missing or cannot do it is told on stderr."""
    rows, queries, metric = _data(name, n_queries)
    true = exact(rows, queries, metric, 100)
    for method, bits, build in methods():
        if not wanted(method) or (method, bits) in done:
            continue
        try:
            start = time.perf_counter()
            search, size = build(rows, metric, 0, _file(folder, name, method, bits, 0))
            built = time.perf_counter() - start
            hits, more = _hits(search(queries, 10), true[:, :10]), _hits(search(queries, 100), true)
            if method in (OWN, RABITQ):
                others = (build(rows, metric, seed, None)[0](queries, 10) for seed in range(1, rotations))
                hits = np.mean([hits, *(_hits(other, true[:, :10]) for other in others)], axis=0)
        except _FAILURES as error:
            print(f"{name}, {method}, {bits:g} bits: {type(error).__name__}: {str(error)[:200]}", file=sys.stderr)
            continue
        yield Row(
            name, method, bits, size, float(np.mean(hits)) / 10, float(np.mean(more)) / 100, built, tuple(hits.tolist())
        )


def timed(found: list[Row], n_queries: int, folder: Path | None = None) -> Iterator[Row]:
    """Yield the rows of one data set with their times: the least of three calls with all queries."""
    rows, queries, metric = _data(found[0].data, n_queries)
    builds = {(method, bits): build for method, bits, build in methods()}
    for row in found:
        kept = _file(folder, row.data, row.method, row.bits, 0)
        search, _ = builds[row.method, row.bits](rows, metric, 0, kept)
        search(queries[:64], 10)
        times, processor = [], []
        for _ in range(3):
            start, used = time.perf_counter(), time.process_time()
            search(queries, 10)
            times.append(time.perf_counter() - start)
            processor.append(time.process_time() - used)
        speed, used = len(queries) / min(times), 1e6 * min(processor) / len(queries)
        yield replace(row, queries_a_second=speed, processor_us=used)


def rows_of(
    name: str, n_queries: int, wanted: Callable[[str], object] = lambda _: True, rotations: int = 3
) -> Iterator[Row]:
    """Yield a row a method on one data set, found and timed."""
    yield from timed(list(prepared(name, n_queries, wanted, rotations)), n_queries)


def _data(name: str, n_queries: int) -> tuple[Array, Array, str]:
    rows, queries, metric = vectors_of(name, n_queries)
    return np.ascontiguousarray(rows), np.ascontiguousarray(queries), metric


def _hits(found: NDArray[Any], true: NDArray[Any]) -> NDArray[np.float64]:
    """Return how many of the true best rows each query found."""
    return np.array([len(np.intersect1d(a, b)) for a, b in zip(found, true)], dtype=np.float64)


def pairs(found: list[Row]) -> Iterator[tuple[Row, Row, float, float]]:
    """Yield `VectorCodes` and RaBitQ of as many bits, the difference of recalls and its standard error over queries."""
    ours = {(row.data, row.bits): row for row in found if row.method == OWN}
    for other in found:
        own_row = ours.get((other.data, other.bits))
        if other.method == RABITQ and own_row is not None:
            difference = (np.array(own_row.hits) - np.array(other.hits)) / 10
            yield own_row, other, float(difference.mean()), float(difference.std() / np.sqrt(len(difference)))


def behind(found: list[Row]) -> list[str]:
    """Return where `VectorCodes` finds fewer of the best ten than RaBitQ, by more than two standard errors."""
    return [
        f"{row.data}, {row.bits:g} bits: {difference:+.4f}"
        for row, _, difference, error in pairs(found)
        if row.bits <= 4 and difference < -2 * error
    ]


def against_rabitq(found: list[Row]) -> str:
    """Return the pairs as Markdown."""
    names = ("data", "bits", "`VectorCodes`, bytes", "recall@10", "RaBitQ, bytes", "recall@10", "difference")
    lines = [f"| {' | '.join(names)} |", "| --- " * len(names) + "|"]
    for row, other, difference, error in pairs(found):
        lines.append(
            f"| {row.data} | {row.bits:g} | {row.row_bytes:.0f} | {row.recall_10:.4f} | {other.row_bytes:.0f} | "
            f"{other.recall_10:.4f} | {difference:+.4f} ± {error:.4f} |"
        )
    return "\n".join(lines)


def table(found: list[Row]) -> str:
    """Return the rows as Markdown."""
    names = ("data", "method", "bits", "bytes", "recall@10", "recall@100", "queries/s", "processor us", "build s")
    lines = [f"| {' | '.join(names)} |", "| --- " * len(names) + "|"]
    for row in found:
        lines.append(
            f"| {row.data} | {row.method} | {row.bits:g} | {row.row_bytes:.0f} | {row.recall_10:.4f} | "
            f"{row.recall_100:.4f} | {row.queries_a_second:.0f} | {row.processor_us:.0f} | {row.build_seconds:.1f} |"
        )
    return "\n".join(line.rstrip() for line in lines)


def plot(found: list[Row], path: Path) -> None:
    """Draw recall over bytes, and queries a second of processor time over recall, a column a data set."""
    from matplotlib import pyplot as plt

    names = list(dict.fromkeys(row.data for row in found))
    colors = {method: f"C{i}" if i < 10 else "k" for i, method in enumerate(dict.fromkeys(row.method for row in found))}
    figure, axes = plt.subplots(2, len(names), figsize=(5 * len(names), 8), layout="constrained", squeeze=False)
    for column, name in enumerate(names):
        own_rows = [row for row in found if row.data == name]
        for method, color in colors.items():
            line = [row for row in own_rows if row.method == method]
            look = {"marker": "o", "lw": 2} if method.startswith("lowtide") else {"marker": "s", "ls": "--"}
            look |= {"color": color, "ms": 4, "label": method}
            recall = [row.recall_10 for row in line]
            axes[0, column].plot([row.row_bytes for row in line], recall, **look)
            axes[1, column].plot(recall, [1e6 / row.processor_us for row in line], **look)
        axes[0, column].set(title=name, xlabel="bytes a row", ylabel="recall@10", xscale="log")
        axes[0, column].set_xticks(_TICKS, [str(size) for size in _TICKS])
        axes[0, column].minorticks_off()
        axes[1, column].set(xlabel="recall@10", ylabel="queries a second of processor time", yscale="log")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=8)
    figure.savefig(path)


def _kept_rows(path: Path) -> list[Row]:
    """Return rows that were written to a file; none where there is none."""
    return [Row(**row) for row in json.loads(path.read_text())] if path.exists() else []


def _write_rows(path: Path, found: list[Row]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([asdict(row) for row in found]))


def page(found: list[Row], n_queries: int, rotations: int) -> str:
    """Return what the guide says of a run: where, the table, and the curves."""
    from benchmarks.peers.__main__ import machine_told  # which imports this module

    return f"""Written by `python -m benchmarks.search` on: {machine_told()}.

### Recall

The share of the exact best ten that {n_queries:,} queries find, as means of {rotations} rotations, all bytes of a row
counted. The difference has its standard error over queries, paired.

{against_rabitq(found)}

### Recall and speed

{n_queries:,} queries in one call on {_core.thread_count()} threads, the least of three calls: queries a second of the
wall clock, and microseconds of the processor a query. Recalls of the best 100 are of one rotation. OPQ had
{_OPQ_ROUNDS} rounds of training.

{table(found)}

![Recall over bytes and speed over recall](search.curves.svg)
"""


def main(arguments: list[str] | None = None) -> int:
    """Measure, print the table, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.search", description=__doc__)
    parser.add_argument("data", nargs="*", default=list(_SETS), help=f"of {', '.join(_SETS)}; by default all")
    parser.add_argument("--folder", type=Path, default=Path("build/search"), help="where what was trained is kept")
    parser.add_argument("--prepare", action="store_true", help="train, build and count what is found; time nothing")
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--method", default="", help="only methods in whose name this regular expression is found")
    parser.add_argument("--rotations", type=int, default=3, help="that recalls of VectorCodes and RaBitQ are means of")
    parser.add_argument("--plot", type=Path, help="where curves are drawn")
    parser.add_argument("--page", type=Path, help="the page of the guide whose measured part is written")
    chosen = parser.parse_args(arguments)
    wanted, found = re.compile(chosen.method).search, []
    for name in chosen.data:
        path = chosen.folder / f"{name}.json"
        done = {(row.method, row.bits): row for row in _kept_rows(path)}
        if chosen.prepare or not done:
            for row in prepared(name, chosen.queries, wanted, chosen.rotations, chosen.folder, set(done)):
                done[row.method, row.bits] = row
                order = [(method, bits) for method, bits, _ in methods()]
                _write_rows(path, sorted(done.values(), key=lambda each: order.index((each.method, each.bits))))
                print(table([row]).splitlines()[-1], file=sys.stderr, flush=True)
        if chosen.prepare:
            continue
        for row in timed([row for row in _kept_rows(path) if wanted(row.method)], chosen.queries, chosen.folder):
            found.append(row)
            print(table([row]).splitlines()[-1], file=sys.stderr, flush=True)
    if chosen.prepare:
        return 0
    print(table(found))
    if chosen.plot is not None:
        plot(found, chosen.plot)
    if chosen.page is not None:
        put_into_page(chosen.page, page(found, chosen.queries, chosen.rotations))
    told = behind(found)
    print("\n".join(["behind RaBitQ:", *told]) if told else "nowhere behind RaBitQ", file=sys.stderr)
    return 1 if told else 0


if __name__ == "__main__":
    sys.exit(main())
