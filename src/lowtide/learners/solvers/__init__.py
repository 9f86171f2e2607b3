"""Solvers: functions of sums over the rows and of a design's products, no estimator in sight."""

from lowtide.learners.solvers.error_sums import ErrorSum, held_out_loss, squared_error
from lowtide.learners.solvers.lbfgs import LossSums, Objective, Solution, loss_sums, minimize
from lowtide.learners.solvers.minibatch import MinibatchSteps
from lowtide.learners.solvers.normal_equations import NormalEquations, RidgeSolution
from lowtide.learners.solvers.principal import PrincipalAxes, principal_axes
from lowtide.learners.solvers.two_sided import TwoSidedSolution, TwoSidedSystem

__all__ = [
    "ErrorSum",
    "LossSums",
    "MinibatchSteps",
    "NormalEquations",
    "Objective",
    "PrincipalAxes",
    "RidgeSolution",
    "Solution",
    "TwoSidedSolution",
    "TwoSidedSystem",
    "held_out_loss",
    "loss_sums",
    "minimize",
    "principal_axes",
    "squared_error",
]
