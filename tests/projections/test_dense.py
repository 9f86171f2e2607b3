"""Layouts against the kernels they carry, and orthogonal directions."""

import numpy as np
import pytest
from scipy.stats import beta, chi, kstest

from lowtide import _core
from lowtide.errors import LowtideError, ParameterError, UnsuitableLayoutError
from lowtide.kernels import Bessel, Gaussian, Laplace, Matern, Stable
from lowtide.projections import PROJECTIONS, Haar, Hadamard, Iid, Orthogonal

CARRIED = {
    Iid: [Gaussian(), Matern(), Laplace(), Stable(), Bessel()],
    Orthogonal: [Gaussian(), Matern()],
    Hadamard: [Gaussian(), Matern()],
    Haar: [Bessel()],
}
PAIRS = [(layout(), kernel) for layout, kernels in CARRIED.items() for kernel in kernels]
REFUSED = [
    (layout(), kernel) for layout, kernels in CARRIED.items() for kernel in CARRIED[Iid] if kernel not in kernels
]


@pytest.mark.parametrize(("layout", "kernel"), PAIRS, ids=repr)
@pytest.mark.parametrize(("n_features", "n_frequencies"), [(1, 1), (3, 10), (5, 5), (70, 100)])
class TestDraw:
    def test_shapes(self, layout, kernel, n_features, n_frequencies):
        drawn = layout.draw(kernel, n_features, n_frequencies, np.random.default_rng(0))
        assert (drawn.n_features, drawn.n_frequencies) == (n_features, n_frequencies)
        assert drawn.weights().shape == (n_features, n_frequencies)
        assert drawn.weights().dtype == np.float32
        assert drawn.scale.shape == (n_frequencies,)
        assert drawn.scale.dtype == np.float32
        assert np.isfinite(drawn.weights()).all()

    def test_blocks_cover_the_frequencies(self, layout, kernel, n_features, n_frequencies):
        blocks = layout.draw(kernel, n_features, n_frequencies, np.random.default_rng(0)).blocks
        assert sum(blocks.sizes) == n_frequencies
        assert all(1 <= size <= blocks.dimension for size in blocks.sizes)
        assert all(size == blocks.dimension for size in blocks.sizes[:-1]) or blocks.lengths == "iid"
        assert blocks.dimension >= n_features

    def test_same_seed_same_frequencies(self, layout, kernel, n_features, n_frequencies):
        first, again, other = (
            layout.draw(kernel, n_features, n_frequencies, np.random.default_rng(seed)) for seed in (4, 4, 5)
        )
        for name, array in first.arrays().items():
            np.testing.assert_array_equal(array, again.arrays()[name])
        # One frequency on the line is +-1 for some kernels: two seeds may agree.
        assert n_frequencies == 1 or any(
            np.any(array != other.arrays()[name]) for name, array in first.arrays().items()
        )


@pytest.mark.parametrize(("layout", "kernel"), REFUSED, ids=repr)
def test_an_unsuitable_kernel_is_refused_with_a_layout_that_fits(layout, kernel):
    with pytest.raises(UnsuitableLayoutError) as caught:
        layout.draw(kernel, 4, 8, np.random.default_rng(0))
    message = str(caught.value)
    assert message.startswith(type(layout).__name__)
    assert repr(kernel) in message
    named = [name for name in PROJECTIONS if f"'{name}'" in message.split("Use projection=")[1]]
    assert named
    for name in named:
        PROJECTIONS[name]().draw(kernel, 4, 8, np.random.default_rng(0))
    assert isinstance(caught.value, LowtideError)
    assert isinstance(caught.value, ValueError)


def test_gaussian_with_haar_is_sent_to_orthogonal():
    with pytest.raises(UnsuitableLayoutError, match="Use projection=.*'orthogonal'"):
        Haar().draw(Gaussian(), 4, 8, np.random.default_rng(0))


@pytest.mark.parametrize("layout", [Iid(), Orthogonal(), Haar()], ids=repr)
def test_dense_layouts_give_the_ops_their_matrix_in_panels(layout):
    kernel = Bessel() if isinstance(layout, Haar) else Gaussian()
    drawn = layout.draw(kernel, 5, 21, np.random.default_rng(1))
    X = np.random.default_rng(2).standard_normal((7, 5)).astype(np.float32)
    out = np.empty((7, 21), dtype=np.float32)
    _core.project(X, drawn.layout, drawn.scale, out)
    assert drawn.layout.shape == (2, 5, 16)
    assert not drawn.layout[1, :, 5:].any()
    np.testing.assert_allclose(out * 2 * np.pi, X @ drawn.weights(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", list(PROJECTIONS))
def test_config_round_trip(name):
    layout = PROJECTIONS.resolve(name)
    assert PROJECTIONS.from_config(layout.to_config()) == layout


@pytest.mark.parametrize("kernel", [Gaussian(0.5), Matern(2.0, nu=1.1), Bessel(0.3)], ids=repr)
def test_iid_columns_are_the_kernels_own_sample(kernel):
    drawn = Iid().draw(kernel, 6, 300, np.random.default_rng(3))
    rng = np.random.default_rng(3)
    expected = np.hstack([kernel.sample(rng, 6, 256) for _ in range(2)])[:, :300]
    np.testing.assert_allclose(drawn.weights(), expected, rtol=1e-6)
    assert drawn.blocks.lengths == "iid"


N_DRAWS = 3000


def directions(draws, d, n):
    """Return normalized frequencies, (draws, d, n), one seed."""
    rng = np.random.default_rng(11)
    W = np.stack([Haar().draw(Bessel(), d, n, rng).weights() for _ in range(draws)])
    return W.astype(np.float64)


def test_columns_are_orthonormal_within_a_block():
    W = directions(1, 6, 6)[0]
    np.testing.assert_allclose(W.T @ W, np.eye(6), atol=1e-6)


def test_columns_of_different_blocks_are_not_orthogonal():
    W = directions(1, 6, 15)[0]
    gram = np.abs(W.T @ W)
    assert gram[:6, :6].max() == pytest.approx(1, abs=1e-6)
    assert gram[12:, 12:][np.triu_indices(3, 1)].max() < 1e-6
    assert gram[:6, 6:].max() > 0.1


@pytest.mark.parametrize("d", [1, 2, 5])
def test_every_entry_has_mean_zero_and_variance_one_over_d(d):
    # Without the sign fix LAPACK's Q has diagonal entries of one sign.
    W = directions(N_DRAWS, d, d)
    standard_error = W.std(axis=0) / np.sqrt(N_DRAWS)
    assert np.all(np.abs(W.mean(axis=0)) < 5 * standard_error)
    square = W**2
    assert np.all(np.abs(square.mean(axis=0) - 1 / d) < 5 * square.std(axis=0) / np.sqrt(N_DRAWS) + 1e-6)


def test_trace_and_determinant_have_the_moments_of_the_haar_measure():
    # E tr O = 0, E (tr O)^2 = 1, and det O is +1 or -1 with equal probability.
    W = directions(N_DRAWS, 4, 4)
    trace = np.trace(W, axis1=1, axis2=2)
    assert abs(trace.mean()) < 5 / np.sqrt(N_DRAWS)
    assert abs((trace**2).mean() - 1) < 5 * (trace**2).std() / np.sqrt(N_DRAWS)
    assert abs(np.sign(np.linalg.det(W)).mean()) < 5 / np.sqrt(N_DRAWS)


def test_columns_are_uniform_on_the_sphere():
    # In three dimensions a coordinate of a uniform direction is uniform on [-1, 1] (Archimedes).
    W = directions(N_DRAWS, 3, 3)
    for i in range(3):
        for j in range(3):
            assert kstest(W[:, i, j], "uniform", args=(-1, 2)).pvalue > 1e-5


@pytest.mark.parametrize("scale", [0.25, 3.0])
def test_haar_lengths_are_all_one_over_the_scale(scale):
    W = Haar().draw(Bessel(scale), 4, 10, np.random.default_rng(0)).weights()
    np.testing.assert_allclose(np.linalg.norm(W, axis=0), 1 / scale, rtol=1e-6)
    assert Haar().draw(Bessel(scale), 4, 10, np.random.default_rng(0)).blocks.lengths == "fixed"


@pytest.mark.parametrize(("n", "sizes"), [(3, (3,)), (4, (4,)), (9, (4, 4, 1))])
def test_orthogonal_blocks_are_of_the_inputs_dimension(n, sizes):
    drawn = Orthogonal().draw(Gaussian(), 4, n, np.random.default_rng(0))
    assert (drawn.blocks.dimension, drawn.blocks.sizes, drawn.blocks.lengths) == (4, sizes, "free")
    W = drawn.weights().astype(np.float64)
    start = 0
    for size in sizes:
        block = W[:, start : start + size]
        gram = block.T @ block
        np.testing.assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-5)
        start += size


@pytest.mark.parametrize("bandwidth", [0.5, 2.0])
def test_orthogonal_lengths_are_chi_for_the_gaussian(bandwidth):
    W = Orthogonal().draw(Gaussian(bandwidth), 5, 4000, np.random.default_rng(1)).weights()
    lengths = np.linalg.norm(W.astype(np.float64), axis=0) * bandwidth
    assert kstest(lengths, chi(5).cdf).pvalue > 1e-5


def test_orthogonal_lengths_are_those_of_the_matern_sample():
    kernel = Matern(1.5, nu=0.8)
    W = Orthogonal().draw(kernel, 5, 4000, np.random.default_rng(1)).weights()
    sampled = kernel.sample(np.random.default_rng(2), 5, 4000)
    assert kstest(np.linalg.norm(W, axis=0), np.linalg.norm(sampled, axis=0)).pvalue > 1e-5


@pytest.mark.parametrize("name", list(PROJECTIONS))
def test_restore_compares_sizes_before_it_makes_anything_of_them(name):
    kernel = Bessel() if name == "haar" else Gaussian()
    layout = PROJECTIONS.resolve(name)
    arrays = layout.draw(kernel, 5, 12, np.random.default_rng(0)).arrays()
    # More blocks than any memory holds: an error at once, or nobody would live to see it.
    with pytest.raises(ParameterError, match="must be"):
        layout.restore(kernel, 5, 10**15, arrays)


@pytest.mark.parametrize(("layout", "kernel"), [(Iid(), Laplace()), (Orthogonal(), Gaussian()), (Haar(), Bessel())])
@pytest.mark.parametrize("n_rows", [0, 1, 7])
def test_pull_back_is_the_product_with_the_transposed_weights(layout, kernel, n_rows):
    drawn = layout.draw(kernel, 5, 33, np.random.default_rng(9))
    values = np.random.default_rng(10).standard_normal((n_rows, 33)).astype(np.float32)
    W = drawn.weights().astype(np.float64)
    # Sums of 33 products in float32, and two roundings of 2 pi W: at most 36 of 2^-24 of the sum of sizes.
    slack = 36 * 2**-24 * np.abs(values) @ np.abs(W).T
    back = drawn.pull_back(values)
    assert back.dtype == np.float32
    assert np.all(np.abs(back - values @ W.T) <= slack)


def test_pull_back_refuses_values_of_another_width():
    drawn = Iid().draw(Gaussian(), 5, 33, np.random.default_rng(0))
    with pytest.raises(ParameterError, match=r"values must be float32 of shape \(n, 33\)"):
        drawn.pull_back(np.zeros((2, 32), np.float32))


@pytest.mark.parametrize(("layout", "kernel"), PAIRS, ids=repr)
@pytest.mark.parametrize(("n_features", "few", "many"), [(1, 1, 300), (3, 4, 100), (70, 71, 520), (150, 10, 151)])
def test_a_frequency_does_not_depend_on_how_many_follow_it(layout, kernel, n_features, few, many):
    short, long = (layout.draw(kernel, n_features, n, np.random.default_rng(3)).weights() for n in (few, many))
    np.testing.assert_array_equal(short, long[:, :few])


def test_haar_columns_of_many_panels_are_orthogonal():
    W = Haar().draw(Bessel(), 200, 200, np.random.default_rng(0)).weights().astype(np.float64)
    # Each entry is rounded to float32, at most 2^-24 of a column of length 1.
    assert np.abs(W.T @ W - np.eye(200)).max() < 4 * 2**-24


def test_haar_directions_of_a_late_panel_are_uniform():
    # A coordinate of a uniform direction in 70 dimensions: its square is beta(1/2, 69/2).
    rng = np.random.default_rng(1)
    found = [Haar().draw(Bessel(), 70, 70, rng).weights()[5, 69].astype(float) for _ in range(400)]
    assert kstest(np.square(found), beta(0.5, 34.5).cdf).pvalue > 1e-5


@pytest.mark.parametrize("layout", [Iid(), Orthogonal()], ids=repr)
def test_kept_frequencies_are_those_columns(layout):
    every = layout.draw(Gaussian(), 10, 50, np.random.default_rng(0))
    places = np.array([0, 4, 9, 10, 33])
    some = every.keep(places)
    np.testing.assert_array_equal(some.weights(), every.weights()[:, places])
    assert some.blocks.sizes == ((1,) * 5 if isinstance(layout, Iid) else (3, 1, 1))
    np.testing.assert_array_equal(some.keep(np.array([1, 3])).places, [4, 10])
    again = layout.restore(Gaussian(), 10, 5, some.arrays())
    np.testing.assert_array_equal(again.weights(), some.weights())
    np.testing.assert_array_equal(again.places, places)
    assert again.blocks == some.blocks


@pytest.mark.parametrize("layout", [Iid(), Orthogonal()], ids=repr)
@pytest.mark.parametrize("shape", [(10,), (10, 4), (10, 12)], ids=str)
def test_a_metric_is_in_the_matrix_and_comes_back_with_it(layout, shape):
    metric = np.random.default_rng(2).uniform(0, 2, shape).astype(np.float32)
    drawn = layout.draw(Gaussian(), shape[-1], 30, np.random.default_rng(0))
    scaled = drawn.scaled_by(metric)
    A = np.diag(metric) if len(shape) == 1 else metric
    # One rounding of the product in float64, and that of 2 pi.
    np.testing.assert_allclose(scaled.weights(), A @ drawn.weights().astype(float), rtol=3 * 2**-24, atol=1e-6)
    assert scaled.blocks == drawn.blocks
    again = layout.restore(Gaussian(), 10, 30, scaled.arrays(), metric)
    np.testing.assert_array_equal(again.weights(), scaled.weights())
    assert again.blocks == scaled.blocks


def test_a_matrix_of_another_shape_than_the_metric_is_refused():
    metric = np.ones((10, 4), np.float32)
    arrays = Iid().draw(Gaussian(), 4, 30, np.random.default_rng(0)).scaled_by(metric).arrays()
    with pytest.raises(ParameterError, match=r"matrix must be finite float32 of shape \(9, 30\)"):
        Iid().restore(Gaussian(), 9, 30, arrays, metric[:9])
