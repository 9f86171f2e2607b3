"""One small run of the comparison for all tests that look at its results."""

import pytest

from lowtide.cli.demo_measure import Plan, compare


@pytest.fixture(scope="session")
def comparison():
    return compare(Plan(n_components=256, n_draws=2))
