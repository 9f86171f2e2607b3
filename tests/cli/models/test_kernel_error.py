import numpy as np
import pytest

import lowtide as lt
from lowtide.cli.models import expected_errors


def curves(**kwargs):
    encoder = lt.RandomFeatures(gamma=0.3, n_components=1024, random_state=0, **kwargs).fit(np.zeros((2, 5)))
    return {curve.sides: curve for curve in expected_errors(encoder)}


def test_expected_errors_are_the_closed_forms_of_independent_frequencies():
    found = curves(projection="iid")
    n_frequencies = 512
    for value, doubled in ((0.75, 0.75**4), (0.5, 0.5**4), (0.25, 0.25**4)):
        full = (1 + doubled - 2 * value**2) / 2
        coded = np.pi**2 / 16 + np.pi / 8 * doubled - value**2
        # The curves are tabulated to four digits.
        assert found["full x full"].at[value] == pytest.approx(np.sqrt(full / n_frequencies), rel=1e-3)
        assert found["codes x full"].at[value] == pytest.approx(np.sqrt(coded / n_frequencies), rel=1e-3)
    # Far apart, a normalized product of one-bit codes is a mean of 1024 signs.
    assert found["codes x codes"].worst == pytest.approx(1 / np.sqrt(1024), rel=1e-3)
    assert found["codes x full"].worst == pytest.approx(np.pi / 4 / np.sqrt(n_frequencies), rel=1e-3)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "matern"])
def test_worst_error_is_no_less_than_any_other(kernel):
    projection = "iid" if kernel == "laplacian" else "hadamard"
    for curve in curves(kernel=kernel, projection=projection).values():
        assert curve.worst >= max(curve.at.values()) > 0


def test_an_encoder_without_codes_has_one_pair_of_sides():
    assert list(curves(bits=None)) == ["full x full"]
