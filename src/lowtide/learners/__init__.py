"""Estimators on one side of an encoder: what replaces a kernel machine."""

from lowtide.learners.asymmetric_lssvc import AsymmetricLSSVC
from lowtide.learners.classifier import KernelClassifier
from lowtide.learners.code_pca import CodePCA
from lowtide.learners.compression import (
    CompressedClassifier,
    CompressedDetector,
    CompressedRegressor,
    DecisionReport,
    compress,
)
from lowtide.learners.decision import Decision, RightWeights
from lowtide.learners.problem import Problem, ProblemSource, SummedProblem
from lowtide.learners.regressor import KernelRegressor
from lowtide.learners.rules import RULES, ArgMax, Components, Rule, Sign, Values, Votes
from lowtide.learners.search import SketchSearchCV
from lowtide.learners.source_design import source_problem
from lowtide.learners.sources import SelectedSource

__all__ = [
    "RULES",
    "ArgMax",
    "AsymmetricLSSVC",
    "CodePCA",
    "Components",
    "CompressedClassifier",
    "CompressedDetector",
    "CompressedRegressor",
    "Decision",
    "DecisionReport",
    "KernelClassifier",
    "KernelRegressor",
    "Problem",
    "ProblemSource",
    "RightWeights",
    "Rule",
    "SelectedSource",
    "Sign",
    "SketchSearchCV",
    "SummedProblem",
    "Values",
    "Votes",
    "compress",
    "source_problem",
]
