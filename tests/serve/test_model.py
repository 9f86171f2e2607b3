"""Predictions: the same from codes, rows and features, and those of the model itself."""

from __future__ import annotations

import asyncio
import json
import re

import numpy as np
import pandas as pd
import pytest
from given import given_classifier, given_regressor
from mixed_table import RECIPE as MIXED
from mixed_table import ROWS as MIXED_ROWS
from mixed_table import mixed_classifier, with_dates_of_python
from serve.serving import CODES, JSON, ROWS, ask, serving
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import lowtide as lt
from lowtide.errors import LowtideError, ParameterError
from lowtide.serve import Catalog, KeyRing, Service, Settings, running
from lowtide.serve.model import ServedModel
from lowtide.tables import Categories, Indicator, Number, Recipe
from lowtide.wire import pack, pack_rows


def bodies(encoder, X):
    """Return the ways to send rows, with their media types."""
    features = pack_rows(encoder.transform(X), side="features", fingerprint=encoder.fingerprint_)
    return {
        "codes": (pack(encoder.encode(X)), CODES),
        "rows": (pack_rows(X), ROWS),
        "json": (json.dumps({"rows": X.tolist()}).encode(), JSON),
        "list": (json.dumps(X.tolist()).encode(), JSON),
        "features": (features, ROWS),
    }


@pytest.mark.parametrize("way", ["codes", "rows", "json", "list"])
@pytest.mark.parametrize("n", [0, 1, 40, 100])
def test_predictions_are_those_of_the_model(address, digits, way, n):
    X = digits.X[:n]
    answer = ask(address, "/v1/predict", *bodies(digits.encoder, X)[way])
    assert answer.status == 200
    assert answer.json == {"model": "digits", "predictions": digits.model.predict(X).tolist()}


def test_features_are_multiplied_with_the_same_weights(address, digits):
    body, kind = bodies(digits.encoder, digits.X)["features"]
    answer = ask(address, "/v1/predict?return=scores,probabilities", body, kind).json
    Z = digits.encoder.transform(digits.X).astype(np.float64)
    scores = Z @ digits.model.coef_.T + digits.model.intercept_
    np.testing.assert_allclose(answer["scores"], scores, rtol=0, atol=1e-9)
    assert answer["predictions"] == digits.model.classes_[np.argmax(scores, axis=1)].tolist()
    np.testing.assert_allclose(np.sum(answer["probabilities"], axis=1), 1.0)


@pytest.mark.parametrize("way", ["codes", "rows"])
def test_scores_and_probabilities_come_when_asked_for(address, digits, way):
    answer = ask(address, "/v1/predict?return=probabilities,scores", *bodies(digits.encoder, digits.X)[way]).json
    np.testing.assert_allclose(answer["scores"], digits.model.decision_function(digits.X), rtol=1e-12)
    np.testing.assert_allclose(answer["probabilities"], digits.model.predict_proba(digits.X), rtol=1e-9)
    assert answer["classes"] == list(range(10))


def test_model_is_found_by_its_name(address, digits):
    body, kind = bodies(digits.encoder, digits.X[:3])["codes"]
    answer = ask(address, "/v1/models/digits/predict", body, kind)
    assert answer.json["predictions"] == digits.model.predict(digits.X[:3]).tolist()


def test_one_input_row_has_the_scores_of_its_codes(address, digits):
    found = [
        ask(address, "/v1/predict?return=scores", *bodies(digits.encoder, digits.X)[way]) for way in ("codes", "rows")
    ]
    assert found[0].json["scores"] == found[1].json["scores"]


def served_answer(tmp_path, model, body, kind, path="/v1/predict", **saved):
    lt.save(model, tmp_path / "m.lowtide", **saved)
    with serving([tmp_path / "m.lowtide"]) as (address, _):
        return ask(address, path, body, kind)


def test_two_classes_have_one_score_and_texts_for_labels(tmp_path, digits):
    labels = np.where(np.arange(100) % 2, "odd", "even")
    model = given_classifier(n_components=64, random_state=0).fit(digits.X, labels)
    body, kind = bodies(model.features_, digits.X[:4])["codes"]
    answer = served_answer(tmp_path, model, body, kind, "/v1/predict?return=scores,probabilities").json
    assert answer["predictions"] == model.predict(digits.X[:4]).tolist()
    np.testing.assert_allclose(answer["scores"], model.decision_function(digits.X[:4]), rtol=1e-4, atol=1e-5)
    assert answer["classes"] == ["even", "odd"]


@pytest.mark.parametrize("targets", [1, 2])
def test_regressor_gives_values(tmp_path, digits, targets):
    y = digits.X[:, :targets] if targets > 1 else digits.X.sum(axis=1)
    model = given_regressor(n_components=64, random_state=0).fit(digits.X, y)
    answer = served_answer(tmp_path, model, *bodies(model.features_, digits.X[:20])["codes"])
    np.testing.assert_allclose(answer.json["predictions"], model.predict(digits.X[:20]), rtol=1e-4, atol=1e-4)


def test_regressor_has_no_probabilities(tmp_path, digits):
    model = given_regressor(n_components=64, random_state=0).fit(digits.X, digits.X[:, 2])
    body, kind = bodies(model.features_, digits.X[:2])["codes"]
    answer = served_answer(tmp_path, model, body, kind, "/v1/predict?return=probabilities")
    assert answer.status == 400
    assert answer.is_refusal


def test_model_that_reads_the_full_side_refuses_codes(tmp_path, digits):
    model = given_classifier(n_components=64, predict_on="full", random_state=0).fit(digits.X, np.arange(100) % 3)
    sent = bodies(model.features_, digits.X[:5])
    lt.save(model, tmp_path / "m.lowtide")
    with serving([tmp_path / "m.lowtide"]) as (address, _):
        assert ask(address, "/v1/predict", *sent["codes"]).status == 415
        for way in ("rows", "features"):
            assert ask(address, "/v1/predict", *sent[way]).json["predictions"] == model.predict(digits.X[:5]).tolist()


def test_model_fitted_on_codes_alone_takes_codes_alone(tmp_path, digits):
    model = given_classifier().fit(digits.codes, np.arange(200) % 3)
    lt.save(model, tmp_path / "m.lowtide")
    with serving([tmp_path / "m.lowtide"]) as (address, _):
        answer = ask(address, "/v1/predict", pack(digits.codes[:4]))
        assert answer.json["predictions"] == model.predict(digits.codes[:4]).tolist()
        assert ask(address, "/v1/predict", b"[[1]]", JSON).status == 415
        assert ask(address, "/v1/encoder").status == 404


def test_encoder_alone_is_served_but_predicts_nothing(tmp_path, digits):
    for query in ("", "?return=scores"):
        answer = served_answer(tmp_path, digits.encoder, pack(digits.codes[:1]), CODES, f"/v1/predict{query}")
        assert answer.status == 404
        assert answer.is_refusal


@pytest.mark.parametrize(
    "encoder",
    [
        lt.Sketch(n_components=64, gamma=0.5, bits=4),
        lt.TernaryFeatures(n_components=64, sparsity="auto"),
        lt.LearnedFeatures(n_components=64),
        lt.LearnedFeatures(measure="kernel", n_bytes=8),
    ],
    ids=["sketch", "ternary", "learned", "learned kernel"],
)
def test_models_of_other_encoders_are_served(tmp_path, digits, encoder):
    model = given_classifier(encoder.set_params(random_state=0)).fit(digits.X, np.arange(100) % 3)
    expected = model.predict(digits.X[:7]).tolist()
    assert (
        served_answer(tmp_path, model, *bodies(model.features_, digits.X[:7])["codes"]).json["predictions"] == expected
    )
    assert (
        served_answer(tmp_path, model, *bodies(model.features_, digits.X[:7])["rows"]).json["predictions"] == expected
    )


def test_features_are_not_taken_where_transform_gives_others_than_the_weights_are_for(tmp_path, digits):
    encoder = lt.AsymmetricFeatures(n_components=64, bits=None, random_state=0)
    model = given_classifier(encoder).fit(digits.X, np.arange(100) % 3)
    lt.save(model, tmp_path / "m.lowtide")
    with serving([tmp_path / "m.lowtide"]) as (address, _):
        assert ask(address, "/v1/models").json["models"][0]["accepts"] == ["rows"]
        with lt.Client(address, send="rows") as client:
            assert client.predict(digits.X[:9]).tolist() == model.predict(digits.X[:9]).tolist()
        with lt.Client(address) as client, pytest.raises(ParameterError, match="send must be 'rows'"):
            client.predict(digits.X[:9])


TOWNS = Recipe.of_features(
    ("a", "city", "b"),
    [
        (Number(0), (("subtract", 1.0), ("divide", 2.0))),
        (Number(2), (("fill", 2.0), ("subtract", 2.0), ("divide", 4.0))),
        (Indicator(0, 0), ()),
        (Indicator(0, 1), ()),
    ],
    [Categories(1, ("Bern", "Oslo"))],
)


def fitted(n_features, **options):
    """Return a small classifier of so many columns."""
    X = np.random.default_rng(0).standard_normal((60, n_features))
    return given_classifier(n_components=64, C=1.0, random_state=0, **options).fit(X, np.arange(60) % 3)


def test_columns_are_scaled_filled_and_spread_as_the_recipe_says(tmp_path):
    model = fitted(4)
    expected = model.predict(np.array([[1.0, 0.5, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0]])).tolist()
    rows = [{"a": 3.0, "city": "Oslo", "b": 4}, {"a": 1.0, "city": "Rome", "b": None}]
    lt.save(model.with_recipe(TOWNS), tmp_path / "m.lowtide", metadata={"unit": "m"})
    with serving([tmp_path / "m.lowtide"]) as (address, _):
        named = ask(address, "/v1/predict", json.dumps(rows).encode(), JSON).json
        listed = ask(address, "/v1/predict", b'[[3.0,"Oslo",4],[1,"Rome",null]]', JSON).json
        assert named["predictions"] == listed["predictions"] == expected
        for wrong in (
            b'[[3.0,"Oslo","4"]]',
            b'[[null,"Oslo",4]]',
            b'[[3.0,"Oslo"]]',
            b'[{"a":1,"b":2}]',
            b"[[[1],{},2]]",
        ):
            answer = ask(address, "/v1/predict", wrong, JSON)
            assert answer.status == 422
            assert answer.is_refusal
        assert ask(address, "/v1/predict", pack_rows(np.ones((1, 3))), ROWS).status == 422
        for send in ("codes", "rows"):
            with lt.Client(address, send=send) as client:
                for table in (rows, pd.DataFrame(rows), pd.DataFrame(rows)[["a", "city", "b"]].to_numpy()):
                    assert client.predict(table).tolist() == expected
        about = ask(address, "/v1/models").json["models"][0]
        assert Recipe.from_json(about["recipe"]) == TOWNS
        assert about["metadata"] == {"unit": "m"}


@pytest.fixture(scope="module")
def houses(tmp_path_factory):
    path = tmp_path_factory.mktemp("houses") / "houses.lowtide"
    lt.save(mixed_classifier(), path, weights="float64")
    with serving([path]) as (address, _):
        yield address


def test_rows_of_every_kind_of_column_are_answered_as_python_answers_them(houses):
    expected = mixed_classifier().decision_function(MIXED_ROWS)
    in_order = [[row[name] for name in MIXED.columns] for row in MIXED_ROWS]
    for rows in (MIXED_ROWS, in_order):
        answer = ask(houses, "/v1/predict?return=scores", json.dumps(rows).encode(), JSON).json
        np.testing.assert_allclose(answer["scores"], expected, rtol=1e-12)
    of_python = [with_dates_of_python(row) for row in MIXED_ROWS]
    for send in ("codes", "rows"):
        with lt.Client(houses, send=send) as client:
            for table in (MIXED_ROWS, in_order, of_python, pd.DataFrame(of_python)):
                np.testing.assert_allclose(client.decision_function(table), expected, rtol=1e-12)
            columns = {name: [row[name] for row in MIXED_ROWS] for name in MIXED.columns}
            np.testing.assert_allclose(client.decision_function(columns), expected, rtol=1e-12)
            with pytest.raises(LowtideError, match="'city' is missing in .*; it has 'City', which is not known"):
                client.predict(pd.DataFrame(of_python).rename(columns={"city": "City"}))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"heated": "maybe"}, "column 'heated' must hold true or false .*, got 'maybe' in row 1"),
        ({"garden": None}, "every cell must hold true or false, got a missing value or NaN in row 1, column 'garden'"),
        (
            {"sold": "2024-03-31"},
            "column 'sold' must hold dates, '2024-03-31' in row 1 is none. A date is written 31.03",
        ),
        ({"built": 1974}, "column 'built' must hold dates, '1974.0' in row 1 is none"),
        ({"price": "cheap"}, "each cell of column 'price' must be a number, true, false or null"),
        ({"city": ["Bern"]}, "each cell of column 'city' must be a text, a number, true, false or null"),
    ],
    ids=str,
)
def test_cells_that_are_not_what_their_column_holds_are_refused_in_words(houses, change, words):
    answer = ask(houses, "/v1/predict", json.dumps([{**MIXED_ROWS[0], **change}]).encode(), JSON)
    assert answer.is_refusal
    assert answer.status == 422
    assert re.search(words, answer.json["detail"])


def test_columns_that_are_missing_and_surplus_are_named_as_such(houses):
    row = {"City" if name == "city" else name: cell for name, cell in MIXED_ROWS[0].items()}
    answer = ask(houses, "/v1/predict", json.dumps([MIXED_ROWS[1], row]).encode(), JSON)
    assert answer.is_refusal
    assert answer.status == 422
    words = (
        r"column 'city' is missing in row 2 \(byte \d+\); it has 'City', which is not known\. "
        r"If 'City' is 'city', rename it\."
    )
    assert re.fullmatch(words, answer.json["detail"])
    refused = ask(houses, "/v1/predict", pack_rows(np.ones((1, 8))), ROWS)
    assert "city, sold, built hold categories or dates: send JSON" in refused.json["detail"]


def test_schema_of_a_row_says_what_each_column_holds(houses):
    body = ask(houses, "/openapi.json").json["paths"]["/v1/predict"]["post"]["requestBody"]["content"]
    in_order, by_name = body[JSON]["schema"]["anyOf"][1]["items"]["anyOf"]
    cells = by_name["properties"]
    assert in_order["prefixItems"] == list(cells.values())
    assert by_name["required"] == list(MIXED.columns)
    assert cells["price"]["type"] == ["number", "null"]
    assert cells["rooms"]["type"] == "number"
    assert cells["city"] == {"type": ["string", "null"], "description": "a category: Bern, Oslo, Zürich"}
    assert (True in cells["garden"]["enum"], None in cells["garden"]["enum"], None in cells["heated"]["enum"]) == (
        True,
        False,
        True,
    )
    assert cells["sold"] == {"type": ["string", "null"], "description": "a date, DD.MM.YYYY, as is or with a time"}
    assert (cells["built"]["type"], cells["note"]["description"]) == ("string", "not used")


def test_categories_that_are_numbers_may_come_as_texts():
    recipe = Recipe.of_features(
        ("x", "size"),
        [(Number(0), ()), *((Indicator(0, i), ()) for i in range(3))],
        [Categories(1, (1, 2.5, 30_000_000), unknown="error")],
    )
    reader = ServedModel.of("m", fitted(4).with_recipe(recipe)).reader
    expected = [[0.5, 0.0, 0.0, 1.0], [0.5, 0.0, 1.0, 0.0], [0.5, 1.0, 0.0, 0.0]]
    for text in (
        b'[[0.5,30000000],[0.5,2.5],{"size":1,"x":0.5}]',
        b'[[0.5,"30000000"],[0.5,"2.5"],{"size":"1","x":0.5}]',
    ):
        np.testing.assert_array_equal(reader.read(b"application/json", text, 10).content, expected)
    for text in (b'[[0.5,"3"]]', b"[[0.5,null]]", b"[[0.5,[]]]", b'[["0.5",1]]', b"[0.5]"):
        with pytest.raises(LowtideError):
            reader.read(b"application/json", text, 10)


def test_pipeline_is_served_from_a_file_and_in_process(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"x": rng.normal(50.0, 9.0, 90), "city": rng.choice(["Bern", "Oslo"], 90), "z": rng.random(90)}
    )
    steps = ColumnTransformer(
        [("numbers", StandardScaler(), ["x", "z"]), ("city", OneHotEncoder(handle_unknown="ignore"), ["city"])]
    )
    pipeline = make_pipeline(steps, given_classifier(n_components=128, random_state=0))
    pipeline.fit(frame, (frame["x"] > 50) ^ (frame["city"] == "Oslo"))
    expected = pipeline.predict(frame).tolist()
    lt.save(pipeline, tmp_path / "towns.lowtide")
    rows = json.dumps(frame.to_dict("records")).encode()
    service = Service(Catalog.of({"towns": pipeline}), Settings(port=0), KeyRing({}))
    with running(service) as here, serving([tmp_path / "towns.lowtide"]) as (there, _):
        for address in (here, there):
            answer = ask(address, "/v1/predict", rows, JSON).json
            assert (answer["model"], answer["predictions"]) == ("towns", expected)
            for send in ("codes", "rows"):
                with lt.Client(address, send=send) as client:
                    assert client.predict(frame[["z", "city", "x"]]).tolist() == expected
        assert asyncio.run(service.reload())
        assert ask(here, "/v1/predict", rows, JSON).json["predictions"] == expected


def test_pipeline_of_unknown_steps_is_refused_by_their_name():
    X = np.random.default_rng(0).standard_normal((60, 4))
    pipeline = make_pipeline(PCA(3), given_classifier(n_components=64)).fit(X, np.arange(60) % 3)
    with pytest.raises(LowtideError, match="PCA"):
        Catalog.of({"m": pipeline})


@pytest.mark.parametrize(
    "encoder",
    [
        lt.RandomFeatures(projection="iid"),
        lt.RandomFeatures(),
        lt.TernaryFeatures(),
        lt.Sketch(gamma=0.5),
        lt.Sketch(gamma=0.5, projection="iid"),
    ],
    ids=["dense", "hadamard", "ternary", "sketch", "dense sketch"],
)
def test_rows_that_run_on_the_event_loop_are_bounded_by_their_cost(encoder):
    X = np.random.default_rng(0).standard_normal((20, 1500))
    model = given_classifier(encoder.set_params(n_components=1024, random_state=0), C=1.0).fit(X, np.arange(20) % 2)
    served, cost = ServedModel.of("m", model), model.features_.drawn_.row_cost
    weights = model.coef_.size
    assert served.small_rows("codes") == (1 << 22) // weights
    assert served.small_rows("rows") == (1 << 22) // (weights + cost)
    projection = getattr(encoder, "projection", None)
    if projection == "iid":  # every frequency is a product of all columns
        assert served.small_rows("rows") <= (1 << 22) // (1500 * 512)


def test_row_that_takes_longer_than_a_millisecond_is_left_to_a_thread():
    X = np.random.default_rng(0).standard_normal((20, 5000))
    encoder = lt.RandomFeatures(projection="iid", n_components=2048, random_state=0)
    assert ServedModel.of("m", encoder.fit(X)).small_rows("rows") == 0


def test_codes_of_another_quantizer_are_refused_with_both_sides(address, digits):
    other = lt.RandomFeatures(gamma=0.001, n_components=500, bits=2, random_state=digits.seed).fit(digits.train)
    assert other.fingerprint_ == digits.encoder.fingerprint_
    answer = ask(address, "/v1/predict", pack(other.encode(digits.X[:1])))
    assert answer.status == 409
    assert answer.is_refusal
    assert other.side_.hex() in answer.json["detail"]
    assert digits.encoder.side_.hex() in answer.json["detail"]


def test_columns_by_name_are_put_in_order(tmp_path):
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = given_classifier(n_components=64, random_state=0).fit(X, y)
    lt.save(model, tmp_path / "m.lowtide")
    rows = X.iloc[[0, 70, 120]]
    with serving([tmp_path / "m.lowtide"]) as (address, _), lt.Client(address) as client:
        backwards = [dict(reversed(row.items())) for row in rows.to_dict("records")]
        answer = ask(address, "/v1/predict", json.dumps(backwards).encode(), JSON).json
        assert answer["predictions"] == model.predict(rows).tolist()
        assert client.predict(rows[rows.columns[::-1]]).tolist() == model.predict(rows).tolist()
        assert client.predict(pd.DataFrame(rows).to_numpy()).tolist() == model.predict(rows).tolist()
        for send in ("codes", "rows"):
            with lt.Client(address, send=send) as other, pytest.raises(LowtideError, match="petal width"):
                other.predict(rows.drop(columns="petal width (cm)"))


def test_compressed_machine_divides_columns_by_its_length_scales(tmp_path):
    X = np.random.default_rng(0).standard_normal((80, 2)) * [1.0, 10.0]
    exact = GaussianProcessRegressor(RBF([1.0, 10.0]), optimizer=None, alpha=0.1).fit(X, np.sin(X[:, 0]))
    small = lt.compress(exact, n_components=256, random_state=0)
    assert small.decision_.recipe is not None
    lt.save(small, tmp_path / "m.lowtide", weights="float64")
    with serving([tmp_path / "m.lowtide"]) as (address, _), lt.Client(address) as client:
        np.testing.assert_allclose(client.predict(X[:20]), small.predict(X[:20]), atol=1e-6)
        with lt.Client(address, send="rows") as raw:
            np.testing.assert_allclose(raw.predict(X[:20]), small.predict(X[:20]), atol=1e-4)
