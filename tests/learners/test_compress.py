"""Exact machines of scikit-learn become low-bit ones that decide as they do."""

from __future__ import annotations

import pickle
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.stats import norm
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, NuSVC, OneClassSVM

import lowtide as lt
from lowtide.errors import FingerprintMismatchError, LowtideError, UnsuitableLayoutError
from lowtide.learners import CompressedClassifier, CompressedDetector, CompressedRegressor
from lowtide.learners.expansion import expansion_of

DIGITS, DIGIT = load_digits(return_X_y=True)
CELLS, MALIGNANT = load_breast_cancer(return_X_y=True)
CELLS = StandardScaler().fit_transform(CELLS)
FLOWERS, SPECIES = load_iris(return_X_y=True)
PATIENTS, PROGRESS = load_diabetes(return_X_y=True)
PATIENTS = StandardScaler().fit_transform(PATIENTS)
SIDES = [("codes", "full"), ("full", "codes"), ("full", "full")]
# Ten thousand decision values stay within this many standard errors, but for one choice of seed in two hundred.
FAR = 5.0


def moved_in_errors(small, exact_values, X):
    """Return (approximate - exact) over the predicted standard error, (n, k)."""
    std = small.decision_std(X).reshape(len(X), -1)
    return (small.decision_.scores(X) - exact_values.reshape(len(X), -1)) / std


def smallest_win(values, std, classes):
    """Return by how many standard errors each row's best class wins its closest pair, negative where it loses one.

    A class that wins all its pairs has the most votes, whatever the other pairs say.
    """
    signed = values / std
    worst = np.full((len(values), classes), np.inf)
    for column, (i, j) in enumerate(combinations(range(classes), 2)):
        worst[:, i] = np.minimum(worst[:, i], signed[:, column])
        worst[:, j] = np.minimum(worst[:, j], -signed[:, column])
    return worst.max(axis=1)


@pytest.mark.parametrize(("query", "support"), SIDES)
def test_compressed_digits_keep_every_clear_decision(query, support):
    exact = SVC().fit(DIGITS[:1200], DIGIT[:1200])
    small = lt.compress(exact, query=query, support=support, random_state=0)
    X, y = DIGITS[1200:], DIGIT[1200:]
    values = expansion_of(exact).decision(X)
    # Of 26,865 values one draw in 70 has one five standard errors off: here one in a thousand may.
    assert np.abs(moved_in_errors(small, values, X)).max() < norm.isf(0.5e-3 / values.size)
    win = smallest_win(values, small.decision_std(X), 10)
    assert np.mean(win > FAR) > 0.5
    assert np.array_equal(small.predict(X[win > FAR]), exact.predict(X[win > FAR]))
    # One in twenty of the values is off by two standard errors: less than that of the others change.
    assert abs(small.score(X, y) - exact.score(X, y)) <= np.mean(win < 2.0)


@pytest.mark.parametrize("projection", ["hadamard", "orthogonal", "iid"])
@pytest.mark.parametrize("bits", [1, 2, 4])
def test_compressed_two_class_machine_moves_as_predicted(projection, bits):
    exact = SVC().fit(CELLS[:400], MALIGNANT[:400])
    small = lt.compress(exact, n_components=2048, bits=bits, projection=projection, random_state=1)
    X, values = CELLS[400:], exact.decision_function(CELLS[400:])
    assert small.decision_function(X).shape == values.shape
    assert np.abs(moved_in_errors(small, values, X)).max() < FAR
    clear = np.abs(values) > FAR * small.decision_std(X)
    assert np.mean(clear) > 0.5
    assert np.array_equal(small.predict(X[clear]), exact.predict(X[clear]))
    assert np.array_equal(small.predict(X), small.classes_[(small.decision_function(X) > 0).astype(int)])


@pytest.mark.parametrize("shape", ["ovo", "ovr"])
@pytest.mark.parametrize("model", [SVC(), NuSVC(nu=0.3)])
def test_compressed_classifier_has_the_shapes_of_the_exact_one(model, shape):
    exact = model.set_params(decision_function_shape=shape).fit(DIGITS[:300], DIGIT[:300])
    small = lt.compress(exact, n_components=512, random_state=0)
    assert isinstance(small, CompressedClassifier)
    assert small.decision_function(DIGITS[:5]).shape == exact.decision_function(DIGITS[:5]).shape
    assert small.coef_.shape == (45, 512)
    assert small.coef_.dtype == np.float32
    assert small.intercept_.shape == (45,)


@pytest.mark.parametrize("break_ties", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_compressed_classifier_decides_by_the_rule_of_scikit_learn(n_classes, break_ties):
    chosen = n_classes > DIGIT
    # Few rows and a weak fit, so that votes tie often.
    exact = SVC(C=0.05, break_ties=break_ties).fit(DIGITS[chosen][:150], DIGIT[chosen][:150])
    small = lt.compress(exact, n_components=4096, bits=4, random_state=0)
    values = expansion_of(exact).decision(DIGITS)
    assert np.array_equal(small.decision_.answer("predictions", values), exact.predict(DIGITS))
    if n_classes > 2:
        np.testing.assert_allclose(
            small.decision_.answer("scores", values), exact.decision_function(DIGITS), rtol=0, atol=1e-9
        )


def test_compressed_classifier_keeps_names_of_classes():
    names = np.array(["setosa", "versicolor", "virginica"])[SPECIES]
    small = lt.compress(SVC().fit(FLOWERS, names), n_components=1024, random_state=0)
    assert set(small.predict(FLOWERS)) == set(names)


def test_compress_refuses_ties_broken_among_pairs():
    exact = SVC(break_ties=True, decision_function_shape="ovo").fit(FLOWERS, SPECIES)
    with pytest.raises(LowtideError, match="break_ties must be False"):
        lt.compress(exact)


def test_compressed_pipeline_shares_its_first_steps():
    exact = make_pipeline(StandardScaler(), SVC()).fit(CELLS[:400] * 7 + 3, MALIGNANT[:400])
    small = lt.compress(exact, n_components=4096, random_state=0, X=CELLS[400:] * 7 + 3)
    assert isinstance(small, Pipeline)
    assert small[0] is exact[0]
    assert isinstance(exact[-1], SVC), "the exact pipeline stays as it was"
    assert small[-1].report_.n_rows == len(CELLS) - 400
    X = CELLS[400:] * 7 + 3
    off = moved_in_errors(small[-1], exact.decision_function(X), exact[0].transform(X))
    assert np.abs(off).max() < FAR
    near = np.abs(exact.decision_function(X)) < 3.0 * small[-1].decision_std(exact[0].transform(X))
    assert abs(small.score(X, MALIGNANT[400:]) - exact.score(X, MALIGNANT[400:])) <= np.mean(near)


def test_compressed_machine_of_sparse_rows_takes_sparse_and_dense_rows():
    rows = sparse.csr_matrix(DIGITS[:400])
    exact = SVC().fit(rows, DIGIT[:400])
    small = lt.compress(exact, n_components=2048, random_state=0)
    X = DIGITS[400:600]
    assert np.array_equal(small.decision_function(sparse.csr_array(X)), small.decision_function(X))
    assert np.abs(moved_in_errors(small, expansion_of(exact).decision(sparse.csr_matrix(X)), X)).max() < FAR


def test_compressed_ridge_predicts_every_target():
    Y = np.column_stack([PROGRESS, -2.0 * PROGRESS])
    exact = KernelRidge(kernel="rbf", gamma=0.02, alpha=1.0).fit(PATIENTS[:300], Y[:300])
    small = lt.compress(exact, random_state=0)
    assert isinstance(small, CompressedRegressor)
    X = PATIENTS[300:]
    assert small.predict(X).shape == (len(X), 2)
    assert small.decision_std(X).shape == (len(X), 2)
    assert np.abs(moved_in_errors(small, exact.predict(X), X)).max() < FAR


@pytest.mark.parametrize("shape", [(300,), (300, 1)])
@pytest.mark.parametrize(
    "model", [KernelRidge(kernel="rbf"), GaussianProcessRegressor(RBF(3.0), alpha=1.0, optimizer=None)]
)
def test_compressed_regressor_has_the_shape_of_the_exact_one(model, shape):
    exact = model.fit(PATIENTS[:300], PROGRESS[:300].reshape(shape))
    assert lt.compress(exact, random_state=0).predict(PATIENTS).shape == exact.predict(PATIENTS).shape


@pytest.mark.parametrize("length_scale", [4.0, np.linspace(3.0, 8.0, 10)])
def test_compressed_gaussian_process_predicts_the_mean(length_scale):
    kernel = 2.0 * RBF(length_scale) + WhiteKernel(1.0)
    exact = GaussianProcessRegressor(kernel, optimizer=None, normalize_y=True).fit(PATIENTS[:300], PROGRESS[:300])
    small = lt.compress(exact, random_state=0)
    X = PATIENTS[300:]
    assert np.abs(moved_in_errors(small, exact.predict(X), X)).max() < FAR
    assert (small.decision_.recipe is None) == (np.ndim(length_scale) == 0)
    assert np.array_equal(small.predict(small.encode(X)), small.predict(X)), "codes are of scaled rows"


def test_compressed_support_vector_regression_predicts_one_column():
    exact = SVR(C=20.0).fit(PATIENTS[:300], PROGRESS[:300])
    small = lt.compress(exact, random_state=0)
    X = PATIENTS[300:]
    assert small.predict(X).shape == (len(X),)
    assert np.abs(moved_in_errors(small, exact.predict(X), X)).max() < FAR


def test_compressed_one_class_machine_marks_outliers():
    exact = OneClassSVM(nu=0.1, gamma=0.02).fit(CELLS[:400])
    small = lt.compress(exact, random_state=0)
    assert isinstance(small, CompressedDetector)
    X, values = CELLS[400:], exact.decision_function(CELLS[400:])
    clear = np.abs(values) > FAR * small.decision_std(X)
    assert np.mean(clear) > 0.5
    assert np.array_equal(small.predict(X[clear]), exact.predict(X[clear]))
    np.testing.assert_allclose(small.score_samples(X) - small.offset_, small.decision_function(X))
    np.testing.assert_allclose(small.offset_, exact.offset_)


def test_compressed_laplacian_kernel_needs_independent_frequencies():
    exact = KernelRidge(kernel="laplacian", gamma=0.02).fit(PATIENTS[:300], PROGRESS[:300])
    with pytest.raises(UnsuitableLayoutError, match="iid"):
        lt.compress(exact)
    small = lt.compress(exact, projection="iid", random_state=0)
    assert np.abs(moved_in_errors(small, exact.predict(PATIENTS[300:]), PATIENTS[300:])).max() < FAR


@pytest.fixture(scope="module")
def exact_flowers():
    return SVC().fit(FLOWERS, SPECIES)


@pytest.mark.parametrize(("query", "support"), [*SIDES, ("codes", "codes")])
def test_compressed_machine_predicts_from_codes(exact_flowers, query, support):
    small = lt.compress(exact_flowers, n_components=256, query=query, support=support, random_state=0)
    codes = small.encode(FLOWERS)
    assert codes.nbytes == 32 * len(FLOWERS)
    D = np.asarray(codes if query == "codes" else small.features_.transform(FLOWERS), dtype=np.float64)
    scores = D @ small.coef_.T.astype(np.float64) + small.intercept_
    np.testing.assert_allclose(small.decision_.scores(FLOWERS), scores, rtol=1e-12, atol=1e-12)
    if query == "codes":
        assert np.array_equal(small.predict(codes), small.predict(FLOWERS))
        assert np.array_equal(small.decision_std(codes), small.decision_std(FLOWERS))


def test_compressed_weights_are_the_sum_over_a_side_of_the_support_rows(exact_flowers):
    expansion = expansion_of(exact_flowers)
    for support in ("full", "codes"):
        small = lt.compress(exact_flowers, n_components=256, query="full", support=support, random_state=0)
        make = small.features_.transform if support == "full" else small.features_.encode
        side = np.asarray(make(expansion.rows), dtype=np.float64)
        np.testing.assert_allclose(small.coef_, (side.T @ expansion.coef).T, rtol=1e-6, atol=1e-6)
    both = lt.compress(exact_flowers, n_components=256, support="codes", random_state=0)
    np.testing.assert_allclose(both.coef_ * np.pi**2 / 8, small.coef_, rtol=1e-4, atol=1e-6)


def test_compressed_machine_refuses_codes_of_another_encoder(exact_flowers):
    small, other = (lt.compress(exact_flowers, n_components=256, random_state=seed) for seed in (0, 1))
    for use in (small.predict, small.decision_std):
        with pytest.raises(FingerprintMismatchError):
            use(other.encode(FLOWERS))


@pytest.mark.parametrize("n_rows", [0, 1])
def test_compressed_machine_takes_no_rows_and_one_row(exact_flowers, n_rows):
    small = lt.compress(exact_flowers, n_components=256, random_state=0)
    assert small.predict(FLOWERS[:n_rows]).shape == (n_rows,)
    assert small.decision_function(FLOWERS[:n_rows]).shape == (n_rows, 3)
    assert small.decision_std(FLOWERS[:n_rows]).shape == (n_rows, 3)


def test_moved_needs_rows_that_the_exact_model_can_read(exact_flowers):
    small = lt.compress(exact_flowers, n_components=256, random_state=0)
    assert small.moved(FLOWERS[:1], exact_flowers).n_rows == 1
    with pytest.raises(ValueError, match="0 sample"):
        small.moved(FLOWERS[:0], exact_flowers)
    with pytest.raises(LowtideError, match="rows themselves"):
        small.moved(small.encode(FLOWERS), exact_flowers)
    with pytest.raises(LowtideError, match=r"the model that was compressed, 4 columns and 3 kernel sums, got \(4, 1\)"):
        small.moved(FLOWERS, SVC().fit(FLOWERS, np.arange(len(FLOWERS)) % 2))


def test_compressed_machine_checks_its_rows(exact_flowers):
    small = lt.compress(exact_flowers, n_components=256, random_state=0)
    with pytest.raises(ValueError, match="3 features"):
        small.predict(FLOWERS[:, :3])
    with pytest.raises(ValueError, match="NaN"):
        small.decision_std(np.full((2, 4), np.nan))


def test_compressed_machine_of_a_data_frame_knows_its_columns():
    frame = pd.DataFrame(FLOWERS, columns=["a", "b", "c", "d"])
    exact = SVC().fit(frame, SPECIES)
    small = lt.compress(exact, n_components=1024, random_state=0, X=frame)
    assert list(small.feature_names_in_) == ["a", "b", "c", "d"]
    assert small.moved(frame, exact) == small.report_
    with pytest.raises(ValueError, match="feature names"):
        small.predict(frame[["d", "c", "b", "a"]])


@pytest.mark.parametrize("name", ["query", "support"])
def test_compress_checks_its_sides(exact_flowers, name):
    with pytest.raises(LowtideError, match=f"{name} must be one of 'codes', 'full'"):
        lt.compress(exact_flowers, **{name: "coded"})
    sides = {"query": "full", "support": "full", name: "codes"}
    with pytest.raises(LowtideError, match=f"{name} must be 'full' with bits=None"):
        lt.compress(exact_flowers, bits=None, **sides)


def test_compress_without_bits_is_unquantized(exact_flowers):
    small = lt.compress(exact_flowers, bits=None, query="full", n_components=2048, random_state=0)
    assert np.abs(moved_in_errors(small, expansion_of(exact_flowers).decision(FLOWERS), FLOWERS)).max() < FAR


def test_same_seed_gives_the_same_model(exact_flowers):
    one, two = (lt.compress(exact_flowers, n_components=256, random_state=7) for _ in range(2))
    assert np.array_equal(one.coef_, two.coef_)
    assert one.report_ == two.report_


def test_compressed_model_cannot_be_fitted_and_is_its_own_clone(exact_flowers):
    small = lt.compress(exact_flowers, n_components=256, random_state=0)
    with pytest.raises(LowtideError, match=r"lowtide\.compress"):
        small.fit(FLOWERS, SPECIES)
    assert clone(small) is small
    with pytest.raises(ValueError, match="All the 2 fits failed"):
        cross_val_score(small, FLOWERS, SPECIES, cv=2)


def test_compressed_model_is_calibrated_frozen():
    exact = SVC().fit(CELLS[:300], MALIGNANT[:300])
    small = lt.compress(exact, n_components=2048, random_state=0)
    model = CalibratedClassifierCV(FrozenEstimator(small)).fit(CELLS[300:], MALIGNANT[300:])
    assert model.predict_proba(CELLS).shape == (len(CELLS), 2)


def test_compressed_model_survives_pickle_and_keeps_no_support_rows():
    exact = SVC(C=0.1).fit(DIGITS[:, :32], DIGIT > 4)
    small = lt.compress(exact, n_components=512, random_state=0)
    data = pickle.dumps(small)
    assert len(data) < exact.support_vectors_.nbytes / 4
    assert np.array_equal(pickle.loads(data).decision_function(DIGITS[:, :32]), small.decision_function(DIGITS[:, :32]))


@pytest.mark.parametrize("rows", [None, FLOWERS[::2]])
def test_report_holds_what_was_measured_and_predicted(exact_flowers, rows):
    small = lt.compress(exact_flowers, n_components=1024, random_state=0, X=rows)
    measured = exact_flowers.support_vectors_ if rows is None else rows
    off = small.decision_.scores(measured) - expansion_of(exact_flowers).decision(measured)
    report = small.report_
    assert report.n_rows == len(measured)
    assert report.moved == pytest.approx(np.sqrt(np.mean(off**2)))
    assert report.largest == pytest.approx(np.abs(off).max())
    assert report.predicted == pytest.approx(np.sqrt(np.mean(small.decision_std(measured) ** 2)))
    assert report.unchanged == np.mean(small.predict(measured) == exact_flowers.predict(measured))
    assert report.bias == 0.0
    assert report.exact_nbytes == exact_flowers.support_vectors_.nbytes + exact_flowers.dual_coef_.nbytes
    assert report.nbytes >= small.coef_.nbytes + small.features_.random_offset_.nbytes


def test_report_reads_as_a_table(exact_flowers):
    biased = lt.compress(exact_flowers, n_components=1024, support="codes", random_state=0, X=FLOWERS)
    text = str(biased.report_)
    assert text.startswith("Decision values on 150 given rows\n  moved ")
    assert " bias" in text
    assert "of the predictions" in text
    ridge = lt.compress(KernelRidge(kernel="rbf", gamma=0.02).fit(PATIENTS, PROGRESS), random_state=0)
    assert " bias" not in str(ridge.report_)
    assert "predictions" not in str(ridge.report_)


def test_compress_warns_when_the_noise_hides_the_signal():
    # Almost no noise in the model: huge coefficients of both signs, whose errors do not cancel.
    exact = GaussianProcessRegressor(RBF(5.0), optimizer=None, alpha=1e-6).fit(PATIENTS, PROGRESS)
    with pytest.warns(UserWarning, match="Raise n_components"):
        lt.compress(exact, random_state=0)


def test_moved_refuses_a_pipeline(exact_flowers):
    small = lt.compress(exact_flowers, n_components=256, random_state=0)
    with pytest.raises(LowtideError, match="got 'Pipeline'"):
        small.moved(FLOWERS, make_pipeline(StandardScaler(), SVC()).fit(FLOWERS, SPECIES))


def test_compress_takes_a_continuous_periodic_map(exact_flowers):
    small = lt.compress(
        exact_flowers,
        n_components=2048,
        feature_map="cosine",
        quantizer=lt.PeriodicMap(lambda t: np.tanh(2.0 * np.cos(t))),
        random_state=0,
    )
    assert np.abs(moved_in_errors(small, expansion_of(exact_flowers).decision(FLOWERS), FLOWERS)).max() < FAR
