"""What every layout promises: shapes, blocks, seeds, and which kernels it carries."""

import numpy as np
import pytest

from lowtide import _core
from lowtide.errors import LowtideError, UnsuitableLayoutError
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
    drawn = Iid().draw(kernel, 6, 30, np.random.default_rng(3))
    expected = kernel.sample(np.random.default_rng(3), 6, 30)
    np.testing.assert_allclose(drawn.weights(), expected, rtol=1e-6)
    assert drawn.blocks.lengths == "iid"
