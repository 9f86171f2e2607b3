"""HOW frequencies are laid out."""

from lowtide.projections.base import (
    MOST_FREQUENCIES,
    Blocks,
    DenseProjection,
    DrawnProjection,
    Projection,
    block_sizes,
)
from lowtide.projections.dense import Haar, Iid, Orthogonal
from lowtide.projections.hadamard import Hadamard, HadamardProjection
from lowtide.projections.rotation import Rotation, RotationProjection
from lowtide.projections.sparse_ternary import SparseTernary, SparseTernaryProjection
from lowtide.spec import Registry

# fmt: off
__all__ = [  # noqa: RUF022
    "PROJECTIONS", "Projection", "Hadamard", "Rotation", "Orthogonal", "Haar", "Iid", "SparseTernary",
    "DrawnProjection", "DenseProjection", "HadamardProjection", "RotationProjection",
    "SparseTernaryProjection", "Blocks", "block_sizes", "MOST_FREQUENCIES",
]
# fmt: on

PROJECTIONS: Registry[Projection] = Registry(
    "projection",
    Projection,
    {"hadamard": Hadamard, "rotation": Rotation, "orthogonal": Orthogonal, "haar": Haar, "iid": Iid},
)
