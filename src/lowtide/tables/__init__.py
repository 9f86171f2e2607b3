"""Tables: what a row goes through before it is encoded, from columns by name and type to numbers."""

from typing import TYPE_CHECKING, Any

from lowtide.tables.cells import MISSING, ChoiceError, TableError, as_numbers, listed, options_for, suggestion, text_of
from lowtide.tables.elements import Categories, Category, Feature, Indicator, Number, Ordinal, Step
from lowtide.tables.reading import (
    Block,
    CsvFile,
    NpyFile,
    ParquetFile,
    Purpose,
    Source,
    import_pyarrow,
    is_table_name,
    number_matrix,
    open_table,
)
from lowtide.tables.recipe import Recipe
from lowtide.tables.surveying import (
    Alignment,
    Choice,
    Gathered,
    Survey,
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
from lowtide.tables.target import (
    Kind,
    Target,
    Task,
    comparable,
    one_column,
    read_target,
    target_file,
    target_kind,
    target_values,
)

if TYPE_CHECKING:
    from lowtide.tables.pipeline import TableRecipe, recipe_of

__all__ = [
    "MISSING",
    "Alignment",
    "Block",
    "Categories",
    "Category",
    "Choice",
    "ChoiceError",
    "CsvFile",
    "Feature",
    "Gathered",
    "Indicator",
    "Kind",
    "NpyFile",
    "Number",
    "Ordinal",
    "ParquetFile",
    "Purpose",
    "Recipe",
    "Source",
    "Step",
    "Survey",
    "TableError",
    "TableRecipe",
    "Target",
    "Task",
    "align",
    "as_numbers",
    "block_rows",
    "choose_columns",
    "comparable",
    "find_column",
    "gather",
    "import_pyarrow",
    "is_table_name",
    "learn_recipe",
    "listed",
    "number_matrix",
    "one_column",
    "open_table",
    "options_for",
    "read_target",
    "recipe_of",
    "suggestion",
    "survey",
    "target_file",
    "target_kind",
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
