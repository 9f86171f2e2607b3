import numpy as np

from lowtide.cli.showcase.kernel_error import PairErrors
from lowtide.encoders import RandomFeatures
from lowtide.kernels import Gaussian

N_ROWS = 120
N_PAIRS = N_ROWS * (N_ROWS - 1) // 2


class NormalErrors:
    """Stands in for an encoder: each estimate is the exact value and an independent normal error of known size."""

    bits = None
    kernel_ = Gaussian(bandwidth=2.0)

    def __init__(self, seed):
        self._rng = np.random.default_rng(seed)

    def kernel_estimate(self, X, Y, return_std):
        exact = self.kernel_.gram(X, Y)
        std = 0.01 + 0.02 * self._rng.random(exact.shape)
        return exact + std * self._rng.standard_normal(exact.shape), std


def collect(n_draws):
    rows, errors = np.random.default_rng(0).standard_normal((N_ROWS, 3)), PairErrors()
    for seed in range(n_draws):
        errors.add(NormalErrors(seed), rows)
    return errors


def test_summary_agrees_with_errors_of_known_size():
    summary = collect(n_draws=2).summary()
    ratio = (summary.measured / summary.predicted) ** 2
    # A mean of N squared normals, weighted by std^2: relative variance 2 E std^4 / (N (E std^2)^2).
    std = 0.01 + 0.02 * np.linspace(0, 1, 10001)
    spread = np.sqrt(2 * np.mean(std**4) / (2 * N_PAIRS)) / np.mean(std**2)
    assert abs(ratio - 1) < 4 * spread
    expected = 0.9545
    assert abs(summary.coverage - expected) < 4 * np.sqrt(expected * (1 - expected) / (2 * N_PAIRS))


def test_calibration_density_counts_every_pair():
    calibration = collect(n_draws=2).calibration(seed=0)
    inside = np.sum(calibration.density * np.diff(calibration.edges))
    outside = 6.3e-5  # probability beyond 4 standard errors
    assert 1 - inside < outside + 4 * np.sqrt(outside / (2 * N_PAIRS))


def test_calibration_shows_pairs_over_the_whole_range_of_the_kernel():
    calibration = collect(n_draws=1).calibration(seed=0)
    exact = Gaussian(bandwidth=2.0).gram(np.random.default_rng(0).standard_normal((N_ROWS, 3)))
    values = exact[np.triu_indices(N_ROWS, 1)]
    bin_width = np.ptp(values) / 24
    assert calibration.exact.min() <= values.min() + bin_width
    assert calibration.exact.max() >= values.max() - bin_width
    assert len(calibration.exact) == len(calibration.estimate) == len(calibration.std)


def test_codes_are_judged_without_the_exact_distances():
    rows = np.random.default_rng(0).standard_normal((10, 5))
    encoder = RandomFeatures(gamma=0.2, n_components=64, random_state=0).fit(rows)
    errors = PairErrors()
    errors.add(encoder, rows)
    _, from_codes = encoder.kernel_estimate(encoder.encode(rows), rows, return_std=True)
    pairs = np.triu_indices(10, 1)
    assert errors.summary().predicted == np.sqrt(np.mean(from_codes[pairs].astype(np.float64) ** 2))
