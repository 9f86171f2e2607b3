"""Estimates of a sketch over draws of its projections: mean and spread are those that theory gives."""

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import lowtide as lt
from lowtide.kernels import Gaussian

D, K, N_DRAWS = 60, 192, 300
RHO = np.array([-0.9, -0.3, 0.0, 0.5, 0.9])
GAMMA = 0.5
CASES = [(1, "hadamard"), (2, "hadamard"), (4, "hadamard"), (1, "iid"), (3, "iid"), (8, "orthogonal")]


def rows():
    """One row, and others at the correlations RHO with it, of other lengths."""
    rng = np.random.default_rng(3)
    x = rng.standard_normal(D)
    x /= np.linalg.norm(x)
    others = []
    for rho in RHO:
        y = rng.standard_normal(D)
        y -= (y @ x) * x
        others.append(rho * x + math.sqrt(1 - rho**2) * y / np.linalg.norm(y))
    return 0.7 * x[None], np.array(others) * rng.uniform(0.5, 1.5, (len(RHO), 1))


@cache
def drawn(bits, projection):
    """Cosines and kernel values with their errors over draws, each (N_DRAWS, len(RHO))."""
    x, Y = rows()
    found = {name: [] for name in ("cosine", "half", "kernel", "scaled")}
    both, errors = {"sides": ("codes", "codes")}, []
    for seed in range(N_DRAWS):
        sketch = lt.Sketch(K, bits=bits, projection=projection, random_state=seed).fit(x)
        a, b = sketch.encode(x), sketch.encode(Y)
        found["cosine"].append(sketch.cosine_similarity(a, b, return_std=True))
        found["half"].append(sketch.cosine_similarity(x, Y, sides=("codes", "full"), return_std=True))
        read = sketch.with_gamma(GAMMA)
        kept = read.with_drawn(replace(read.drawn_, store_norms=True))
        if not errors:  # of rows they are the same in every draw
            errors = [each.kernel_estimate(x, Y, return_std=True, **both)[1] for each in (read, kept)]
        found["kernel"].append((read.kernel_estimate(a, b), errors[0]))
        found["scaled"].append((kept.kernel_estimate(x, Y, **both), errors[1]))
    return {name: np.array(pairs)[:, :, 0].transpose(1, 0, 2) for name, pairs in found.items()}


def check(values, std, truth, spread=(0.85, 1.15)):
    """Compare the mean with the truth within 4.5 standard errors, and the spread with the stated one."""
    actual = values.std(axis=0, ddof=1)
    assert np.all(np.abs(values.mean(axis=0) - truth) < 4.5 * actual / math.sqrt(N_DRAWS) + 1e-6)
    ratio = actual / np.sqrt(np.mean(std**2, axis=0))
    # A standard deviation of 300 draws has a relative error of 4%; orthogonal layouts are known to within 5%.
    assert np.all((ratio > spread[0]) & (ratio < spread[1])), ratio


@pytest.mark.parametrize(("bits", "projection"), CASES)
def test_codes_against_the_full_side_are_unbiased_for_the_cosine(bits, projection):
    check(*drawn(bits, projection)["half"], RHO)


@pytest.mark.parametrize(("bits", "projection"), CASES)
def test_cosine_of_codes_is_the_cosine(bits, projection):
    values, std = drawn(bits, projection)["cosine"]
    # The inverse of the mean bends, which moves the estimate by less than the square of its error.
    actual = values.std(axis=0)
    assert np.all(np.abs(values.mean(axis=0) - RHO) < 4.5 * actual / math.sqrt(N_DRAWS) + actual**2)
    inner = np.abs(RHO) < 0.85
    ratio = actual / std.mean(axis=0)
    assert np.all((ratio[inner] > 0.85) & (ratio[inner] < 1.15)), ratio
    assert np.all((ratio[~inner] > 0.7) & (ratio[~inner] < 1.3)), ratio


@pytest.mark.parametrize(("bits", "projection"), CASES)
def test_kernel_of_codes_has_the_expected_kernel_for_its_mean(bits, projection):
    x, Y = rows()
    sketch = lt.Sketch(K, bits=bits, projection=projection, gamma=GAMMA, random_state=0).fit(x)
    expected = sketch.expected_kernel(x, Y, sides=("codes", "codes"))[0]
    check(*drawn(bits, projection)["kernel"], expected)
    if bits >= 4:
        np.testing.assert_allclose(expected, np.exp(-2 * GAMMA * (1 - RHO)), atol=0.01)


@pytest.mark.parametrize(("bits", "projection"), [(4, "hadamard"), (3, "iid"), (8, "orthogonal")])
def test_kernel_of_rows_with_norms_is_that_of_the_rows_as_they_came(bits, projection):
    x, Y = rows()
    kept = lt.Sketch(K, bits=bits, projection=projection, gamma=GAMMA, store_norms=True, random_state=0).fit(x)
    expected = kept.expected_kernel(x, Y, sides=("codes", "codes"))[0]
    # The bias of the quantizer at these lengths is below 0.02 for 3 bits.
    assert np.all(np.abs(expected - Gaussian.from_gamma(GAMMA).gram(x, Y)[0]) < 0.02)
    check(*drawn(bits, projection)["scaled"], expected)
