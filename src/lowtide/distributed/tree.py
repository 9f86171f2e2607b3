"""Sums of sums, added where they are."""

from __future__ import annotations

import copy
from typing import Any

__all__ = ["merged"]

Client = Any
Future = Any

# Small sums, gradients, are added so many at a time: a level of the tree costs more than their bytes. Large ones, Gram
# matrices, are added in pairs, so that no process has to hold more than three.
_FAN_IN, _LARGE_FAN_IN = 16, 2


def merged(client: Client, sums: list[Future], *, large: bool = False) -> Any:
    """Return the sum of all, added on the workers until few are left; of large ones a single one comes to this process.

    The order depends on the number of sums alone: one that is lost with its worker and made again changes nothing.

    Parameters
    ----------
    client : distributed.Client
    sums : list of futures of objects with `merge`
    large : bool, default=False
        Whether a sum is too large for several to be in one process.
    """
    fan_in, here = (_LARGE_FAN_IN, 1) if large else (_FAN_IN, _FAN_IN)
    while len(sums) > here:
        groups = [sums[i : i + fan_in] for i in range(0, len(sums), fan_in)]
        sums = [client.submit(_total, *group, pure=False) if len(group) > 1 else group[0] for group in groups]
    return _total(*client.gather(sums))


def _total(first: Any, *rest: Any) -> Any:
    """Return the sum; what Dask holds is not to be changed, since it may be asked for again."""
    if not rest:
        return first
    total = copy.deepcopy(first)
    for part in rest:
        total.merge(part)
    return total
