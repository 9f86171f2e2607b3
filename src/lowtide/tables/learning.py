"""Learn the recipe of a table from rows that a survey took: medians, scales, categories and parts of dates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide.tables.cells import TableError, listed
from lowtide.tables.columns import Choice
from lowtide.tables.dates import DatePartName, Dates, part_of_days
from lowtide.tables.elements import Categories, DatePart, Feature, Indicator, Missing, Number, Step, Truth
from lowtide.tables.looking import Finding, kept_categories, matters
from lowtide.tables.recipe import Recipe
from lowtide.tables.surveying import Sample

Floats = NDArray[np.float64]

# Days that dates must span for their place in a year, and in a week, to be one.
_DAYS = {"year": 300.0, "week": 7.0}


@dataclass(frozen=True)
class Taken:
    """What was done to a column of a table.

    Attributes
    ----------
    name : str
    taken_as : {"number", "truth", "category", "date", "left out"}
    missing : int
        Rows without a value.
    done : str
        What becomes of it, or why it is left out, and what does otherwise.
    is_special : bool
        Whether it is left out, or taken as something for a reason that `done` says.
    """

    name: str
    taken_as: str
    missing: int
    done: str
    is_special: bool = False


def learn_recipe(sample: Sample, choice: Choice, *, standardize: bool = True) -> tuple[Recipe, tuple[Taken, ...]]:
    """Return the recipe of a table, and what it does to each column.

    Numbers are filled with their median and standardized, (x - mean) / std, truth values filled with the more frequent
    one, dates become the days since 1970 and where they are in a year, a week and a day as far as these vary, and
    categories a column of 0 and 1 each. Where values are missing often enough to tell something, that they are is
    a column too; for categories it is one of them. Numbers come first, then truth values, dates, what is missing, and
    categories.

    Parameters
    ----------
    sample : Sample
        Rows to learn from.
    choice : Choice
        All columns of the table, and what was asked for.
    standardize : bool, default=True
    """
    taken = {finding.name: finding for finding in sample.findings if finding.taken_as != "left out"}
    needed = [name for name in choice.columns if name in taken]
    place = {name: j for j, name in enumerate(needed)}
    groups: dict[str, list[Feature]] = {kind: [] for kind in ("number", "truth", "date", "missing", "category")}
    dates: list[Dates] = []
    known: list[Categories] = []
    done: dict[str, str] = {}
    for name, finding in taken.items():
        column, words, j = sample.columns[name], list[str](), place[name]
        if finding.taken_as == "category":
            values = ("",) if finding.only_whether else _categories(column, asked=finding.asked)
            known.append(Categories(j, values, as_text=True))
            groups["category"] += [(Indicator(len(known) - 1, i), ()) for i in range(len(values))]
            words += [] if finding.only_whether else [f"{len(values)}: {_shown(values)}"]
        else:
            absent = np.isnat(column) if finding.taken_as == "date" else np.isnan(column)
            if finding.taken_as == "number":
                steps, said = _number_steps(name, column, standardize)
                groups["number"].append((Number(j), steps))
            elif finding.taken_as == "truth":
                fill = float(np.nanmean(column) >= 0.5) if not absent.all() else 0.0
                groups["truth"].append((Truth(j), (("fill", fill),)))
                said = "true is 1, false 0"
            else:
                dates.append(Dates(j, finding.order))  # type: ignore[arg-type]
                parts = _date_features(name, column, standardize)
                groups["date"] += [(DatePart(len(dates) - 1, part), steps) for part, steps in parts]
                said = ", ".join(dict.fromkeys(part.partition("_")[0] for part, _ in parts))
            words.append(said)
            if matters(int(absent.sum()), len(column)) and not absent.all():
                groups["missing"].append((Missing(j), ()))
                words.append("and whether it is missing")
        done[name] = "; ".join([*words, *filter(None, [finding.why])])
    features = [feature for group in groups.values() for feature in group]
    recipe = Recipe.of_features(needed, features, known, choice.named, dates)
    return recipe, tuple(_taken(finding, done) for finding in sample.findings)


def _taken(finding: Finding, done: dict[str, str]) -> Taken:
    said = done.get(finding.name, finding.why or "asked for")
    special = finding.taken_as == "left out" or bool(finding.why)
    return Taken(finding.name, finding.taken_as, finding.missing, said, special)


def _number_steps(name: str, column: Floats, standardize: bool) -> tuple[tuple[Step, ...], str]:
    """Return the steps of a column of numbers: a constant one keeps its scale."""
    there = column[~np.isnan(column)]
    median = float(np.median(there)) if len(there) else 0.0
    fill: Step = ("fill", median)
    said = f"missing is the median, {median:.6g}" if len(there) < len(column) else ""
    if not standardize:
        return (fill,), said or "as it is"
    values = np.where(np.isnan(column), median, column)
    with np.errstate(over="ignore", invalid="ignore"):
        mean, std = float(values.mean()), float(values.std())
    if not np.isfinite(std):
        raise TableError(f"columns must have a finite variance, got too large numbers in {name!r}. Rescale them.")
    # Rounding leaves a constant column a spread of some last digits, which must not become its unit.
    scale = 1.0 if values.min() == values.max() or std == 0.0 else std
    return (fill, ("subtract", mean), ("divide", scale)), "; ".join(filter(None, ["standardized", said]))


def _date_features(name: str, column: NDArray[Any], standardize: bool) -> list[tuple[DatePartName, tuple[Step, ...]]]:
    """Return the parts of dates that vary, with their steps."""
    days = Dates(0).read(column)
    there = days[~np.isnan(days)]
    span = float(np.ptp(there)) if len(there) else 0.0
    parts: list[DatePartName] = ["days"]
    if span >= _DAYS["year"]:
        parts += ["year_sine", "year_cosine"]
    if span >= _DAYS["week"]:
        parts += ["week_sine", "week_cosine"]
    if len(np.unique(there - np.floor(there))) > 1:
        parts += ["day_sine", "day_cosine"]
    steps, _ = _number_steps(name, days, standardize)
    # Sine and cosine together vary by 1, as a standardized number does.
    cyclic = [(part, (("fill", float(np.mean(part_of_days(part, there)))),)) for part in parts[1:]]
    return [("days", steps), *cyclic]


def _categories(column: NDArray[Any], *, asked: bool) -> tuple[str, ...]:
    """Return the categories of a column: nothing is one of its own where it occurs."""
    counts = Counter(column.tolist())
    missing = counts.pop("", 0)
    return (*([""] if missing else []), *kept_categories(counts, asked=asked))


def _shown(values: Sequence[str]) -> str:
    return listed([value or "nothing" for value in values], most=3)
