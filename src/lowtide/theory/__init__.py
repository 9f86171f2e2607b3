"""Closed forms and bounds."""

from lowtide.theory.curve import Curve
from lowtide.theory.harmonics import kernel_reach
from lowtide.theory.layout_variance import covariance, layout_variance
from lowtide.theory.orthogonal import *  # noqa: F403
from lowtide.theory.pair import PairMoments

__all__ = ["Curve", "PairMoments", "covariance", "kernel_reach", "layout_variance"]
