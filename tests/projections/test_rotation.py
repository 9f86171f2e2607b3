"""Rotations of any number of columns."""

import numpy as np
import pytest
from reference import rotation as slow
from scipy.stats import chi, kstest

from lowtide import Sketch, VectorCodes
from lowtide.errors import ParameterError
from lowtide.kernels import Gaussian
from lowtide.projections import Hadamard, Rotation, RotationProjection
from lowtide.quantizers import normal_steps

WIDTHS = (3, 384, 617, 1000, 1023, 1025, 1536)


def draw(d, n_frequencies=None, seed=0, lengths="fixed"):
    rng = np.random.default_rng(seed)
    return Rotation(lengths).draw(Gaussian(), d, n_frequencies or d, rng)


@pytest.mark.parametrize("d", WIDTHS)
def test_energy_of_rows_is_kept(d):
    drawn = draw(d)
    v = slow.rotated(np.random.default_rng(1).standard_normal((5, d)), drawn.layout[0]).astype(np.float64)
    X = np.random.default_rng(1).standard_normal((5, d)).astype(np.float32).astype(np.float64)
    # A rounding of 2^-24 a step, some 4 (log2 d + 4) steps, as the root of their number.
    assert np.abs(v @ v.T - X @ X.T).max() < 40 * 2**-24 * d


@pytest.mark.parametrize("d", WIDTHS)
def test_fourth_moments_are_those_of_a_haar_rotation(d):
    # Of a unit vector sum v^4 is 3 / (d + 2) on average. Along an axis four rounds leave up to 10% less or 3% more.
    n, rng = (400 if d < 100 else 40), np.random.default_rng(2)
    dense = rng.standard_normal(d)
    X = np.array([np.eye(d)[0], np.eye(d)[-1], dense / np.linalg.norm(dense)]).astype(np.float32)
    seen = np.array(
        [np.sum(slow.rotated(X, draw(d, seed=i).layout[0]).astype(np.float64) ** 4, axis=1) for i in range(n)]
    )
    over = seen.mean(axis=0) * (d + 2) / 3
    error = seen.std(axis=0) * (d + 2) / 3 / np.sqrt(n)
    assert np.all(over > 0.9 - 4 * error)
    assert np.all(over < 1.03 + 4 * error)


@pytest.mark.parametrize("d", WIDTHS[1:])
def test_codes_find_as_many_of_the_best_rows_as_after_a_haar_rotation(d):
    # Rows along few axes, which a transform that mixes too little would leave there, and rows along as many directions
    # at random: a Haar rotation makes one of the other, so that these need none.
    rng = np.random.default_rng(d)
    axes, directions = np.eye(12, d), np.linalg.qr(rng.standard_normal((d, 12)))[0].T

    def recall(along, find):
        X = 8 * rng.standard_normal((800, 12)) @ along + 0.5 * rng.standard_normal((800, d))
        Q = X[:150] + 0.1 * rng.standard_normal((150, d))
        true = np.argsort(np.sum(X**2, axis=1) - 2 * Q @ X.T, axis=1)[:, :10]
        hits = np.array([len(np.intersect1d(*pair)) / 10 for pair in zip(find(X, Q), true)])
        return hits.mean(), hits.var() / len(hits)

    def own(X, Q):
        vectors = VectorCodes(2, metric="l2", random_state=0).fit(X)
        return vectors.top_k(vectors.encode(X), Q, 10).indices

    def without_rotation(X, Q):
        steps, mean = normal_steps(2), X.mean(axis=0)
        r = np.linalg.norm(X - mean, axis=1)
        u = (X - mean) / r[:, None]
        o = steps.values[np.searchsorted(steps.borders, u * np.sqrt(d))]
        products = ((Q - mean) @ o.T) * (r / np.sum(o * u, axis=1))
        return np.argsort(r**2 - 2 * products, axis=1)[:, :10]

    (mean, variance), (expected, variance_expected) = recall(axes, own), recall(directions, without_rotation)
    assert mean > 0.5
    assert abs(mean - expected) < 4 * np.sqrt(variance + variance_expected)


def test_free_lengths_are_chi_and_fixed_ones_equal():
    free, fixed = draw(100, lengths="free").weights(), draw(100).weights()
    assert kstest(np.linalg.norm(free, axis=0), chi(100).cdf).pvalue > 1e-5
    np.testing.assert_allclose(np.linalg.norm(fixed, axis=0), 10, rtol=2e-5)


def test_arrays_are_small_and_bring_the_layout_back():
    drawn = draw(617, 700)
    arrays = drawn.arrays()
    assert arrays["minus"].nbytes == 2 * 4 * 617 // 8
    assert arrays["angles"].nbytes == 2 * 3 * 308
    again = Rotation("fixed").restore(Gaussian(), 617, 700, arrays)
    np.testing.assert_array_equal(again.layout, drawn.layout)
    assert again.blocks.sizes == (617, 83)


def test_kept_frequencies_and_metrics_make_it_a_matrix():
    drawn = draw(30)
    kept = drawn.keep(np.array([3, 7]))
    np.testing.assert_allclose(kept.weights(), drawn.weights()[:, [3, 7]], rtol=1e-6)
    again = Rotation("fixed").restore(Gaussian(), 30, 2, kept.arrays())
    np.testing.assert_array_equal(again.weights(), kept.weights())
    scaled = drawn.scaled_by(np.full(30, 2.0, np.float32))
    np.testing.assert_allclose(scaled.weights(), 2 * drawn.weights(), rtol=1e-6)


def test_lengths_of_another_kind_are_refused():
    with pytest.raises(ParameterError, match="lengths must be one of"):
        Rotation("long").check()


def test_rows_that_may_leave_float32_are_refused():
    with pytest.raises(ParameterError, match="Scale the columns"):
        draw(100).check_range(np.full((1, 100), 1e37, np.float32))


@pytest.mark.parametrize(("d", "k", "layout"), [(20, 20, Rotation), (20, 64, Hadamard), (64, 64, Hadamard)])
def test_sketch_rotates_where_it_keeps_as_many_projections_as_columns(d, k, layout):
    assert isinstance(Sketch(k).fit(np.eye(d)).drawn_.layout, layout)


def test_sketch_of_no_number_of_components_has_as_many_as_columns():
    sketch = Sketch(None, random_state=0).fit(np.eye(20))
    assert isinstance(sketch.projection_, RotationProjection)
    assert sketch.encode(np.eye(20)).shape == (20, 20)
