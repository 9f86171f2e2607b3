"""What every study is: a figure of a paper measured again, a plot, and a verdict on each claim.

A claim is held when the numbers say so, never by hand: `equals` within four standard errors (there are many claims, and
one in three hundred would miss three by chance) plus the slack that an "about" in the paper allows; `below` and `above`
by at least two standard errors. A slack comes with its reason, a claim that does not hold with its explanation.

`claims.jsonl` in this folder is the record of full runs, from which the tables of the guide are made: run with
`--record`, a study replaces its own lines there.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.papers.plotting import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "Claim", "Run", "Study", "add_options", "find_studies", "main", "options", "parsed", "print_claims", "read_record",
    "run_study", "write_record",
]  # fmt: skip

Relation = Literal["equals", "below", "above"]
Source = Literal["paper", "corrected"]
RESULTS = Path(__file__).resolve().parents[1] / "results"
RECORD = Path(__file__).resolve().parent / "claims.jsonl"


@dataclass(frozen=True)
class Claim:
    """One statement with a number to hold it against.

    Attributes
    ----------
    key : str
        Short name, unique in the study.
    words : str
        The claim as a sentence.
    paper : str
        What the paper prints, in its own terms.
    measured, error : float
        The measured value and its standard error; 0 for a value computed without sampling.
    relation, target, slack : str, float, float
        `measured` must equal (up to `slack`), be below or be above `target`.
    why : str
        The reason of the slack, required where there is one.
    if_not : str
        The explanation, should the claim not hold: a sentence, checked when it was written.
    source : {"paper", "corrected"}
        Whether the paper says so, or the corrected or like-for-like form of what it says.
    """

    key: str
    words: str
    paper: str
    measured: float
    error: float
    relation: Relation
    target: float
    slack: float = 0.0
    why: str = ""
    if_not: str = ""
    source: Source = "paper"

    def __post_init__(self) -> None:
        """Refuse a slack without a reason."""
        if bool(self.slack) != bool(self.why):
            raise ValueError(f"{self.key}: slack and why must come together, got {self.slack} and {self.why!r}.")

    @property
    def held(self) -> bool:
        """Whether the measured value bears the claim out, given its error."""
        if self.relation == "equals":
            return abs(self.measured - self.target) <= 4 * self.error + self.slack
        side = 1.0 if self.relation == "below" else -1.0
        return side * (self.target - self.measured) >= 2 * self.error


@dataclass
class Run:
    """One run of a study: its size and seed, and where it puts claims and settings."""

    quick: bool = False
    seed: int = 0
    settings: dict[str, Any] = field(default_factory=dict)
    claims: list[Claim] = field(default_factory=list)
    tables: list[dict[str, Any]] = field(default_factory=list)

    def size(self, full: Any, quick: Any) -> Any:
        """Return the first at full size, the second in the quick form."""
        return quick if self.quick else full

    def generator(self, stream: int = 0) -> np.random.Generator:
        """Return the generator of one of the run's independent streams."""
        return np.random.default_rng([self.seed, stream])

    def seeds(self, count: int, stream: int = 0) -> list[int]:
        """Return seeds for encoders that share nothing."""
        return [int(s) for s in self.generator(1000 + stream).integers(2**31 - 1, size=count)]

    def claim(self, key: str, words: str, paper: str, measured: float, error: float = 0.0, **relation: Any) -> None:
        """Add a claim; `relation` is equals=, below= or above= a target, with slack= and why=, if_not=, source=."""
        name = next(name for name in ("equals", "below", "above") if name in relation)
        target = relation.pop(name)
        self.claims.append(Claim(key, words, paper, float(measured), float(error), name, float(target), **relation))

    def table(self, key: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Add a table of texts, for the guide: what was measured beside the claims."""
        if any(len(row) != len(header) for row in rows):
            raise ValueError(f"{key}: every row must have {len(header)} cells.")
        self.tables.append({"table": key, "header": list(header), "rows": [list(row) for row in rows]})

    def progress(self, text: str) -> None:
        """Say on stderr what is being done."""
        print(f"  {text}", file=sys.stderr, flush=True)


@dataclass(frozen=True)
class Study:
    """A figure of a paper; `name` is its module below `benchmarks.papers`.

    Threads are those of the linear algebra library, None for all: on small matrices they only wait for each other.
    """

    name: str
    paper: str
    figure: str
    title: str
    measure: Callable[[Run], Figure]
    threads: int | None = 1


def run_study(
    study: Study, out: Path = RESULTS, *, quick: bool = False, seed: int = 0, plot: str = "svg", record: bool = False
) -> list[dict[str, Any]]:
    """Run a study, write `<out>/<name>.<plot>` and append a JSON line per claim to `<out>/claims.jsonl`.

    With `record`, which a quick run must not ask for, its lines also replace those of the record.
    """
    run = Run(quick=quick, seed=seed)
    run.progress(f"{study.name}: {study.title}{' (quick)' if quick else ''}")
    out.mkdir(parents=True, exist_ok=True)
    start = time.perf_counter()
    with style(), threadpool_limits(study.threads, user_api="blas"):
        figure = study.measure(run)
        figure.savefig(out / f"{study.name}.{plot}", dpi=110, metadata={"Date": None} if plot == "svg" else None)
    seconds = round(time.perf_counter() - start, 2)
    lines = [_record(study, claim, run, seconds) for claim in run.claims]
    with (out / "claims.jsonl").open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
    if record:
        tables = [{"study": study.name, **table} for table in run.tables]
        write_record([line for line in read_record() if line["study"] != study.name] + lines + tables)
    return lines


def read_record() -> list[dict[str, Any]]:
    """Return the lines of the record: claims, and tables under the key "table"."""
    return [json.loads(line) for line in RECORD.read_text(encoding="utf-8").splitlines()] if RECORD.exists() else []


def write_record(lines: list[dict[str, Any]]) -> None:
    """Write the record, its studies in order."""
    ordered = sorted(lines, key=lambda line: line["study"])
    RECORD.write_text("".join(json.dumps(line) + "\n" for line in ordered), encoding="utf-8")


def _record(study: Study, claim: Claim, run: Run, seconds: float) -> dict[str, Any]:
    return {
        "study": study.name,
        "paper": study.paper,
        "figure": study.figure,
        "key": claim.key,
        "claim": claim.words,
        "source": claim.source,
        "paper_value": claim.paper,
        "measured": claim.measured,
        "standard_error": claim.error,
        "test": {"relation": claim.relation, "target": claim.target, "slack": claim.slack, "why": claim.why},
        "held": claim.held,
        "explanation": "" if claim.held else claim.if_not,
        "settings": run.settings,
        "quick": run.quick,
        "seed": run.seed,
        "seconds": seconds,
    }


def find_studies() -> dict[str, Study]:
    """Return every study by name: each module below this package that has a `STUDY`."""
    package = import_module("benchmarks.papers")
    names = [info.name for info in walk_packages(package.__path__, "benchmarks.papers.") if not info.ispkg]
    modules = [import_module(name) for name in names if not name.endswith("__main__")]
    return {module.STUDY.name: module.STUDY for module in modules if hasattr(module, "STUDY")}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that every study takes."""
    parser.add_argument("--quick", action="store_true", help="seconds instead of minutes, no downloaded data")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the plot and claims.jsonl")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--plot", choices=("svg", "png"), default="svg", help="format of the plot")
    parser.add_argument("--record", action="store_true", help="replace the study's lines in the record of full runs")


def parsed(parser: argparse.ArgumentParser, arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the arguments; a quick run is never recorded."""
    given = parser.parse_args(arguments)
    if given.quick and given.record:
        parser.error("--record is for runs at full size: leave out --quick")
    return given


def options(given: argparse.Namespace) -> dict[str, Any]:
    """Return what `run_study` takes of the options."""
    return {name: getattr(given, name) for name in ("quick", "seed", "plot", "record")}


def main(study: Study, arguments: Sequence[str] | None = None) -> None:
    """Run one study from the command line and print its claims."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.papers.{study.name}", description=study.title)
    add_options(parser)
    given = parsed(parser, arguments)
    print_claims(run_study(study, given.out, **options(given)))


def print_claims(lines: list[dict[str, Any]]) -> None:
    """Print each claim with the paper's and the measured value."""
    for line in lines:
        error = f" +- {line['standard_error']:.2g}" if line["standard_error"] else ""
        verdict = "held" if line["held"] else "NOT HELD"
        print(f"{line['study']} {line['figure']} [{verdict}] {line['claim']}")
        print(f"    {line['source']}: {line['paper_value']}; measured: {line['measured']:.5g}{error}")
