"""HOW frequencies are laid out."""

from lowtide.projections.base import Blocks, DrawnProjection, Projection
from lowtide.projections.dense import DenseProjection
from lowtide.projections.haar import Haar
from lowtide.projections.hadamard import Hadamard, HadamardProjection
from lowtide.projections.iid import Iid
from lowtide.projections.orthogonal import Orthogonal
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
]

PROJECTIONS: Registry[Projection] = Registry(
    "projection", Projection, {"hadamard": Hadamard, "orthogonal": Orthogonal, "haar": Haar, "iid": Iid}
)
