"""`python -m benchmarks.errors`: sweep random configurations for biased means and bars that do not cover.

The exit code is 0 when none fails and at most a tenth of the random ones say that they have no bar, 1 otherwise.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator

from benchmarks.errors.blocks import N_BLOCKS, run_all
from benchmarks.errors.configurations import configuration
from benchmarks.errors.draws import N_DRAWS, Outcome, run

VERDICTS = ("passed", "said so", "failed")
# An encoder may say that it has no bar, but not as a habit.
MOST_SAID = 0.1


def table(outcomes: list[Outcome], size: int = 10) -> str:
    """Return the outcomes that use most of their tolerance, with their figures, worst first."""
    judged = [outcome for outcome in outcomes if outcome.verdict != "said so"]
    lines = ["tolerance used   what, and where"]
    for outcome in sorted(judged, key=lambda outcome: -outcome.worst.used)[:size]:
        finding = outcome.worst
        lines += [f"{finding.used:14.3g}   {finding.what}: {finding.figures}", f"{'':17}{outcome.name}"]
    return "\n".join(lines)


def summary(outcomes: list[Outcome]) -> str:
    """Return how many passed, said so and failed."""
    counts = (f"{sum(outcome.verdict == verdict for outcome in outcomes)} {verdict}" for verdict in VERDICTS)
    return f"{len(outcomes)} configurations: {', '.join(counts)}"


def accepted(outcomes: list[Outcome]) -> bool:
    """Return whether none failed, and few enough said that they have no bar."""
    said = sum(outcome.verdict == "said so" for outcome in outcomes)
    return all(outcome.verdict != "failed" for outcome in outcomes) and said <= MOST_SAID * len(outcomes)


def outcomes_of(chosen: argparse.Namespace) -> Iterator[Outcome]:
    """Yield the outcomes of what was asked for, one by one."""
    if chosen.blocks:
        yield from run_all(chosen.n_blocks, chosen.seed)
        return
    numbers = range(chosen.configurations) if chosen.only is None else [chosen.only]
    for number in numbers:
        one = configuration(chosen.seed, number)
        yield run(one, chosen.draws, chosen.seed)


def main(arguments: list[str] | None = None) -> int:
    """Sweep, print failures as they come and the worst ten, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.errors", description=__doc__)
    parser.add_argument("--configurations", type=int, default=500, help="how many to draw")
    parser.add_argument("--seed", type=int, default=0, help="of the configurations and of the encoders")
    parser.add_argument("--draws", type=int, default=N_DRAWS, help="encoders a configuration")
    parser.add_argument("--only", type=int, help="one configuration by its number, with all that was found")
    parser.add_argument("--blocks", action="store_true", help="single Hadamard blocks at resonances instead")
    parser.add_argument("--n-blocks", type=int, default=N_BLOCKS, help="blocks a difference, with --blocks")
    chosen = parser.parse_args(arguments)
    start, outcomes = time.perf_counter(), []
    for number, outcome in enumerate(outcomes_of(chosen), chosen.only or 0):
        outcomes.append(outcome)
        if outcome.verdict == "failed":
            print(f"[{number}] {outcome.worst.used:.3g} {outcome.worst.what}: {outcome.name}", flush=True)
    if chosen.only is not None:
        print("\n".join(f"{found.used:8.3g} {found.what}: {found.figures}" for found in outcomes[0].findings))
    print(table(outcomes))
    print(summary(outcomes))
    print(f"{time.perf_counter() - start:.0f} s", file=sys.stderr)
    return 0 if accepted(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
