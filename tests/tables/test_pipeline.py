import numpy as np
import pandas as pd
import pyarrow
import pytest
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.utils.estimator_checks import parametrize_with_checks

from lowtide.errors import ParameterError
from lowtide.tables import (
    Recipe,
    TableError,
    TableRecipe,
    block_rows,
    choose_columns,
    learn_recipe,
    open_table,
    recipe_of,
    survey,
)

RNG = np.random.default_rng(0)
SCALES = np.array([1.0, 1e-3, 250.0, 7.0, 1e6])
X = RNG.standard_normal((200, 5)) * SCALES + [0.0, 1.0, -3.0, 1e4, 0.1]
NEW = RNG.standard_normal((1000, 5)) * 2 * SCALES
HOLES = np.where(RNG.random(X.shape) < 0.2, np.nan, X)
NEW_HOLES = np.where(RNG.random(NEW.shape) < 0.2, np.nan, NEW)
CITIES = ["Bern", "Oslo", "Rome", "Åre"]


def table(n, seed, unknown=()):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "area": rng.uniform(20, 150, n),
            "city": rng.choice([*CITIES, *unknown], n).astype(object),
            "floor": rng.integers(0, 4, n),
            "balcony": rng.random(n) < 0.4,
            "rooms": rng.integers(1, 6, n).astype(float),
            "heating": rng.choice(["gas", "oil"], n).astype(object),
        }
    )
    frame.loc[rng.random(n) < 0.2, "rooms"] = np.nan
    frame.loc[rng.random(n) < 0.2, "heating"] = None
    return frame


TABLE, NEW_TABLE, STRANGE = table(200, 1), table(500, 2), table(500, 3, unknown=["Kyiv"])


def dense(values):
    return np.asarray(values.toarray() if hasattr(values, "toarray") else values, dtype=np.float64)


def check_equal(step, *tables):
    """Compare a fitted step with its recipe to the bit, on all rows, one row and none."""
    recipe = recipe_of(step)
    for rows in tables:
        expected = dense(step.transform(rows))
        found = recipe.apply(rows)
        assert found.tobytes() == np.ascontiguousarray(expected).tobytes()
        assert recipe.apply(rows[:1]).tobytes() == np.ascontiguousarray(expected[:1]).tobytes()
        assert recipe.apply(rows[:0]).shape == (0, expected.shape[1])
        assert Recipe.from_json(recipe.to_json()).apply(rows).tobytes() == found.tobytes()
    return recipe


@pytest.mark.parametrize(
    "step",
    [
        StandardScaler(),
        StandardScaler(with_mean=False),
        StandardScaler(with_std=False),
        StandardScaler(with_mean=False, with_std=False),
        MinMaxScaler(),
        MinMaxScaler(feature_range=(-2, 3), clip=True),
        MaxAbsScaler(),
        *([MaxAbsScaler(clip=True)] if "clip" in MaxAbsScaler().get_params() else []),  # newer scikit-learns
        make_pipeline(StandardScaler(), MinMaxScaler(clip=True), "passthrough", None, MaxAbsScaler()),
        ColumnTransformer(
            [("a", StandardScaler(), [3, 0]), ("b", MinMaxScaler(), slice(1, 3))], remainder="passthrough"
        ),
        ColumnTransformer([("a", StandardScaler(), [-1]), ("b", "passthrough", [True, False, True, False, False])]),
        ColumnTransformer([("a", StandardScaler(), [0, 1]), ("b", "drop", [2])], remainder=MaxAbsScaler()),
        ColumnTransformer(
            [("a", make_pipeline(MinMaxScaler(), StandardScaler()), [0, 1]), ("b", "passthrough", [0])],
            transformer_weights={"a": 0.3},
        ),
        make_pipeline(
            ColumnTransformer([("a", MinMaxScaler(), [1, 2])], remainder="passthrough"),
            ColumnTransformer([("b", StandardScaler(), [0, 4]), ("c", "passthrough", slice(0, None, 2))]),
            StandardScaler(),
        ),
        TableRecipe(),
        make_pipeline(TableRecipe(standardize=False), StandardScaler()),
        make_pipeline(TableRecipe(categories=[], drop=[1, 3]), MinMaxScaler()),
    ],
    ids=str,
)
def test_numbers_equal_those_of_the_step_to_the_bit(step):
    recipe = check_equal(step.fit(X), X, NEW, np.asfortranarray(NEW), NEW[::3, ::-1][:, ::-1])
    assert not recipe.named
    assert recipe.columns == ("0", "1", "2", "3", "4")
    # float32 is computed as float64.
    single = NEW.astype(np.float32)
    assert np.array_equal(recipe.apply(single), dense(step.transform(single.astype(np.float64))))


@pytest.mark.parametrize("fitted", [X.astype(np.float32), np.rint(X).astype(np.int64)], ids=["float32", "int64"])
@pytest.mark.parametrize("step", [StandardScaler(), MinMaxScaler(clip=True), MaxAbsScaler()], ids=str)
def test_steps_fitted_on_another_type_of_number_are_equal_too(step, fitted):
    check_equal(step.fit(fitted), NEW)


@pytest.mark.parametrize(
    "step",
    [
        *(SimpleImputer(strategy=strategy) for strategy in ("mean", "median", "most_frequent")),
        SimpleImputer(strategy="constant", fill_value=-7),
        SimpleImputer(strategy="constant"),
        make_pipeline(SimpleImputer(), StandardScaler()),
        make_pipeline(StandardScaler(), SimpleImputer(strategy="median"), MinMaxScaler(clip=True)),
        make_pipeline(MaxAbsScaler(), SimpleImputer()),
    ],
    ids=str,
)
def test_missing_numbers_are_filled_as_the_step_does(step):
    check_equal(step.fit(HOLES), NEW_HOLES, HOLES, NEW)


def test_imputer_of_a_column_without_any_value_leaves_it_out_or_keeps_it():
    empty = np.where(np.arange(5) == 2, np.nan, HOLES)
    with pytest.warns(UserWarning, match="Skipping features"):
        check_equal(SimpleImputer().fit(empty), empty)
    check_equal(SimpleImputer(keep_empty_features=True).fit(empty), empty)


def test_missing_numbers_that_nothing_fills_are_refused_with_their_place():
    recipe = recipe_of(StandardScaler().fit(HOLES))
    with pytest.raises(TableError, match="row 3, column '1'"):
        recipe.apply(np.where((np.arange(4)[:, None] == 2) & (np.arange(5) == 1), np.nan, 1.0))


MIXED = [
    ColumnTransformer([("n", StandardScaler(), ["area"]), ("c", OneHotEncoder(handle_unknown="ignore"), ["city"])]),
    ColumnTransformer(
        [
            ("n", make_pipeline(SimpleImputer(), StandardScaler()), make_column_selector(dtype_include="number")),
            ("c", OneHotEncoder(handle_unknown="ignore", sparse_output=False), ["city", "balcony"]),
        ]
    ),
    ColumnTransformer(
        [
            ("drop", OneHotEncoder(drop="first", handle_unknown="ignore"), ["city"]),
            ("binary", OneHotEncoder(drop="if_binary"), ["balcony", "floor"]),
            ("o", OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), ["city", "floor"]),
        ],
        sparse_threshold=0,
    ),
    ColumnTransformer(
        [
            ("h", OneHotEncoder(handle_unknown="infrequent_if_exist"), ["heating", "city"]),
            ("o", OrdinalEncoder(encoded_missing_value=-2), ["heating"]),
            ("r", OneHotEncoder(), ["rooms"]),
        ],
        sparse_threshold=0,
    ),
    ColumnTransformer(
        [
            ("h", make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder()), ["heating"]),
            ("k", make_pipeline(SimpleImputer(strategy="constant", fill_value="?"), OneHotEncoder()), ["heating"]),
            ("r", make_pipeline(SimpleImputer(strategy="median"), OneHotEncoder(handle_unknown="ignore")), ["rooms"]),
            ("o", make_pipeline(OrdinalEncoder(), SimpleImputer(), MinMaxScaler()), ["heating"]),
        ],
        sparse_threshold=0,
    ),
    make_pipeline(
        ColumnTransformer([("c", OneHotEncoder(handle_unknown="ignore"), slice("city", "balcony"))]),
        StandardScaler(with_mean=False),
        MaxAbsScaler(),
    ),
    make_pipeline(
        ColumnTransformer(
            [("c", OneHotEncoder(handle_unknown="ignore", categories=[CITIES]), ["city"])], sparse_threshold=0
        ),
        StandardScaler(),
    ),
    ColumnTransformer(
        [("t", TableRecipe(categories=["city", "floor", "heating"]), ["heating", "floor", "city", "area"])]
    ),
    TableRecipe(categories=["city", "heating", "balcony"], drop=["rooms"]),
    make_pipeline(TableRecipe(columns={"floor": "category"}), StandardScaler()),
    ColumnTransformer(
        [
            ("i", make_pipeline(SimpleImputer(add_indicator=True), MinMaxScaler()), ["rooms", "area"]),
            ("j", SimpleImputer(add_indicator=True, strategy="median"), ["floor", "rooms"]),
        ]
    ),
]


@pytest.mark.parametrize("step", MIXED, ids=range(len(MIXED)))
@pytest.mark.filterwarnings("ignore:Found unknown categories")
def test_tables_of_numbers_and_categories_equal_those_of_the_step_to_the_bit(step):
    tables = [TABLE, NEW_TABLE]
    step.fit(TABLE)
    try:
        step.transform(STRANGE)
        tables.append(STRANGE)
    except ValueError:
        with pytest.raises(TableError, match="Kyiv"):
            recipe_of(step).apply(STRANGE)
    recipe = check_equal(step, *tables)
    assert recipe.named
    assert set(recipe.columns) <= set(TABLE.columns)
    records = NEW_TABLE.to_dict("records")
    assert recipe.apply(records).tobytes() == recipe.apply(NEW_TABLE).tobytes()
    others = NEW_TABLE[[name for name in reversed(TABLE.columns) if name in recipe.columns]].assign(more="x")
    assert recipe.apply(others).tobytes() == recipe.apply(NEW_TABLE).tobytes()


def test_categories_of_arrays_equal_those_of_the_step_to_the_bit():
    cells = TABLE[["city", "floor"]].to_numpy()
    check_equal(OneHotEncoder(sparse_output=False).fit(cells), cells)
    numbers = TABLE[["floor", "balcony"]].to_numpy(dtype=np.float64)
    check_equal(OrdinalEncoder().fit(numbers), numbers)
    check_equal(OneHotEncoder().fit(numbers), numbers)
    texts = TABLE[["city"]].to_numpy(dtype=str)
    check_equal(OneHotEncoder(handle_unknown="ignore").fit(texts), texts, STRANGE[["city"]].to_numpy(dtype=str))


def test_a_column_whose_only_category_is_dropped_is_still_needed():
    frame = TABLE.assign(country="Norway")
    steps = [("n", StandardScaler(), ["area"]), ("c", OneHotEncoder(drop="first"), ["country"])]
    recipe = check_equal(ColumnTransformer(steps).fit(frame), frame)
    assert recipe.columns == ("area", "country")


def test_a_wish_for_unknown_categories_is_kept():
    fitted = OneHotEncoder(handle_unknown="error").fit(TABLE[["city"]])
    with pytest.raises(TableError, match="'city' must hold one of .* got 'Kyiv'"):
        recipe_of(fitted).apply(STRANGE)


def test_unknown_ordinals_may_be_filled():
    step = make_pipeline(
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan), SimpleImputer(strategy="constant")
    )
    check_equal(step.fit(TABLE[["city"]]), TABLE[["city"]], STRANGE[["city"]])


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (RobustScaler(), "StandardScaler.*got 'RobustScaler'"),
        (make_pipeline(StandardScaler(), PCA(2)), "got 'PCA'"),
        (ColumnTransformer([("p", PCA(1), [0, 1])]), "got 'PCA'"),
        (FunctionTransformer(np.log1p), "FunctionTransformer: a function cannot be kept, got log1p"),
        (SimpleImputer(missing_values=-1), "missing_values must be NaN, got -1"),
        (make_pipeline(StandardScaler(), OneHotEncoder()), "OneHotEncoder: it must come before scalers"),
        (make_pipeline(OrdinalEncoder(), OneHotEncoder()), "OneHotEncoder: it must come before scalers"),
        (OneHotEncoder(max_categories=2), "rare categories"),
        (OrdinalEncoder(min_frequency=30), "rare categories"),
        (make_pipeline(StandardScaler(), TableRecipe()), "TableRecipe: it must be the first step"),
    ],
    ids=str,
)
def test_steps_that_no_recipe_can_do_are_refused_by_name(step, message):
    with pytest.raises(ParameterError, match=message):
        recipe_of(step.fit(np.abs(np.rint(X[:, :2]))))


def test_an_imputer_that_says_what_was_missing_must_come_first():
    check_equal(SimpleImputer(add_indicator=True).fit(HOLES), HOLES, NEW_HOLES)
    with pytest.raises(ParameterError, match="with add_indicator it must be the first step"):
        recipe_of(make_pipeline(StandardScaler(), SimpleImputer(add_indicator=True)).fit(HOLES))


def test_a_subclass_of_a_known_step_may_do_something_else_and_is_refused():
    class Doubled(StandardScaler):
        pass

    with pytest.raises(ParameterError, match="Doubled"):
        recipe_of(Doubled().fit(X))


@pytest.mark.parametrize("unit", ["ns", "us", "s"])
def test_dates_are_no_categories(unit):
    days = pd.DataFrame({"day": pd.to_datetime(["2021-01-01", "2021-01-02"]).as_unit(unit)})
    with pytest.raises(ParameterError, match="OneHotEncoder: it must hold texts, numbers or truth values"):
        recipe_of(OneHotEncoder().fit(days))


def test_steps_that_are_not_fitted_are_refused():
    with pytest.raises(NotFittedError):
        recipe_of(StandardScaler())
    with pytest.raises(NotFittedError):
        recipe_of(make_pipeline("passthrough", StandardScaler()))


def test_steps_that_do_nothing_need_names():
    assert recipe_of(["passthrough"], names=["a", "b"]).is_identity
    assert recipe_of(Pipeline([("p", "passthrough")]), names=3).columns == ("0", "1", "2")
    assert recipe_of([], names=["a"]).columns == ("a",)
    with pytest.raises(ParameterError, match="names"):
        recipe_of(["passthrough"])


def test_names_may_be_given_to_steps_that_were_fitted_without():
    recipe = recipe_of(StandardScaler().fit(X), names="abcde")
    assert recipe.columns == tuple("abcde")
    with pytest.raises(ParameterError, match="fitted on 2 columns, got 5"):
        recipe_of(StandardScaler().fit(X), names=["a", "b"])


def test_table_recipe_does_to_a_frame_what_it_says():
    steps = TableRecipe(drop=["balcony", "rooms", "heating"]).fit(TABLE)
    area = (NEW_TABLE["area"] - TABLE["area"].mean()) / TABLE["area"].std(ddof=0)
    np.testing.assert_allclose(steps.transform(NEW_TABLE)[:, 0], area, rtol=1e-12)
    expected = ["area", "floor", "city_Bern", "city_Oslo", "city_Rome", "city_Åre"]
    assert steps.get_feature_names_out().tolist() == expected
    assert steps.recipe_.columns == ("area", "city", "floor")
    assert TableRecipe(drop=[0]).fit(X[:, :3]).get_feature_names_out(["a", "b", "c"]).tolist() == ["b", "c"]
    assert steps.set_output(transform="pandas").transform(NEW_TABLE).columns.tolist() == expected


def test_table_recipe_finds_what_the_columns_of_a_frame_hold():
    steps = TableRecipe().fit(TABLE)
    assert [column.taken_as for column in steps.taken_] == [
        "number",
        "category",
        "number",
        "truth",
        "number",
        "category",
    ]
    assert steps.recipe_.kinds == ("number", "category", "number", "truth", "number", "category")
    assert "rooms_missing" in steps.get_feature_names_out()
    assert "heating_" in steps.get_feature_names_out()


DATED = TABLE.assign(
    since=pd.date_range("2021-01-01 08:00", periods=len(TABLE), freq="37h"),
    row=np.arange(len(TABLE)),
    name=[f"flat {i}" for i in range(len(TABLE))],
)


class Stream:
    """A table of which nothing is known but how Arrow reads it."""

    def __init__(self, frame):
        self._table = pyarrow.Table.from_pandas(frame)

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


FORMS = {
    "csv": None,
    "arrow": pyarrow.Table.from_pandas,
    "stream": Stream,
    "dict": lambda frame: {name: frame[name].to_list() for name in frame.columns},
    "polars": lambda frame: pytest.importorskip("polars").from_pandas(frame),
}


@pytest.mark.parametrize("form", FORMS)
def test_the_same_table_has_the_same_recipe_in_every_form(tmp_path, form):
    expected = TableRecipe().fit(DATED)
    assert {column.taken_as for column in expected.taken_} == {"number", "category", "truth", "date", "left out"}
    if form == "csv":
        DATED.to_csv(tmp_path / "t.csv", index=False)
        source = open_table(tmp_path / "t.csv")
        choice = choose_columns(source)
        recipe, taken = learn_recipe(survey(source, choice).sample, choice)
        rows = block_rows(recipe, next(source.blocks()))
    else:
        table = FORMS[form](DATED)
        steps = TableRecipe().fit(table)
        recipe, taken, rows = steps.recipe_, steps.taken_, steps.transform(table)
        assert recipe.apply(table).tobytes() == rows.tobytes()
    assert recipe == expected.recipe_
    assert [column.taken_as for column in taken] == [column.taken_as for column in expected.taken_]
    assert rows.tobytes() == expected.transform(DATED).tobytes()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"categories": ["City"]}, "Did you mean 'city'"),
        ({"categories": ["city"], "drop": ["city"]}, "drop must not name"),
        ({"categories": "city"}, "brackets"),
        ({"columns": {"city": "number"}}, "column 'city' cannot be taken as 'number': got '.*' in row 1"),
        ({"columns": {"city": "text"}}, "must be one of 'number'"),
    ],
)
def test_table_recipe_says_what_is_wrong_in_words_of_python(params, message):
    with pytest.raises(ValueError, match=message) as caught:
        TableRecipe(**params).fit(TABLE)
    assert "--" not in str(caught.value)


@pytest.mark.parametrize("value", [np.inf, "a lot"])
def test_table_recipe_refuses_a_cell_that_is_no_number_by_its_row(value):
    area = TABLE["area"].astype(object)
    area[7] = value
    with pytest.raises(TableError, match=r"in row 8.*drop=\['area'\]"):
        TableRecipe().fit(TABLE.assign(area=area))
    with pytest.raises(TableError, match="in row 8, column 'area'"):
        TableRecipe().fit(TABLE).transform(TABLE.assign(area=area))


def test_table_recipe_names_columns_that_a_dict_lacks():
    steps = TableRecipe().fit({"a": [1.5, 2.0], "b": [1, 2]})
    with pytest.raises(TableError, match="column 'b' is missing in the table"):
        steps.transform({"a": [1.5]})


@parametrize_with_checks([TableRecipe(), TableRecipe(standardize=False)])
def test_table_recipe_passes_scikit_learn(estimator, check):
    try:
        check(estimator)
    except pytest.skip.Exception as skipped:
        raise AssertionError(f"{check} was skipped: {skipped}") from skipped
