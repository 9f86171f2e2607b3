"""HOW frequencies are laid out."""

from lowtide.projections.base import Blocks, DrawnProjection, Projection, block_sizes
from lowtide.projections.dense import DenseProjection, Haar, Iid, Orthogonal
from lowtide.projections.hadamard import Hadamard, HadamardProjection
from lowtide.projections.sparse_ternary import SparseTernary, SparseTernaryProjection
from lowtide.spec import Registry

__all__ = [
    "PROJECTIONS",
    "Blocks",
    "DenseProjection",
    "DrawnProjection",
    "Haar",
    "Hadamard",
    "HadamardProjection",
    "Iid",
    "Orthogonal",
    "Projection",
    "SparseTernary",
    "SparseTernaryProjection",
    "block_sizes",
]

PROJECTIONS: Registry[Projection] = Registry(
    "projection", Projection, {"hadamard": Hadamard, "orthogonal": Orthogonal, "haar": Haar, "iid": Iid}
)
