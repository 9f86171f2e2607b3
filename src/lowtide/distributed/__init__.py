"""Dask: rows encoded on a cluster, models fitted by sums over it, predictions made on it."""

from lowtide.errors import MissingExtraError

try:
    import dask.array  # noqa: F401
    import distributed  # noqa: F401
except ImportError as error:
    raise MissingExtraError("lowtide.distributed needs Dask: pip install 'lowtide[distributed]'.") from error

from lowtide.distributed.collection import CodeCollection, encode, predict
from lowtide.distributed.fitting import fit

__all__ = ["CodeCollection", "encode", "fit", "predict"]
