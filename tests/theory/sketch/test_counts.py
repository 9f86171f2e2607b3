"""Smoothness constants and the printed count."""

import math

import numpy as np
import pytest
from reference.sketch import mean_oscillation

from lowtide.errors import ParameterError
from lowtide.quantizers import lloyd_max_normal
from lowtide.theory import (
    sketch_failure_printed,
    sketch_features_printed,
    sketch_lipschitz,
    sketch_lipschitz_printed,
)


@pytest.mark.parametrize("bits", [1, 2, 3, 4])
@pytest.mark.parametrize("gamma", [0.3, 1.0, 3.0])
def test_both_constants_bound_the_mean_oscillation_and_one_is_sharper(bits, gamma):
    levels, borders = lloyd_max_normal(bits)
    sharp, printed = (f(bits, gamma**2 / 2) for f in (sketch_lipschitz, sketch_lipschitz_printed))
    assert sharp <= printed * (1 + 1e-12)
    largest = 0.0
    for delta in np.geomspace(1e-4, 2, 25):
        for f in (np.sin, np.cos):
            # t = gamma u: a step of delta in t is one of delta/gamma in u.
            largest = max(
                largest, mean_oscillation(lambda mu, f=f: f(gamma * mu), levels, borders, delta / gamma) / delta
            )
    assert largest <= sharp
    # Within the spread of the density over the borders: no bound for the sake of a bound.
    assert largest > 0.1 * sharp


def test_count_does_not_depend_on_gamma_with_the_printed_constant():
    counts = [
        sketch_features_printed(0.1, 20, gamma, sketch_lipschitz_printed(3, gamma)) for gamma in (0.01, 1.0, 50.0)
    ]
    np.testing.assert_allclose(counts, counts[0], rtol=1e-13)


def test_count_is_smaller_with_the_sharper_constant():
    printed, sharp = (
        sketch_features_printed(0.1, 20, 0.1, f(4, 0.1)) for f in (sketch_lipschitz_printed, sketch_lipschitz)
    )
    assert sharp < printed


def test_failure_is_a_probability():
    assert sketch_failure_printed(10, 0.01) == 1.0
    assert sketch_failure_printed(25600, 1.0) == pytest.approx(4 * math.exp(-100))


def test_bad_parameters_are_refused():
    for call in (
        lambda: sketch_lipschitz(0, 0.5),
        lambda: sketch_lipschitz_printed(2, 0.0),
        lambda: sketch_features_printed(0.0, 3, 0.5, 1.0),
        lambda: sketch_features_printed(0.1, 0, 0.5, 1.0),
        lambda: sketch_features_printed(0.1, 3, 0.5, -1.0),
        lambda: sketch_failure_printed(0, 0.1),
    ):
        with pytest.raises(ParameterError, match=r"must be"):
            call()
