"""The contract of each stage as a check: two lines test a new part. Nothing in lowtide imports this package."""

from lowtide.testing.encoder import check_encoder
from lowtide.testing.feature_map import check_feature_map
from lowtide.testing.kernel import check_kernel
from lowtide.testing.learner import check_learner
from lowtide.testing.measure_kernel import check_measure_kernel
from lowtide.testing.projection import check_projection
from lowtide.testing.quantizer import check_quantizer
from lowtide.testing.spec import check_spec

__all__ = [
    "check_encoder",
    "check_feature_map",
    "check_kernel",
    "check_learner",
    "check_measure_kernel",
    "check_projection",
    "check_quantizer",
    "check_spec",
]
