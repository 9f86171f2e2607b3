"""What several tests look at: one small run of the comparison, and models of two tables."""

import pytest
from cli.samples import FAST, flower_csv, lowtide, rent_csv

from lowtide.cli.demo_measure import Plan, compare


@pytest.fixture(scope="session")
def comparison():
    return compare(Plan(n_components=256, n_draws=2))


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """A folder with a classifier and a regressor, and the tables they were fitted on."""
    folder = tmp_path_factory.mktemp("models")
    flower_csv(folder / "flowers.csv")
    rent_csv(folder / "rents.csv")
    lowtide("fit", folder / "flowers.csv", "--target", "species", "-o", folder / "f.lowtide", *FAST)
    columns = ("--categories", "city", "--drop", "since")
    lowtide("fit", folder / "rents.csv", "--target", "rent", "-o", folder / "r.lowtide", *columns, *FAST)
    return folder
