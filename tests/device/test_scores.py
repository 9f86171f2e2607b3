"""Exported decisions: the scores are those of the numpy reference, the classes nearly always the model's."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from device.harness import HOST_C, needs_host, needs_qemu, run_on_arm, run_on_host
from device.samples import classifier, integer_rows, phases, trits
from given import given_classifier, given_regressor
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.svm import SVC, SVR, OneClassSVM

import lowtide as lt
from lowtide.device import ScoreTables, export_c
from lowtide.device import scores as scores_module
from lowtide.device.weights import WEIGHTS

KINDS = tuple(WEIGHTS)


def rows_of(n=120, d=20):
    return np.random.default_rng(3).standard_normal((n, d)).astype(np.float32)


@cache
def every_model():
    """Return models of one and more bits, of pairs and trits, of two and more classes, and a regression."""
    X = rows_of()
    pixels = integer_rows(120, 20, "uint8", seed=2)
    return [
        (classifier(phases(20, 301), 5, X), X),
        (classifier(phases(20, 801), 8, X), X),
        (classifier(phases(20, 300), 2, X), X),
        (classifier(phases(20, 101, bits=3), 3, X, loss="logistic"), X),
        (classifier(phases(20, 64, bits=8), 4, X, loss="squared_hinge"), X),
        (classifier(phases(20, 64, bits=1, quantizer="phase"), 3, X), X),
        (classifier(phases(20, 64, bits=3, quantizer="phase"), 2, X), X),
        (classifier(trits(20, 150, "uint8"), 6, pixels), pixels),
        (given_regressor(phases(20, 200)).fit(X, X[:, :2]), X),
        (given_regressor(phases(20, 200, bits=2)).fit(X, X[:, 0]), X),
    ]


def jobs_of(models, kind, favor):
    return [
        (export_c(model, name=f"d{i}", weights=kind, input=rows.dtype.name, favor=favor), rows)
        for i, (model, rows) in enumerate(models)
    ]


def assert_decided(models, kind, answers):
    for (model, rows), answer in zip(models, answers, strict=True):
        codes, decision = model.features_.encode(rows), ScoreTables.of(model.decision_, kind)
        expected = decision.scores(codes)
        if kind == "float16":
            assert np.allclose(answer.scores, expected, rtol=1e-4, atol=1e-4 * np.abs(expected).max())
        else:
            assert np.array_equal(answer.scores, expected)
        if decision.classes is not None and kind != "float16":
            assert np.array_equal(model.classes_[answer.decided], decision.decide(codes))


@needs_host
@pytest.mark.parametrize("favor", ["flash", "time"])
@pytest.mark.parametrize("kind", KINDS)
def test_exported_scores_are_those_of_the_reference(tmp_path, kind, favor):
    models = every_model()
    jobs = jobs_of(models, kind, favor)
    assert_decided(models, kind, run_on_host(tmp_path, jobs))
    coded = ["words" in made.tables for made, _ in jobs]
    assert any(coded) == (favor == "flash" and kind != "float16")


@needs_qemu
@pytest.mark.parametrize(("kind", "favor"), [("int8", "flash"), ("int6", "time"), ("float16", "time")])
def test_exported_scores_are_those_of_the_reference_on_a_cortex_m4(tmp_path, kind, favor):
    models = [(model, rows[:10]) for model, rows in every_model()]
    assert_decided(models, kind, run_on_arm(tmp_path, jobs_of(models, kind, favor)))


@pytest.mark.parametrize("kind", KINDS)
def test_scores_differ_from_decision_values_by_the_stated_error(kind):
    for model, rows in every_model():
        codes, decision = model.features_.encode(rows), ScoreTables.of(model.decision_, kind)
        exact = model.decision_function(codes) if decision.classes is not None else model.predict(codes)
        exact = exact.reshape(len(codes), -1)
        if decision.reference is not None:
            exact = exact - exact[:, [decision.reference]]
        error = np.sqrt(np.mean((decision.scores(codes) * decision.rounded.unit - exact) ** 2))
        # Levels of real codes are not independent; they are near enough for the size of the error.
        assert error < 2.0 * decision.rounded.error + 2.0 * decision.rounded.unit


def test_finer_weights_have_a_smaller_error():
    model, _ = every_model()[0]
    errors = [ScoreTables.of(model.decision_, kind).rounded.error for kind in ("int4", "int6", "int8", "float16")]
    assert errors == sorted(errors, reverse=True)
    assert errors[0] > 50 * errors[-1]


def test_agreement_counts_the_rows_with_the_model_s_class():
    model, rows = every_model()[0]
    made = export_c(model, weights="int4", rows=rows)
    codes = model.features_.encode(rows)
    same = np.mean(ScoreTables.of(model.decision_, "int4").decide(codes) == model.predict(codes))
    assert made.agreement == same > 0.8
    assert f"{same:.2%}" in made.header


def test_the_reference_class_has_no_weights():
    model, _ = every_model()[0]
    assert export_c(model, favor="time").tables["weights"] == 301 * 4
    assert export_c(model, weights="int6", favor="time").tables["weights"] == 301 * 4 * 6 // 8 + 1
    assert export_c(model, weights="float16").tables["weights"] == 301 * 4 * 2


@pytest.mark.parametrize("reference", [0, 1, 3])
def test_any_class_may_be_the_one_without_weights(monkeypatch, tmp_path, reference):
    X = rows_of()
    model = classifier(phases(20, 100), 4, X)
    monkeypatch.setattr(scores_module, "_best_reference", lambda W: reference)
    scores = (
        ScoreTables.of(model.decision_, "float16").scores(model.features_.encode(X))
        * ScoreTables.of(model.decision_, "float16").rounded.unit
    )
    exact = model.decision_function(X)
    assert not scores[:, reference].any()
    assert np.allclose(scores, exact - exact[:, [reference]], atol=0.01)
    if HOST_C is not None:
        (answer,) = run_on_host(tmp_path, [(export_c(model), X)])
        assert np.array_equal(answer.scores, ScoreTables.of(model.decision_, "int8").scores(model.features_.encode(X)))


def test_without_weights_there_is_no_decision():
    made = export_c(every_model()[0][0], weights=None)
    assert "_decide" not in made.header + made.source
    assert made.error is made.agreement is None


def test_labels_are_written_as_texts_that_cannot_break_the_source(tmp_path):
    X = rows_of()
    labels = np.where(X[:, 0] > 0, 'a"\\\n?', "é*/")
    model = given_classifier(phases(20, 50), C=1.0).fit(X, labels)
    made = export_c(model, name="labels")
    assert r'"a\042\134\012\077"' in made.source
    assert r'"\303\251*/"' in made.source


def test_all_weights_zero_give_scores_of_zero():
    X = rows_of()
    model = given_regressor(phases(20, 50)).fit(X, np.zeros(len(X)))
    assert not ScoreTables.of(model.decision_, "int8").scores(model.features_.encode(X)).any()


def test_a_decision_on_the_full_side_is_refused():
    X = rows_of()
    model = classifier(phases(20, 50), 2, X, predict_on="full")
    with pytest.raises(lt.errors.ParameterError, match="predict_on"):
        export_c(model)
    assert "_decide" not in export_c(model, weights=None).source


def test_a_model_of_codes_needs_their_encoder():
    X = rows_of()
    encoder = phases(20, 50)
    codes, y = encoder.encode(X), X[:, 0] > 0
    with pytest.raises(lt.errors.ParameterError, match="encoder"):
        export_c(given_classifier(C=1.0).fit(codes, y))
    made = export_c(given_classifier(FrozenEstimator(encoder), C=1.0).fit(codes, y))
    assert made.tables["weights"] == 50


@cache
def compressed_models():
    """Return compressed machines that vote, tell inliers, or give values; one of a length a column."""
    X = rows_of().astype(np.float64)
    four = np.argmax(X[:, :4], axis=1)
    length_scale = np.linspace(0.5, 3.0, X.shape[1])
    process = GaussianProcessRegressor(RBF(length_scale), optimizer=None, alpha=0.1)
    machines = [SVC(gamma=0.02).fit(X, four), SVC(gamma=0.02).fit(X, four > 1), OneClassSVM(gamma=0.02, nu=0.3).fit(X)]
    machines += [SVR(gamma=0.02).fit(X, X[:, 0]), process.fit(X, X[:, 0])]
    return [(lt.compress(machine, n_components=4096, bits=1, random_state=0), X) for machine in machines]


@needs_host
def test_compressed_machines_score_and_answer_as_the_reference(tmp_path):
    models = compressed_models()
    made = [export_c(model, name=f"c{i}") for i, (model, _) in enumerate(models)]
    jobs = [
        (one, rows if "_COLUMNS" in one.header else rows.astype(np.float32)) for one, (_, rows) in zip(made, models)
    ]
    assert ["_COLUMNS" in one.header for one in made] == [False] * 4 + [True]
    for (model, rows), answer in zip(models, run_on_host(tmp_path, jobs), strict=True):
        tables, codes = ScoreTables.of(model.decision_, "int8"), model.decision_.encode(rows)
        assert np.array_equal(answer.codes, codes.packed)
        assert np.array_equal(answer.scores, tables.scores(codes))
        if answer.decided is None:
            exact = model.predict(rows)
            assert np.corrcoef(answer.scores[:, 0], exact)[0, 1] > 0.99
            continue
        decided = answer.decided if model.decision_.classes is None else model.classes_[answer.decided]
        assert np.array_equal(decided, tables.decide(codes))
        assert np.mean(decided == model.predict(rows)) > 0.9


def test_votes_whose_ties_are_broken_are_refused():
    X = rows_of()
    machine = SVC(gamma=0.02, break_ties=True).fit(X, np.argmax(X[:, :4], axis=1))
    with pytest.raises(lt.errors.ParameterError, match="breaking ties"):
        export_c(lt.compress(machine, n_components=4096, bits=1, random_state=0))
