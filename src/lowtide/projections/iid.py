"""Independent frequencies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lowtide.kernels import Frequencies
from lowtide.projections.base import Blocks, Projection
from lowtide.projections.dense import DenseProjection
from lowtide.projections.kept import kept_array

__all__ = ["Iid"]


@dataclass(eq=False, repr=False)
class Iid(Projection):
    """Independent draws of the kernel's law: fits every kernel, costs d multiplications a frequency.

    Examples
    --------
    >>> from lowtide.kernels import Laplace
    >>> Iid().draw(Laplace(), 3, 8, np.random.default_rng(0)).weights().shape
    (3, 8)
    """

    laws: ClassVar[frozenset[str]] = frozenset({"gaussian_mixture", "sphere", "independent", "joint"})

    def _draw(
        self, kernel: Frequencies, n_features: int, n_frequencies: int, rng: np.random.Generator
    ) -> DenseProjection:
        blocks = Blocks("iid", n_features, (1,) * n_frequencies)
        return DenseProjection.of(kernel.sample(rng, n_features, n_frequencies), blocks)

    def _restore(self, n_features: int, n_frequencies: int, arrays: dict[str, NDArray[Any]]) -> DenseProjection:
        matrix = kept_array("Iid", arrays, "matrix", (n_features, n_frequencies))
        return DenseProjection(matrix, Blocks("iid", n_features, (1,) * n_frequencies))
