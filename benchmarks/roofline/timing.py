"""Best of several rounds in which everything takes its turn: what disturbs a round disturbs all of it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping

__all__ = ["best_times", "progress"]


def best_times(runs: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Run all of them `rounds` times in turn, the first of which warms up; return the least seconds of each."""
    best = dict.fromkeys(runs, float("inf"))
    for _ in range(rounds):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def progress(text: str) -> None:
    """Say on stderr what is being done."""
    print(f"  {text}", file=sys.stderr, flush=True)
