"""`python -m benchmarks.forms`: how long each solver of the squared loss takes on one-bit codes of MNIST.

Pixels are divided by 255, the rows are the first ones of a permutation with seed 0, gamma is "scale" and C is 1. The
time is of a fit of codes that are there already, the least of two where it takes less than ten seconds.

python -m benchmarks.forms --page docs/guide/solvers.md       # two minutes; writes the table into the page
"""

from __future__ import annotations

import argparse
import resource
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import lowtide as lt
from benchmarks.peers.__main__ import machine_told
from benchmarks.peers.learning import mnist
from benchmarks.roofline.page import put_into_page

__all__ = ["Fit", "main", "markdown", "measure"]

# Rows, components, and the solver that is asked for; the largest is the last, and is fitted first: then the most memory
# that the process had is its own.
_FITS = (
    (3_000, 2_048, "auto"),
    (3_000, 16_384, "auto"),
    (3_000, 16_384, "iterative"),
    (3_000, 16_384, "primal"),
    (10_000, 65_536, "auto"),
    (60_000, 4_096, "auto"),
    (60_000, 16_384, "auto"),
    (60_000, 65_536, "auto"),
)
_TESTED, _LONG = 2_000, 10.0


@dataclass(frozen=True)
class Fit:
    """One fit: what was asked for, what solved it, its seconds and steps, and the share of tests that it got right."""

    n_rows: int
    n_components: int
    asked: str
    solver: str
    seconds: float
    steps: int
    right: float
    code_bytes: int


def measure(n_rows: int, n_components: int, solver: str) -> Fit:
    """Fit codes of the first rows, and predict the first test digits."""
    X, X_test, y, y_test = mnist()
    some = np.random.default_rng(0).permutation(len(X))[:n_rows]
    features = lt.RandomFeatures("rbf", gamma="scale", n_components=n_components, random_state=0).fit(X[some])
    codes, tests = features.encode(X[some]), features.encode(X_test[:_TESTED])
    model = lt.KernelClassifier(features, loss="squared", C=1.0, solver=solver, random_state=0)
    seconds = np.inf
    for _ in range(2):
        start = time.perf_counter()
        model.fit(codes, y[some])
        last = time.perf_counter() - start
        seconds = min(seconds, last)
        if last > _LONG:
            break
    steps = int(np.max(model.n_iter_)) if model.solver_ == "iterative" else 0
    right = float(model.score(tests, y_test[:_TESTED]))
    return Fit(n_rows, n_components, solver, model.solver_, seconds, steps, right, codes.nbytes)


def markdown(fits: list[Fit], peak: int) -> str:
    """Return the measured part of the page."""
    told = machine_told("scikit-learn", "faiss")
    lines = [
        f"Written by `python -m benchmarks.forms --page docs/guide/solvers.md` on: {told}.",
        "",
        "| rows | components | `solver_` | seconds | steps | right |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for fit in fits:
        name = fit.solver if fit.asked == "auto" else f"{fit.solver}, asked for"
        lines.append(
            f"| {fit.n_rows:,} | {fit.n_components:,} | {name} | {fit.seconds:.2g} | {fit.steps or ''} | "
            f"{100 * fit.right:.1f}% |"
        )
    codes, whole = f"{fits[-1].code_bytes / 1e6:.0f} MB", f"{peak / 1e9:.1f} GB"
    lines += ["", f"In the last row the codes took {codes}, and the whole process took {whole} at its peak."]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.forms", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--page", type=Path, help="page whose measured part is written anew")
    given = parser.parse_args()
    largest = measure(*_FITS[-1])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    text = markdown([*(measure(*each) for each in _FITS[:-1]), largest], peak)
    print(text)
    if given.page is not None:
        put_into_page(given.page, text)


if __name__ == "__main__":
    main()
