"""Encoders as JSON, and the columns before them."""

from __future__ import annotations

import json

import numpy as np
import pytest

import lowtide as lt
from lowtide.errors import FingerprintMismatchError, LowtideError, ParameterError, WireFormatError
from lowtide.wire import Columns, describe_encoder, rebuild_encoder

X = np.random.default_rng(0).standard_normal((20, 6))
ENCODERS = [
    lt.RandomFeatures(n_components=100, random_state=0),
    lt.RandomFeatures("laplacian", projection="iid", n_components=30, bits=2, quantizer="phase", random_state=0),
    lt.RandomFeatures(n_components=30, bits=None, random_state=0),
    lt.RandomFeatures(n_components=30, quantizer="stochastic", bits=2, random_state=0),
    lt.Sketch(n_components=64, random_state=0),
    lt.TernaryFeatures(n_components=64, sparsity="auto", random_state=0),
    lt.AsymmetricFeatures(n_components=64, random_state=0),
]


def through_json(encoder):
    return json.loads(json.dumps(describe_encoder(encoder), allow_nan=False))


@pytest.mark.parametrize("encoder", ENCODERS, ids=lambda encoder: type(encoder).__name__)
def test_encoder_comes_back_with_the_same_bits(encoder):
    again = rebuild_encoder(through_json(encoder.fit(X)))
    assert again.fingerprint_ == encoder.fingerprint_
    if encoder._has_codes:
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
    assert set(content["arrays"]) == {"offset", "projection.signs", "projection.scale"}


def test_description_of_features_without_codes_has_no_bits():
    assert "bits" not in through_json(lt.RandomFeatures(n_components=8, bits=None).fit(X))


@pytest.mark.parametrize(
    "change",
    [
        {"format": 2},
        {"kind": "SVC"},
        {"kind": ["RandomFeatures"]},
        {"arrays": []},
        {"arrays": {}},
        {"spec": None},
        {"spec": {}},
        {"arrays": {"offset": {"dtype": "object", "shape": [1], "data": ""}}},
        {"arrays": {"offset": {"dtype": "float32", "shape": [1 << 60], "data": "AAAA"}}},
        {"arrays": {"offset": {"dtype": "float32", "shape": [50], "data": "?"}}},
    ],
    ids=str,
)
def test_description_of_a_stranger_is_refused(change):
    content = through_json(lt.RandomFeatures(n_components=100, random_state=0).fit(X)) | change
    with pytest.raises(WireFormatError):
        rebuild_encoder(content)


@pytest.mark.parametrize("content", [None, [], "text", 1, {}])
def test_what_is_no_description_is_refused(content):
    with pytest.raises(WireFormatError, match="format 1"):
        rebuild_encoder(content)


def test_encoder_of_another_fingerprint_is_refused():
    content = through_json(lt.RandomFeatures(n_components=100, random_state=0).fit(X)) | {"fingerprint": "00" * 16}
    with pytest.raises(FingerprintMismatchError, match="0000"):
        rebuild_encoder(content)


COLUMNS = Columns(("x", "city", "z"), mean=(1.0, 0.0), scale=(2.0, 1.0), categories={"city": ("Bern", "Oslo")})


def test_columns_scale_numbers_and_spread_categories():
    rows = [[3.0, "Oslo", 5.0], {"z": 7, "city": "Rome", "x": 1.0, "more": 0}]
    np.testing.assert_array_equal(COLUMNS.matrix(rows), [[1.0, 5.0, 0.0, 1.0], [0.0, 7.0, 0.0, 0.0]])
    assert COLUMNS.n_features == 4
    assert COLUMNS.matrix([]).shape == (0, 4)


def test_columns_come_back_from_json():
    assert Columns.from_json(json.loads(json.dumps(COLUMNS.to_json()))) == COLUMNS


def test_columns_of_numbers_take_arrays():
    columns = Columns(("a", "b"), mean=(1.0, 2.0), scale=(2.0, 4.0))
    np.testing.assert_array_equal(columns.matrix(np.array([[3.0, 6.0]])), [[1.0, 1.0]])
    np.testing.assert_array_equal(Columns(("a",)).matrix(np.array([[3.0]])), [[3.0]])


@pytest.mark.parametrize(
    "rows",
    [
        [[1.0, "Oslo"]],
        [{"x": 1.0}],
        ["abc"],
        [1.0],
        [["one", "Oslo", 2.0]],
        [["1", "Oslo", 2.0]],
        [[None, "Oslo", 2.0]],
    ],
    ids=str,
)
def test_rows_that_do_not_fit_the_columns_are_refused(rows):
    with pytest.raises(ParameterError):
        COLUMNS.matrix(rows)


def test_row_of_another_length_is_refused_with_its_length():
    with pytest.raises(ParameterError, match="3 values, got 2"):
        COLUMNS.matrix([[1.0, "Oslo"]])


@pytest.mark.parametrize(
    "change",
    [
        {"mean": [1.0]},
        {"scale": [0.0, 1.0]},
        {"scale": [float("nan"), 1.0]},
        {"names": None},
        {"categories": [1]},
        {"categories": {"w": ["a"]}},
        {"mean": ["x", "y"]},
    ],
    ids=str,
)
def test_columns_that_do_not_fit_together_are_refused(change):
    with pytest.raises(LowtideError):
        Columns.from_json(COLUMNS.to_json() | change)


def test_columns_of_a_table_recipe_leave_out_what_is_not_used():
    recipe = {
        "columns": ["id", "x", "city"],
        "numeric": ["x"],
        "categories": {"city": ["a"]},
        "mean": [1],
        "scale": [2],
    }
    assert Columns.of_table(recipe) == Columns(("x", "city"), (1.0,), (2.0,), {"city": ("a",)})
    with pytest.raises(WireFormatError):
        Columns.of_table({"columns": []})
