"""The Hadamard layout."""

import numpy as np
import pytest
from reference import projection_hadamard as slow
from scipy.stats import chi, kstest

from lowtide.kernels import Gaussian, Matern
from lowtide.projections import Hadamard, Iid


def draw(n_features, n_frequencies, kernel=None, seed=0):
    return Hadamard().draw(kernel or Gaussian(), n_features, n_frequencies, np.random.default_rng(seed))


@pytest.mark.parametrize(
    ("n_features", "dimension"), [(1, 64), (3, 64), (63, 64), (64, 64), (65, 128), (128, 128), (784, 1024)]
)
def test_blocks_are_padded_to_a_power_of_two_of_at_least_64(n_features, dimension):
    drawn = draw(n_features, 2 * dimension + 5)
    assert drawn.blocks.dimension == dimension
    assert drawn.blocks.sizes == (dimension, dimension, 5)
    assert drawn.blocks.lengths == "free"
    assert drawn.layout.shape == (3, 3, dimension)
    assert drawn.angles.shape == (3, dimension // 2)


@pytest.mark.parametrize(("n_features", "n_frequencies"), [(1, 1), (3, 70), (64, 64), (100, 200)])
def test_weights_match_the_matrices_written_out(n_features, n_frequencies):
    drawn = draw(n_features, n_frequencies)
    expected = slow.weights(drawn.layout[:, ::2], drawn.angles, drawn.scale, n_features)
    # Of a unit vector all stages before the rotation are exact and give entries of size 1. A cosine and a sine are each
    # off by up to 2^-25, their sum is of size 2^0.5 at most and is rounded once; the 2 log2 D - 1 stages after it each
    # add 2^-24 of at most 2^0.5 D^2 / 2; then follow the scale and 2 pi, itself rounded, on the largest entry.
    D = drawn.blocks.dimension
    steps = 2 * 2**-25 + 2**-24 * 2**0.5 * (1 + 2 * np.log2(D) - 1)
    bound = 2 * np.pi * drawn.scale.max() * D**2 / 2 * steps + 3 * 2**-24 * np.abs(expected).max()
    assert np.abs(drawn.weights() - expected).max() <= bound
    assert bound < 1e-3 * np.abs(expected).max()


def test_full_blocks_are_orthogonal():
    W = draw(64, 128).weights().astype(np.float64)
    for block in (W[:, :64], W[:, 64:]):
        lengths = np.linalg.norm(block, axis=0)
        np.testing.assert_allclose((block / lengths).T @ (block / lengths), np.eye(64), atol=2e-6)
    assert np.abs(W[:, :64].T @ W[:, 64:]).max() > 1


def test_lengths_are_chi_of_the_padded_dimension():
    W = draw(64, 6400, Gaussian(0.5)).weights().astype(np.float64)
    assert kstest(np.linalg.norm(W, axis=0) * 0.5, chi(64).cdf).pvalue > 1e-5


@pytest.mark.parametrize("kernel", [Gaussian(0.5), Matern(2.0, nu=0.7)], ids=repr)
def test_padded_frequencies_have_the_law_of_independent_ones(kernel):
    # One coordinate of each frequency, over independent blocks (one a draw: columns of a block are dependent).
    rng = np.random.default_rng(3)
    padded = [Hadamard().draw(kernel, 3, 1, rng).weights()[1, 0] for _ in range(1500)]
    independent = Iid().draw(kernel, 3, 4000, np.random.default_rng(4)).weights()[1]
    assert kstest(padded, independent).pvalue > 1e-5


def test_mean_kernel_error_of_short_rows_is_within_its_standard_error():
    # d = 3 padded to 64. 600 draws of 64 frequencies: the standard error of the mean is about 0.0025.
    u = np.random.default_rng(5).standard_normal((3, 6))
    u *= np.array([0.2, 0.5, 1.0, 1.5, 2.0, 3.0]) / np.linalg.norm(u, axis=0)
    rng = np.random.default_rng(6)
    estimates = np.array(
        [np.cos(Hadamard().draw(Gaussian(), 3, 64, rng).weights().T @ u).mean(axis=0) for _ in range(600)]
    )
    error = estimates.mean(axis=0) - np.exp(-(np.linalg.norm(u, axis=0) ** 2) / 2)
    assert np.all(np.abs(error) < 4 * estimates.std(axis=0) / np.sqrt(600))


def far_estimates(difference, n_draws, seed):
    """Means of cos(w'u) over 64 frequencies, one of each draw."""
    rng = np.random.default_rng(seed)
    u = np.asarray(difference)
    return np.array(
        [np.cos(Hadamard().draw(Gaussian(), len(u), 64, rng).weights().T @ u).mean() for _ in range(n_draws)]
    )


@pytest.mark.parametrize("difference", [[50.0], [8 * np.pi, 0.0, 0.0], [11.7, 11.7], [12.5, 0, 12.5, 0, 12.5, 0, 12.5]])
def test_estimates_of_far_rows_are_those_of_independent_frequencies(difference):
    # The kernel is 0 and cos has variance 1/2: a mean of 64 has variance 1/128. Signs alone give the first difference
    # a mean of 0.11, and all of them 5 to 15 times that variance. The variance of n near normal values is known to
    # (2/n)^(1/2) of itself; that of a block is at most 1.01 times the independent one, over 200,000 simulated blocks.
    n = 400
    found = far_estimates(difference, n, seed=7)
    assert abs(found.mean()) < 4 * np.sqrt(1 / 128 / n)
    assert found.var() * 128 < 1.01 * (1 + 4 * np.sqrt(2 / n))


def test_layout_of_the_ops_holds_signs_and_rotations():
    drawn = draw(100, 300)
    s1, rotations, s3 = drawn.layout.transpose(1, 0, 2)
    assert set(np.unique([s1, s3])) == {-1.0, 1.0}
    turn = 2 * np.pi * (drawn.angles.astype(np.float64) + 0.5) / 256
    # Float32 nearest to the cosine and the sine.
    np.testing.assert_array_equal(rotations[:, ::2], np.cos(turn).astype(np.float32))
    np.testing.assert_array_equal(rotations[:, 1::2], np.sin(turn).astype(np.float32))


def test_all_angles_are_drawn():
    assert len(np.unique(draw(64, 64 * 200).angles)) == 256


def test_arrays_are_small_and_bring_the_layout_back():
    drawn = draw(100, 300)
    arrays = drawn.arrays()
    assert arrays["signs"].nbytes == 3 * 2 * 128 // 8
    assert arrays["angles"].nbytes == 3 * 64
    assert arrays["scale"].nbytes == 4 * 300
    again = Hadamard().restore(Gaussian(), 100, 300, arrays)
    np.testing.assert_array_equal(again.layout, drawn.layout)
    np.testing.assert_array_equal(again.angles, drawn.angles)


@pytest.mark.parametrize("name", ["signs", "angles"])
@pytest.mark.parametrize("change", [lambda kept: kept[1:], lambda kept: kept.astype(np.int8)])
def test_arrays_of_another_size_or_type_are_refused(name, change):
    arrays = draw(100, 300).arrays()
    with pytest.raises(ValueError, match=f"{name} must be"):
        Hadamard().restore(Gaussian(), 100, 300, {**arrays, name: change(arrays[name])})


@pytest.mark.parametrize(("n_features", "n_frequencies"), [(64, 64), (100, 300)])
def test_row_cost_counts_additions_signs_rotations_and_lengths(n_features, n_frequencies):
    drawn = draw(n_features, n_frequencies)
    D, n_blocks = drawn.blocks.dimension, len(drawn.blocks.sizes)
    stages = sum(D for stride in (2**k for k in range(20)) if stride < D)
    rounds = (stages - D) + (stages - D) + stages
    products, sums_of_products, signs = 4 * D // 2, D, 2 * D
    assert drawn.row_cost == n_blocks * (rounds + products + sums_of_products + signs) + n_frequencies


def test_lengths_have_sixteen_significant_bits():
    mantissa, _ = np.frexp(draw(10, 500).scale.astype(np.float64))
    np.testing.assert_array_equal(mantissa * 2**16, np.rint(mantissa * 2**16))


@pytest.mark.parametrize(("n_features", "n_frequencies"), [(1, 1), (3, 70), (64, 64), (100, 300), (784, 1500)])
@pytest.mark.parametrize("n_rows", [0, 1, 5])
def test_pull_back_is_the_product_with_the_transposed_weights(n_rows, n_features, n_frequencies):
    drawn = draw(n_features, n_frequencies)
    values = np.random.default_rng(8).standard_normal((n_rows, n_frequencies)).astype(np.float32)
    W = drawn.weights().astype(np.float64)
    # W and the result are each off by a few roundings of 2^-24, and the scale by two, of the length of a row of W.
    slack = 16 * 2**-24 * np.linalg.norm(W, axis=1).max() * np.linalg.norm(values, axis=1).max(initial=0.0)
    back = drawn.pull_back(values)
    assert back.dtype == np.float32
    assert back.shape == (n_rows, n_features)
    assert np.all(np.abs(back - values @ W.T) <= slack)


@pytest.mark.parametrize("values", [np.zeros((2, 69), np.float32), np.zeros((2, 70)), np.zeros(70, np.float32)])
def test_pull_back_refuses_values_of_another_form(values):
    with pytest.raises(ValueError, match=r"values must be float32 of shape \(n, 70\)"):
        draw(3, 70).pull_back(values)


PLACES = np.r_[0, 3, 63, 130:190:7, 640, 1001]


@pytest.mark.parametrize("n_features", [3, 64, 100])
def test_a_frequency_does_not_depend_on_how_many_follow_it(n_features):
    few, many = draw(n_features, 70), draw(n_features, 1100)
    np.testing.assert_array_equal(few.weights(), many.weights()[:, :70])


@pytest.mark.parametrize("n_features", [3, 64, 100])
def test_kept_frequencies_are_those_at_their_places(n_features):
    every = draw(n_features, 1100)
    some = every.keep(PLACES)
    np.testing.assert_array_equal(some.weights(), every.weights()[:, PLACES])
    np.testing.assert_array_equal(some.places, PLACES)
    again = some.keep(np.array([1, 4, len(PLACES) - 1]))
    np.testing.assert_array_equal(again.weights(), every.weights()[:, PLACES[[1, 4, -1]]])
    np.testing.assert_array_equal(again.places, PLACES[[1, 4, -1]])


def test_only_blocks_with_a_kept_frequency_are_there():
    some = draw(64, 1100).keep(PLACES)
    assert some.blocks.sizes == (3, 9, 1, 1)
    assert some.layout.shape == (4, 3, 64)
    assert some.angles.shape == (4, 32)
    assert some.row_cost < draw(64, 257).row_cost


@pytest.mark.parametrize("kept", [None, PLACES])
def test_factors_multiply_the_rows_of_the_weights(kept):
    drawn = draw(100, 1100) if kept is None else draw(100, 1100).keep(kept)
    factors = np.linspace(0, 2, 100).astype(np.float32)
    scaled = drawn.scaled_by(factors)
    # The weights come of unit vectors: with one entry that is not 0 the sums of a transform are products with it, each
    # rounded, of which there are 3 log2 D, and then come the lengths and 2 pi.
    bound = (3 * 7 + 3) * 2**-24 * np.abs(drawn.weights()).max() * 2
    assert np.abs(scaled.weights() - factors[:, None] * drawn.weights()).max() < bound
    np.testing.assert_array_equal(scaled.scaled_by(factors).factors, factors**2)
    assert scaled.row_cost == drawn.row_cost + 100


def test_a_matrix_makes_the_blocks_a_matrix():
    drawn = draw(70, 300).keep(np.arange(3, 300, 2))
    A = np.random.default_rng(1).standard_normal((5, 70)).astype(np.float32)
    dense = drawn.scaled_by(A)
    # Two roundings of each entry, 1/(2 pi) and 2 pi, and one of the sum.
    np.testing.assert_allclose(
        dense.weights(), A.astype(float) @ drawn.weights(), atol=1e-5 * np.abs(dense.weights()).max()
    )
    assert (dense.n_features, dense.blocks) == (5, drawn.blocks)
    np.testing.assert_array_equal(dense.places, drawn.places)


@pytest.mark.parametrize("metric", [None, np.linspace(0, 2, 100).astype(np.float32), np.eye(100, 40, dtype=np.float32)])
@pytest.mark.parametrize("kept", [None, PLACES])
def test_restored_frequencies_are_those_that_were_kept(kept, metric):
    width = 100 if metric is None else metric.shape[-1]
    drawn = draw(width, 1100) if kept is None else draw(width, 1100).keep(kept)
    drawn = drawn if metric is None else drawn.scaled_by(metric)
    again = Hadamard().restore(Gaussian(), 100, drawn.n_frequencies, drawn.arrays(), metric)
    np.testing.assert_array_equal(again.weights(), drawn.weights())
    assert again.blocks == drawn.blocks


@pytest.mark.parametrize(
    "places",
    [PLACES[1:], PLACES[::-1], PLACES - 1, PLACES.astype(np.int32), PLACES.astype(float), PLACES + (1 << 24)],
    ids=["fewer", "falling", "below 0", "int32", "floats", "beyond"],
)
def test_kept_places_that_cannot_be_are_refused(places):
    arrays = draw(64, 1100).keep(PLACES).arrays()
    with pytest.raises(ValueError, match="places must"):
        Hadamard().restore(Gaussian(), 64, len(PLACES), {**arrays, "places": places})


def test_kept_places_of_other_blocks_than_there_are_signs_are_refused():
    arrays = draw(64, 1100).keep(PLACES).arrays()
    with pytest.raises(ValueError, match="signs must be"):
        Hadamard().restore(Gaussian(), 64, len(PLACES), {**arrays, "places": 64 * np.arange(len(PLACES))})


@pytest.mark.parametrize("factors", [None, np.linspace(0, 2, 100).astype(np.float32)])
def test_pull_back_of_kept_frequencies_and_factors(factors):
    drawn = draw(100, 1100).keep(PLACES)
    drawn = drawn if factors is None else drawn.scaled_by(factors)
    values = np.random.default_rng(8).standard_normal((5, len(PLACES))).astype(np.float32)
    W = drawn.weights().astype(np.float64)
    # As above, for blocks that are used in part.
    slack = 16 * 2**-24 * np.linalg.norm(W, axis=1).max() * np.linalg.norm(values, axis=1).max()
    assert np.all(np.abs(drawn.pull_back(values) - values @ W.T) <= slack)
