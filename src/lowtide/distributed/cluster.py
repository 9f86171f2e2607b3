"""The cluster that work goes to, how fitted objects travel there, and how sums come back."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import dask
from distributed import Client, LocalCluster

from lowtide._checks import fail
from lowtide.persist import from_bytes, to_bytes

__all__ = ["Shipped", "connected", "merged"]

# Parameters of a model travel with the tasks: tens of megabytes are nothing to warn of.
_SETTINGS = {"distributed.admin.large-graph-warning-threshold": "1GiB"}
# A cluster for one call shows no dashboard; its port must be free whatever else runs.
_NO_DASHBOARD = {"dashboard_address": ":0", "scheduler_kwargs": {"dashboard": False}}


@contextmanager
def connected(client: Any) -> Iterator[Client]:
    """Give a client: the one given, of the address given, the current one, or that of a new local cluster.

    What was opened here is closed again: a connection to an address, and a local cluster of one process a core.
    """
    client = _current() if client is None else client
    if client is not None and not isinstance(client, (Client, str)):
        raise fail("distributed", "client must be a distributed.Client, an address or None", client)
    with dask.config.set(_SETTINGS):
        if isinstance(client, Client):
            yield client
        elif client is not None:
            with Client(client, set_as_default=False) as opened:
                yield opened
        else:
            # One thread a process, as Dask sets up its workers' linear algebra; lowtide's own threads follow.
            with (
                LocalCluster(n_workers=len(os.sched_getaffinity(0)), threads_per_worker=1, **_NO_DASHBOARD) as cluster,
                Client(cluster, set_as_default=False) as opened,
            ):
                yield opened


def _current() -> Client | None:
    """Return the client that Dask would use now, if there is one."""
    try:
        return Client.current()
    except ValueError:
        return None


class Shipped:
    """A fitted encoder or learner that travels as its specification: some kilobytes for a Hadamard encoder, not W."""

    def __init__(self, thing: Any) -> None:
        self._bytes = to_bytes(thing, weights="float64" if hasattr(thing, "predict") else "float32")

    @property
    def thing(self) -> Any:
        """The object, one for all tasks of a process."""
        return _built(self._bytes)

    @property
    def nbytes(self) -> int:
        """How much travels."""
        return len(self._bytes)


@lru_cache(maxsize=8)
def _built(data: bytes) -> Any:
    return from_bytes(data)


# Small sums, gradients, are added so many at a time: a level of the tree costs more than their bytes. Large ones, Gram
# matrices, are added in pairs, so that no process has to hold more than three.
_FAN_IN, _LARGE_FAN_IN = 16, 2


def merged(client: Client, sums: list[Any], *, large: bool = False) -> Any:
    """Return the sum of all, added on the workers until few are left; of large ones a single one comes to this process.

    The order depends on the number of sums alone: one that is lost with its worker and made again changes nothing.
    Several `large` ones are never in one process.
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
