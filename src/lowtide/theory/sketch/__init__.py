"""Quantized random projections that serve every bandwidth (One-Sketch).

`level_product`: the one integral everything is made of. `moments`: mean and variance of the kernel estimate. `cosine`:
those of the cosine. `bias`: how many bits a bandwidth needs. `bounds`, `counts`: the paper's bounds. Gamma is
scikit-learn's throughout, half the square of the paper's.
"""

# One line a topic, as in `lowtide.theory`, which shows all of these names.
# fmt: off
# isort: off
from lowtide.theory.sketch.bias import sketch_bias, sketch_bits_needed
from lowtide.theory.sketch.moments import (
    SketchMoments, fourier_moments, sketch_kernel, sketch_kernel_one_bit, sketch_variance,
)
from lowtide.theory.sketch.cosine import CosineMoments, cosine_moments
from lowtide.theory.sketch.level_product import LevelProduct
from lowtide.theory.sketch.bounds import SketchBounds, sketch_bounds
from lowtide.theory.sketch.counts import (
    sketch_failure_printed, sketch_features_printed, sketch_lipschitz, sketch_lipschitz_printed,
)

__all__ = [  # noqa: RUF022
    "sketch_bias", "sketch_bits_needed",
    "SketchMoments", "fourier_moments", "sketch_kernel", "sketch_kernel_one_bit", "sketch_variance",
    "CosineMoments", "cosine_moments", "LevelProduct", "SketchBounds", "sketch_bounds",
    "sketch_failure_printed", "sketch_features_printed", "sketch_lipschitz", "sketch_lipschitz_printed",
]
