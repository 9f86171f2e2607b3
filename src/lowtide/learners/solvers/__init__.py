"""Solvers: functions of a design's products alone, no estimator in sight."""

from lowtide.learners.solvers.lbfgs import Objective, Solution, minimize
from lowtide.learners.solvers.minibatch import MinibatchSteps
from lowtide.learners.solvers.normal_equations import NormalEquations, RidgeSolution
from lowtide.learners.solvers.principal import PrincipalAxes, principal_axes
from lowtide.learners.solvers.two_sided import TwoSidedSolution, TwoSidedSystem

__all__ = [
    "MinibatchSteps",
    "NormalEquations",
    "Objective",
    "PrincipalAxes",
    "RidgeSolution",
    "Solution",
    "TwoSidedSolution",
    "TwoSidedSystem",
    "minimize",
    "principal_axes",
]
