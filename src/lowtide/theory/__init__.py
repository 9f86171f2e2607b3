"""Closed forms and bounds: expected kernels, variances, feature counts.

Start with `features_needed`. Distances are in X's units and the kernel's norm, unless `z` or `s` in bandwidths.
"""

# One line a topic; a paper's own theory lists its names in its package.
# fmt: off
# isort: off
from lowtide.theory.planner import FeaturePlan, features_needed, plan_features
from lowtide.theory.pair import PairMoments
from lowtide.theory.harmonics import HarmonicSeries, kernel_reach
from lowtide.theory.curve import Curve
from lowtide.theory.layout_variance import covariance, layout_variance
from lowtide.kernels import normalized_bessel
from lowtide.theory.asymmetric import *  # noqa: F403
from lowtide.theory.measures import *  # noqa: F403
from lowtide.theory.orthogonal import *  # noqa: F403
from lowtide.theory.sketch import *  # noqa: F403
from lowtide.theory.ternary import *  # noqa: F403
from lowtide.theory import asymmetric, measures, orthogonal, sketch, ternary

__all__ = [
    "FeaturePlan", "features_needed", "plan_features",
    "PairMoments", "HarmonicSeries", "kernel_reach", "Curve", "covariance", "layout_variance", "normalized_bessel",
    *asymmetric.__all__,
    *measures.__all__,
    *orthogonal.__all__,
    *sketch.__all__,
    *ternary.__all__,
]
