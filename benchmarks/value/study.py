"""The study: which datasets at which sizes, measured cell by cell and put into tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from sklearn.datasets import load_digits

from benchmarks.datasets import Dataset, load
from benchmarks.value import others, ours
from benchmarks.value.comparison import Cell, measure, summarize, table, table_of_methods
from benchmarks.value.method import Method, split_of

__all__ = ["FULL", "METHODS", "SHORT", "SMOKE", "Study", "cells_of", "report", "short"]

METHODS = ours.METHODS + others.METHODS
# Pixels share a unit, and those that hardly vary are noise: standardizing makes it as large as the rest. SVC() on 3,000
# digits of MNIST has 94.0 % right as they come, 90.3 % standardized.
_IMAGES = frozenset({"mnist", "fashion_mnist", "digits"})


@dataclass(frozen=True)
class Study:
    """What is measured.

    Attributes
    ----------
    datasets : names of `benchmarks.datasets`, or "digits", which come with scikit-learn
    rows, test : rows to train on, of smaller data two thirds, and most rows to test on
    splits : number of random splits
    n_bytes : bytes an item, multiples of 8
    """

    datasets: Sequence[str]
    rows: int
    test: int
    splits: int
    n_bytes: Sequence[int]


_DATASETS = ("letter", "isolet", "spambase", "ijcnn1", "mnist", "fashion_mnist", "covtype", "embeddings_debian")
FULL = Study(_DATASETS, 3000, 2000, 3, (8, 16, 32, 64, 128, 512))
SHORT = Study(("letter", "isolet"), 3000, 2000, 1, (16, 32))
SMOKE = Study(("digits",), 300, 200, 1, (16,))


def _load(name: str) -> Dataset:
    return Dataset(*load_digits(return_X_y=True), None, {}) if name == "digits" else load(name)


def cells_of(
    study: Study, methods: Sequence[Method], old: Mapping[tuple[str, int], Cell] = MappingProxyType({})
) -> Iterator[Cell]:
    """Yield the cells, dataset by dataset; those that are there already as they are."""
    for name in study.datasets:
        if all((name, n_bytes) in old for n_bytes in study.n_bytes):
            yield from (old[name, n_bytes] for n_bytes in study.n_bytes)
            continue
        data = _load(name)
        n_train = min(study.rows, 2 * len(data.X) // 3)
        splits = [
            split_of(data.X, data.y, n_train, study.test, seed, name not in _IMAGES) for seed in range(study.splits)
        ]
        for n_bytes in study.n_bytes:
            yield old[name, n_bytes] if (name, n_bytes) in old else measure(name, splits, n_bytes, methods)


def short() -> tuple[str, bool]:
    """Return the count of cells won, by bytes an item alone, of a few cells that take two minutes."""
    cells = cells_of(SHORT, [method for method in METHODS if method.is_there])
    return summarize(list(cells), is_capped=False)


def report(cells: list[Cell]) -> tuple[str, bool]:
    """Return the tables with their counts, and whether most cells of both were won."""
    by_item, is_ahead = summarize(cells, is_capped=False)
    by_model, is_ahead_capped = summarize(cells, is_capped=True)
    text = "\n\n".join(
        (
            "## By bytes an item",
            table(cells, is_capped=False),
            by_item,
            "## With models no larger than lowtide's smallest",
            table(cells, is_capped=True),
            by_model,
            "## Every method: accuracy (model)",
            table_of_methods(cells),
        )
    )
    return text, is_ahead and is_ahead_capped
