# The public names and their modules: what type checkers read, and what `lowtide._later.names_in_stub` imports from.
from lowtide.tables.cells import (
    ChoiceError as ChoiceError,
    TableError as TableError,
    lacking as lacking,
    listed as listed,
    text_of as text_of,
)
from lowtide.tables.columns import (
    WISHES as WISHES,
    Choice as Choice,
    Surprises as Surprises,
    align as align,
    block_cells as block_cells,
    block_rows as block_rows,
    choose_columns as choose_columns,
    find_column as find_column,
)
from lowtide.tables.dates import (
    Dates as Dates,
)
from lowtide.tables.dialect import (
    Dialect as Dialect,
    check_encoding as check_encoding,
)
from lowtide.tables.elements import (
    Categories as Categories,
    DatePart as DatePart,
    Indicator as Indicator,
    Missing as Missing,
    Number as Number,
    Ordinal as Ordinal,
    Truth as Truth,
)
from lowtide.tables.learning import (
    Taken as Taken,
    learn_recipe as learn_recipe,
)
from lowtide.tables.looking import (
    Finding as Finding,
)
from lowtide.tables.pipeline import (
    TableRecipe as TableRecipe,
    recipe_of as recipe_of,
)
from lowtide.tables.reading import (
    Block as Block,
    Source as Source,
    import_pyarrow as import_pyarrow,
    is_table_name as is_table_name,
    open_table as open_table,
)
from lowtide.tables.recipe import (
    Recipe as Recipe,
)
from lowtide.tables.surveying import (
    Sample as Sample,
    Survey as Survey,
    read_rows as read_rows,
    survey as survey,
)
from lowtide.tables.target import (
    Kind as Kind,
    Target as Target,
    Task as Task,
    comparable as comparable,
    read_target as read_target,
    read_values as read_values,
    target_in_file as target_in_file,
    target_survey as target_survey,
    target_values as target_values,
)
