"""The learned metric: gradients of the fitted machine, what is made of them, and the frequencies worth keeping."""

import numpy as np
import pytest

from lowtide.encoders import RandomFeatures
from lowtide.kernels import Laplace, Matern
from lowtide.learners.metric import average_outer_product, best_frequencies, learn_metrics

RNG = np.random.default_rng


def learn_metric(*rows, kind="diagonal", **settings):
    """One metric."""
    return learn_metrics(*rows, kinds=[kind], **settings)[kind]


def fitted(d=6, n=40, k=3, n_components=50, kernel="rbf", projection="hadamard"):
    """An encoder, rows, and weights of some machine on its features."""
    rng = RNG(3)
    X, coef = rng.standard_normal((n, d)).astype(np.float32), rng.standard_normal((n_components, k))
    features = RandomFeatures(
        kernel, gamma=0.3, n_components=n_components, projection=projection, bits=None, random_state=1
    )
    return features.fit(X), X, coef


def slow_gradients(features, X, coef):
    """Gradients (n, k, d) of f_c(x) = sum_j w_jc phi_j(x), in float64, a cosine at a time."""
    W, xi = features.random_weights_.astype(np.float64), features.random_offset_.astype(np.float64)
    amplitude = np.sqrt(2 / len(coef))
    found = np.zeros((len(X), coef.shape[1], X.shape[1]))
    for i, x in enumerate(X.astype(np.float64)):
        for c in range(coef.shape[1]):
            for j, omega in enumerate(W.T):
                phase = omega @ x + xi[j]
                slope = -coef[2 * j, c] * np.sin(phase) + coef[2 * j + 1, c] * np.cos(phase)
                found[i, c] += amplitude * slope * omega
    return found


def smooth_task(n=300, d=5, seed=0):
    """Targets that depend on the first column much, on the second a little, on the others not at all."""
    X = RNG(seed).standard_normal((n, d))
    return X, np.sin(2.0 * X[:, :1]) + 0.2 * X[:, 1:2]


@pytest.mark.parametrize(
    ("kernel", "projection"), [("rbf", "hadamard"), (Matern(2.0), "orthogonal"), (Laplace(1.0), "iid")], ids=repr
)
def test_outer_product_is_that_of_a_slow_loop(kernel, projection):
    features, X, coef = fitted(kernel=kernel, projection=projection)
    weight = RNG(4).uniform(0.5, 2.0, len(X))
    slopes = slow_gradients(features, X, coef)
    expected = np.einsum("i,icj,icl->jl", weight, slopes, slopes) / weight.sum()
    Z, projection = features.transform(X), features.drawn_.projection
    found = average_outer_product(projection, Z, coef, weight, diagonal=False)
    # Features and gradients are float32: a phase of some turns is off by about 1e-6, and so is all that follows.
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * expected.max())
    own = average_outer_product(projection, Z, coef, weight, diagonal=True)
    np.testing.assert_allclose(own, np.diagonal(found), rtol=1e-12)


def test_slow_gradients_are_differences_of_scores():
    features, X, coef = fitted(n=5)
    W, xi = features.random_weights_.astype(np.float64), features.random_offset_.astype(np.float64)

    def scores(rows):
        phases = rows @ W + xi
        pairs = np.stack([np.cos(phases), np.sin(phases)], axis=2).reshape(len(rows), -1)
        return np.sqrt(2 / len(coef)) * pairs @ coef

    # What is differentiated is what the encoder gives.
    np.testing.assert_allclose(scores(X), features.transform(X) @ coef, atol=1e-4)
    step, slopes = 1e-5, slow_gradients(features, X, coef)
    for j in range(X.shape[1]):
        up, down = (X + sign * step * np.eye(X.shape[1])[j] for sign in (1, -1))
        # A central difference is off by step^2/6 of the third derivative, and by 1e-16/step of the scores.
        np.testing.assert_allclose((scores(up) - scores(down)) / (2 * step), slopes[:, :, j], atol=1e-7)


def test_signs_stand_for_many_targets_within_their_own_error():
    # Of 60 targets with independent weights the products of different ones have mean 0: the estimate from 32 sums has
    # a relative standard error of (2 / 32)^(1/2) times the share of what is off the diagonal, here below 1.
    features, X, coef = fitted(k=60, n_components=400)
    Z, projection, ones = features.transform(X), features.drawn_.projection, np.ones(len(X))
    exact = sum(average_outer_product(projection, Z, each[:, None], ones, diagonal=True) for each in coef.T)
    found = average_outer_product(projection, Z, coef, ones, diagonal=True)
    assert np.all(np.abs(found / exact - 1) < 4 * np.sqrt(2 / 32))
    assert not np.array_equal(found, exact)


def test_scales_follow_what_the_targets_depend_on():
    scales = learn_metric(*smooth_task(), gamma=0.1, alpha=0.1)
    assert scales.shape == (5,)
    assert scales[0] > 1.5 * scales[1] > 1.5 * scales[2:].max()


def test_matrix_finds_an_oblique_direction():
    X = RNG(1).standard_normal((300, 4))
    direction = np.array([1.0, -1.0, 0.0, 0.0]) / np.sqrt(2)
    matrix = learn_metric(X, np.sin(2.0 * X @ direction[:, None]), kind="full", gamma=0.15, alpha=0.1)
    assert matrix.shape == (4, 4)
    values, vectors = np.linalg.eigh(matrix @ matrix.T)
    assert abs(vectors[:, -1] @ direction) > 0.99
    assert values[-1] > 10 * values[-2]


@pytest.mark.parametrize("kind", ["diagonal", "full"])
def test_total_variance_is_kept(kind):
    X, T = smooth_task()
    metric = learn_metric(X, T, kind=kind, gamma=0.1, alpha=0.1)
    scaled = X * metric if kind == "diagonal" else X @ metric
    # Rounded to 14 bits.
    assert scaled.var(axis=0).sum() == pytest.approx(X.var(axis=0).sum(), rel=1e-3)


@pytest.mark.parametrize("kind", ["diagonal", "full"])
def test_a_common_unit_does_not_matter(kind):
    # A power of two changes no digit of the rows, and gamma goes with its square.
    X, T = smooth_task()
    first = learn_metric(X, T, kind=kind, gamma=0.1, alpha=0.1)
    np.testing.assert_array_equal(first, learn_metric(8.0 * X, T, kind=kind, gamma=0.1 / 64, alpha=0.1))


@pytest.mark.parametrize("kind", ["diagonal", "full"])
def test_targets_may_be_moved_and_stretched(kind):
    X, T = smooth_task()
    first = learn_metric(X, T, kind=kind, gamma=0.1, alpha=0.1)
    # Up to a flip of the last of 14 bits.
    np.testing.assert_allclose(first, learn_metric(X, 3.0 * T + 7.0, kind=kind, gamma=0.1, alpha=0.1), atol=3e-4)


@pytest.mark.parametrize("kind", ["diagonal", "full"])
def test_order_of_rows_does_not_matter(kind):
    X, T = smooth_task(n=700)
    order = RNG(5).permutation(len(X))
    first = learn_metric(X, T, kind=kind, gamma=0.1, alpha=0.01)
    np.testing.assert_array_equal(first, learn_metric(X[order], T[order], kind=kind, gamma=0.1, alpha=0.01))


@pytest.mark.parametrize("kind", ["diagonal", "full"])
def test_weighted_rows_are_repeated_rows(kind):
    X, T = smooth_task()
    weight = RNG(6).integers(0, 4, len(X))
    weighted = learn_metric(X, T, weight, kind=kind, gamma=0.1, alpha=0.1)
    repeated = learn_metric(np.repeat(X, weight, axis=0), np.repeat(T, weight, axis=0), kind=kind, gamma=0.1, alpha=0.1)
    np.testing.assert_array_equal(weighted, repeated)
    assert not np.array_equal(weighted, learn_metric(X, T, kind=kind, gamma=0.1, alpha=0.1))


def test_a_constant_column_gets_the_floor():
    X, T = smooth_task()
    X[:, 3] = 5.0
    for power in (1.0, 0.5):
        scales = learn_metric(X, T, gamma=0.1, alpha=0.1, rounds=1, power=power)
        # (0 + 10^-4)^power against (1 + 10^-4)^power, each rounded to 14 bits.
        assert scales[3] / scales[0] == pytest.approx(1e-4**power, rel=1e-3)
    matrix = learn_metric(X, T, kind="full", gamma=0.1, alpha=0.1)
    assert matrix.shape == (5, 4)
    assert not matrix[3].any()


@pytest.mark.parametrize(
    ("X", "T"),
    [
        (RNG(0).standard_normal((1, 3)), np.ones((1, 1))),
        (RNG(0).standard_normal((9, 3)), np.ones((9, 1))),
        (RNG(0).standard_normal((9, 3)), np.zeros((9, 0))),
        (RNG(0).standard_normal((9, 3)), np.tile([0.1, 0.7], (9, 1))),
        (np.full((9, 3), 0.1), np.arange(9.0)[:, None]),
    ],
    ids=["one_row", "one_value", "no_target", "one_class", "equal_rows"],
)
def test_metric_is_ones_where_there_is_nothing_to_learn(X, T):
    np.testing.assert_array_equal(learn_metric(X, T), np.ones(3))
    np.testing.assert_array_equal(learn_metric(X, T, kind="full"), np.eye(3))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "round"}, "kind must be one of"),
        ({"alpha": 0.0}, "alpha must be"),
        ({"power": 0.0}, "power must be"),
        ({"n_components": 7}, "n_components must be even"),
        ({"weight": np.ones(8)}, "must have n in common"),
        ({"weight": -np.ones(9)}, "must not be negative"),
        ({"weight": np.zeros(9)}, "some row must have one"),
        ({"targets": np.zeros(9)}, "must have n in common"),
    ],
    ids=["kind", "alpha", "power", "odd", "length", "negative", "zero", "axes"],
)
def test_bad_arguments_are_refused(change, message):
    given = {"rows": RNG(0).standard_normal((9, 3)), "targets": np.arange(9.0)[:, None]}
    with pytest.raises(ValueError, match=message):
        learn_metric(**{**given, **change})


def test_best_frequencies_are_the_heaviest_over_columns_and_pairs():
    coef = RNG(7).standard_normal((40, 3))
    found = best_frequencies(coef, 6)
    strength = [sum(coef[2 * j, c] ** 2 + coef[2 * j + 1, c] ** 2 for c in range(3)) for j in range(20)]
    assert list(found) == sorted(sorted(range(20), key=lambda j: -strength[j])[:6])


def test_best_frequencies_take_the_first_of_equal_ones_and_a_missing_sine_as_zero():
    assert list(best_frequencies(np.ones((7, 1)), 2)) == [0, 1]
    assert list(best_frequencies(np.ones((7, 1)), 4)) == [0, 1, 2, 3]
    assert list(best_frequencies(np.arange(5.0)[:, None], 2, width=1)) == [3, 4]


@pytest.mark.parametrize("n_kept", [0, 5, 2.0])
def test_best_frequencies_refuse_more_than_there_are(n_kept):
    with pytest.raises(ValueError, match="n_kept must be an integer from 1 to 4"):
        best_frequencies(np.ones((8, 1)), n_kept)
