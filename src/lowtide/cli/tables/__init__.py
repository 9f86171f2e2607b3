"""Tables in files: CSV, .npy and Parquet, read in blocks and written whole."""

from lowtide.cli.tables.block import MISSING, Block, text_of
from lowtide.cli.tables.numbers import Purpose, as_numbers, number_matrix
from lowtide.cli.tables.output import Columns, check_can_write, write_array, write_table
from lowtide.cli.tables.problem import TableError, listed, options_for, suggestion
from lowtide.cli.tables.source import Source, is_table_name, open_table

__all__ = [
    "MISSING",
    "Block",
    "Columns",
    "Purpose",
    "Source",
    "TableError",
    "as_numbers",
    "check_can_write",
    "is_table_name",
    "listed",
    "number_matrix",
    "open_table",
    "options_for",
    "suggestion",
    "text_of",
    "write_array",
    "write_table",
]
