"""The cluster that work goes to."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import dask
from distributed import Client, LocalCluster

from lowtide._checks import fail

__all__ = ["connected"]

# Parameters of a model travel with the tasks: tens of megabytes are nothing to warn of.
_SETTINGS = {"distributed.admin.large-graph-warning-threshold": "1GiB"}
# A cluster for one call shows no dashboard; its port must be free whatever else runs.
_NO_DASHBOARD = {"dashboard_address": ":0", "scheduler_kwargs": {"dashboard": False}}


@contextmanager
def connected(client: Any) -> Iterator[Client]:
    """Give a client: the one given, of the address given, the current one, or that of a new local cluster.

    What was opened here is closed again: a connection to an address, and a local cluster of one process a core.

    Parameters
    ----------
    client : distributed.Client, str or None
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
