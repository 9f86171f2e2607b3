"""The sparse ternary projection is what its seed says, on any machine."""

import numpy as np
import pytest
from reference import ternary

from lowtide.errors import ParameterError
from lowtide.projections import SparseTernary


@pytest.mark.parametrize("sparsity", [0.0, 0.3, 0.9, 0.999])
@pytest.mark.parametrize(("n_features", "n_outputs"), [(1, 1), (5, 3), (40, 33), (2500, 2)])
def test_entries_come_from_halves_of_raw_words(n_features, n_outputs, sparsity):
    drawn = SparseTernary(sparsity).draw(n_features, n_outputs, seed=7)
    np.testing.assert_array_equal(drawn.signs().toarray(), ternary.signs(n_features, n_outputs, sparsity, 7))


def test_entries_of_a_seed_are_these_for_good():
    drawn = SparseTernary(0.5).draw(8, 2, seed=123)
    np.testing.assert_array_equal(drawn.signs().toarray(), [[1, 0, 0, 1, 0, 1, -1, 1], [-1, 1, -1, 0, -1, 0, -1, -1]])


def test_lists_are_by_chunk_then_output_then_sign():
    drawn = SparseTernary(0.7).draw(2500, 9, seed=1)
    assert drawn.chunk == 834  # three chunks of nearly equal width
    lists, starts = ternary.lists(drawn.signs().toarray(), drawn.chunk)
    np.testing.assert_array_equal(drawn.lists, lists)
    np.testing.assert_array_equal(drawn.starts, starts)
    assert drawn.n_terms == len(lists)
    T = drawn.signs().toarray()
    assert drawn.most_terms == max((T == 1).sum(axis=1).max(), (T == -1).sum(axis=1).max())


def test_blocks_of_outputs_do_not_change_what_is_drawn(monkeypatch):
    whole = SparseTernary(0.8).draw(1100, 20, seed=3)
    monkeypatch.setattr("lowtide.projections.sparse_ternary._BLOCK_ENTRIES", 4000)
    parts = SparseTernary(0.8).draw(1100, 20, seed=3)
    np.testing.assert_array_equal(whole.lists, parts.lists)
    np.testing.assert_array_equal(whole.starts, parts.starts)


@pytest.mark.parametrize("sparsity", [0.0, 0.5, 0.9])
def test_weights_have_mean_0_and_variance_1(sparsity):
    W = SparseTernary(sparsity).draw(300, 400, seed=0).weights()
    assert W.shape == (300, 400)
    assert W.dtype == np.float32
    values = np.unique(W)
    size = (1 - sparsity) ** -0.5
    np.testing.assert_allclose(values, [-size, size] if sparsity == 0 else [-size, 0, size], rtol=1e-6)
    n = W.size
    assert abs(W.mean(dtype=np.float64)) < 4 / np.sqrt(n)
    # The variance of w^2 is 1/(1 - eps) - 1.
    error = np.sqrt((1 / (1 - sparsity) - 1) / n)
    assert abs((W.astype(np.float64) ** 2).mean() - 1) < 4 * error + 1e-6


@pytest.mark.parametrize("sparsity", [-0.1, 1.0, 0.9999, "auto", None, np.nan])
def test_sparsity_outside_its_limits_is_refused(sparsity):
    with pytest.raises(ParameterError, match=r"from 0\.0 to 0\.999"):
        SparseTernary(sparsity)


@pytest.mark.parametrize(
    ("arguments", "name"), [((0, 1, 1), "n_features"), ((1, 0, 1), "n_outputs"), ((1, 1, -1), "seed")]
)
def test_draw_refuses_sizes_below_one_and_negative_seeds(arguments, name):
    n_features, n_outputs, seed = arguments
    with pytest.raises(ParameterError, match=name):
        SparseTernary().draw(n_features, n_outputs, seed=seed)
