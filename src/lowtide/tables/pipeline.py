"""Recipes and scikit-learn: fitted steps of a pipeline become a recipe, and a recipe can be fitted as such a step."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cache
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from lowtide._checks import fail
from lowtide.errors import ParameterError
from lowtide.tables.cells import check_names, is_missing, listed, named_columns, names_of
from lowtide.tables.columns import block_rows, choose_columns
from lowtide.tables.dates import Dates
from lowtide.tables.elements import Categories, Category, DatePart, Indicator, Missing, Number, Ordinal, Origin, Step
from lowtide.tables.learning import Taken, learn_recipe
from lowtide.tables.reading import Source
from lowtide.tables.recipe import Recipe
from lowtide.tables.surveying import survey


@dataclass(eq=False, repr=False)
class TableRecipe(TransformerMixin, BaseEstimator):
    """Turn the rows of a table into numbers as `lowtide fit` does: find what columns hold, fill, scale, spread.

    What columns hold is found by a look at all rows. Numbers are filled with their median and standardized,
    (x - mean) / std. Truth values become 0 and 1, dates the days since 1970 and where they are in a year, a week and
    a day as far as these vary, texts of few values a column of 0 and 1 for each: a category that was not there at fit
    is 0 in all. Where values are missing often, that they are is a column too. Identifiers, free texts, and columns
    that are empty or constant are left out.

    Parameters
    ----------
    standardize : bool, default=True
        Whether numbers are standardized; otherwise they are taken as they are.
    columns : dict of str, default=None
        What columns are taken as in place of what they seem to be, by name, or by number where the table has no names:
        "number", "category", "truth", "date" (or "ymd", "dmy", "mdy" by the order of its parts), or "drop".
    categories : sequence of str or int, default=()
        Columns of categories: cells are taken as texts, whole numbers without a point; at most 1000 categories each.
    drop : sequence of str or int, default=()
        Columns that are left out.

    Attributes
    ----------
    recipe_ : Recipe
        What was fitted, a frozen value; `lowtide.save` keeps it with a pipeline's model.
    taken_ : tuple of Taken
        What each column is taken as, and what is done to it.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only where the table has names.

    See Also
    --------
    recipe_of : the recipe of scikit-learn's own transformers.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"area": [20.0, 40.0, 60.0, None], "city": ["Oslo", "Bern", "Oslo", "Oslo"]})
    >>> steps = TableRecipe().fit(table)
    >>> steps.transform(table).round(2)
    array([[-1.41,  0.  ,  1.  ],
           [ 0.  ,  1.  ,  0.  ],
           [ 1.41,  0.  ,  1.  ],
           [ 0.  ,  0.  ,  1.  ]])
    >>> steps.get_feature_names_out().tolist()
    ['area', 'city_Bern', 'city_Oslo']
    >>> [(column.name, column.taken_as, column.missing) for column in steps.taken_]
    [('area', 'number', 1), ('city', 'category', 0)]
    """

    _: KW_ONLY
    standardize: bool = True
    columns: Mapping[str | int, str] | None = None
    categories: Sequence[str | int] = ()
    drop: Sequence[str | int] = ()
    recipe_: Recipe = field(init=False)
    taken_: tuple[Taken, ...] = field(init=False)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find what the columns of a table hold, and learn scales and categories.

        Parameters
        ----------
        X : data frame, dict of columns, Arrow table, or array (n, n_columns)
            Frames of pandas and polars, and all else that has `__arrow_c_stream__`.
        y : ignored
        """
        for name, columns in (("categories", self.categories), ("drop", self.drop)):
            if isinstance(columns, str):
                raise fail("TableRecipe", f"{name} must be a list of columns", columns, "Put it in brackets.")
        table = _read_frame(self, X, reset=True)
        choice = choose_columns(
            table,
            columns={str(name): wish for name, wish in (self.columns or {}).items()},
            categories=[*map(str, self.categories)],
            drop=[*map(str, self.drop)],
            in_python=True,
        )
        sample = survey(table, choice, whole=True).sample
        self.recipe_, self.taken_ = learn_recipe(sample, choice, standardize=self.standardize)
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return the features of a table, float64 (n, n_features_out)."""
        check_is_fitted(self)
        return block_rows(self.recipe_, next(_read_frame(self, X, reset=False).blocks()))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return one name per feature: that of its column, and "_category", "_days" and so on for what is made of it.

        Parameters
        ----------
        input_features : sequence of str or None
            Names of the columns, those at fit where it had names.
        """
        # scikit-learn's check of the names, and its names for a table without.
        given = OneToOneFeatureMixin.get_feature_names_out(self, input_features)
        known = getattr(self, "feature_names_in_", map(str, range(self.n_features_in_)))
        name = dict(zip(known, given))
        renamed = replace(self.recipe_, columns=tuple(str(name[column]) for column in self.recipe_.columns))
        return np.array(renamed.feature_names, dtype=object)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _read_frame(owner: TableRecipe, X: Any, *, reset: bool) -> Source:
    """Return a table that has passed scikit-learn's checks."""
    names = names_of(X)
    if names is not None and not hasattr(X, "shape"):  # scikit-learn knows no table that has no shape
        if reset:
            owner.feature_names_in_, owner.n_features_in_ = np.array(names, dtype=object), len(names)
        else:
            check_names(names, owner.recipe_.columns, "the table")
            names = list(owner.recipe_.columns)
        return _source(tuple(names), True, [*named_columns(X, names).values()])
    if names is not None:
        validate_data(owner, X, reset=reset, skip_check_array=True)
        columns = [*named_columns(X, names).values()]
        if len(columns) == 0 or len(columns[0]) == 0:
            validate_data(owner, X, reset=reset, dtype=None)  # says which of them there is none of
    else:
        cells = validate_data(owner, X, reset=reset, dtype=None, ensure_all_finite=False)
        columns = [*cells.T]
        _check_cells(cells)
    given = getattr(owner, "feature_names_in_", None)
    return _source(tuple(map(str, range(len(columns)) if given is None else given)), given is not None, columns)


def _source(names: tuple[str, ...], named: bool, columns: list[NDArray[Any]]) -> Source:
    return Source("the table", names, named, lambda: iter([(columns, None)]))


def _check_cells(cells: NDArray[Any]) -> None:
    """Refuse cells that hold a container, with the error that scikit-learn has for them."""
    if cells.dtype.kind == "O":
        odd = next((cell for cell in cells.ravel() if isinstance(cell, (dict, list, set, tuple))), None)
        if odd is not None:
            raise TypeError(f"TableRecipe: a cell's argument must be a string or a number, got {type(odd).__name__}.")


@dataclass(frozen=True)
class _Feature:
    """A feature on its way through the steps: its origin, what was done to it, and what a missing cell became."""

    origin: Origin
    steps: tuple[Step, ...] = ()
    missing: Category = None


@dataclass(frozen=True)
class _Table:
    """What a step is given: features, categories and dates so far, and whether scikit-learn has a sparse matrix."""

    features: list[_Feature]
    categories: list[Categories]
    dates: list[Dates]
    sparse: bool = False

    def with_features(self, features: Iterable[_Feature], sparse: bool | None = None) -> _Table:
        return _Table(list(features), self.categories, self.dates, self.sparse if sparse is None else sparse)

    def then(self, op: str, *arguments: Any) -> _Table:
        """Return the features after an operation with these arguments, each a number, or one per feature."""
        n = len(self.features)
        own = np.array([np.broadcast_to(argument, n) for argument in arguments], dtype=np.float64).T.tolist()
        return self.with_features(replace(f, steps=(*f.steps, (op, *own[i]))) for i, f in enumerate(self.features))

    def divided(self, scale: Any) -> _Table:
        """Return the features after a division; scikit-learn multiplies sparse columns by the inverse."""
        return self.then("multiply", 1 / scale) if self.sparse else self.then("divide", scale)

    def place(self, some: Categories) -> int:
        """Return where a list of categories is, adding one that is new."""
        if some not in self.categories:
            self.categories.append(some)
        return self.categories.index(some)


def recipe_of(steps: Any, names: Iterable[str] | int | None = None) -> Recipe:
    """Turn fitted scikit-learn transformers into a recipe that makes the same numbers, to the bit.

    Parameters
    ----------
    steps : fitted transformer, Pipeline or ColumnTransformer, or list of them
        StandardScaler, MinMaxScaler, MaxAbsScaler, SimpleImputer, OneHotEncoder, OrdinalEncoder, TableRecipe,
        "passthrough" and "drop", as deep as wanted; others are refused by name. Numbers are computed in float64 also
        where scikit-learn would compute in float32, for input of float32.
    names : iterable of str, int or None
        Names of the columns, or their number; None takes what the first step was fitted on. Columns that have names
        and are not used by any feature are left out.

    Returns
    -------
    Recipe

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.compose import ColumnTransformer
    >>> table = pd.DataFrame({"area": [20.0, 40.0, 60.0], "city": ["Oslo", "Bern", "Oslo"], "id": [7, 8, 9]})
    >>> steps = ColumnTransformer([("a", MinMaxScaler(), ["area"]), ("c", OneHotEncoder(), ["city"])]).fit(table)
    >>> recipe = recipe_of(steps)
    >>> recipe.columns
    ('area', 'city')
    >>> recipe.apply([{"area": 50.0, "city": "Bern"}])
    array([[0.75, 1.  , 0.  ]])
    """
    if names is None:
        first = next(_flat(steps), None)
        if first is None:
            raise ParameterError("recipe_of: steps that do nothing must come with the names of the columns, got none.")
        check_is_fitted(first)
        names = getattr(first, "feature_names_in_", first.n_features_in_)
    plain = Recipe.plain(names)
    table = _through(steps, _Table([_Feature(source) for source in plain.sources], [], []))
    made = [(feature.origin, feature.steps) for feature in table.features]
    recipe = Recipe.of_features(plain.columns, made, table.categories, plain.named, table.dates)
    return recipe.without_unused() if plain.named else recipe


def _flat(steps: Any) -> Iterator[Any]:
    """Yield the steps of lists and pipelines, as deep as they go, that do something."""
    inner = [step for _, step in steps.steps] if isinstance(steps, Pipeline) else steps
    if isinstance(inner, (list, tuple)):
        for step in inner:
            yield from _flat(step)
    elif inner not in (None, "passthrough"):
        yield inner


def _through(steps: Any, table: _Table) -> _Table:
    """Return what steps make of features, one after the other."""
    for step in _flat(steps):
        rule = _rules().get(type(step))
        if rule is None:
            known = [cls.__name__ for cls in _rules() if cls is not FunctionTransformer]
            name = step if isinstance(step, str) else type(step).__name__
            must = f"steps must be {listed([*known, 'Pipeline'], most=20)} or 'passthrough'"
            remedy = "Do its work before the pipeline, or keep the pipeline as it is in Python."
            raise fail("recipe_of", must, name, remedy)
        check_is_fitted(step)
        if step.n_features_in_ != len(table.features):
            must = f"{type(step).__name__} must have been fitted on {len(table.features)} columns"
            raise fail("recipe_of", must, step.n_features_in_)
        table = rule(step, table)
    return table


def _standard_scaler(step: Any, table: _Table) -> _Table:
    centered = table.then("subtract", step.mean_) if step.with_mean else table
    return centered.divided(step.scale_) if step.with_std else centered


def _min_max_scaler(step: Any, table: _Table) -> _Table:
    scaled = table.then("multiply", step.scale_).then("add", step.min_)
    return scaled.then("clip", *step.feature_range) if step.clip else scaled


def _max_abs_scaler(step: Any, table: _Table) -> _Table:
    scaled = table.divided(step.scale_)
    # Older releases of scikit-learn have no such parameter.
    return scaled.then("clip", -1.0, 1.0) if step.get_params().get("clip") else scaled


def _simple_imputer(step: Any, table: _Table) -> _Table:
    if not is_missing(step.missing_values):
        raise _refused(step, "missing_values must be NaN", step.missing_values)
    features = []
    for feature, value in zip(table.features, step.statistics_):
        fill = _category(step, value)
        if fill is None and not step.keep_empty_features:
            continue  # the column had no value at all
        if isinstance(fill, str):  # for an encoder of categories
            features.append(replace(feature, missing=fill))
        elif math.isfinite(fill or 0.0):
            features.append(replace(feature, steps=(*feature.steps, ("fill", float(fill or 0.0)))))
        else:
            raise _refused(step, "it must fill with finite numbers or texts", value)
    return table.with_features(features + (_indicators(step, table) if step.add_indicator else []))


def _indicators(step: Any, table: _Table) -> list[_Feature]:
    """Return the features of an imputer that say which cells were missing."""
    asked = [table.features[j] for j in step.indicator_.features_]
    if any(not isinstance(feature.origin, Number) or feature.steps or feature.missing for feature in asked):
        raise _refused(step, "with add_indicator it must be the first step of its columns", "it after another")
    return [_Feature(Missing(feature.origin.column)) for feature in asked]


def _one_hot_encoder(step: Any, table: _Table) -> _Table:
    unknown = "error" if step.handle_unknown == "error" else "ignore"
    dropped = [None] * len(table.features) if step.drop_idx_ is None else step.drop_idx_
    features = []
    for feature, values, drop in zip(table.features, step.categories_, dropped):
        some = _categories(step, feature, values, unknown)
        k = table.place(some)
        features += [_Feature(Indicator(k, i)) for i in range(len(some.values)) if drop is None or i != drop]
    return table.with_features(features, sparse=step.sparse_output)


def _ordinal_encoder(step: Any, table: _Table) -> _Table:
    handling = "ignore" if step.handle_unknown == "use_encoded_value" else "error"
    given = (step.unknown_value, step.encoded_missing_value)
    unknown, missing = (None if is_missing(value) else float(value) for value in given)
    features = []
    for feature, values in zip(table.features, step.categories_):
        some = _categories(step, feature, values, handling)
        own = missing if None in some.values else unknown
        features.append(_Feature(Ordinal(table.place(some), unknown, own)))
    return table.with_features(features, sparse=False)


def _categories(step: Any, feature: _Feature, values: Any, unknown: Any) -> Categories:
    """Return the categories of a column that nothing was done to but filling."""
    fills = [numbers[0] for op, *numbers in feature.steps if op == "fill"]
    if not isinstance(feature.origin, Number) or len(fills) < len(feature.steps):
        raise _refused(step, "it must come before scalers and other encoders", "it after one")
    if any(rare is not None for rare in getattr(step, "infrequent_categories_", [])):
        must = "rare categories must have columns of their own"
        raise _refused(step, must, "some that min_frequency or max_categories puts together")
    known = tuple(_category(step, value) for value in values)
    if len(set(known)) < len(known):
        raise _refused(step, "categories must differ", "None and NaN, which are one missing value")
    missing = feature.missing if feature.missing is not None or not fills else fills[0]
    return Categories(feature.origin.column, known, unknown, missing=missing)


def _category(step: Any, value: Any) -> Category:
    """Return a category as plain Python has it, None for a missing value."""
    # A date in nanoseconds, as pandas 2 has them, would come out as an integer.
    is_date = isinstance(value, (np.datetime64, np.timedelta64))
    plain = value.item() if isinstance(value, np.generic) and not is_date else value
    if is_missing(plain):
        return None
    if not isinstance(plain, (str, bool, int, float)):
        raise _refused(step, "it must hold texts, numbers or truth values", type(plain).__name__)
    return plain


def _function_transformer(step: Any, table: _Table) -> _Table:
    # A fitted ColumnTransformer has one without a function in place of "passthrough".
    if step.func is not None:
        raise _refused(step, "a function cannot be kept", getattr(step.func, "__name__", "one"))
    return table


def _column_transformer(step: Any, table: _Table) -> _Table:
    names = list(getattr(step, "feature_names_in_", []))
    features: list[_Feature] = []
    for name, inner, columns in step.transformers_:
        chosen = _positions(columns, names, len(table.features))
        if inner == "drop" or not len(chosen):
            continue
        made = _through(inner, table.with_features(table.features[j] for j in chosen))
        weight = (step.transformer_weights or {}).get(name)
        features += (made if weight is None else made.then("multiply", weight)).features
    return table.with_features(features, sparse=step.sparse_output_)


def _positions(columns: Any, names: list[str], n: int) -> NDArray[np.intp]:
    """Return the columns that a ColumnTransformer was given: names, numbers, a slice of either, or a mask."""
    if isinstance(columns, slice):
        start, stop = (names.index(at) if isinstance(at, str) else at for at in (columns.start, columns.stop))
        return np.arange(n)[start : stop + 1 if isinstance(columns.stop, str) else stop : columns.step]
    chosen: list[Any] = [columns] if np.isscalar(columns) else columns
    return np.arange(n)[[names.index(at) if isinstance(at, str) else at for at in chosen]]


def _table_recipe(step: Any, table: _Table) -> _Table:
    if any(not isinstance(feature.origin, Number) or feature.steps for feature in table.features):
        raise _refused(step, "it must be the first step", "it after another")
    names = list(getattr(step, "feature_names_in_", map(str, range(step.n_features_in_))))
    at = [table.features[names.index(name)].origin.column for name in step.recipe_.columns]  # type: ignore[union-attr]
    moved = step.recipe_.with_columns(step.recipe_.columns, at)
    place = [table.place(some) for some in moved.categories]
    n_dates = len(table.dates)
    table.dates.extend(moved.dates)

    def here(source: Origin) -> Origin:
        if isinstance(source, (Indicator, Ordinal)):
            return replace(source, categories=place[source.categories])
        return replace(source, dates=n_dates + source.dates) if isinstance(source, DatePart) else source

    return table.with_features(_Feature(here(source), steps) for source, steps in moved.features)


def _refused(step: Any, must: str, got: Any) -> ParameterError:
    return ParameterError(f"recipe_of: {type(step).__name__}: {must}, got {got}.")


@cache
def _rules() -> dict[type, Callable[[Any, _Table], _Table]]:
    """Return what makes a recipe of a step, by the step's class."""
    # Not above: with these two comes a fifth of what importing a learner would take.
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer

    return {
        StandardScaler: _standard_scaler,
        MinMaxScaler: _min_max_scaler,
        MaxAbsScaler: _max_abs_scaler,
        SimpleImputer: _simple_imputer,
        OneHotEncoder: _one_hot_encoder,
        OrdinalEncoder: _ordinal_encoder,
        ColumnTransformer: _column_transformer,
        TableRecipe: _table_recipe,
        FunctionTransformer: _function_transformer,
    }
