from types import SimpleNamespace

import numpy as np

from lowtide.encoders import RandomFeatures
from lowtide.kernels import Gaussian
from lowtide.reports import agree, estimate_pairs, kernel_error

N_ROWS = 120
N_PAIRS = N_ROWS * (N_ROWS - 1) // 2


class NormalErrors:
    """Stands in for an encoder: each estimate is the exact value and an independent normal error of known size."""

    kernel = Gaussian(bandwidth=2.0)
    drawn_ = SimpleNamespace(has_codes=False)

    def __init__(self, seed):
        self._rng = np.random.default_rng(seed)

    def expected_kernel(self, X, Y, sides):
        return self.kernel.gram(X, Y)

    def kernel_estimate(self, X, Y, return_std):
        exact = self.kernel.gram(X, Y)
        std = 0.01 + 0.02 * self._rng.random(exact.shape)
        return exact + std * self._rng.standard_normal(exact.shape), std


def collect(n_draws):
    rows = np.random.default_rng(0).standard_normal((N_ROWS, 3))
    return [estimate_pairs(NormalErrors(seed), rows) for seed in range(n_draws)]


def test_summary_agrees_with_errors_of_known_size():
    summary = kernel_error(collect(n_draws=2))
    ratio = (summary["measured"] / summary["predicted"]) ** 2
    # A mean of N squared normals, weighted by std^2: relative variance 2 E std^4 / (N (E std^2)^2).
    std = 0.01 + 0.02 * np.linspace(0, 1, 10001)
    spread = np.sqrt(2 * np.mean(std**4) / (2 * N_PAIRS)) / np.mean(std**2)
    assert abs(ratio - 1) < 4 * spread
    expected = 0.9545
    assert abs(summary["coverage"] - expected) < 4 * np.sqrt(expected * (1 - expected) / (2 * N_PAIRS))


def test_density_counts_every_pair():
    found = agree(collect(n_draws=2), seed=0)
    inside = np.sum(found.density * np.diff(found.edges))
    outside = 6.3e-5  # probability beyond 4 standard errors
    assert 1 - inside < outside + 4 * np.sqrt(outside / (2 * N_PAIRS))


def test_shown_pairs_lie_over_the_whole_range_of_the_kernel():
    found = agree(collect(n_draws=1), seed=0)
    exact = Gaussian(bandwidth=2.0).gram(np.random.default_rng(0).standard_normal((N_ROWS, 3)))
    values = exact[np.triu_indices(N_ROWS, 1)]
    bin_width = np.ptp(values) / 24
    assert found.exact.min() <= values.min() + bin_width
    assert found.exact.max() >= values.max() - bin_width
    assert len(found.exact) == len(found.estimate) == len(found.std)


def test_codes_are_judged_without_the_exact_distances():
    rows = np.random.default_rng(0).standard_normal((10, 5))
    encoder = RandomFeatures(gamma=0.2, n_components=64, random_state=0).fit(rows)
    found = kernel_error([estimate_pairs(encoder, rows)])
    _, from_codes = encoder.kernel_estimate(encoder.encode(rows), rows, return_std=True)
    pairs = np.triu_indices(10, 1)
    assert found["predicted"] == np.sqrt(np.mean(from_codes[pairs].astype(np.float64) ** 2))


def test_exact_values_are_those_of_the_kernel_on_rows_times_the_metric():
    rows = np.random.default_rng(0).standard_normal((6, 3))
    metric = np.array([1.0, 0.5, 0.0], dtype=np.float32)
    encoder = RandomFeatures(gamma=0.2, n_components=64, metric=metric, random_state=0).fit(rows)
    exact, _, _ = estimate_pairs(encoder, rows)
    gram = encoder.kernel_.gram(rows * metric)
    assert np.allclose(exact, gram[np.triu_indices(6, 1)], atol=1e-6)


def test_pairs_of_equal_rows_have_no_error_and_count_as_such():
    pairs = np.array([[1.0, 0.5, 0.2], [1.0, 0.6, 0.2], [0.0, 0.1, 0.1]])
    assert np.isfinite(agree([pairs], seed=0).density).all()
