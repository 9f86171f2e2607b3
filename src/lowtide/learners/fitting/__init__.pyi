# The names and their modules: what type checkers read, and what `lowtide._later.names_in_stub` imports from.
from lowtide.encoders import (
    ENCODERS as ENCODERS,
    Encoder as Encoder,
    RandomFeatures as RandomFeatures,
)
from lowtide.kernels import (
    KERNELS as KERNELS,
    Kernel as Kernel,
    resolve_gamma as resolve_gamma,
)
from lowtide.learners.automatic import (
    SAMPLED as SAMPLED,
    Chooser as Chooser,
    rows_as_they_came as rows_as_they_came,
    warn_when_columns_differ as warn_when_columns_differ,
)
from lowtide.learners.borders import (
    class_losses as class_losses,
)
from lowtide.learners.choice import (
    Budget as Budget,
    Candidate as Candidate,
    Choice as Choice,
    memory_components as memory_components,
    trials_of as trials_of,
)
from lowtide.learners.class_fit import (
    ClassFit as ClassFit,
    settled_loss as settled_loss,
)
from lowtide.learners.classes import (
    ClassCounts as ClassCounts,
    ClassIndex as ClassIndex,
    ClassSums as ClassSums,
    check_classes as check_classes,
    class_weights as class_weights,
)
from lowtide.learners.decision import (
    Decision as Decision,
)
from lowtide.learners.design import (
    FullDesign as FullDesign,
    RecodedSource as RecodedSource,
    check_same as check_same,
    column_of as column_of,
    design_of as design_of,
    encoded_design as encoded_design,
    first_codes as first_codes,
    is_source as is_source,
    read_as as read_as,
)
from lowtide.learners.dual import (
    dense_design as dense_design,
)
from lowtide.learners.calibration import (
    CalibrationRows as CalibrationRows,
    Machine as Machine,
)
from lowtide.learners.losses import (
    LOSSES as LOSSES,
)
from lowtide.learners.problem import (
    Problem as Problem,
    ProblemSource as ProblemSource,
    as_columns as as_columns,
    labeled_blocks as labeled_blocks,
)
from lowtide.learners.ridge import (
    NormalEquations as NormalEquations,
    check_sums as check_sums,
)
from lowtide.learners.rules import (
    ArgMax as ArgMax,
    Values as Values,
)
from lowtide.learners.smooth import (
    MinibatchSteps as MinibatchSteps,
)
from lowtide.learners.strength import (
    squared_losses as squared_losses,
)
from lowtide.learners.training import (
    FORMS as FORMS,
    RidgeFit as RidgeFit,
)
from lowtide.projections import (
    PROJECTIONS as PROJECTIONS,
)
