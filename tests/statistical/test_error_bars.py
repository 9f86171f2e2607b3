"""Error bars cover: over independent encoders the kernel lies within two of them as often as it should."""

import numpy as np
import pytest

from lowtide import RandomFeatures
from lowtide.kernels import Gaussian, Laplace

N_DRAWS = 200
RNG = np.random.default_rng(4)
X = RNG.standard_normal((1, 30))
Y = X + 0.35 * RNG.standard_normal((3, 30)) * np.array([[0.5], [1.0], [2.0]])
# P(|z| < 2) of a normal variable.
NORMAL = 0.9545

CASES = [
    (Gaussian(3.0), "hadamard", {}),
    (Gaussian(3.0), "hadamard", {"feature_map": "cosine", "bits": 2}),
    (Gaussian(3.0), "orthogonal", {"quantizer": "phase", "bits": 3}),
    (Laplace(12.0), "iid", {}),
]


@pytest.mark.parametrize(("kernel", "projection", "parameters"), CASES, ids=repr)
def test_two_standard_errors_cover_the_kernel_nineteen_times_in_twenty(kernel, projection, parameters):
    exact = kernel.gram(X, Y)[0]
    scores = []
    for seed in range(N_DRAWS):
        encoder = RandomFeatures(kernel, projection=projection, n_components=480, random_state=seed, **parameters)
        encoder.fit(X)
        # From raw rows at the exact distance, from codes at the estimated one.
        for left in (X, encoder.encode(X)):
            K, std = encoder.kernel_estimate(left, Y, sides=("codes", "full"), return_std=True)
            scores.append((K[0] - exact) / std[0])
    scores = np.reshape(scores, (N_DRAWS, -1))
    covered = (np.abs(scores) < 2).mean(axis=0)
    slack = 4 * np.sqrt(NORMAL * (1 - NORMAL) / N_DRAWS)
    assert np.all(np.abs(covered - NORMAL) < slack), covered
    assert np.all(np.abs(np.mean(scores, axis=0)) < 4 / np.sqrt(N_DRAWS))
    # The standard deviation of a normal score has the standard error 1/sqrt(2 n).
    assert np.all(np.abs(np.std(scores, axis=0) - 1) < 4 / np.sqrt(2 * N_DRAWS))
