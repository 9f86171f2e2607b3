"""Dask: rows encoded on a cluster, models fitted by sums over it, predictions and searches made on it."""

from lowtide._checks import missing_extra

try:
    import dask.array  # noqa: F401
    import distributed  # noqa: F401
except ImportError as error:
    raise missing_extra("lowtide.distributed needs Dask, which is not installed", "distributed") from error

from lowtide.distributed.collection import CodeCollection, encode, predict, top_k
from lowtide.distributed.fitting import fit

__all__ = ["CodeCollection", "encode", "fit", "predict", "top_k"]
