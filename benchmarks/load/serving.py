"""A model to serve, and servers in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import lowtide as lt

__all__ = ["memory_of", "save_model", "server"]


def save_model(
    path: Path,
    *,
    n_features: int = 64,
    n_components: int = 4096,
    n_classes: int = 10,
    projection: str | None = None,
    seed: int = 0,
) -> None:
    """Write a classifier of random rows: its answers do not matter here, its sizes do."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((600, n_features))
    given: dict[str, Any] = {"n_components": n_components, "random_state": seed}
    if projection is not None:
        given = {"features": lt.RandomFeatures(gamma=1 / n_features, projection=projection, metric=None, **given)}
    else:
        given |= {"gamma": "scale", "metric": None}
    lt.save(lt.KernelClassifier(C=1.0, **given).fit(X, np.arange(600) % n_classes), path)


@contextmanager
def server(
    *arguments: str, log: Path | None = None, environment: dict[str, str] | None = None
) -> Iterator[tuple[str, int]]:
    """Run `lowtide serve` on a free port while the context lasts; gives its address and process."""
    command = [sys.executable, "-c", "from lowtide.cli.main import main; main()", "serve", "--port", "0", *arguments]
    with (log or Path(os.devnull)).open("a") as errors:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, text=True, env={**os.environ, **(environment or {})}
        )
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            if not line:
                raise RuntimeError(f"the server must start, got: exit code {process.wait()}.")
            yield line.split()[-1], process.pid
        finally:
            process.terminate()
            process.wait(timeout=60)
            process.stdout.close()


def memory_of(process: int) -> int:
    """Return the resident memory of a process in bytes."""
    text = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("VmRSS"))
