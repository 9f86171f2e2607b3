"""The two sides of RandomFeatures: what a component is, what a code decodes to."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.kernel_approximation import RBFSampler
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from lowtide import Codes, PeriodicMap, RandomFeatures
from lowtide.errors import ParameterError, UnsuitableLayoutError
from lowtide.kernels import Bessel, Gaussian, Laplace, Matern, Stable
from lowtide.maps import CosSin
from lowtide.projections import Iid
from lowtide.quantizers import LloydMax, Phase, Stochastic, Uniform

X = np.random.default_rng(0).standard_normal((30, 6))
X.flags.writeable = False


def fitted(*args, **parameters):
    return RandomFeatures(*args, **{"gamma": 0.1, "n_components": 64, "random_state": 0, **parameters}).fit(X)


def phases(encoder):
    """Return omega . x + xi from the public attributes."""
    return X @ encoder.random_weights_.astype(np.float64) + encoder.random_offset_


@pytest.mark.parametrize("projection", ["iid", "orthogonal", "hadamard"])
@pytest.mark.parametrize("n_components", [1, 2, 7, 64, 200])
def test_transform_is_scaled_interleaved_cosines_and_sines(projection, n_components):
    encoder = fitted(projection=projection, n_components=n_components)
    t = phases(encoder)
    expected = np.stack([np.cos(t), np.sin(t)], axis=2).reshape(len(X), -1)[:, :n_components]
    Z = encoder.transform(X)
    assert Z.dtype == np.float32
    assert Z.shape == (30, n_components)
    # A float32 phase of up to 30 radians is good to 4e-6, the polynomial cosine to 2e-7.
    np.testing.assert_allclose(Z, expected * np.sqrt(2 / n_components), atol=1e-5 * np.sqrt(2 / n_components))


@pytest.mark.parametrize("n_components", [1, 5, 64])
def test_transform_of_the_cosine_map_has_a_frequency_a_component(n_components):
    encoder = fitted(feature_map="cosine", n_components=n_components)
    assert encoder.random_weights_.shape == (6, n_components)
    expected = np.cos(phases(encoder)) * np.sqrt(2 / n_components)
    np.testing.assert_allclose(encoder.transform(X), expected, atol=1e-5 * np.sqrt(2 / n_components))


@pytest.mark.parametrize(("n_components", "n_frequencies"), [(1, 1), (2, 1), (3, 2), (64, 32), (101, 51)])
def test_pairs_use_half_as_many_frequencies_rounded_up(n_components, n_frequencies):
    encoder = fitted(n_components=n_components)
    assert encoder.random_offset_.shape == (n_frequencies,)
    assert encoder.random_weights_.shape == (6, n_frequencies)
    assert encoder.encode(X).shape == (30, n_components)


QUANTIZERS = [
    *[("lloyd_max", bits, "cos_sin") for bits in range(1, 9)],
    *[("uniform", bits, "cosine") for bits in (1, 3, 6)],
    *[("phase", bits, "cos_sin") for bits in range(1, 9)],
    *[("stochastic", bits, "cosine") for bits in range(1, 9)],
]


@pytest.mark.parametrize(("quantizer", "bits", "feature_map"), QUANTIZERS)
def test_codes_decode_to_a_value_near_the_full_side(quantizer, bits, feature_map):
    encoder = fitted(quantizer=quantizer, bits=bits, feature_map=feature_map)
    codes = encoder.encode(X)
    assert isinstance(codes, Codes)
    assert codes.shape == (30, 64)
    assert codes.bits == bits
    assert codes.n_levels == (32 if quantizer == "phase" else 64)
    assert codes.fingerprint == encoder.fingerprint_
    amplitude = np.sqrt(2 / 64)
    # The widest cell of each quantizer, in units of the cosine, plus what the unbiased scale moves the ends by.
    width = {"phase": 2 * np.pi / 2**bits, "stochastic": 2 / (2**bits - 1)}.get(quantizer, 2 * 2 / 2**bits)
    gap = np.abs(np.asarray(codes) - encoder.transform(X)).max() / amplitude
    assert gap <= width + np.abs(codes.codebook).max() / amplitude - 1 + 1e-5


@pytest.mark.parametrize(("quantizer", "bits", "feature_map"), QUANTIZERS)
def test_decoded_codes_are_codebook_values_of_the_truth_of_the_quantizer(quantizer, bits, feature_map):
    encoder = fitted(quantizer=quantizer, bits=bits, feature_map=feature_map)
    codes = encoder.encode(X)
    drawn = encoder.quantizer_
    np.testing.assert_allclose(codes.codebook, drawn.codebook * np.sqrt(2 / 64), rtol=1e-6, atol=1e-8)
    turns = (phases(encoder) / (2 * np.pi)).astype(np.float32)
    expected = drawn.levels(turns)
    # A few phases within float32 rounding of a border may fall on its other side; stochastic draws differ by one level.
    off = np.abs(codes.levels().astype(int) - expected)
    wrapped = np.minimum(off, 2**bits - off) if quantizer == "phase" else off
    assert wrapped.max() <= 1
    assert quantizer == "stochastic" or (wrapped > 0).mean() < 2e-3


def test_phase_needs_an_even_number_of_components():
    with pytest.raises(ParameterError, match=r"n_components must be a multiple of 2 with Phase\(bits=3\), got 65"):
        fitted(quantizer="phase", bits=3, n_components=65)


def test_an_objects_own_bits_win():
    assert fitted(bits=1, quantizer=LloydMax(3)).encode(X).bits == 3
    assert fitted(bits=8, quantizer=Phase(2)).encode(X).bits == 2


def test_bits_none_has_no_coded_side_and_the_same_full_side():
    full = fitted(bits=None)
    np.testing.assert_array_equal(full.transform(X), fitted(bits=1).transform(X))
    for call in (full.encode, lambda rows: full.expected_kernel(rows, sides=("codes", "full"))):
        with pytest.raises(ParameterError, match="a coded side needs bits from 1 to 8, got None"):
            call(X)
    assert full.quantizer_ is None


def three_levels(t):
    return np.sign(np.cos(t)) * (np.abs(np.cos(t)) > 0.5)


def test_a_piecewise_constant_periodic_map_packs():
    encoder = fitted(feature_map="cosine", quantizer=PeriodicMap(three_levels), n_components=65)
    codes = encoder.encode(X)
    assert isinstance(codes, Codes)
    assert codes.bits == 2
    values = three_levels(phases(encoder))
    first = np.sqrt(3) / np.pi  # (1/pi) times the integral of cos over |t| < pi/3
    same = np.abs(np.asarray(codes) - values / (2 * first) * np.sqrt(2 / 65)) < 1e-5
    assert same.mean() > 0.998


def test_a_continuous_periodic_map_gives_float_features():
    encoder = fitted(feature_map="cosine", quantizer=PeriodicMap([0, 0.5, 0.1]), n_components=65)
    F = encoder.encode(X)
    assert isinstance(F, np.ndarray)
    assert F.dtype == np.float32
    t = phases(encoder)
    expected = (np.cos(t) + 0.2 * np.cos(2 * t)) * np.sqrt(2 / 65)
    np.testing.assert_allclose(F, expected, atol=1e-5)
    K = encoder.kernel_estimate(X, sides=("codes", "full"))
    np.testing.assert_allclose(K, F @ encoder.transform(X).T, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "kernel"),
    [("rbf", Gaussian(1 / np.sqrt(0.2))), ("laplacian", Laplace(10.0)), ("matern", Matern(1 / np.sqrt(0.2), nu=1.5))],
)
def test_a_kernel_by_name_and_gamma_is_the_object_of_that_scale(name, kernel):
    by_name = fitted(name, projection="iid")
    by_object = fitted(kernel, projection="iid")
    assert by_name.kernel_ == kernel
    assert (by_name.gamma_, by_object.gamma_) == (0.1, None)
    np.testing.assert_array_equal(by_name.transform(X), by_object.transform(X))


def test_gamma_defaults_to_scale():
    assert RandomFeatures(n_components=8).fit(X).gamma_ == pytest.approx(1 / (6 * X.var()), rel=1e-9)


@pytest.mark.parametrize("kernel", [Stable(2.0), Bessel(0.5)], ids=repr)
def test_every_kernel_object_fits_with_independent_frequencies(kernel):
    assert np.isfinite(fitted(kernel, projection="iid").transform(X)).all()


def test_parts_may_be_objects():
    parts = fitted(projection=Iid(), feature_map=CosSin(), quantizer=Uniform(2))
    named = fitted(projection="iid", feature_map="cos_sin", quantizer="uniform", bits=2)
    assert parts.encode(X) == named.encode(X)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kernel": "rbf", "projection": "haar"}, "'orthogonal'"),
        ({"kernel": "laplacian"}, "Use projection='iid'"),
        ({"kernel": Bessel(), "projection": "hadamard"}, "'haar'"),
    ],
)
def test_layouts_that_do_not_fit_name_one_that_does(parameters, message):
    with pytest.raises(UnsuitableLayoutError, match=message):
        fitted(**parameters)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 0}, "n_components must be an integer of at least 1, got 0"),
        ({"n_components": 10.0}, r"n_components must be an integer of at least 1, got 10\.0"),
        ({"bits": 0}, r"bits must be an integer from 1 to 8, got 0. .*bits=None"),
        ({"bits": 12}, "bits must be an integer from 1 to 8, got 12"),
        ({"kernel": "cosine"}, "kernel must be one of 'rbf', .* got 'cosine'"),
        ({"kernel": "stable"}, "Pass the kernel as an object"),
        ({"kernel": None}, "kernel must be one of"),
        ({"projection": "fastfood"}, "projection must be one of 'hadamard', .* got 'fastfood'"),
        ({"projection": Gaussian()}, "projection must be one of"),
        ({"feature_map": 2}, "feature_map must be one of 'cos_sin', 'cosine' .* got 2"),
        ({"quantizer": "periodic"}, "quantizer must be one of"),
        ({"quantizer": Stochastic}, "quantizer must be one of"),
        ({"gamma": -1.0}, "gamma must be a finite number above 0"),
        ({"quantizer": "phase", "feature_map": "cosine"}, "feature_map must be 'cos_sin'"),
        ({"quantizer": PeriodicMap(lambda t: np.exp(1j * t)), "feature_map": "cosine"}, "needs feature_map='cos_sin'"),
    ],
)
def test_bad_parameters_are_refused_at_fit(parameters, message):
    with pytest.raises(ParameterError, match=message):
        fitted(**parameters)


def test_a_refused_fit_leaves_no_fitted_encoder():
    encoder = RandomFeatures(quantizer="phase", bits=2, n_components=5)
    with pytest.raises(ParameterError):
        encoder.fit(X)
    with pytest.raises((AttributeError, ValueError), match="not fitted"):
        encoder.transform(X)


def test_clone_and_pickle_keep_the_encoder():
    encoder = fitted("matern", bits=2, quantizer=Uniform(2))
    assert clone(encoder).get_params()["quantizer"] == Uniform(2)
    copy = pickle.loads(pickle.dumps(encoder))
    assert copy.fingerprint_ == encoder.fingerprint_
    assert copy.encode(X) == encoder.encode(X)


def test_parameters_of_a_kernel_object_can_be_searched():
    rows = np.random.default_rng(1).standard_normal((200, 2))
    y = (np.linalg.norm(rows, axis=1) > 1.2).astype(int)
    pipeline = make_pipeline(RandomFeatures(Gaussian(), n_components=64, random_state=0), LinearSVC())
    search = GridSearchCV(pipeline, {"randomfeatures__kernel__bandwidth": [0.01, 3.0]}, cv=2).fit(rows, y)
    assert search.best_params_ == {"randomfeatures__kernel__bandwidth": 3.0}


def test_set_params_after_fit_does_not_reach_what_was_fitted():
    encoder = fitted(Gaussian(2.0))
    before = encoder.expected_kernel(X)
    encoder.set_params(kernel__bandwidth=0.01)
    np.testing.assert_array_equal(encoder.expected_kernel(X), before)
    assert encoder.kernel_ == Gaussian(2.0)


def test_it_stands_in_for_rbf_sampler():
    ours, theirs = fitted(n_components=4096, projection="iid"), RBFSampler(gamma=0.1, n_components=4096, random_state=0)
    exact = Gaussian.from_gamma(0.1).gram(X)
    errors = [np.abs(Z @ Z.T - exact).max() for Z in (ours.transform(X), theirs.fit_transform(X))]
    # Each entry has a standard error below 1/sqrt(2048) (pairs) and 1.23/sqrt(4096); 435 entries.
    assert max(errors) < 5 / np.sqrt(2048)
    assert set(vars(theirs)) & {"random_weights_", "random_offset_"} == {"random_weights_", "random_offset_"}


@pytest.mark.parametrize("gamma", [1e300, 1e-300])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "matern"])
def test_gamma_beyond_float32_is_refused(kernel, gamma):
    X = np.random.default_rng(0).standard_normal((20, 3))
    with pytest.raises(ParameterError, match="RandomFeatures: gamma must be a number from .* Scale the columns of X"):
        RandomFeatures(kernel, gamma=gamma, projection="iid").fit(X)
