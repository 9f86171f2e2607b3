"""ActivationFeatures: values of an activation of projections, levels of the projections, and their kernels."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

import lowtide as lt
from lowtide import ActivationFeatures
from lowtide.encoders.drawn.activation import cell_means
from lowtide.errors import FingerprintMismatchError, ParameterError
from lowtide.kernels import ArcCosine
from lowtide.quantizers import normal_steps
from lowtide.theory import TARGETS, LeakyReLU, Quadratic, resolve_target

X = np.random.default_rng(0).standard_normal((60, 16)) / 3
X.flags.writeable = False
NAMES = [name for name in TARGETS if name != "rbf"]
OBJECTS = [*NAMES, LeakyReLU(1.5, 0.3), Quadratic(0.7, -0.4, 0.2)]


def fitted(activation="relu", rows=X, **parameters):
    return ActivationFeatures(activation, **{"n_components": 64, "random_state": 0, **parameters}).fit(rows)


@pytest.mark.parametrize("activation", [*OBJECTS, np.tanh], ids=repr)
def test_transform_is_the_activation_of_projections(activation):
    encoder = fitted(activation)
    t = X @ encoder.random_weights_.astype(np.float64)
    Z = encoder.transform(X)
    assert Z.dtype == np.float32
    away = np.abs(t) > 1e-6  # signs and steps jump at 0
    np.testing.assert_allclose(Z[away], (encoder.activation_(t) / 8)[away], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("projection", ["hadamard", "iid", "orthogonal"])
@pytest.mark.parametrize("bits", [1, 3, 4])
def test_codes_are_levels_of_projections_and_decode_to_means_within_them(projection, bits):
    encoder = fitted("relu", projection=projection, bits=bits)
    t = X @ encoder.random_weights_.astype(np.float64) / np.sqrt(encoder.tau_)
    levels = normal_steps(bits).levels(t.astype(np.float32))
    codes = encoder.encode(X)
    near = np.min(np.abs(t[..., None] - encoder.steps_.borders), axis=-1) < 1e-5
    np.testing.assert_array_equal(codes.levels()[~near], levels[~near])
    z = np.random.default_rng(1).standard_normal(400_000)
    which, values = encoder.steps_.levels(z.astype(np.float32)), np.maximum(np.sqrt(encoder.tau_) * z, 0)
    for level, value in enumerate(codes.codebook * 8):
        drawn = values[which == level]
        assert abs(value - drawn.mean()) < 5 * drawn.std() / np.sqrt(len(drawn)) + 1e-6


def test_levels_do_not_depend_on_the_activation():
    relu, bump = fitted("relu").encode(X), fitted("bump").encode(X)
    np.testing.assert_array_equal(relu.packed, bump.packed)
    assert relu.fingerprint == bump.fingerprint
    assert not np.array_equal(relu.codebook, bump.codebook)


@pytest.mark.parametrize("activation", OBJECTS, ids=repr)
def test_kernel_estimates_are_within_their_errors(activation):
    rows = X / 3 if activation == "exp" else X  # of longer rows few draws show the tail
    encoder = fitted(activation, rows, n_components=6000, projection="iid")
    K, std = encoder.kernel_estimate(rows[:20], rows[20:], return_std=True)
    gap = (K - encoder.expected_kernel(rows[:20], rows[20:])) / std
    # 800 entries that share 6000 draws.
    assert np.abs(gap).max() < 5
    assert np.sqrt(np.mean(gap**2)) < 1.4


@pytest.mark.parametrize(("activation", "order"), [("step", 0), ("relu", 1)])
def test_expected_kernel_is_half_the_arc_cosine_kernel(activation, order):
    np.testing.assert_allclose(fitted(activation).expected_kernel(X), ArcCosine(order).gram(X) / 2, atol=1e-12)


def test_errors_of_codes_are_near_those_of_their_rows():
    encoder = fitted(n_components=2000, projection="iid")
    C = encoder.encode(X)
    _, full = encoder.kernel_estimate(X, X[:9], return_std=True)
    for left, right in ((C, X[:9]), (C, C[:9])):
        K, std = encoder.kernel_estimate(left, right, sides=("codes", "full"), return_std=True)
        assert np.all(std > 0)
        assert 0.8 < np.median(std / full) < 1.25
        # What 4 bits take away of rows of other lengths than the typical one, and twice the draws' own error.
        assert np.abs(K - encoder.kernel_estimate(X, X[:9])).max() < 0.1 * encoder.tau_


def test_means_of_coded_sides_are_refused_with_the_reason():
    encoder = fitted()
    with pytest.raises(ParameterError, match=r"sides=\('full', 'full'\).*no closed form"):
        encoder.expected_kernel(X, sides=("codes", "full"))
    with pytest.raises(ParameterError, match="known in closed form"):
        fitted(np.tanh).expected_kernel(X)
    assert encoder.kernel_estimate(X, sides=("codes", "codes"), normalize=True).shape == (60, 60)


def test_tau_is_the_mean_squared_length_and_weights_count_as_repeated_rows():
    assert fitted().tau_ == pytest.approx(np.square(X).sum(axis=1).mean(), rel=1e-9)
    weight = np.arange(60) % 3
    weighted = ActivationFeatures(n_components=32, random_state=0).fit(X, sample_weight=weight)
    repeated = ActivationFeatures(n_components=32, random_state=0).fit(np.repeat(X, weight, axis=0))
    assert weighted.encode(X).packed.tobytes() == repeated.encode(X).packed.tobytes()
    assert fitted(rows=np.zeros((3, 16))).tau_ == 1.0


def test_codes_do_not_depend_on_the_batch():
    encoder = fitted(n_components=100, bits=3)
    assert lt.concatenate([encoder.encode(X[i : i + 7]) for i in range(0, 60, 7)]) == encoder.encode(X)


def test_classifier_learns_what_a_line_cannot():
    rng = np.random.default_rng(5)
    rows = rng.standard_normal((400, 6))
    y = np.linalg.norm(rows, axis=1) > np.sqrt(5.3)
    for activation in ("relu", "abs", "quadratic"):  # 0.5 is chance, with a standard error of 0.05
        features = ActivationFeatures(activation, n_components=400, bits=8, random_state=0)
        model = lt.KernelClassifier(features, loss="squared", C=10.0)
        assert model.fit(rows[:300], y[:300]).score(rows[300:], y[300:]) > 0.75


@pytest.mark.parametrize("activation", ["relu", LeakyReLU(1.0, 0.2)], ids=repr)
@pytest.mark.parametrize(("projection", "bits"), [("hadamard", 3), ("iid", None)])
def test_saved_features_come_back(tmp_path, activation, projection, bits):
    saved = fitted(activation, projection=projection, bits=bits)
    lt.save(saved, tmp_path / "x.lowtide")
    loaded = lt.load(tmp_path / "x.lowtide")
    assert loaded.get_params(deep=False) == saved.get_params(deep=False)
    assert (loaded.fingerprint_, loaded.side_, loaded.tau_) == (saved.fingerprint_, saved.side_, saved.tau_)
    np.testing.assert_array_equal(loaded.transform(X), saved.transform(X))
    if bits is not None:
        assert loaded.encode(X) == saved.encode(X)


def test_functions_are_not_saved(tmp_path):
    with pytest.raises(ParameterError, match="to be saved"):
        lt.save(fitted(np.tanh), tmp_path / "x.lowtide")


def test_clone_and_pickle():
    encoder = fitted()
    assert clone(encoder).fit(X).fingerprint_ == encoder.fingerprint_
    assert pickle.loads(pickle.dumps(encoder)).encode(X) == encoder.encode(X)


def test_codes_of_another_unit_are_refused():
    with pytest.raises(FingerprintMismatchError, match="side"):
        fitted().kernel_estimate(X, fitted(rows=2 * X).encode(X))


@pytest.mark.parametrize(
    ("activation", "parameters", "message"),
    [
        ("rbf", {}, r"Use RandomFeatures\('rbf'\)"),
        ((0.3, 0.1), {}, "Moments alone are for TernaryFeatures"),
        ("rely", {}, "must be one of 'rbf', 'relu'"),
        ("relu", {"bits": 9}, r"bits must be an integer from 1 to 8, got 9.*bits=None"),
        ("relu", {"n_components": 0}, "n_components"),
        ("exp", {"rows": 30 * X}, "Scale the columns down"),
    ],
)
def test_bad_parameters_are_refused_with_a_remedy(activation, parameters, message):
    with pytest.raises(ParameterError, match=message):
        fitted(activation, **parameters)


def test_no_coded_side_without_bits():
    with pytest.raises(ParameterError, match="coded side"):
        fitted(bits=None).encode(X)


def test_devices_say_what_they_can_run():
    with pytest.raises(ParameterError, match="Use RandomFeatures, Sketch, TernaryFeatures, or LearnedFeatures"):
        lt.export_c(fitted())


def test_values_beyond_float32_are_refused():
    encoder = fitted("exp")
    with pytest.raises(ParameterError, match="within float32"):
        encoder.transform(100 * X)


def test_means_within_cells_are_those_of_the_law():
    book = cell_means(resolve_target("linear"), normal_steps(4), 4.0)
    np.testing.assert_allclose(book, 2 * normal_steps(4).values, rtol=1e-6)
