"""Tables: what a row goes through before it is encoded, from columns by name and type to numbers."""

from lowtide.tables.cells import MISSING, TableError, as_numbers, listed, options_for, suggestion, text_of
from lowtide.tables.recipe import Categories, Category, Feature, Indicator, Number, Ordinal, Recipe, Step

__all__ = [
    "MISSING",
    "Categories",
    "Category",
    "Feature",
    "Indicator",
    "Number",
    "Ordinal",
    "Recipe",
    "Step",
    "TableError",
    "as_numbers",
    "listed",
    "options_for",
    "suggestion",
    "text_of",
]
