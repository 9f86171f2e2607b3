"""AsymmetricLSSVC: the AsK-LS system against its n x n form, its two scores, weights, sides and bad input."""

import pickle
import tracemalloc

import numpy as np
import pytest
from learners.samples import classifier
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator

import lowtide as lt
from lowtide import AsymmetricFeatures, AsymmetricLSSVC, RandomFeatures, Sketch, TernaryFeatures
from lowtide.errors import LowtideError, ParameterError
from lowtide.kernels import Gaussian, ShiftGaussian, SinhGaussian, SymmetricPart
from lowtide.learners.asymmetric_lssvc import content_folds

RNG = np.random.default_rng(2)
X = RNG.standard_normal((60, 3))
TWO = np.where(X[:, 0] * X[:, 1] + 0.3 * RNG.standard_normal(60) > 0, 1, -1)
THREE = np.array(["ebb", "flood", "slack"])[np.digitize(X[:, 0] + X[:, 1], [-0.7, 0.7])]


def features(kernel=None, **parameters):
    kernel = ShiftGaussian([0.5, -0.2, 0.3]) if kernel is None else kernel
    return AsymmetricFeatures(kernel, **{"n_components": 80, "bits": None, "random_state": 0, **parameters})


def sides(model):
    """Return the left and the right features that the model learned on, in float64."""
    encoder = model.features_
    coded = model.decision_.side == "codes"
    pair = (encoder.encode, encoder.encode_right) if coded else (encoder.transform, encoder.transform_right)
    return tuple(np.asarray(side(X), dtype=np.float64) for side in pair)


def dense_solution(model, y, C, weight=None):
    """Solve the printed 2n + 2 system with the kernel matrix of the model's own features, and score the rows."""
    L, R = sides(model)
    K, n, g = L @ R.T, len(y), 2 * C
    H = y[:, None] * K * y
    ridge = np.eye(n) / g if weight is None else np.diag(1 / (g * weight))
    zero, column = np.zeros(n), y[:, None]
    A = np.block(
        [
            [np.zeros((1, 2)), y[None], zero[None]],
            [np.zeros((1, 2)), zero[None], y[None]],
            [column, np.zeros((n, 1)), ridge, H],
            [np.zeros((n, 1)), column, H.T, ridge],
        ]
    )
    b1, b2, *rest = np.linalg.solve(A, np.concatenate([[0, 0], np.ones(2 * n)]))
    alpha, beta = np.reshape(rest, (2, n))
    return K @ (beta * y) + b1, K.T @ (alpha * y) + b2


@pytest.mark.parametrize("C", [0.01, 0.3, 5.0])
@pytest.mark.parametrize("form", ["blocks", "phase"])
def test_low_rank_solution_is_that_of_the_whole_system(form, C):
    model = AsymmetricLSSVC(features(form=form), C=C, system="ask_ls").fit(X, TWO)
    source, target = dense_solution(model, TWO, C)
    np.testing.assert_allclose(model.source_scores(X)[:, 0], source, atol=1e-7)
    np.testing.assert_allclose(model.target_scores(X)[:, 0], target, atol=1e-7)
    np.testing.assert_allclose(model.decision_function(X), (source + target) / 2, atol=1e-7)


def test_weights_enter_the_system_as_they_should():
    weight = RNG.uniform(0.2, 3, 60)
    model = AsymmetricLSSVC(features(), C=0.3, system="ask_ls").fit(X, TWO, sample_weight=weight)
    source, target = dense_solution(model, TWO, 0.3, weight)
    np.testing.assert_allclose(model.decision_function(X), (source + target) / 2, atol=1e-7)


def test_more_classes_are_one_against_the_rest():
    model = AsymmetricLSSVC(features(), C=0.2, system="ask_ls").fit(X, THREE)
    scores = model.decision_function(X)
    for i, label in enumerate(model.classes_):
        source, target = dense_solution(model, np.where(label == THREE, 1.0, -1.0), 0.2)
        np.testing.assert_allclose(scores[:, i], (source + target) / 2, atol=1e-7)
    assert set(model.predict(X)) <= {"ebb", "flood", "slack"}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("C", [0.01, 0.3, 50.0])
def test_ridge_is_ridge_regression_on_the_kernel_matrix(C, weighted):
    weight = RNG.uniform(0.2, 3, 60) if weighted else np.ones(60)
    model = AsymmetricLSSVC(features(), C=C).fit(X, TWO, sample_weight=weight)
    L, R = sides(model)
    root = np.sqrt(weight)

    def scores(K):
        # Coefficients that sum to zero, with penalties 1/(g^2 s_j), and an intercept without one.
        centered = (K * weight) @ (np.eye(60) - np.outer(np.ones(60), weight) / weight.sum()) / root
        design = np.hstack([centered, np.ones((60, 1))])
        penalty = np.diag(np.append(np.full(60, 1 / (2 * C) ** 2), 0.0))
        solution = np.linalg.solve(design.T @ (weight[:, None] * design) + penalty, design.T @ (weight * TWO))
        return design @ solution

    np.testing.assert_allclose(model.source_scores(X)[:, 0], scores(L @ R.T), atol=1e-6)
    np.testing.assert_allclose(model.target_scores(X)[:, 0], scores(R @ L.T), atol=1e-6)


def test_ridge_learns_what_the_symmetrized_kernel_cannot_see():
    """Labels of period four shifts: a kernel of one shift turns them by a quarter, its symmetric part sees nothing."""
    rows = np.linspace(0, 16, 400)[:, None]
    y = np.where(np.cos(np.pi / 2 * rows[:, 0]) > 0, 1, -1)
    whole = ShiftGaussian(1.0, 0.5)
    scores = {}
    for kernel in (whole, SymmetricPart(whole)):
        encoder = features(kernel, n_components=400)
        model = AsymmetricLSSVC(encoder, C=0.02).fit(rows[::2], y[::2])
        scores[type(kernel).__name__] = model.score(rows[1::2], y[1::2])
    assert scores["ShiftGaussian"] > scores["SymmetricPart"] + 0.1


def test_stable_strength_keeps_the_system_positive_definite():
    model = AsymmetricLSSVC(features(), system="ask_ls").fit(X, TWO)
    L, R = sides(model)
    largest = np.linalg.svd((L - L.mean(axis=0)) @ (R - R.mean(axis=0)).T, compute_uv=False)[0]
    assert pytest.approx(0.45 / largest, rel=1e-9) == model.C_
    source, target = dense_solution(model, TWO, model.C_)
    np.testing.assert_allclose(model.decision_function(X), (source + target) / 2, atol=1e-8)


@pytest.mark.parametrize("role", ["both", "source", "target"])
@pytest.mark.parametrize("system", ["ridge", "ask_ls"])
def test_automatic_strength_has_the_least_error_on_rows_held_out(system, role):
    encoder = FrozenEstimator(features().fit(X))
    model = AsymmetricLSSVC(encoder, C="auto", system=system, role=role).fit(X, TWO)
    fold = content_folds(X)

    def error(C):
        total = 0.0
        for i in range(3):
            seen = fold != i
            part = AsymmetricLSSVC(encoder, C=C * len(X) / seen.sum(), system=system, role=role)
            total += np.sum((TWO[~seen] - part.fit(X[seen], TWO[seen]).decision_function(X[~seen])) ** 2)
        return total

    stable = AsymmetricLSSVC(encoder, system=system).fit(X, TWO).C_
    steps = np.log10(model.C_ / stable) * 2
    assert steps == pytest.approx(round(steps), abs=1e-6)
    beside = [model.C_ * factor for factor in (10**-0.5, 10**0.5)]
    if system == "ask_ls":  # never beyond what keeps the system positive definite
        beside = [C for C in beside if 1.01 * stable > C]
    assert error(model.C_) <= min(error(C) for C in [*beside, stable])


def test_strength_that_is_given_is_taken_and_automatic_strength_beats_a_bad_one():
    rng = np.random.default_rng(5)
    rows = rng.standard_normal((300, 3))
    y = np.where(rows[:, 0] * rows[:, 1] + 0.3 * rng.standard_normal(300) > 0, 1, -1)
    scores = {}
    for C in (1e-6, 1e3, "auto"):
        model = AsymmetricLSSVC(features(n_components=200), C=C).fit(rows[:150], y[:150])
        scores[C] = model.score(rows[150:], y[150:])
        assert C == "auto" or C == model.C_
    assert scores["auto"] > max(scores[1e-6], scores[1e3]) + 0.05


@pytest.mark.parametrize("system", ["ridge", "ask_ls"])
def test_automatic_strength_counts_a_row_of_weight_two_as_two_rows(system):
    weight = RNG.integers(0, 4, 60)
    encoder = FrozenEstimator(features().fit(X))
    weighted = AsymmetricLSSVC(encoder, C="auto", system=system).fit(X, TWO, sample_weight=weight)
    rows, labels = np.repeat(X, weight, axis=0), np.repeat(TWO, weight)
    repeated = AsymmetricLSSVC(encoder, C="auto", system=system).fit(rows, labels)
    assert pytest.approx(repeated.C_, rel=1e-9) == weighted.C_
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-7)


def test_automatic_strength_depends_on_no_order_nor_on_how_rows_are_stored():
    encoder = FrozenEstimator(features().fit(X))
    order = np.random.default_rng(3).permutation(60)
    chosen = [
        AsymmetricLSSVC(encoder, C="auto").fit(rows, y).C_
        for rows, y in ((X, TWO), (X[order], TWO[order]), (sparse.csr_array(X), TWO))
    ]
    np.testing.assert_allclose(chosen, chosen[0], rtol=1e-9)
    np.testing.assert_array_equal(content_folds(X), content_folds(sparse.csr_array(X)))
    assert content_folds(np.array([[0.0, 1.0]])) == content_folds(np.array([[-0.0, 1.0]]))
    # No third is far from a third: within five standard deviations.
    many = np.bincount(content_folds(np.random.default_rng(0).standard_normal((9000, 2))), minlength=3)
    assert np.all(np.abs(many - 3000) < 5 * np.sqrt(9000 * 2 / 9))


def test_automatic_strength_is_kept_by_files(tmp_path):
    model = AsymmetricLSSVC(features(), C="auto").fit(X, THREE)
    lt.save(model, tmp_path / "model.lowtide", weights="float64")
    back = lt.load(tmp_path / "model.lowtide")
    assert back.C == "auto"
    assert back.C_ == model.C_
    np.testing.assert_allclose(back.decision_function(X), model.decision_function(X), atol=1e-12)


@pytest.mark.parametrize("C", ["stable", "auto"])
def test_two_rows_are_enough(C):
    model = AsymmetricLSSVC(features(), C=C).fit(X[:2], [0, 1])
    assert model.score(X[:2], [0, 1]) == 1.0


@pytest.mark.parametrize("C", ["stable", "auto"])
@pytest.mark.parametrize("bits", [None, 1])
def test_rows_that_are_all_equal_have_a_model(bits, C):
    rows = np.ones((10, 3))
    model = AsymmetricLSSVC(features(bits=bits), C=C).fit(rows, np.arange(10) % 2)
    assert model.C_ == 1.0
    np.testing.assert_allclose(model.decision_function(rows), 0.0, atol=1e-6)


@pytest.mark.parametrize("C", [0.1, 10.0])
def test_symmetric_kernel_gives_the_kernel_classifier(C):
    encoder = features(Gaussian(1.5))
    ours = AsymmetricLSSVC(encoder, C=C, system="ask_ls").fit(X, TWO)
    theirs = classifier(encoder, C=C).fit(X, TWO)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-8)
    np.testing.assert_allclose(ours.source_scores(X), ours.target_scores(X), atol=1e-8)


def test_encoder_without_a_right_side_counts_as_symmetric():
    encoder = RandomFeatures(gamma=0.3, n_components=64, random_state=0)
    ours, theirs = AsymmetricLSSVC(encoder, C=2.0, system="ask_ls"), classifier(encoder, C=2.0)
    ours.fit(X, TWO), theirs.fit(X, TWO)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-7)


def test_roles_choose_the_score():
    for role in ("source", "target"):
        model = AsymmetricLSSVC(features(), role=role).fit(X, TWO)
        np.testing.assert_array_equal(model.decision_function(X), getattr(model, f"{role}_scores")(X)[:, 0])
    assert not np.allclose(model.source_scores(X), model.target_scores(X), atol=1e-3)


@pytest.mark.parametrize("bits", [1, 3])
def test_codes_of_both_sides_can_be_learned_from(bits):
    model = AsymmetricLSSVC(features(bits=bits, n_components=600), C=0.5, system="ask_ls").fit(X, TWO)
    assert model.decision_.side == "codes"
    source, target = dense_solution(model, TWO, 0.5)
    np.testing.assert_allclose(model.decision_function(X), (source + target) / 2, atol=1e-6)
    full = AsymmetricLSSVC(features(bits=bits, n_components=600), C=0.5, side="full").fit(X, TWO)
    bare = AsymmetricLSSVC(features(n_components=600), C=0.5).fit(X, TWO)
    np.testing.assert_allclose(full.decision_function(X), bare.decision_function(X), atol=1e-9)


def test_nothing_of_the_size_of_the_kernel_matrix_is_made():
    n = 6000
    rows, y = RNG.standard_normal((n, 3)), np.arange(n) % 2
    model = AsymmetricLSSVC(features(n_components=64))
    tracemalloc.start()
    model.fit(rows, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < n * n * 8 / 10


def test_class_weights_are_weights_of_rows():
    by_class = AsymmetricLSSVC(features(), class_weight={1: 3.0}).fit(X, TWO)
    by_row = AsymmetricLSSVC(features()).fit(X, TWO, sample_weight=np.where(TWO == 1, 3.0, 1.0))
    np.testing.assert_allclose(by_class.decision_function(X), by_row.decision_function(X), atol=1e-10)


def test_sparse_rows_are_the_same_rows():
    dense, packed = (AsymmetricLSSVC(features()).fit(rows, TWO) for rows in (X, sparse.csr_array(X)))
    np.testing.assert_allclose(dense.decision_function(X), packed.decision_function(sparse.csr_array(X)), atol=1e-9)


def test_frozen_features_are_used_as_they_are():
    encoder = features().fit(X)
    model = AsymmetricLSSVC(FrozenEstimator(encoder)).fit(X, TWO)
    assert model.features_ is encoder


def test_default_features_follow_the_seed():
    models = [AsymmetricLSSVC(n_components=50, random_state=seed).fit(X, TWO) for seed in (0, 0, 1)]
    assert models[0].features_.fingerprint_ == models[1].features_.fingerprint_ != models[2].features_.fingerprint_


def test_clone_pickle_and_files_keep_the_model(tmp_path):
    for y in (TWO, THREE):
        for encoder in (features(bits=1), features(SinhGaussian(0.3), form="phase"), None):
            model = AsymmetricLSSVC(encoder, C=0.5, n_components=40, random_state=0).fit(X, y)
            lt.save(model, tmp_path / "m.lowtide", weights="float64")
            for same in (clone(model).fit(X, y), pickle.loads(pickle.dumps(model)), lt.load(tmp_path / "m.lowtide")):
                np.testing.assert_allclose(same.decision_function(X), model.decision_function(X), atol=1e-12)
                np.testing.assert_array_equal(same.predict(X), model.predict(X))


def test_no_rows_have_no_scores():
    model = AsymmetricLSSVC(features(bits=1)).fit(X, TWO)
    assert model.decision_function(X[:0]).shape == model.predict(X[:0]).shape == (0,)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"C": 0.0}, "C must be"),
        ({"C": "best"}, "C must be"),
        ({"system": "least squares"}, "system must be one of"),
        ({"role": "middle"}, "role must be one of"),
        ({"side": "left"}, "side must be one of"),
        ({"side": "codes"}, "without a coded side"),
        ({"class_weight": {7: 1.0}}, "class_weight"),
    ],
)
def test_bad_parameters_are_refused(parameters, message):
    with pytest.raises(LowtideError, match=message):
        AsymmetricLSSVC(features(), **parameters).fit(X, TWO)


def test_coded_side_that_is_continuous_is_learned_on_too():
    amplifier = lt.PeriodicMap(lambda t: np.tanh(2 * np.cos(t)))
    encoder = RandomFeatures(gamma=0.3, n_components=40, feature_map="cosine", quantizer=amplifier, random_state=0)
    model = AsymmetricLSSVC(encoder, C=0.5, system="ask_ls").fit(X, TWO)
    same = classifier(encoder, C=0.5).fit(X, TWO)
    np.testing.assert_allclose(model.decision_function(X), same.decision_function(X), rtol=0, atol=1e-6)


def test_one_class_and_codes_are_refused():
    with pytest.raises(ParameterError, match="two classes"):
        AsymmetricLSSVC(features()).fit(X, np.ones(60))
    with pytest.raises(ParameterError, match="two sides"):
        AsymmetricLSSVC(features()).fit(features(bits=1).fit(X).encode(X), TWO)
    # As many components as columns: nothing else tells such codes from rows.
    model = AsymmetricLSSVC(RandomFeatures(n_components=3, random_state=0)).fit(X, TWO)
    with pytest.raises(ParameterError, match="two sides"):
        model.predict(model.features_.encode(X))
    with pytest.raises(NotFittedError):
        AsymmetricLSSVC().predict(X)


def test_singular_system_is_an_error_that_says_what_to_change():
    encoder = features().fit(X)
    L, R = (side.astype(np.float64) for side in (encoder.transform(X), encoder.transform_right(X)))
    singular = np.linalg.svd((L - L.mean(axis=0)) @ (R - R.mean(axis=0)).T, compute_uv=False)
    with pytest.raises(ParameterError, match="Change C a little"):
        AsymmetricLSSVC(FrozenEstimator(encoder), C=1 / (2 * singular[0]), system="ask_ls").fit(X, TWO)


@pytest.mark.parametrize("encoder", [Sketch(64, random_state=0), TernaryFeatures(n_components=64, sparsity=0.0)])
def test_encoder_that_always_has_codes_is_used_on_them(encoder):
    rows = np.random.default_rng(0).standard_normal((40, 40))
    default, coded = (AsymmetricLSSVC(clone(encoder).set_params(random_state=0), side=s) for s in (None, "codes"))
    labels = np.arange(40) % 2
    np.testing.assert_array_equal(
        default.fit(rows, labels).decision_function(rows), coded.fit(rows, labels).decision_function(rows)
    )
