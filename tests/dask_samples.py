"""What workers of a test cluster import: a source of codes that kills the process that reads it."""

import os
import signal
import time
from pathlib import Path

import numpy as np

import lowtide as lt
from lowtide.learners import calibration


def keep_at_most(n_rows):
    """Let a process calibrate on so many rows at the most."""
    calibration._MOST_ROWS = n_rows


class Deadly:
    """Codes of a file; a worker that reads row 0 for one of the given times dies before it has got it."""

    def __init__(self, path, y, folder, deaths):
        self.path, self.y, self.reads, self.deaths = str(path), y, Path(folder) / "reads", deaths
        self.owner = os.getpid()
        codes = lt.persist.open_codes(path)
        self.n_rows, self.shape = len(codes), codes.shape

    def column(self, name):
        return {"y": self.y}[name]

    def blocks(self, size):
        return lt.persist.open_codes(self.path).blocks(size)

    def __getitem__(self, rows):
        if os.getpid() != self.owner and rows.start == 0 and rows.stop > 1:
            with self.reads.open("ab") as stream:
                stream.write(b".")
            if self.reads.stat().st_size in self.deaths:
                time.sleep(1.0)  # a nanny gives up on a worker that dies before it has seen it start
                os.kill(os.getpid(), signal.SIGKILL)
        return lt.persist.open_codes(self.path)[rows]


def half_missing(X):
    """Return rows of which one has no number."""
    X = np.array(X, dtype=float)
    X[len(X) // 2] = np.nan
    return X
