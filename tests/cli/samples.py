"""Small tables, as people have them, and the command to run on them."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
from click.testing import CliRunner, Result

from lowtide.cli.main import main

# Settings of a model that is only needed to be there: nothing is chosen.
FAST = ("--gamma", "scale", "--components", 64, "--metric", "none", "--C", 1, "--loss", "squared")


def lowtide(*arguments: object) -> Result:
    """Run a command; what it did not mean to raise comes through."""
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def write_csv(path: Path, header: list[str], rows: list[tuple[object, ...]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(header)
        writer.writerows(rows)
    return path


def flowers(n: int = 90, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return three clusters in four columns of very different scale, and their names."""
    rng = np.random.default_rng(seed)
    kind = np.arange(n) % 3
    X = rng.standard_normal((n, 4)) + 4.0 * np.array([[0, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1]])[kind]
    # Three digits are what the CSV file keeps.
    return np.round(X * [1.0, 100.0, 0.1, 10.0], 3), np.array(["setosa", "versicolor", "virginica"])[kind]


def flower_csv(path: Path, **kwargs: int) -> Path:
    X, y = flowers(**kwargs)
    return write_csv(path, ["a", "b", "c", "d", "species"], [(*row, name) for row, name in zip(X.tolist(), y)])


def rent_csv(path: Path, n: int = 120) -> Path:
    """Write a table with a number, a truth value, two texts and a target of numbers."""
    rng = np.random.default_rng(1)
    area, city, balcony = rng.uniform(20, 150, n).round(1), rng.choice(["Bern", "Oslo"], n), rng.random(n) < 0.4
    rent = np.round(12 * area * (1 + 0.5 * (city == "Oslo")) + 150 * balcony, 2)
    rows = list(zip(area.tolist(), city, balcony.tolist(), [f"2021-0{1 + i % 9}-01" for i in range(n)], rent.tolist()))
    return write_csv(path, ["area", "city", "balcony", "since", "rent"], rows)


def read_csv(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(text.splitlines()))
