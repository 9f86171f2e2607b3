# The public names and their modules: what type checkers read, and what `lowtide._later.names_in_stub` imports from.
from lowtide.learners.advice import (
    Advice as Advice,
    AdvisedCode as AdvisedCode,
    advise as advise,
)
from lowtide.learners.asymmetric_lssvc import (
    AsymmetricLSSVC as AsymmetricLSSVC,
)
from lowtide.learners.choice import (
    Choice as Choice,
)
from lowtide.learners.classifier import (
    KernelClassifier as KernelClassifier,
)
from lowtide.learners.code_pca import (
    CodePCA as CodePCA,
)
from lowtide.learners.compression import (
    CompressedClassifier as CompressedClassifier,
    CompressedDetector as CompressedDetector,
    CompressedRegressor as CompressedRegressor,
    compress as compress,
)
from lowtide.learners.decision import (
    Decision as Decision,
    RightWeights as RightWeights,
)
from lowtide.learners.design import (
    SelectedSource as SelectedSource,
)
from lowtide.learners.evaluation import (
    ClassScore as ClassScore,
    Evaluation as Evaluation,
    ReliabilityBin as ReliabilityBin,
    Tally as Tally,
    accuracy_error as accuracy_error,
    evaluate as evaluate,
    r2_error as r2_error,
)
from lowtide.learners.expansion import (
    DecisionReport as DecisionReport,
)
from lowtide.learners.kinds import (
    LEARNERS as LEARNERS,
)
from lowtide.learners.learner import (
    Learner as Learner,
    as_model as as_model,
)
from lowtide.learners.losses import (
    LOSSES as LOSSES,
    Hinge as Hinge,
    Logistic as Logistic,
    Loss as Loss,
    Squared as Squared,
    SquaredHinge as SquaredHinge,
)
from lowtide.learners.problem import (
    Problem as Problem,
    ProblemSource as ProblemSource,
    SummedProblem as SummedProblem,
    source_problem as source_problem,
)
from lowtide.learners.regressor import (
    KernelRegressor as KernelRegressor,
)
from lowtide.learners.rules import (
    RULES as RULES,
    ArgMax as ArgMax,
    Calibration as Calibration,
    Components as Components,
    Rule as Rule,
    Sign as Sign,
    Values as Values,
    Votes as Votes,
)
from lowtide.learners.search import (
    SketchSearchCV as SketchSearchCV,
)
