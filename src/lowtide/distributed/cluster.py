"""The cluster that work goes to, how fitted objects travel there, and how sums come back."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import lru_cache
from typing import Any

import dask
from distributed import Client, LocalCluster

from lowtide import _system
from lowtide._checks import fail
from lowtide.persist import from_bytes, to_bytes

# Parameters of a model travel with the tasks: tens of megabytes are nothing to warn of.
_SETTINGS = {"distributed.admin.large-graph-warning-threshold": "1GiB"}
# A cluster for one call shows no dashboard; its port must be free whatever else runs.
_NO_DASHBOARD = {"dashboard_address": ":0", "scheduler_kwargs": {"dashboard": False}}


@contextmanager
def connected(client: Any) -> Iterator[Client]:
    """Give a client: the one given, of the address given, the current one, or that of a new local cluster.

    What was opened here is closed again: a connection to an address, and a local cluster of one process a core.
    """
    if client is None:
        with suppress(ValueError):  # there is none
            client = Client.current()
    if client is not None and not isinstance(client, (Client, str)):
        raise fail("distributed", "client must be a distributed.Client, an address or None", client)
    with dask.config.set(_SETTINGS), ExitStack() as opened:
        if client is None:
            # One thread a process, as Dask sets up its workers' linear algebra; lowtide's own threads follow.
            n_workers = _system.usable_processors()
            client = opened.enter_context(LocalCluster(n_workers=n_workers, threads_per_worker=1, **_NO_DASHBOARD))
        if not isinstance(client, Client):
            client = opened.enter_context(Client(client, set_as_default=False))
        yield client


def ship(thing: Any) -> bytes:
    """Return a fitted encoder or learner as it travels: its specification, kilobytes for a Hadamard encoder, not W."""
    return to_bytes(thing)


@lru_cache(maxsize=8)
def unship(data: bytes) -> Any:
    """Return the object that travelled, one for all tasks of a process."""
    return from_bytes(data)


# Small sums, gradients, are added so many at a time: a level of the tree costs more than their bytes. Large ones, Gram
# matrices, are added in pairs, so that no process has to hold more than three.
_FAN_IN, _LARGE_FAN_IN = 16, 2


def merged(client: Client, sums: list[Any], *, large: bool = False) -> Any:
    """Return the sum of all, added on the workers until few are left; of large ones a single one comes to this process.

    The order depends on the number of sums alone: one that is lost with its worker and made again changes nothing.
    """
    fan_in, here = (_LARGE_FAN_IN, 1) if large else (_FAN_IN, _FAN_IN)
    while len(sums) > here:
        groups = [sums[i : i + fan_in] for i in range(0, len(sums), fan_in)]
        sums = [client.submit(_total, *group, pure=False) if len(group) > 1 else group[0] for group in groups]
    return _total(*client.gather(sums))


def _total(first: Any, *rest: Any) -> Any:
    """Return the sum; what Dask holds is not to be changed, since it may be asked for again."""
    total = copy.deepcopy(first) if rest else first
    for part in rest:
        total.merge(part)
    return total
