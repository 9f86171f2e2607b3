"""`python -m benchmarks.growth`: measure what a fit on a cluster costs, fit a model of it, and extrapolate.

Every constant is measured here: rows on one thread, sums through two real workers.

python -m benchmarks.growth --page docs/guide/growth.md       # a minute; writes the tables into the page
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from math import ceil, log2
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import nnls
from threadpoolctl import threadpool_limits

import lowtide as lt
from benchmarks.peers.__main__ import machine_told
from benchmarks.peers.cluster import cluster_store, two_workers
from benchmarks.roofline.page import put_into_page
from lowtide.distributed.fitting import RemoteProblem
from lowtide.learners import Logistic
from lowtide.learners.ridge import NormalEquations
from lowtide.learners.smooth import loss_sums

# Of codes that a gradient reads at a time.
_BLOCK_BYTES = 1 << 24
_ROWS, _WIDTHS = (10_000, 20_000, 40_000), (1024, 2048, 4096)
# Rows, features and workers of the tables: the first is near what was measured.
_SIZES = [(2e6, 4096, 2), (1e8, 4096, 16), (1e9, 4096, 100), (1e9, 4096, 1000), (1e9, 16_384, 100)]


@dataclass(frozen=True)
class Costs:
    """Seconds, of one thread unless it says otherwise.

    Attributes
    ----------
    encode : a row of 64 columns and component
    gram : a row and pair of features; `gram_fixed` a pair of features, for a sum of its own
    gradient : a row and feature, one target; `gradient_fixed` a feature, for a block of rows of its own
    solve : a cubed feature
    byte : a byte that moves from a worker to another process and is added there
    sum : a sum over the cluster, whatever it sums
    task : one more part in such a sum
    read : a byte of a store that is in the page cache, checksum verified
    """

    encode: float
    gram: float
    gram_fixed: float
    gradient: float
    gradient_fixed: float
    solve: float
    byte: float
    sum: float
    task: float
    read: float


def _seconds(call: Callable[[], object], repeats: int = 3, clock: Callable[[], float] = time.perf_counter) -> float:
    """Return the least time of a call; by `process_time` on one thread others on the machine do not count."""
    times = []
    for _ in range(repeats):
        start = clock()
        call()
        times.append(clock() - start)
    return min(times)


def _fit(terms: list[list[float]], seconds: list[float]) -> list[float]:
    """Return non-negative costs of the terms, by least squares on relative errors."""
    scale = np.asarray(seconds)[:, None]
    return [float(cost) for cost in nnls(np.asarray(terms) / scale, np.ones(len(seconds)))[0]]


def measure_rows() -> tuple[dict[str, float], list[dict[str, Any]]]:
    """Measure what rows cost on one thread."""
    rng, kept = np.random.default_rng(0), []
    X = rng.standard_normal((max(_ROWS), 64), dtype=np.float32)
    own = partial(_seconds, clock=time.process_time)
    with threadpool_limits(1):
        for m in _WIDTHS:
            encoder = lt.RandomFeatures(gamma=0.02, n_components=m, random_state=0).fit(X[:1000])
            encoder.encode(X[:1000])
            for n in _ROWS:
                codes, W = encoder.encode(X[:n]), rng.standard_normal((m, 1)).astype(np.float32)
                R = rng.standard_normal((n, 1)).astype(np.float32)
                kept.append(
                    {
                        "n": n,
                        "m": m,
                        "encode": own(lambda n=n, encoder=encoder: encoder.encode(X[:n])),
                        "gram": own(lambda codes=codes: codes.gram(dtype=np.float64)),
                        "gradient": own(lambda codes=codes, W=W, R=R: (codes @ W, codes.T @ R)),
                    }
                )
    encode = _fit([[k["n"] * k["m"]] for k in kept], [k["encode"] for k in kept])
    gram = _fit([[k["n"] * k["m"] ** 2, k["m"] ** 2] for k in kept], [k["gram"] for k in kept])
    gradient = _fit([[k["n"] * k["m"], k["m"]] for k in kept], [k["gradient"] for k in kept])
    for k in kept:
        k["gram_model"] = gram[0] * k["n"] * k["m"] ** 2 + gram[1] * k["m"] ** 2
        k["gradient_model"] = gradient[0] * k["n"] * k["m"] + gradient[1] * k["m"]
    costs = {"encode": encode[0], "gram": gram[0], "gram_fixed": gram[1]}
    return {**costs, "gradient": gradient[0], "gradient_fixed": gradient[1]}, kept


def measure_solve() -> float:
    """Measure the factorization that ends a squared fit."""
    m = max(_WIDTHS)
    gram = np.diag(np.linspace(1.0, 2.0, m))
    sums = NormalEquations(gram, np.zeros((m, 1)), np.zeros(m), np.zeros(1), 1.0)
    with threadpool_limits(1):
        return _seconds(lambda: sums.solve(1.0), 2, time.process_time) / m**3


def _large(part: Any, n: int) -> NormalEquations:
    """Return a sum of n^2 numbers that took nothing to make."""
    return NormalEquations(np.ones((n, n)), np.zeros((n, 1)), np.zeros(n), np.zeros(1), 0.0)


def measure_cluster() -> dict[str, float]:
    """Measure sums through two workers: empty ones, with more parts, and large ones."""
    client = two_workers()
    part = lt.learners.source_problem(
        lt.RandomFeatures(n_components=8).fit(np.eye(4)).encode(np.eye(4)), np.ones((4, 1)), None, True
    )

    def problem(n_parts: int) -> RemoteProblem:
        return RemoteProblem(client, tuple(client.map(lambda _: part, range(n_parts), pure=False)), True)

    few, many = problem(2), problem(12)
    arguments = np.zeros((8, 1), np.float32), np.zeros(1), Logistic()
    few.sum(loss_sums, *arguments), many.sum(loss_sums, *arguments)
    small = _seconds(lambda: few.sum(loss_sums, *arguments), 15)
    wide = _seconds(lambda: many.sum(loss_sums, *arguments), 15)
    n = 2048
    large = _seconds(lambda: few.sum(_large, n, at_least=1 << 24), 4) - small
    # Two Gram matrices are made, one moves to the other's worker and is added, and one comes here.
    return {"sum": small, "task": max(0.0, wide - small) / 10, "byte": large / (2 * 8 * n**2)}


def measure_read() -> float:
    """Measure a scan of a store that has been read before."""
    store = cluster_store(200_000)
    return _seconds(lambda: sum(len(block) for block in store.blocks(1 << 15))) / store.nbytes


def squared(c: Costs, n: float, m: int, workers: int) -> dict[str, float]:
    """Return the seconds of a squared fit by what they are spent on."""
    levels = ceil(log2(workers)) + 1
    blocks = max(1.0, n / workers * (m / 8) / (4 * m**2))
    return {
        "rows": n * m**2 * c.gram / workers + blocks * c.gram_fixed * m**2,
        "reading": n * m / 8 * c.read / workers,
        "sums over the network": levels * 8 * m**2 * c.byte,
        "tasks": c.sum + 2 * workers * c.task,
        "solving": m**3 * c.solve,
    }


def step(c: Costs, n: float, m: int, workers: int) -> dict[str, float]:
    """Return the seconds of one step of L-BFGS, two classes, by what they are spent on."""
    return {
        "rows": n * m * (c.gradient + c.gradient_fixed * m / 8 / _BLOCK_BYTES) / workers,
        "reading": n * m / 8 * c.read / workers,
        "sums over the network": (workers + ceil(workers / 16)) * 8 * m * c.byte,
        "tasks": c.sum + workers * c.task,
    }


def constants(c: Costs) -> list[str]:
    """Return a Markdown table of the formula with its constants."""
    rows = [
        ("encode, 64 columns", "n m e / w", f"e = {_short(c.encode)}"),
        (
            'Gram matrix ("squared", `solver="primal"`)',
            "n m^2 g / w, and m^2 g' for each block of 4 m^2 bytes of codes",
            f"g = {_short(c.gram)}, g' = {_short(c.gram_fixed)}",
        ),
        (
            "gradient (the other losses)",
            "n m h / w a step, and m h' for each block of 16 MB",
            f"h = {_short(c.gradient)}, h' = {_short(c.gradient_fixed)}",
        ),
        ("read a store in the page cache, checksums verified", "n m / 8 r / w a pass", f"r = {_short(c.read)}"),
        ("sums of Gram matrices", "8 m^2 b (1 + log2 w, rounded up)", f"b = {_short(c.byte)} a byte"),
        ("sums of gradients", "8 m b (w + w/16) a step", ""),
        (
            "tasks",
            'a + 2 w t for "squared" with "primal", a + w t a step',
            f"a = {_short(c.sum)}, t = {_short(c.task)}",
        ),
        ("solve", "m^3 s", f"s = {_short(c.solve)}"),
    ]
    lines = ["| what | seconds | measured |", "| --- | --- | --- |"]
    return [*lines, *(f"| {' | '.join(row)} |" for row in rows)]


def _short(seconds: float) -> str:
    """Return a time with two digits, in the unit that suits it."""
    units = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9), ("ps", 1e-12))
    unit, size = next((each for each in units if seconds >= each[1]), units[-1])
    return f"{float(f'{seconds / size:.2g}'):g} {unit}"


def _seconds_shown(seconds: float) -> str:
    return f"{seconds:,.0f} s" if seconds >= 10.0 else f"{seconds:.2g} s"


def _count(n: float) -> str:
    return f"{n / 1e9:g} billion" if n >= 1e9 else f"{n / 1e6:g} million"


def table(c: Costs, model: Callable[..., dict[str, float]], sizes: list[tuple[float, int, int]]) -> list[str]:
    """Return a Markdown table of a model at some sizes."""
    names = list(model(c, *sizes[0]))
    lines = ["| rows | m | workers | " + " | ".join(names) + " | all |", "| --- " * (len(names) + 4) + "|"]
    for n, m, workers in sizes:
        cost = model(c, n, m, workers)
        cells = " | ".join(_seconds_shown(cost[name]) for name in names)
        lines.append(f"| {_count(n)} | {m:,} | {workers:,} | {cells} | {_seconds_shown(sum(cost.values()))} |")
    return lines


def markdown(costs: Costs, kept: list[dict[str, Any]]) -> str:
    """Return the measured part of the page."""
    off = [abs(k[name] / k[f"{name}_model"] - 1) for k in kept for name in ("gram", "gradient")]
    rows, widths = f"{min(_ROWS):,} to {max(_ROWS):,} rows", f"{min(_WIDTHS):,} to {max(_WIDTHS):,} features"
    return "\n\n".join(
        [
            "Written by `python -m benchmarks.growth --page docs/guide/growth.md`: rows on one core, sums through two "
            f"Dask workers, on {machine_told()}.",
            "\n".join(constants(costs)),
            f"The part of the formula that is for rows is within {np.mean(off):.0%} of its measurements on average, "
            f"{max(off):.0%} at most, over {rows} and {widths}.",
            '**A squared fit** with `solver="primal"`, which `"auto"` takes too for two classes and up to about 5,000 '
            "features:",
            "\n".join(table(costs, squared, _SIZES)),
            "**One step of L-BFGS**, of which a logistic fit takes ten to fifty:",
            "\n".join(table(costs, step, _SIZES)),
        ]
    )


def main() -> None:
    """Measure, fit, print and write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--page", type=Path, help="page whose measured part is written anew")
    given = parser.parse_args()
    rows, kept = measure_rows()
    costs = Costs(**rows, solve=measure_solve(), **measure_cluster(), read=measure_read())
    text = markdown(costs, kept)
    print(text)
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "growth.json").write_text(json.dumps({"costs": asdict(costs), "rows": kept}, indent=2) + "\n")
    if given.page is not None:
        put_into_page(given.page, text + "\n")


if __name__ == "__main__":
    main()
