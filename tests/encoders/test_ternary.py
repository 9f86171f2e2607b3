"""TernaryFeatures: what a trit is, where the data enter, and what the codes are good for."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from reference import ternary
from scipy import sparse
from sklearn.base import clone

from lowtide import Codes, KernelClassifier, KernelRegressor, TernaryFeatures, concatenate
from lowtide.codes import pack_trits, unpack_levels, unpack_trits
from lowtide.encoders import Spread
from lowtide.errors import FingerprintMismatchError, LayoutWarning, ParameterError
from lowtide.theory import ReLU, match_moments

PIXELS = np.random.default_rng(0).integers(0, 256, (90, 400), dtype=np.uint8)
PIXELS.flags.writeable = False
X = (PIXELS - 128.0) / 1500  # |x|^2 near 1
X.flags.writeable = False


def fitted(target="rbf", rows=X, **parameters):
    return TernaryFeatures(target, **{"n_components": 130, "random_state": 0, **parameters}).fit(rows)


def projected(encoder, rows):
    """Return w . z from the public attributes, in float64."""
    scale = 1.0 if encoder.gamma_ is None else np.sqrt(2 * encoder.gamma_)
    return scale * (np.asarray(rows, dtype=np.float64) - encoder.mean_) @ encoder.random_weights_.astype(np.float64)


@pytest.mark.parametrize("target", ["rbf", "relu", "linear", "sign", "step", "abs", (0.3, 0.1), ReLU(), np.tanh])
def test_transform_is_the_map_of_projections_of_centered_rows(target):
    encoder = fitted(target)
    t, sigma = projected(encoder, X), encoder.match_.map
    expected = np.where(t > sigma.s_plus, sigma.high, np.where(t < sigma.s_minus, sigma.low, 0)) / np.sqrt(130)
    near = np.min(np.abs(t[..., None] - [sigma.s_plus, sigma.s_minus]), axis=-1) < 1e-5
    assert near.mean() < 0.001
    Z = encoder.transform(X)
    assert Z.dtype == np.float32
    np.testing.assert_allclose(Z[~near], expected[~near], rtol=1e-6)
    np.testing.assert_array_equal(Z, np.asarray(encoder.encode(X)))


@pytest.mark.parametrize(("target", "form"), [("rbf", "matched"), ("abs", "auto"), ("rbf", "windows")])
def test_trits_of_pixels_are_those_of_exact_sums(target, form):
    encoder = fitted(target, PIXELS, gamma=4e-7, form=form)
    S = ternary.sums(PIXELS, encoder.projection_.signs().toarray().astype(np.int64), 400)
    limits = encoder.thresholds_.upper, encoder.thresholds_.lower
    expected = ternary.inside(S, *limits) if form == "windows" else ternary.trits(S, *limits, target == "abs")
    assert 0.05 < np.mean(expected == 0) < 0.95
    for rows in (PIXELS, PIXELS.astype(np.float32)):
        np.testing.assert_array_equal(unpack_levels(encoder.encode(rows).packed, 2, 130), expected)


@pytest.mark.parametrize("dtype", [np.int16, np.int32, np.int64, np.uint16, np.float32, np.float64])
def test_codes_of_integers_do_not_depend_on_their_type(dtype):
    encoder = fitted("relu", PIXELS)
    assert encoder.encode(PIXELS.astype(dtype)) == encoder.encode(PIXELS)
    assert encoder.encode(sparse.csr_array(PIXELS.astype(np.float64))) == encoder.encode(PIXELS)


@pytest.mark.parametrize("dtype", [np.int8, np.bool_])
def test_signed_bytes_and_booleans_are_exact(dtype):
    rows = (PIXELS - np.uint8(128)).astype(dtype)
    encoder = fitted("relu", rows.astype(np.float64))
    assert encoder.encode(rows) == encoder.encode(rows.astype(np.float32))


def test_codes_do_not_depend_on_the_batch():
    encoder = fitted(n_components=700)
    parts = [encoder.encode(X[i : i + 7]) for i in range(0, 90, 7)]
    assert concatenate(parts) == encoder.encode(X)
    assert len(encoder.encode(X[:0])) == 0
    assert encoder.transform(X[:0]).shape == (0, 700)


def test_most_levels_occur_although_pixels_are_all_positive():
    shares = (
        np.bincount(unpack_levels(fitted("relu", PIXELS).encode(PIXELS).packed, 2, 130).ravel(), minlength=4) / 11700
    )
    assert shares[3] == 0
    assert shares[:3].max() < 0.9


def test_tau_is_the_mean_squared_norm_of_centered_scaled_rows():
    squares = np.square(X - X.mean(axis=0)).sum(axis=1).mean()
    assert fitted("relu").tau_ == pytest.approx(squares, rel=1e-9)
    assert fitted("rbf", gamma=0.3).tau_ == pytest.approx(0.6 * squares, rel=1e-9)
    np.testing.assert_allclose(fitted("relu").mean_, X.mean(axis=0), rtol=2.0**-23)


def test_gamma_is_of_the_rbf_target_only():
    assert fitted("rbf").gamma_ == pytest.approx(1 / (400 * X.var()), rel=1e-9)
    assert fitted("rbf", gamma="median").gamma_ > 0
    assert fitted("relu", gamma=17.0).gamma_ is None
    assert fitted("relu", gamma=17.0).encode(X) == fitted("relu").encode(X)


@pytest.mark.parametrize(
    ("target", "gamma", "case"), [("rbf", 0.1, "exact"), ("rbf", 0.9, "scaled"), ("abs", 1.0, "even")]
)
def test_fitted_encoder_says_which_case_was_taken(target, gamma, case):
    encoder = fitted(target, gamma=gamma)
    assert encoder.match_.case == case
    assert max(map(abs, encoder.match_.residuals)) < 1e-9
    diagonal = "target" if case == "exact" else "least"
    assert encoder.match_.map == match_moments(encoder.target_, encoder.tau_, diagonal=diagonal).map
    nearest = fitted(target, gamma=gamma, diagonal="target")
    assert nearest.match_.map == match_moments(encoder.target_, encoder.tau_).map


def test_least_diagonal_has_the_same_moments_with_less_noise():
    target, least = fitted(gamma=1.0, diagonal="target"), fitted(gamma=1.0)
    assert max(map(abs, least.match_.residuals)) < 1e-9
    assert least.match_.moments.d0 < 0.9 * target.match_.moments.d0
    with pytest.raises(ParameterError, match="diagonal"):
        fitted(diagonal="most")


def test_weights_count_as_repeated_rows():
    weight = np.arange(90) % 3
    weighted = TernaryFeatures(n_components=64, random_state=0).fit(X, sample_weight=weight)
    repeated = TernaryFeatures(n_components=64, random_state=0).fit(np.repeat(X, weight, axis=0))
    assert weighted.encode(X).packed.tobytes() == repeated.encode(X).packed.tobytes()


def test_equal_rows_are_valid_to_fit_on():
    encoder = fitted("rbf", np.ones((3, 400)))
    assert encoder.tau_ == 1.0
    assert encoder.transform(X).shape == (90, 130)
    assert fitted("relu", X[:1]).encode(X).shape == (90, 130)


def test_few_terms_are_warned_about():
    rows = np.random.default_rng(1).standard_normal((20, 100))
    with pytest.warns(LayoutWarning, match=r"about 10 columns an output .*sparsity=0\.7 or 'auto'"):
        TernaryFeatures(n_components=8, random_state=0).fit(rows)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert TernaryFeatures(n_components=8, sparsity="auto", random_state=0).fit(rows).sparsity_ == 0.7
        assert TernaryFeatures(n_components=8, sparsity=0.0, random_state=0).fit(rows[:, :5]).sparsity_ == 0.0
        assert TernaryFeatures(n_components=8, sparsity="auto", random_state=0).fit(rows[:, :5]).sparsity_ == 0.0
        assert fitted(sparsity="auto").sparsity_ == 0.9


@pytest.mark.parametrize("gamma", [1e-7, 1e-5, 1e-3, 0.1])
def test_features_of_near_rows_vary_too(gamma):
    encoder = fitted(gamma=gamma)
    assert encoder.match_.entropy > 0.05
    assert max(map(abs, encoder.match_.residuals)) < 1e-9


def near_and_far(n_features=400, n=40):
    """Return rows in pairs, one close to the other, far from all else: what a kernel of near rows must tell."""
    rng = np.random.default_rng(3)
    first = rng.standard_normal((n, n_features)) / np.sqrt(n_features)
    return np.vstack([first, first + 0.1 * rng.standard_normal((n, n_features)) / np.sqrt(n_features)])


def test_windows_are_taken_where_moments_keep_less_than_half_of_the_target():
    assert fitted(gamma=1.1).match_.case == "scaled"
    assert fitted(gamma=1.7).match_.case == "windows"
    with pytest.warns(LayoutWarning, match=r"follow 0\.\d+ of its variance at tau = 3.*form='windows'"):
        assert fitted(gamma=1.7, form="matched").match_.case == "scaled"
    assert fitted(gamma=1.0, form="windows").match_.case == "windows"
    with pytest.warns(LayoutWarning, match=r"variance.*Scale the data down"):
        fitted("cos", 2 * X)


@pytest.mark.parametrize(
    ("target", "parameters", "message"),
    [
        ("rbf", {"gamma": 10.0, "form": "matched"}, r"entropy of at least 0\.05 bits.*tau = .*Take form='auto'"),
        ("rbf", {"gamma": 1e6}, r"entropy.*change gamma, or take RandomFeatures"),
        ("rbf", {"gamma": 0.1, "form": "windows"}, r"entropy.*Windows are for tau from 1"),
        ("exp", {"rows": 4 * X}, r"entropy.*Scale the data down"),
        ("relu", {"form": "windows"}, r"form='windows' is for target='rbf', got 'relu'"),
        ("rbf", {"form": "both"}, "form"),
    ],
)
def test_features_of_one_value_are_refused_before_the_fit_ends(target, parameters, message):
    with pytest.raises(ParameterError, match=message):
        fitted(target, **parameters)


@pytest.mark.parametrize("gamma", [4.0, 8.0, 60.0])
def test_windows_keep_their_levels_varied_and_near_rows_near_at_any_gamma(gamma):
    rows = near_and_far()
    encoder = fitted(rows=rows, gamma=gamma, n_components=2000)
    codes = encoder.encode(rows)
    shares = np.bincount(unpack_levels(codes.packed, 2, 2000).ravel(), minlength=4) / (80 * 2000)
    inside = encoder.match_.map.probabilities(encoder.tau_ + encoder.match_.spread**2)[1]
    assert shares[2] == shares[3] == 0
    assert shares[1] == pytest.approx(inside, rel=0.05)
    assert encoder.match_.entropy == pytest.approx(-(shares[shares > 0] @ np.log2(shares[shares > 0])), rel=0.05)
    K = encoder.kernel_estimate(codes)
    assert np.median(np.diag(K)) == pytest.approx(1.0, abs=0.1)
    apart = K[:40, 40:].copy()
    near = np.diag(apart).copy()
    np.fill_diagonal(apart, np.nan)
    # |x - y|^2 = 0.01: exp(-gamma |x - y|^2) is 0.96, 0.92 and 0.55; of overlapping windows 1 - sqrt(2/pi) sd/pi.
    assert near.mean() == pytest.approx(1 - np.sqrt(2 / np.pi) * np.sqrt(2 * gamma) * 0.1 / np.pi, abs=0.05)
    assert near.mean() > 1.5 * np.nanmean(apart)


def test_both_packed_forms_hold_the_same_trits():
    codes = fitted().encode(X)
    levels = unpack_levels(codes.packed, 2, 130)
    stored = pack_trits(levels)
    assert stored.shape == (90, 26)  # 1.6 bits a trit
    np.testing.assert_array_equal(unpack_trits(stored, n_levels=130), levels)


@pytest.mark.parametrize(
    ("target", "gamma"), [("rbf", "scale"), ("rbf", 4.0), ("relu", "scale"), ("abs", "scale"), ("step", "scale")]
)
def test_kernel_estimates_are_within_their_errors(target, gamma):
    encoder = fitted(target, n_components=8000, gamma=gamma)
    K, std = encoder.kernel_estimate(X[:30], X[30:], return_std=True)
    gap = (K - encoder.expected_kernel(X[:30], X[30:])) / std
    # 1800 entries that share 8000 draws, and sums of 40 terms in place of normal ones: 5 errors at the worst.
    assert np.abs(gap).max() < 5
    assert 0.8 < np.sqrt(np.mean(gap**2)) < 1.25


def test_kernel_estimate_is_the_product_of_features_for_any_sides():
    encoder = fitted()
    Z = encoder.transform(X).astype(np.float64)
    for rows in (X, encoder.encode(X)):
        np.testing.assert_allclose(encoder.kernel_estimate(rows, X[:9]), Z @ Z[:9].T, atol=1e-5)
    np.testing.assert_allclose(encoder.kernel_estimate(X, sides=("full", "codes")), Z @ Z.T, atol=1e-5)


def test_gram_and_dot_of_codes_are_exact_multiples():
    encoder = fitted()
    C = encoder.encode(X)
    levels = np.array([0, 1, -1, 0])[unpack_levels(C.packed, 2, 130)]
    value = float(C.codebook[1])
    np.testing.assert_array_equal(C.gram(dtype=np.float64), value**2 * (levels.T @ levels))
    np.testing.assert_array_equal(C.dot(C, dtype=np.float64), value**2 * (levels @ levels.T))


@pytest.mark.parametrize("loss", ["squared", "logistic", "squared_hinge"])
def test_classifier_learns_on_trits(loss):
    rng = np.random.default_rng(5)
    y = np.arange(300) % 2  # the classes differ in spread alone
    rows = rng.standard_normal((300, 200)) * np.where(y, 1.8, 1.0)[:, None] / np.sqrt(200)
    model = KernelClassifier(TernaryFeatures(n_components=600, sparsity="auto", random_state=0), loss=loss, C=1.0)
    assert model.fit(rows[:200], y[:200]).score(rows[200:], y[200:]) > 0.9


def test_regressor_learns_on_trits():
    rng = np.random.default_rng(5)
    rows = rng.standard_normal((400, 100)) / 10
    y = rows @ rng.standard_normal(100) + 2.0
    model = KernelRegressor(TernaryFeatures("linear", n_components=800, sparsity="auto", random_state=0), alpha=0.1)
    assert model.fit(rows[:300], y[:300]).score(rows[300:], y[300:]) > 0.7


def test_codes_of_another_encoder_are_refused():
    encoder, other = fitted(), fitted(random_state=1)
    with pytest.raises(FingerprintMismatchError, match=other.fingerprint_.hex()):
        encoder.kernel_estimate(X, other.encode(X))
    with pytest.raises(FingerprintMismatchError, match="side"):
        encoder.kernel_estimate(X, fitted(gamma=0.01).encode(X))


def test_clone_pickle_and_names():
    encoder = fitted()
    assert clone(encoder).fit(X).fingerprint_ == encoder.fingerprint_
    assert pickle.loads(pickle.dumps(encoder)).encode(X) == encoder.encode(X)
    named = fitted(rows=pd.DataFrame(X).add_prefix("x"))
    assert named.get_feature_names_out()[0] == "ternaryfeatures0"
    with pytest.raises(ValueError, match="feature names"):
        named.encode(pd.DataFrame(X).add_prefix("z"))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 0}, "n_components must be an integer of at least 1, got 0"),
        ({"n_components": 2.5}, "n_components must be an integer"),
        ({"sparsity": 1.0}, r"sparsity must be a number from 0\.0 to 0\.999, got 1\.0"),
        ({"sparsity": "most"}, "sparsity must be a number from 0 to 0.999 or 'auto', got 'most'"),
        ({"target": "rfb"}, "target must be one of 'rbf', 'relu'"),
        ({"target": (0.0, 0.0)}, "d1 or d2 must be above 0"),
        ({"gamma": -1.0}, "TernaryFeatures: gamma must be a finite number above 0"),
        ({"gamma": "auto"}, "TernaryFeatures: gamma must be 'scale', 'median' or a number"),
        ({"gamma": 1e6}, "change gamma"),
        ({"gamma": 1e300}, r"TernaryFeatures: gamma must be a number from 5e-61 to 5e\+59"),
        ({"gamma": 1e-300}, r"TernaryFeatures: gamma must be a number from 5e-61 to 5e\+59"),
        ({"gamma": 1e-20}, r"must be at least 5e-09, got .* The features would all be 0: raise gamma"),
        ({"target": (0.001, 1.0)}, "Scale the data down"),
    ],
)
def test_bad_parameters_are_refused_with_a_remedy(parameters, message):
    with pytest.raises(ParameterError, match=message):
        TernaryFeatures(**{"n_components": 8, **parameters}).fit(X)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_missing_and_infinite_values_are_refused(dtype, value):
    encoder = fitted()
    bad = np.array(X, dtype=dtype)
    bad[3, 4] = value
    for method in (encoder.encode, encoder.transform, encoder.fit):
        with pytest.raises(ValueError, match=r"NaN|[Ii]nfinit"):
            method(bad)


def test_rows_whose_sums_leave_float32_are_refused():
    with pytest.raises(ParameterError, match=r"Scale the columns"):
        fitted().encode(np.full((1, 400), 1e38, dtype=np.float32))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sides": "codes"}, "sides"),
        ({"sides": ("codes", "half")}, "half"),
    ],
)
def test_estimates_refuse_what_they_cannot_give(arguments, message):
    with pytest.raises(ParameterError, match=message):
        fitted().kernel_estimate(X, **arguments)


def test_errors_of_codes_are_those_of_their_rows():
    encoder = fitted()
    C = encoder.encode(X)
    for left, right in ((X, X[:9]), (C, X[:9]), (C, C[:9])):
        for sides in (("full", "full"), ("codes", "full"), ("codes", "codes")):
            _, std = encoder.kernel_estimate(left, right, sides=sides, return_std=True)
            assert np.all(std > 0)
            # 130 components tell a variance to 12%; a few events that were not seen are added.
            ratio = std / encoder.kernel_estimate(X, X[:9], return_std=True)[1]
            assert 0.95 < np.median(ratio) < 1.1
            assert ratio.min() > 0.5


def test_expected_values_say_which_rows_have_too_few_terms():
    encoder = fitted()
    sparse_rows = encoder.mean_ + np.where(np.arange(400) < 3, 5.0, 0.0)
    with pytest.raises(ParameterError, match=r"sums of many terms.*row 2 with about 0\.3.*Lower the sparsity"):
        encoder.expected_kernel(np.vstack([X[:2], sparse_rows]), X)
    moved = X[:1] + 0.1 * X.std() * np.eye(1, 400)
    with pytest.raises(ParameterError, match=r"rows 0 and 0 whose difference has about 0\.1"):
        encoder.expected_kernel(moved, X[:1])
    K, std = encoder.kernel_estimate(moved, X[:1], return_std=True)
    assert np.isfinite(K).all()
    assert np.all(std > 0)


def test_expected_values_of_codes_are_refused():
    encoder = fitted()
    with pytest.raises(ParameterError, match="raw rows"):
        encoder.expected_kernel(encoder.encode(X))


def test_spread_merges_to_that_of_all_rows():
    weight = np.random.default_rng(2).random(90)
    whole = Spread.of(X, weight)
    merged = Spread.of(X[:1], weight[:1]).merge(Spread.of(X[1:60], weight[1:60])).merge(Spread.of(X[60:], weight[60:]))
    np.testing.assert_allclose(merged.mean, whole.mean, rtol=0, atol=1e-15)
    assert merged.per_row == pytest.approx(whole.per_row, rel=1e-13)
    assert whole.per_row == pytest.approx(np.average(np.square(X - np.average(X, 0, weight)).sum(1), weights=weight))
    assert Spread.of(sparse.csr_array(X), weight).per_row == pytest.approx(whole.per_row, rel=1e-13)


def test_spread_of_no_rows_is_nothing_to_merge():
    nothing = Spread.of(X[:0])
    assert nothing.per_row == 0.0
    assert nothing.merge(nothing).weight == 0.0
    assert nothing.merge(Spread.of(X)).per_row == Spread.of(X).per_row
    with pytest.raises(ParameterError, match="400 columns"):
        nothing.merge(Spread.of(X[:, :3]))


def test_codes_are_codes():
    assert isinstance(fitted().encode(X), Codes)
    assert fitted().encode(X).nbytes == 90 * 40
