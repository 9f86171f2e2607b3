"""A pipeline of known steps is saved as its learner with a recipe, and what is loaded takes rows of the table."""

from __future__ import annotations

import os

import numpy as np
import pandas as pd
import pytest
from given import given_classifier, given_regressor
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    QuantileTransformer,
    StandardScaler,
)

import lowtide as lt
from lowtide.errors import LowtideError
from lowtide.persist import describe, from_bytes, to_bytes


def table(n: int = 1000) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    depth = rng.normal(20.0, 5.0, n)
    depth[::17] = np.nan
    tide = rng.choice(["ebb", "flood", "slack"], n)
    return pd.DataFrame({"depth": depth, "width": rng.gamma(2.0, 30.0, n), "tide": tide, "pier": rng.integers(0, 4, n)})


def labels(frame: pd.DataFrame) -> np.ndarray:
    return np.where((frame["width"] > 50) ^ (frame["tide"] == "ebb"), "high", "low")


def mixed() -> ColumnTransformer:
    scaled = make_pipeline(SimpleImputer(), StandardScaler())
    steps = [("numbers", scaled, ["depth", "width"]), ("texts", OneHotEncoder(), ["tide"])]
    return ColumnTransformer([*steps, ("order", OrdinalEncoder(), ["pier"])])


def model(**parameters) -> lt.KernelClassifier:
    return given_classifier(**{"n_components": 256, "random_state": 0, **parameters})


@pytest.mark.parametrize("n_rows", [1, 1000])
def test_pipeline_of_scaled_and_named_columns_comes_back_as_a_learner_with_a_recipe(n_rows, tmp_path):
    frame = table()
    pipeline = make_pipeline(mixed(), model()).fit(frame, labels(frame))
    lt.save(pipeline, tmp_path / "p.lowtide", weights="float64")
    loaded = lt.load(tmp_path / "p.lowtide")
    assert type(loaded) is lt.KernelClassifier
    assert loaded.decision_.recipe.columns == tuple(frame.columns)
    rows = frame[:n_rows]
    np.testing.assert_array_equal(loaded.predict(rows), pipeline.predict(rows))
    np.testing.assert_allclose(loaded.predict_proba(rows), pipeline.predict_proba(rows), rtol=0, atol=1e-12)


@pytest.mark.parametrize("scaler", [StandardScaler(), MinMaxScaler(), MaxAbsScaler(), MinMaxScaler(clip=True)])
@pytest.mark.parametrize("named", [False, True])
def test_scaled_numbers_are_predicted_as_the_pipeline_does(scaler, named, tmp_path):
    frame = table()[["width", "pier"]]
    X = frame if named else frame.to_numpy(dtype=np.float64)
    pipeline = make_pipeline(scaler, given_regressor(n_components=128, random_state=0)).fit(X, frame["width"])
    loaded = from_bytes(to_bytes(pipeline, weights="float64"))
    np.testing.assert_array_equal(loaded.predict(X), pipeline.predict(X))


def test_saved_pipeline_names_its_parts_and_is_saved_again_to_the_same_bytes(tmp_path):
    frame = table()
    lt.save(make_pipeline(mixed(), model()).fit(frame, labels(frame)), tmp_path / "a")
    assert "table" in describe(tmp_path / "a")["parts"]
    lt.save(lt.load(tmp_path / "a"), tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_the_learner_of_a_saved_pipeline_stays_as_it_was():
    frame = table()
    pipeline = make_pipeline(mixed(), model()).fit(frame, labels(frame))
    to_bytes(pipeline)
    assert pipeline[-1].decision_.recipe is None


@pytest.mark.parametrize("step", [PolynomialFeatures(), QuantileTransformer(n_quantiles=10)])
def test_step_that_no_recipe_can_hold_is_refused_by_name(step, tmp_path):
    frame = table()[["width", "pier"]]
    pipeline = make_pipeline(step, model()).fit(frame, labels(table()))
    with pytest.raises(LowtideError, match=type(step).__name__):
        lt.save(pipeline, tmp_path / "p.lowtide")
    assert not os.listdir(tmp_path)
