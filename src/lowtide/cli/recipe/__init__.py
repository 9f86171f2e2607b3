"""From the columns of a table to the rows of a model, the same way at fit and at predict."""

from lowtide.cli.recipe.alignment import Alignment, align
from lowtide.cli.recipe.choice import Choice, choose_columns, find_column
from lowtide.cli.recipe.gathering import Gathered, gather
from lowtide.cli.recipe.recipe import TableRecipe
from lowtide.cli.recipe.surveying import Survey, survey, target_survey
from lowtide.cli.recipe.target import Kind, Target, Task, comparable, read_target, target_values
from lowtide.cli.recipe.target_file import one_column, target_file

__all__ = [
    "Alignment",
    "Choice",
    "Gathered",
    "Kind",
    "Survey",
    "TableRecipe",
    "Target",
    "Task",
    "align",
    "choose_columns",
    "comparable",
    "find_column",
    "gather",
    "one_column",
    "read_target",
    "survey",
    "target_file",
    "target_survey",
    "target_values",
]
