"""Estimators on one side of an encoder: what replaces a kernel machine, and the frozen decision that it learns."""

from typing import TYPE_CHECKING

from lowtide._later import ByName, later
from lowtide.learners.calibration import Calibration
from lowtide.learners.choice import Choice
from lowtide.learners.classifier import KernelClassifier
from lowtide.learners.decision import Decision, RightWeights
from lowtide.learners.design import SelectedSource
from lowtide.learners.learner import Learner, as_model
from lowtide.learners.losses import LOSSES, Hinge, Logistic, Loss, Squared, SquaredHinge
from lowtide.learners.problem import Problem, ProblemSource, SummedProblem, source_problem
from lowtide.learners.rules import RULES, ArgMax, Components, Rule, Sign, Values, Votes

if TYPE_CHECKING:
    from lowtide.learners.advice import Advice, AdvisedCode, advise
    from lowtide.learners.asymmetric_lssvc import AsymmetricLSSVC
    from lowtide.learners.code_pca import CodePCA
    from lowtide.learners.compression import CompressedClassifier, CompressedDetector, CompressedRegressor, compress
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
    from lowtide.learners.regressor import KernelRegressor
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

# These load parts of scikit-learn, its metrics and its kernel machines, that no classifier needs.
__getattr__ = later(
    __name__,
    {
        "lowtide.learners.advice": ("Advice", "AdvisedCode", "advise"),
        "lowtide.learners.asymmetric_lssvc": ("AsymmetricLSSVC",),
        "lowtide.learners.code_pca": ("CodePCA",),
        "lowtide.learners.compression": (
            "CompressedClassifier",
            "CompressedDetector",
            "CompressedRegressor",
            "compress",
        ),
        "lowtide.learners.evaluation": (
            "ClassScore",
            "Evaluation",
            "ReliabilityBin",
            "Tally",
            "accuracy_error",
            "evaluate",
            "r2_error",
        ),
        "lowtide.learners.expansion": ("DecisionReport",),
        "lowtide.learners.regressor": ("KernelRegressor",),
        "lowtide.learners.search": ("SketchSearchCV",),
    },
)
# What a file may name as a learner.
LEARNERS: ByName[type[Learner]] = ByName(
    __name__,
    (
        "KernelClassifier",
        "KernelRegressor",
        "AsymmetricLSSVC",
        "CompressedClassifier",
        "CompressedRegressor",
        "CompressedDetector",
        "CodePCA",
    ),
)
