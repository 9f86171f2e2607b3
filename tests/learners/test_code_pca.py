"""Principal components from packed codes are those of the decoded, centered features."""

import pickle
import tracemalloc

import numpy as np
import pytest
from learners.samples import classes, encoder
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.decomposition import KernelPCA
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline

from lowtide import CodePCA, RandomFeatures, Sketch, TernaryFeatures
from lowtide.errors import FingerprintMismatchError, ParameterError
from lowtide.learners.code_pca import principal_axes
from lowtide.learners.design import CodedDesign, FullDesign

X, Y = classes(n=90)


def dense(D, k):
    """Return axes (k, m), all singular values and the projected rows of the centered D, largest first."""
    centered = D - D.mean(axis=0)
    values, axes = np.linalg.eigh(centered.T @ centered)
    axes = axes[:, ::-1][:, :k]
    return axes.T, np.sqrt(np.maximum(values[::-1], 0)), centered @ axes


# More rows than features and fewer, each small enough for one dense matrix and too large for it.
SHAPES = [(90, 40), (30, 64), (540, 520), (520, 540)]


@pytest.mark.parametrize(("n", "m"), SHAPES)
@pytest.mark.parametrize("bits", [1, 2, 4])
def test_components_are_those_of_the_decoded_features(n, m, bits):
    rows, _ = classes(n=n)
    codes = RandomFeatures(gamma=0.1, n_components=m, bits=bits, random_state=0).fit(rows).encode(rows)
    model = CodePCA(3, random_state=0)
    embedding = model.fit_transform(codes)
    axes, values, projected = dense(np.asarray(codes, dtype=np.float64), 3)
    # Eigenvectors move by rounding over the gap of the eigenvalues: 1e-10 leaves room for gaps of 1e-5.
    np.testing.assert_allclose(np.abs(np.sum(axes * model.components_, axis=1)), 1, rtol=0, atol=1e-10)
    np.testing.assert_allclose(np.abs(embedding), np.abs(projected), rtol=0, atol=1e-8 * values[0])
    np.testing.assert_allclose(model.singular_values_, values[:3], rtol=1e-10)
    np.testing.assert_allclose(model.explained_variance_, embedding.var(axis=0, ddof=1), rtol=1e-9)
    np.testing.assert_allclose(model.explained_variance_ratio_, values[:3] ** 2 / np.sum(values**2), rtol=1e-9)
    np.testing.assert_allclose(model.mean_, np.asarray(codes, dtype=np.float64).mean(axis=0), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "features",
    [
        RandomFeatures(gamma=0.1, n_components=40, quantizer="phase", bits=3, random_state=0),
        TernaryFeatures(gamma=0.1, n_components=40, sparsity=0.0, random_state=0),
        Sketch(n_components=40, bits=4, gamma=0.5, random_state=0),
    ],
)
@pytest.mark.filterwarnings("ignore::lowtide.errors.LayoutWarning")
def test_components_of_other_codes_are_theirs_too(features):
    model = CodePCA(2, features=features, random_state=0)
    found = model.fit_transform(X)
    _, values, projected = dense(np.asarray(model.features_.encode(X), dtype=np.float64), 2)
    np.testing.assert_allclose(np.abs(found), np.abs(projected), rtol=0, atol=1e-9)
    np.testing.assert_allclose(model.explained_variance_ratio_, values[:2] ** 2 / np.sum(values**2), rtol=1e-9)


def test_embedding_is_that_of_kernel_pca_on_the_codes_kernel():
    codes = encoder(X, n_components=64).encode(X)
    K = codes.dot(codes, dtype=np.float64)
    reference = KernelPCA(3, kernel="precomputed").fit_transform(K)
    found = CodePCA(3, random_state=0).fit_transform(codes)
    np.testing.assert_allclose(np.abs(found), np.abs(reference), rtol=0, atol=1e-6)


def test_embedding_approaches_exact_kernel_pca():
    exact = KernelPCA(2, kernel="rbf", gamma=0.05).fit_transform(X)
    errors = []
    for m in (256, 16384):
        features = RandomFeatures(gamma=0.05, n_components=m, bits=4, random_state=0)
        found = CodePCA(2, features=features, random_state=0).fit_transform(X)
        overlap = np.linalg.svd(np.linalg.qr(found)[0].T @ np.linalg.qr(exact)[0], compute_uv=False)
        errors.append(np.sqrt(1 - overlap.min() ** 2))
    # Eight times the standard error at 64 times fewer features; half of that is asked for.
    assert errors[1] < errors[0] / 4


@pytest.mark.parametrize("side", ["codes", "full"])
def test_columns_squares_are_exact(side):
    made = encoder(X, bits=3)
    codes = made.encode(X)
    design = CodedDesign(codes) if side == "codes" else FullDesign(made.transform, X, codes.shape[1])
    D = np.asarray(codes if side == "codes" else made.transform(X), dtype=np.float64)
    np.testing.assert_allclose(design.squares(), (D**2).sum(axis=0), rtol=1e-13)


def test_codes_rows_and_frozen_encoder_give_one_model():
    made = encoder(X)
    codes = made.encode(X)
    from_rows = CodePCA(features=FrozenEstimator(made), random_state=0).fit(X)
    assert from_rows.features_ is made
    expected = from_rows.transform(X)
    for model in (CodePCA(features=made, random_state=0).fit(codes), CodePCA(random_state=0).fit(codes)):
        np.testing.assert_array_equal(model.transform(codes), expected)
    cloned = CodePCA(features=made, random_state=0)
    np.testing.assert_array_equal(cloned.fit_transform(X), expected)
    assert cloned.features_ is not made
    np.testing.assert_allclose(from_rows.transform(X[:7]), expected[:7], rtol=0, atol=1e-14)
    np.testing.assert_allclose(from_rows.transform(codes[5:6]), expected[5:6], rtol=0, atol=1e-14)
    assert from_rows.transform(X[:0]).shape == (0, 2)


@pytest.mark.parametrize("bits", [1, 2])
def test_rows_after_codes_are_read_by_their_own_codebook(bits):
    codes = RandomFeatures(gamma=0.1, n_components=40, bits=bits, random_state=0).fit(X).encode(X)
    model = CodePCA(3, random_state=0).fit(codes).fit(X)
    fresh = CodePCA(3, random_state=0).fit(X)
    np.testing.assert_array_equal(model.explained_variance_, fresh.explained_variance_)
    np.testing.assert_array_equal(model.transform(X), fresh.transform(X))


def test_features_without_a_coded_side_are_taken_block_by_block():
    features = RandomFeatures(gamma=0.1, n_components=40, bits=None, random_state=0)
    model = CodePCA(features=features, random_state=0)
    found = model.fit_transform(X)
    _, _, projected = dense(model.features_.transform(X).astype(np.float64), 2)
    np.testing.assert_allclose(np.abs(found), np.abs(projected), rtol=0, atol=1e-9)


def test_whitened_components_have_unit_variance():
    plain, white = (CodePCA(2, features=encoder(X), whiten=whiten, random_state=0).fit(X) for whiten in (False, True))
    np.testing.assert_allclose(white.transform(X).var(axis=0, ddof=1), 1, rtol=1e-9)
    np.testing.assert_allclose(white.transform(X) * np.sqrt(white.explained_variance_), plain.transform(X), atol=1e-12)
    np.testing.assert_array_equal(white.components_, plain.components_)


def test_same_seed_gives_the_same_signs_and_pickle_keeps_them():
    rows, _ = classes(n=540)
    model = CodePCA(3, features=encoder(rows, n_components=520), random_state=3)
    first = model.fit_transform(rows)
    np.testing.assert_array_equal(clone(model).fit_transform(rows), first)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).transform(rows), first)
    other = clone(model).set_params(random_state=4).fit_transform(rows)
    np.testing.assert_allclose(other, first, rtol=0, atol=1e-7)


@pytest.mark.parametrize(("n", "m"), [(30, 8), (5, 24), (540, 520)])
def test_directions_without_variance_are_zero(n, m):
    rows = np.repeat(X[:2], n // 2 + 1, axis=0)[:n]
    model = CodePCA(2, features=encoder(X, n_components=m), random_state=0)
    found = model.fit_transform(rows)
    assert model.explained_variance_[0] > 0
    np.testing.assert_array_equal(found[:, 1], 0)
    np.testing.assert_array_equal(model.components_[1], 0)
    assert model.explained_variance_ratio_[0] == pytest.approx(1)


@pytest.mark.parametrize(("n", "m"), [(30, 8), (540, 520)])
def test_equal_rows_have_no_components(n, m):
    rows = np.repeat(X[:1], n, axis=0)
    model = CodePCA(2, features=encoder(X, n_components=m), whiten=True, random_state=0).fit(rows)
    np.testing.assert_array_equal(model.transform(rows), 0)
    np.testing.assert_array_equal(model.explained_variance_ratio_, 0)


def test_all_components_explain_everything():
    model = CodePCA(20, features=encoder(X, n_components=20, bits=4), random_state=0).fit(X)
    assert model.explained_variance_ratio_.sum() == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(20), rtol=0, atol=1e-12)


def test_looser_tolerance_stops_earlier():
    codes = encoder(X, n_components=520).encode(classes(n=540)[0])

    class Counted(CodedDesign):
        products = 0

        def matmul(self, W):
            Counted.products += 1
            return super().matmul(W)

    counts = []
    for tol in (0.0, 1e-2):
        Counted.products = 0
        principal_axes(Counted(codes), 5, np.ones(520), tol)
        counts.append(Counted.products)
    assert counts[1] < counts[0]


def test_memory_is_that_of_codes_and_components():
    n, m, k = 20_000, 1024, 4
    rows = np.random.default_rng(0).standard_normal((n, 8)).astype(np.float32)
    codes = RandomFeatures(gamma=0.05, n_components=m, random_state=0).fit(rows[:100]).encode(rows)
    tracemalloc.start()
    try:
        CodePCA(k, random_state=0).fit_transform(codes)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # Lanczos keeps max(2 k + 1, 20) vectors of the shorter side, twice at the end; a few columns of the longer one.
    assert peak < 8 * (3 * 20 * m + 6 * k * n)
    assert peak < 0.1 * 4 * n * m


def test_clusters_that_are_not_round_are_found():
    rng = np.random.default_rng(0)
    angle, radius = rng.uniform(0, 2 * np.pi, 600), np.repeat([1.0, 4.0], 300)
    rings = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]) + 0.15 * rng.standard_normal((600, 2))
    rings_of = np.repeat([0, 1], 300)
    features = RandomFeatures(gamma=0.5, n_components=2048, random_state=0)
    spectral = make_pipeline(CodePCA(2, features=features, random_state=0), KMeans(2, n_init=5, random_state=0))
    assert adjusted_rand_score(rings_of, spectral.fit_predict(rings)) == 1
    assert adjusted_rand_score(rings_of, KMeans(2, n_init=5, random_state=0).fit_predict(rings)) < 0.1


def test_names_of_columns_out():
    model = CodePCA(3, features=encoder(X), random_state=0).fit(X)
    assert model.get_feature_names_out().tolist() == ["codepca0", "codepca1", "codepca2"]
    frame = clone(model).set_output(transform="pandas").fit_transform(X)
    assert list(frame.columns) == ["codepca0", "codepca1", "codepca2"]


@pytest.mark.parametrize("n_components", [0, 25, 2.0, None, True])
def test_impossible_number_of_components_is_refused(n_components):
    with pytest.raises(ParameterError, match="n_components must be an integer from 1 to 24"):
        CodePCA(n_components, features=encoder(X)).fit(X)


@pytest.mark.parametrize("tol", [-1.0, 2.0, "small"])
def test_impossible_tolerance_is_refused(tol):
    with pytest.raises(ParameterError, match="tol must be a number"):
        CodePCA(tol=tol).fit(X)


def test_codes_of_another_encoder_are_refused():
    made, other = encoder(X), encoder(X, gamma=0.2)
    model = CodePCA(features=made, random_state=0).fit(X)
    with pytest.raises(FingerprintMismatchError, match=made.fingerprint_.hex()):
        model.transform(other.encode(X))
    with pytest.raises(FingerprintMismatchError, match=other.fingerprint_.hex()):
        CodePCA(features=made).fit(other.encode(X))


def test_fit_on_codes_asks_for_rows_and_a_fitted_encoder():
    codes = encoder(X).encode(X)
    with pytest.raises(ParameterError, match="at least two rows"):
        CodePCA().fit(codes[:1])
    with pytest.raises(ParameterError, match="not fitted"):
        CodePCA(features=RandomFeatures()).fit(codes)
    with pytest.raises(ParameterError, match="on Codes"):
        CodePCA().fit(codes).transform(X)
    with pytest.raises(NotFittedError):
        CodePCA().transform(codes)
