"""The contract of each stage as a check: two lines test a new part. Nothing in lowtide imports this package."""

from lowtide.testing.claims import check_spec
from lowtide.testing.estimators import check_encoder, check_learner
from lowtide.testing.kernels import check_kernel, check_measure_kernel
from lowtide.testing.stages import check_feature_map, check_projection, check_quantizer

# fmt: off
__all__ = [  # noqa: RUF022
    "check_spec", "check_kernel", "check_measure_kernel", "check_projection", "check_feature_map", "check_quantizer",
    "check_encoder", "check_learner",
]
# fmt: on
