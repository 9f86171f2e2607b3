"""From the columns of a table to the rows of a model, the same way at fit and at predict."""

from lowtide.cli.recipe.alignment import Alignment, align
from lowtide.cli.recipe.choice import Choice, choose_columns, find_column
from lowtide.cli.recipe.gathering import Gathered, gather
from lowtide.cli.recipe.recipe import TableRecipe
from lowtide.cli.recipe.target import Target, Task, comparable, read_target
from lowtide.cli.recipe.target_file import one_column, target_file

__all__ = [
    "Alignment",
    "Choice",
    "Gathered",
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
    "target_file",
]
