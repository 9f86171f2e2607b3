"""Tables: what a row goes through before it is encoded, from columns by name and type to numbers."""

from typing import TYPE_CHECKING, Any

from lowtide.tables.cells import ChoiceError, TableError, lacking, listed, text_of
from lowtide.tables.dates import Dates
from lowtide.tables.elements import Categories, DatePart, Indicator, Missing, Number, Ordinal, Truth
from lowtide.tables.reading import Block, Source, import_pyarrow, is_table_name, number_matrix, open_table
from lowtide.tables.recipe import Recipe
from lowtide.tables.surveying import (
    Choice,
    Gathered,
    align,
    block_rows,
    choose_columns,
    find_column,
    gather,
    learn_recipe,
    survey,
    target_survey,
    unseen_categories,
)
from lowtide.tables.target import Kind, Target, Task, comparable, read_target, target_in_file, target_values

if TYPE_CHECKING:
    from lowtide.tables.pipeline import TableRecipe, recipe_of

__all__ = [
    "Block",
    "Categories",
    "Choice",
    "ChoiceError",
    "DatePart",
    "Dates",
    "Gathered",
    "Indicator",
    "Kind",
    "Missing",
    "Number",
    "Ordinal",
    "Recipe",
    "Source",
    "TableError",
    "TableRecipe",
    "Target",
    "Task",
    "Truth",
    "align",
    "block_rows",
    "choose_columns",
    "comparable",
    "find_column",
    "gather",
    "import_pyarrow",
    "is_table_name",
    "lacking",
    "learn_recipe",
    "listed",
    "number_matrix",
    "open_table",
    "read_target",
    "recipe_of",
    "survey",
    "target_in_file",
    "target_survey",
    "target_values",
    "text_of",
    "unseen_categories",
]


def __getattr__(name: str) -> Any:
    # These load scikit-learn, which reading a table does not need.
    if name in ("TableRecipe", "recipe_of"):
        from lowtide.tables import pipeline

        return getattr(pipeline, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
