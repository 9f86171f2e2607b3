"""Tables: what a row goes through before it is encoded, from columns by name and type to numbers."""

from typing import TYPE_CHECKING

from lowtide._later import later
from lowtide.tables.cells import ChoiceError, TableError, lacking, listed, text_of
from lowtide.tables.columns import (
    WISHES,
    Choice,
    Surprises,
    align,
    block_cells,
    block_rows,
    choose_columns,
    find_column,
)
from lowtide.tables.dates import Dates
from lowtide.tables.dialect import Dialect, check_encoding
from lowtide.tables.elements import Categories, DatePart, Indicator, Missing, Number, Ordinal, Truth
from lowtide.tables.learning import Taken, learn_recipe
from lowtide.tables.looking import Finding
from lowtide.tables.reading import Block, Source, import_pyarrow, is_table_name, open_table
from lowtide.tables.recipe import Recipe
from lowtide.tables.surveying import Sample, Survey, read_rows, survey
from lowtide.tables.target import (
    Kind,
    Target,
    Task,
    comparable,
    read_target,
    read_values,
    target_in_file,
    target_survey,
    target_values,
)

if TYPE_CHECKING:
    from lowtide.tables.pipeline import TableRecipe, recipe_of

__all__ = [
    "WISHES",
    "Block",
    "Categories",
    "Choice",
    "ChoiceError",
    "DatePart",
    "Dates",
    "Dialect",
    "Finding",
    "Indicator",
    "Kind",
    "Missing",
    "Number",
    "Ordinal",
    "Recipe",
    "Sample",
    "Source",
    "Surprises",
    "Survey",
    "TableError",
    "TableRecipe",
    "Taken",
    "Target",
    "Task",
    "Truth",
    "align",
    "block_cells",
    "block_rows",
    "check_encoding",
    "choose_columns",
    "comparable",
    "find_column",
    "import_pyarrow",
    "is_table_name",
    "lacking",
    "learn_recipe",
    "listed",
    "open_table",
    "read_rows",
    "read_target",
    "read_values",
    "recipe_of",
    "survey",
    "target_in_file",
    "target_survey",
    "target_values",
    "text_of",
]

# These load scikit-learn, which reading a table does not need.
__getattr__ = later(__name__, {"lowtide.tables.pipeline": ("TableRecipe", "recipe_of")})
