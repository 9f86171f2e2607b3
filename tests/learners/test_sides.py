"""Codes and full features in training and prediction, raw rows and Codes as input."""

import numpy as np
import pandas as pd
import pytest
from learners.samples import classes, classifier, curve, decoded, encoder, regressor, signs, weights
from reference.learner_objectives import ridge
from scipy import sparse
from sklearn.frozen import FrozenEstimator

from lowtide import PeriodicMap, RandomFeatures
from lowtide.errors import FingerprintMismatchError, ParameterError

SIDES = [("codes", "codes"), ("full", "full"), ("codes", "full"), ("full", "codes")]


@pytest.mark.parametrize("bits", [1, 3])
@pytest.mark.parametrize(("train", "predict"), SIDES)
def test_model_is_trained_on_one_side_and_read_on_the_other(train, predict, bits):
    X, y = classes()
    s = weights(len(X))
    model = classifier(n_components=24, bits=bits, train_on=train, predict_on=predict, random_state=0)
    model.fit(X, y, sample_weight=s)
    w, b = ridge(decoded(model, X, train), signs(y), s, 0.5)
    np.testing.assert_allclose(model.decision_function(X), decoded(model, X, predict) @ w + b, rtol=0, atol=1e-9)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_smooth_losses_train_on_the_full_side(loss):
    X, y = classes()
    full = classifier(n_components=24, loss=loss, train_on="full", predict_on="full", random_state=0).fit(X, y)
    none = classifier(n_components=24, loss=loss, bits=None, random_state=0).fit(X, y)
    np.testing.assert_allclose(full.decision_function(X), none.decision_function(X), rtol=0, atol=1e-6)
    coded = classifier(n_components=24, loss=loss, train_on="codes", predict_on="full", random_state=0).fit(X, y)
    expected = decoded(coded, X, "full") @ coded.coef_.T + coded.intercept_
    np.testing.assert_allclose(coded.decision_function(X), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("bits", [1, 2, 4, 8])
@pytest.mark.parametrize("model", [classifier(C=0.5), classifier(loss="logistic")], ids=["squared", "smooth"])
def test_codes_stand_for_their_rows(model, bits):
    X, y = classes()
    features = encoder(X, bits=bits)
    C = features.encode(X)
    from_rows = model.set_params(features=FrozenEstimator(features)).fit(X, y)
    rows_scores, codes_scores = from_rows.decision_function(X), from_rows.decision_function(C)
    np.testing.assert_array_equal(rows_scores, codes_scores)
    from_codes = model.set_params(features=features).fit(C, y)
    assert from_codes.features_ is features
    assert from_codes.n_features_in_ == X.shape[1]
    np.testing.assert_allclose(from_codes.decision_function(X), rows_scores, rtol=0, atol=1e-9)
    alone = model.set_params(features=None).fit(C, y)
    assert alone.features_ is None
    np.testing.assert_allclose(alone.decision_function(C), rows_scores, rtol=0, atol=1e-9)


def test_given_features_are_cloned_and_stay_unfitted():
    X, y = classes()
    given = RandomFeatures(n_components=16, random_state=3)
    model = classifier(given).fit(X, y)
    assert not hasattr(given, "fingerprint_")
    assert model.features_.fingerprint_ == RandomFeatures(n_components=16, random_state=3).fit(X).fingerprint_


def test_default_features_are_those_of_the_parameters():
    X, y = classes()
    model = classifier(gamma=0.3, n_components=32, bits=2, random_state=7).fit(X, y)
    same = RandomFeatures("rbf", gamma=0.3, n_components=32, bits=2, random_state=7).fit(X)
    assert model.features_.fingerprint_ == same.fingerprint_


def test_full_side_is_predicted_from_a_model_of_codes():
    """Stored codes, full queries: the encoder is needed to make them."""
    X, y = classes()
    features = encoder(X)
    model = classifier(features, predict_on="full").fit(features.encode(X), y)
    expected = features.transform(X).astype(float) @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(model.decision_function(X), expected, rtol=0, atol=1e-9)
    with pytest.raises(ParameterError, match=r"rows must not be coded when predict_on is 'full', got 'Codes'\. Pass"):
        model.predict(features.encode(X))


@pytest.mark.parametrize("model", [classifier, regressor])
def test_sides_that_are_not_there_are_refused(model):
    X, y = classes()
    features = encoder(X)
    C = features.encode(X)
    with pytest.raises(ParameterError, match="train_on must be 'codes' when fitted on Codes, got 'full'"):
        model(features, train_on="full").fit(C, y)
    with pytest.raises(ParameterError, match="predict_on must be 'codes' when fitted on Codes alone, got 'full'"):
        model(predict_on="full").fit(C, y)
    for name in ("train_on", "predict_on"):
        with pytest.raises(ParameterError, match=f"{name} must be 'full' for features without a coded side"):
            model(bits=None, **{name: "codes"}).fit(X, y)
        with pytest.raises(ParameterError, match=f"{name} must be one of 'codes', 'full', got 'both'"):
            model(**{name: "both"}).fit(X, y)
    with pytest.raises(ParameterError, match="fitted on Codes alone predicts on Codes, got 'ndarray'"):
        model().fit(C, y).predict(X)


@pytest.mark.parametrize("model", [classifier, regressor])
def test_codes_of_another_encoder_are_refused_by_both_fingerprints(model):
    X, y = classes()
    features, other = encoder(X), encoder(X, gamma=0.2)
    foreign = other.encode(X)
    both = f"{features.fingerprint_.hex()}.*{other.fingerprint_.hex()}"
    with pytest.raises(FingerprintMismatchError, match=both):
        model(features).fit(foreign, y)
    fitted = model(features).fit(features.encode(X), y)
    with pytest.raises(FingerprintMismatchError, match=both):
        fitted.predict(foreign)
    with pytest.raises(FingerprintMismatchError, match=both):
        model().fit(iter([(features.encode(X), y), (foreign, y)]))
    with pytest.raises(ParameterError, match="the fitted encoder that made the codes, got .*not fitted"):
        model(RandomFeatures()).fit(foreign, y)


@pytest.mark.parametrize("model", [classifier, regressor])
def test_codes_need_targets_a_row_and_a_row(model):
    X, y = classes()
    C = encoder(X).encode(X)
    with pytest.raises(ParameterError, match="y must be passed"):
        model().fit(C)
    with pytest.raises(ParameterError, match="y must have a value a row, 90, got 89"):
        model().fit(C, y[1:])
    with pytest.raises(ParameterError, match="y must have a value a row, 90, got 89"):
        model().fit(iter([(C, y), (C, y[1:])]))
    with pytest.raises(ParameterError, match="at least one row"):
        model().fit(C[:0], y[:0])


def test_continuous_coded_side_is_used_block_by_block():
    X, y = curve()
    features = RandomFeatures(
        gamma=0.3, n_components=24, feature_map="cosine", quantizer=PeriodicMap([0, 0.4, -0.1j]), random_state=0
    )
    model = regressor(features, alpha=0.1).fit(X, y)
    D = model.features_.encode(X).astype(float)
    w, b = ridge(D, y[:, None], np.ones(len(X)), 0.1)
    np.testing.assert_allclose(model.predict(X), (D @ w + b)[:, 0], rtol=0, atol=1e-6)


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_array, sparse.coo_matrix])
@pytest.mark.parametrize("side", ["codes", "full"])
def test_sparse_rows_are_the_dense_ones(form, side):
    X, y = classes()
    X = np.where(np.abs(X) > 1.0, X, 0.0)
    model = classifier(n_components=24, gamma=0.1, train_on=side, predict_on=side, random_state=0)
    dense = model.fit(X, y).decision_function(X)
    np.testing.assert_allclose(model.fit(form(X), y).decision_function(form(X)), dense, rtol=0, atol=1e-6)


def test_names_of_columns_are_kept_and_asked_for():
    X, y = classes()
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = classifier(n_components=24, random_state=0).fit(frame, y)
    assert model.feature_names_in_.tolist() == list("abcde")
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[list("edcba")])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X)
    model.fit(model.features_.encode(X), y)
    assert not hasattr(model, "feature_names_in_")


def test_names_of_a_frozen_encoder_hold_for_the_model():
    X, y = classes()
    frame = pd.DataFrame(X, columns=list("abcde"))
    features = RandomFeatures(n_components=24, random_state=0).fit(frame)
    model = classifier(FrozenEstimator(features)).fit(frame, y)
    assert model.features_ is features
    assert model.predict(frame).shape == y.shape
    with pytest.raises(ValueError, match="feature names"):
        classifier(FrozenEstimator(features)).fit(frame[list("edcba")], y)
    from_codes = classifier(features).fit(features.encode(frame), y)
    np.testing.assert_array_equal(from_codes.predict(frame), model.predict(frame))
    with pytest.raises(ValueError, match="feature names"):
        from_codes.predict(frame[list("edcba")])


def test_score_of_a_row_does_not_depend_on_its_batch():
    X, y = classes(n=300)
    model = classifier(n_components=64, random_state=0).fit(X, y)
    together = model.decision_function(X)
    alone = np.vstack([model.decision_function(X[i : i + 1]) for i in range(300)])
    # Sums of 64 terms in float64, in another order.
    largest = np.abs(decoded(model, X)) @ np.abs(model.coef_.T)
    np.testing.assert_array_less(np.abs(alone - together), 64 * np.finfo(float).eps * (largest + 1.0))


def test_no_rows_give_no_predictions():
    X, y = classes()
    for train, predict in SIDES:
        model = classifier(n_components=24, train_on=train, predict_on=predict, random_state=0).fit(X, y)
        assert model.predict(X[:0]).shape == (0,)
        assert model.predict_proba(X[:0]).shape == (0, 3)
    assert regressor(n_components=24).fit(X, X[:, 0]).predict(X[:0]).shape == (0,)


def test_memory_map_is_rows(tmp_path):
    X, y = classes()
    mapped = np.lib.format.open_memmap(tmp_path / "rows.npy", mode="w+", dtype=np.float32, shape=X.shape)
    mapped[:] = X
    model = classifier(n_components=24, random_state=0)
    from_map = model.fit(mapped, y).decision_function(mapped)
    np.testing.assert_array_equal(from_map, model.fit(np.array(mapped), y).decision_function(np.array(mapped)))
