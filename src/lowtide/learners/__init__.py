"""Estimators on one side of an encoder: what replaces a kernel machine, and the frozen decision that it learns."""

from lowtide.learners.advice import Advice, AdvisedCode, advise
from lowtide.learners.asymmetric_lssvc import AsymmetricLSSVC
from lowtide.learners.calibration import Calibration
from lowtide.learners.choice import Choice
from lowtide.learners.classifier import KernelClassifier
from lowtide.learners.code_pca import CodePCA
from lowtide.learners.compress import CompressedClassifier, CompressedDetector, CompressedRegressor, compress
from lowtide.learners.decision import Decision, RightWeights
from lowtide.learners.design import SelectedSource
from lowtide.learners.evaluation import (
    ClassScore,
    Evaluation,
    ReliabilityBin,
    Tally,
    accuracy_error,
    evaluate,
    r2_error,
)
from lowtide.learners.expansion import DecisionReport
from lowtide.learners.learner import Learner, as_model
from lowtide.learners.losses import LOSSES, Hinge, Logistic, Loss, Squared, SquaredHinge
from lowtide.learners.problem import Problem, ProblemSource, SummedProblem, source_problem
from lowtide.learners.regressor import KernelRegressor
from lowtide.learners.rules import RULES, ArgMax, Components, Rule, Sign, Values, Votes
from lowtide.learners.search import SketchSearchCV

__all__ = [
    "LEARNERS",
    "LOSSES",
    "RULES",
    "Advice",
    "AdvisedCode",
    "ArgMax",
    "AsymmetricLSSVC",
    "Calibration",
    "Choice",
    "ClassScore",
    "CodePCA",
    "Components",
    "CompressedClassifier",
    "CompressedDetector",
    "CompressedRegressor",
    "Decision",
    "DecisionReport",
    "Evaluation",
    "Hinge",
    "KernelClassifier",
    "KernelRegressor",
    "Learner",
    "Logistic",
    "Loss",
    "Problem",
    "ProblemSource",
    "ReliabilityBin",
    "RightWeights",
    "Rule",
    "SelectedSource",
    "Sign",
    "SketchSearchCV",
    "Squared",
    "SquaredHinge",
    "SummedProblem",
    "Tally",
    "Values",
    "Votes",
    "accuracy_error",
    "advise",
    "as_model",
    "compress",
    "evaluate",
    "r2_error",
    "source_problem",
]

_LEARNERS: tuple[type[Learner], ...] = (
    KernelClassifier,
    KernelRegressor,
    AsymmetricLSSVC,
    CompressedClassifier,
    CompressedRegressor,
    CompressedDetector,
    CodePCA,
)
# What a file may name as a learner.
LEARNERS: dict[str, type[Learner]] = {cls.__name__: cls for cls in _LEARNERS}
