"""`python -m benchmarks.errors`: sweep random configurations for biased means and bars that do not cover.

The exit code is 0 when all pass and at most a tenth say that they have no bar, 1 otherwise.
"""

from __future__ import annotations

import argparse
import sys
import time

from benchmarks.errors import configurations
from benchmarks.errors.draws import N_DRAWS, Outcome, run

MOST_SAID = 0.1


def table(outcomes: list[Outcome], size: int = 10) -> str:
    """Return the outcomes that use most of their tolerance, one a line with its figures."""
    judged = [outcome for outcome in outcomes if outcome.verdict != "said so"]
    worst = sorted(judged, key=lambda outcome: -outcome.worst.used)[:size]
    lines = ["tolerance used   what, and where"]
    for outcome in worst:
        finding = outcome.worst
        lines += [f"{finding.used:14.3g}   {finding.what}: {finding.figures}", f"{'':17}{outcome.name}"]
    return "\n".join(lines)


def summary(outcomes: list[Outcome]) -> str:
    """Return how many passed, said so and failed."""
    counts = {verdict: sum(o.verdict == verdict for o in outcomes) for verdict in ("passed", "said so", "failed")}
    return f"{len(outcomes)} configurations: " + ", ".join(f"{count} {verdict}" for verdict, count in counts.items())


def accepted(outcomes: list[Outcome]) -> bool:
    """Return whether none failed, and few enough said that they have no bar."""
    said = sum(outcome.verdict == "said so" for outcome in outcomes)
    return all(outcome.verdict != "failed" for outcome in outcomes) and said <= MOST_SAID * len(outcomes)


def main(arguments: list[str] | None = None) -> int:
    """Sweep, print, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.errors", description=__doc__)
    parser.add_argument("--configurations", type=int, default=500, help="how many to draw")
    parser.add_argument("--seed", type=int, default=0, help="of the configurations and of the encoders")
    parser.add_argument("--draws", type=int, default=N_DRAWS, help="encoders a configuration")
    parser.add_argument("--only", type=int, help="one configuration by its number, with all findings")
    chosen = parser.parse_args(arguments)
    start = time.perf_counter()
    numbers = range(chosen.configurations) if chosen.only is None else [chosen.only]
    outcomes = []
    for number in numbers:
        configuration = configurations.configuration(chosen.seed, number)
        outcome = run(configuration, chosen.draws, chosen.seed)
        outcomes.append(outcome)
        if outcome.verdict == "failed":
            print(f"[{number}] {outcome.worst.used:.3g} {outcome.worst.what}: {outcome.worst.figures}; {outcome.name}", flush=True)
    print(table(outcomes))
    print(summary(outcomes), f"in {time.perf_counter() - start:.0f} s")
    return 0 if accepted(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
