"""A fit by Dask workers against the same fit in one process, on one store."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import lowtide as lt
from benchmarks.peers.duel import Duel

__all__ = ["DUELS", "ROWS", "cluster_store", "two_workers"]

ROWS, COLUMNS, COMPONENTS = 2_000_000, 64, 4096
_BLOCK = 1 << 17


@cache
def cluster_store(n_rows: int = ROWS) -> lt.CodeStore:
    """Return a store of synthetic rows, labeled by a sum of columns; it goes with the process."""
    folder = Path(tempfile.mkdtemp(prefix="lowtide-cluster-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    rng = np.random.default_rng(0)
    sample = rng.standard_normal((1000, COLUMNS), dtype=np.float32)
    encoder = lt.RandomFeatures(gamma=0.02, n_components=COMPONENTS, random_state=0).fit(sample)
    with lt.CodeStore.create(folder / "codes.zarr", encoder) as store:
        for start in range(0, n_rows, _BLOCK):
            X = rng.standard_normal((min(_BLOCK, n_rows - start), COLUMNS), dtype=np.float32)
            store.append(X, y=(X[:, :4].sum(axis=1) > 0).astype(np.int8))
    return lt.CodeStore.open(folder / "codes.zarr")


@cache
def two_workers() -> Any:
    """Return a client of two worker processes with a thread each, closed when the process ends."""
    from distributed import Client, LocalCluster

    cluster = LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0")
    client = Client(cluster, set_as_default=False)
    client.run(import_module, "lowtide.distributed")  # seconds where byte code is not cached
    atexit.register(cluster.close)
    atexit.register(client.close)
    return client


def _fits(loss: str) -> tuple[Callable[[], object], Callable[[], object]]:
    """Return the fit by the cluster and the fit by this process."""
    from lowtide.distributed import fit

    store, client = cluster_store(), two_workers()
    settings = {"loss": loss, "C": 1.0}
    return (
        lambda: fit(lt.KernelClassifier(**settings), store, client=client),
        lambda: lt.KernelClassifier(**settings).fit(store),
    )


DUELS = [
    Duel(
        f"cluster-{loss}",
        f"Dask, two workers of one thread, {loss}, 2,000,000 x 4096 bits",
        "the same fit in one process with two threads",
        lambda loss=loss: _fits(loss),
        must=1 / 1.4,
        repeats=2,
        warm=False,
        needs="distributed",
    )
    for loss in ("squared", "logistic")
]
