"""Expected products of functions of levels."""

import math

import numpy as np
import pytest
from reference.sketch import block_projections, cell_probabilities

from lowtide.errors import ParameterError
from lowtide.quantizers import lloyd_max_normal
from lowtide.theory import LevelProduct, SketchMoments


@pytest.mark.parametrize("bits", [1, 2, 3, 5])
def test_product_of_any_values_is_the_sum_over_cells(bits):
    _, borders = lloyd_max_normal(bits)
    values = np.random.default_rng(bits).standard_normal((2**bits, 3))
    product = LevelProduct(bits, values)
    for rho in (-0.97, -0.3, 0.0, 0.6, 0.999):
        p = cell_probabilities(borders, rho)
        assert float(product(rho)) == pytest.approx(np.einsum("ic,ij,jc->", values, p, values), abs=1e-11)


@pytest.mark.parametrize("bits", range(1, 9))
def test_ends_are_the_sums_over_levels(bits):
    # The integral knows nothing of these two values: all of its panels must be right.
    _, borders = lloyd_max_normal(bits)
    values = np.random.default_rng(bits).standard_normal(2**bits)
    mass = np.diff([0.0, *[math.erfc(-t / math.sqrt(2)) / 2 for t in borders], 1.0])
    product = LevelProduct(bits, values)
    np.testing.assert_allclose(product([1.0, -1.0]), [mass @ values**2, mass @ (values * values[::-1])], atol=1e-12)


def test_sign_is_the_arcsine_law():
    rho = np.linspace(-1, 1, 201)
    np.testing.assert_allclose(LevelProduct(1, [-1, 1])(rho), 2 / math.pi * np.arcsin(rho), rtol=0, atol=1e-14)


def test_constant_values_have_a_constant_product():
    np.testing.assert_allclose(LevelProduct(3, np.full(8, 1.5))([-1.0, 0.2, 1.0]), 2.25, rtol=1e-14)


@pytest.mark.parametrize("values", [[1.0], np.zeros(5), np.zeros((4, 2, 2)), 1.0])
def test_values_of_another_shape_are_refused(values):
    with pytest.raises(ParameterError, match=r"shape \(4,\) or \(4, width\)"):
        LevelProduct(2, values)


@pytest.mark.parametrize("bits", [1, 2, 4])
@pytest.mark.parametrize("rho", [-0.9, 0.0, 0.6, 0.95])
def test_orthogonal_blocks_have_the_variance_of_the_first_order(bits, rho):
    dimension, n = 32, 4000
    levels, borders = lloyd_max_normal(bits)
    u, v = block_projections(np.random.default_rng(bits), dimension, rho, n)
    phase = 0.9 * levels
    for book in (levels[:, None], np.stack([np.cos(phase), np.sin(phase)], axis=1)):
        codes = [book[np.searchsorted(borders, z)] for z in (u, v)]
        estimate = np.einsum("nkc,nkc->n", *codes) / dimension
        moments = SketchMoments(bits, book)
        single, covariance = float(moments.variance(rho)), float(moments.covariance(rho, dimension))
        closed = single / dimension + (dimension - 1) / dimension * covariance
        measured = estimate.var()
        error = math.sqrt((((estimate - estimate.mean()) ** 4).mean() - measured**2) / n)
        # What is left out is of second order: it only lowers the variance, by a sixth here, less in larger blocks.
        assert -0.17 * closed - 4 * error < measured - closed < 4 * error
        assert closed < single / dimension
    with pytest.raises(ParameterError, match="dimension"):
        moments.covariance(rho, 0)
    assert float(moments.covariance(rho, 1)) == 0.0
