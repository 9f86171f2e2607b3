"""Client and server agree bit for bit: a client encodes here, the server at another level of instructions.

python -m benchmarks.load.bits --rows 100000
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np

import lowtide as lt
from benchmarks.load.serving import save_model, server

__all__ = ["differing_rows"]


def differing_rows(address: str, X: np.ndarray, block: int = 20_000) -> int:
    """Return how many rows have other scores when the server encodes them than when they are encoded here.

    Scores are sums over all components in float64: one bit that differs changes all of them.
    """
    differ = 0
    with lt.Client(address) as coded, lt.Client(address, send="rows") as raw:
        for begin in range(0, len(X), block):
            rows = X[begin : begin + block]
            scores = [client.decision_function(rows) for client in (coded, raw)]
            differ += int(np.any(scores[0] != scores[1], axis=1).sum())
    return differ


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load.bits", description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    given = parser.parse_args()
    X = np.random.default_rng(1).standard_normal((given.rows, 64)).astype(np.float32)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.lowtide"
        save_model(path)
        with server(str(path), "--no-log", environment={"LOWTIDE_ISA": "scalar"}) as (address, _):
            differ = differing_rows(address, X)
    print(f"{given.rows} rows, {4096 * given.rows} bits: {differ} rows differ (client vector, server scalar code)")


if __name__ == "__main__":
    main()
