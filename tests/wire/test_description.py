"""Encoders as JSON."""

from __future__ import annotations

import base64
import json

import numpy as np
import pytest

import lowtide as lt
from lowtide.errors import FingerprintMismatchError, WireFormatError
from lowtide.wire import describe_encoder, rebuild_encoder

X = np.random.default_rng(0).standard_normal((20, 6))
ENCODERS = [
    lt.RandomFeatures(n_components=100, random_state=0),
    lt.RandomFeatures("laplacian", projection="iid", n_components=30, bits=2, quantizer="phase", random_state=0),
    lt.RandomFeatures(n_components=30, bits=None, random_state=0),
    lt.RandomFeatures(n_components=30, quantizer="stochastic", bits=2, random_state=0),
    lt.RandomFeatures(n_components=30, metric=[0.5, 0, 1, 2, 1, 3], kept=np.arange(4, 184, 12), random_state=0),
    lt.RandomFeatures(n_components=30, metric=X[:6, :4], random_state=0),
    lt.RandomFeatures(n_components=30, projection="orthogonal", kept=np.arange(1, 90, 6), random_state=0),
    lt.Sketch(n_components=64, random_state=0),
    lt.TernaryFeatures(n_components=64, sparsity="auto", random_state=0),
    lt.LearnedFeatures(n_components=64, random_state=0),
    lt.LearnedFeatures(measure="kernel", random_state=0),
    lt.TernaryFeatures(gamma=1.0, n_components=64, sparsity="auto", random_state=0),
    lt.ActivationFeatures(n_components=64, random_state=0),
    lt.AsymmetricFeatures(n_components=64, random_state=0),
]


def through_json(encoder):
    return json.loads(json.dumps(describe_encoder(encoder), allow_nan=False))


@pytest.mark.parametrize("encoder", ENCODERS, ids=lambda encoder: type(encoder).__name__)
def test_encoder_comes_back_with_the_same_bits(encoder):
    again = rebuild_encoder(through_json(encoder.fit(X)))
    assert (again.fingerprint, again.side) == (encoder.fingerprint_, encoder.side_)
    if again.has_codes:
        assert again.encode(X) == encoder.encode(X)
    np.testing.assert_array_equal(again.transform(X), encoder.transform(X))


def test_description_says_what_a_client_must_know():
    content = through_json(lt.RandomFeatures(n_components=100, random_state=0).fit(X))
    assert (content["kind"], content["bits"], content["n_levels"], content["row_bytes"]) == (
        "RandomFeatures",
        1,
        100,
        13,
    )
    assert content["projection"] == "Hadamard"
    assert content["bit_equal"] is True
    assert content["quantizer"]["even"] is True
    assert set(content["parts"]) == {"encoder"}
    assert set(content["parts"]["encoder"]["arrays"]) == {
        "offset",
        "projection.signs",
        "projection.angles",
        "projection.scale",
    }


def test_drawn_encoder_is_described_like_its_estimator():
    encoder = lt.RandomFeatures(n_components=100, random_state=0).fit(X)
    assert describe_encoder(encoder.drawn_) == describe_encoder(encoder)


def test_dense_layouts_are_not_called_bit_equal():
    assert through_json(lt.RandomFeatures(n_components=8, projection="iid").fit(X))["bit_equal"] is False


def test_the_hadamard_layout_is_not_called_bit_equal_under_a_matrix():
    factors, matrix = np.ones(6), np.eye(6)
    found = [through_json(lt.RandomFeatures(n_components=8, metric=metric).fit(X)) for metric in (factors, matrix)]
    assert [content["bit_equal"] for content in found] == [True, False]


def test_description_of_features_without_codes_has_no_bits():
    assert "bits" not in through_json(lt.RandomFeatures(n_components=8, bits=None).fit(X))


ARRAY = {"dtype": "float32", "shape": [50], "data": "AAAA"}


@pytest.mark.parametrize(
    "change",
    [
        {"parts": None},
        {"parts": {}},
        {"parts": {"encoder": None}},
        {"version": 2},
        {"version": 5},
        {"version": "3"},
        {"spec": None},
        {"spec": {}},
        {"kind": "SVC"},
        {"kind": ["RandomFeatures"]},
        {"arrays": []},
        {"arrays": {}},
        {"arrays": {"offset": {**ARRAY, "dtype": "object", "shape": [1], "data": ""}}},
        {"arrays": {"offset": {**ARRAY, "shape": [1 << 60]}}},
        {"arrays": {"offset": {**ARRAY, "data": "?"}}},
    ],
    ids=str,
)
def test_description_of_a_stranger_is_refused(change):
    content = through_json(lt.RandomFeatures(n_components=100, random_state=0).fit(X))
    part = content["parts"]["encoder"]
    if "parts" in change:
        content |= change
    elif "kind" in change:
        part["spec"] |= change
    else:
        part |= change
    with pytest.raises(WireFormatError):
        rebuild_encoder(content)


def test_part_that_is_not_known_is_refused_by_its_name():
    content = through_json(lt.RandomFeatures(n_components=100, random_state=0).fit(X))
    content["parts"]["rotations"] = {"version": 1, "spec": {}, "arrays": {}}
    with pytest.raises(WireFormatError, match="rotations"):
        rebuild_encoder(content)


@pytest.mark.parametrize("content", [None, [], "text", 1, {}, {"format": 1}])
def test_what_is_no_description_is_refused(content):
    with pytest.raises(WireFormatError, match="format 2"):
        rebuild_encoder(content)


@pytest.mark.parametrize("mark", ["fingerprint", "side"])
def test_encoder_of_another_identity_is_refused(mark):
    content = through_json(lt.RandomFeatures(n_components=100, random_state=0).fit(X)) | {mark: "00" * 16}
    with pytest.raises(FingerprintMismatchError, match="0000"):
        rebuild_encoder(content)


def put(array):
    return {"dtype": array.dtype.name, "shape": list(array.shape), "data": base64.b64encode(array.tobytes()).decode()}


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("metric", np.ones(5, np.float32)),
        ("metric", np.ones((6, 4), np.float32)),
        ("metric", np.ones(6)),
        ("metric", np.zeros(6, np.float32)),
        ("metric", -np.ones(6, np.float32)),
        ("metric", np.full(6, np.nan, np.float32)),
        ("metric", np.ones((6, 0), np.float32)),
        ("projection.places", np.arange(15)),
        ("projection.places", np.arange(14)),
        ("projection.places", np.arange(15)[::-1].copy()),
        ("projection.places", np.arange(15) + (1 << 40)),
        ("projection.places", np.arange(15, dtype=np.float32)),
        ("projection.places", 64 * np.arange(15)),
    ],
    ids=str,
)
def test_a_metric_or_places_of_a_stranger_are_refused(name, array):
    content = through_json(ENCODERS[4].fit(X))
    content["parts"]["encoder"]["arrays"][name] = put(array)
    with pytest.raises(WireFormatError):
        rebuild_encoder(content)
