"""A machine a pair of classes: votes as those of libsvm, in files, sources and searches; refused for sums of blocks."""

import numpy as np
import pytest
from learners.samples import classes, classifier, decoded, weights
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.svm import SVC

import lowtide as lt
from lowtide.device import export_c
from lowtide.errors import ParameterError
from lowtide.learners import LOSSES

X, Y = classes(n=200, k=4)
NEW, TRUTH = classes(n=300, k=4)
NEW = NEW + 0.3 * np.random.default_rng(5).standard_normal(NEW.shape)


def model(loss="hinge", **settings):
    return classifier(
        gamma=0.1, n_components=40, loss=loss, multi_class="ovo", max_iter=2000, random_state=0, **settings
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_votes_and_values_are_those_of_svc(weighted):
    s = weights(200) if weighted else None
    own = model(C=0.5).fit(X, Y, s)
    D, E = decoded(own, X), decoded(own, NEW)
    peer = SVC(kernel="precomputed", C=0.5, tol=1e-9, break_ties=True).fit(D @ D.T, Y, sample_weight=s)
    np.testing.assert_allclose(own.decision_function(NEW), peer.decision_function(E @ D.T), rtol=0, atol=1e-5)
    np.testing.assert_array_equal(own.predict(NEW), peer.predict(E @ D.T))
    assert own.coef_.shape == (6, 40)
    assert own.decision_function(NEW).shape == (300, 4)


@pytest.mark.parametrize("loss", list(LOSSES))
def test_every_pair_is_the_machine_of_its_rows(loss):
    own = model(loss).fit(X, Y)
    pair = (Y == 1) | (Y == 3)
    alone = classifier(own.features_, loss=loss, max_iter=2000).fit(own.features_.encode(X[pair]), Y[pair])
    # The pair (1, 3) is the fifth, and positive for its first class; where a single machine puts its border is its own.
    np.testing.assert_allclose(own.coef_[4], -alone.coef_[0], rtol=0, atol=1e-5 * np.abs(alone.coef_).max())
    np.testing.assert_array_equal(own.predict(NEW), own.classes_[own.decision_function(NEW).argmax(axis=1)])
    P = own.predict_proba(NEW)
    np.testing.assert_array_equal(own.predict(NEW), own.classes_[P.argmax(axis=1)])
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    np.testing.assert_allclose(own.predict_log_proba(NEW), np.log(P), atol=1e-9)
    assert log_loss(TRUTH, P) < np.log(4)


def test_of_two_classes_both_are_one():
    two = Y < 2
    own, other = model().fit(X[two], Y[two]), model().set_params(multi_class="ovr").fit(X[two], Y[two])
    np.testing.assert_array_equal(own.decision_function(NEW), other.decision_function(NEW))
    assert own.coef_.shape == (1, 40)


@pytest.mark.parametrize("loss", ["squared", "hinge"])
def test_weights_stand_for_repeated_rows(loss):
    s = np.random.default_rng(0).integers(0, 3, 200)
    weighted, repeated = model(loss).fit(X, Y, s), model(loss)
    repeated.set_params(features=weighted.features_)
    repeated.fit(weighted.features_.encode(np.repeat(X, s, axis=0)), np.repeat(Y, s))
    np.testing.assert_allclose(repeated.coef_, weighted.coef_, rtol=0, atol=1e-6)
    np.testing.assert_allclose(repeated.predict_proba(NEW), weighted.predict_proba(NEW), rtol=0, atol=1e-5)


def test_heaviest_pair_chooses_the_strength_of_all():
    heavy = np.concatenate([np.flatnonzero(Y < 2), np.flatnonzero(Y >= 2)[:40]])
    own = model("squared", C="auto").fit(X[heavy], Y[heavy])
    pair = heavy[Y[heavy] < 2]
    alone = classifier(own.features_, C="auto").fit(own.features_.encode(X[pair]), Y[pair])
    assert alone.C_ == own.C_
    same = model("squared", C=own.C_).fit(X[heavy], Y[heavy])
    np.testing.assert_allclose(own.coef_, same.coef_, rtol=0, atol=1e-9)


def test_a_saved_model_answers_alike(tmp_path):
    own = model().fit(X, Y)
    lt.save(own, tmp_path / "model.lowtide")
    loaded = lt.load(tmp_path / "model.lowtide")
    np.testing.assert_array_equal(loaded.predict(NEW), own.predict(NEW))
    np.testing.assert_allclose(loaded.predict_proba(NEW), own.predict_proba(NEW), rtol=0, atol=1e-4)
    assert loaded.multi_class == "ovo"


def test_searches_judge_by_votes():
    own = model("squared")
    search = GridSearchCV(own, {"C": [0.1, 1.0]}, cv=3).fit(X, Y)
    assert search.best_score_ == pytest.approx(
        cross_val_score(model("squared", C=search.best_params_["C"]), X, Y, cv=3).mean()
    )
    found = lt.SketchSearchCV(classifier(multi_class="ovo"), param_grid={"gamma": [0.5], "C": [0.1, 1.0]}, cv=3).fit(
        X, Y
    )
    assert found.best_score_ > 0.5


def test_rows_in_blocks_are_refused():
    with pytest.raises(ParameterError, match="multi_class must be 'ovr' when rows come in blocks, got 'ovo'"):
        model("squared").fit(iter([(X, Y)]))
    assert not hasattr(model(), "partial_fit")
    # The packed codes of blocks are kept for the other losses.
    whole = model().fit(X, Y)
    parts = (
        model()
        .set_params(features=whole.features_)
        .fit(iter([(whole.features_.encode(X[:90]), Y[:90]), (whole.features_.encode(X[90:]), Y[90:])]))
    )
    np.testing.assert_allclose(parts.decision_function(NEW), whole.decision_function(NEW), rtol=0, atol=1e-5)


def test_export_to_c_refuses_votes_that_break_ties():
    with pytest.raises(ParameterError, match="counts votes without breaking ties"):
        export_c(model().fit(X, Y))
