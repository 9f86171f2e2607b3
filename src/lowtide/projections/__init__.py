"""HOW frequencies are laid out."""

from lowtide.projections.base import Blocks, DrawnProjection, Projection, block_sizes
from lowtide.projections.dense import DenseProjection, Haar, Iid, Orthogonal
from lowtide.projections.hadamard import Hadamard, HadamardProjection
from lowtide.projections.sparse_ternary import SparseTernary, SparseTernaryProjection
from lowtide.spec import Registry

# fmt: off
__all__ = [  # noqa: RUF022
    "PROJECTIONS", "Projection", "Hadamard", "Orthogonal", "Haar", "Iid", "SparseTernary",
    "DrawnProjection", "DenseProjection", "HadamardProjection", "SparseTernaryProjection", "Blocks", "block_sizes",
]
# fmt: on

PROJECTIONS: Registry[Projection] = Registry(
    "projection", Projection, {"hadamard": Hadamard, "orthogonal": Orthogonal, "haar": Haar, "iid": Iid}
)
