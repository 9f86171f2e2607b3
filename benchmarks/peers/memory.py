"""Peak memory, each figure from a fresh process (Linux: the peak is read from /proc)."""

from __future__ import annotations

import subprocess
import sys

__all__ = ["blocks_peak_mb", "encoding_peak_mb", "fit_peaks_mb", "large_fit", "store_peak_mb", "wide_peak_mb"]

_MEASURE = """
import pathlib

def status(name):
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(name))

def forget_the_peak_so_far():
    pathlib.Path("/proc/self/clear_refs").write_text("5")
"""

# Codes are 10 MB here; float features of the same shape would be 328 MB.
_ENCODING = (
    _MEASURE
    + """
import numpy as np
import lowtide as lt

X = np.random.default_rng(0).standard_normal((20_000, 784), dtype=np.float32)
encoder = lt.RandomFeatures(gamma=1 / 784, n_components=4096, random_state=0).fit(X)
encoder.encode(X[:100])
forget_the_peak_so_far()
before = status("VmRSS")
codes = encoder.encode(X)
print(status("VmHWM") - before)
"""
)

_FIT = (
    _MEASURE
    + """
import sys
from sklearn.linear_model import RidgeClassifier
from benchmarks.peers import learning

X, _, y, _ = learning.mnist()
ours, theirs = learning.our_model("squared"), learning.peer_model(RidgeClassifier(solver="cholesky"))
model = ours if sys.argv[1] == "lowtide" else theirs
forget_the_peak_so_far()
before = status("VmRSS")
model.fit(X, y)
print(status("VmHWM") - before)
"""
)


_LARGE = (
    _MEASURE
    + """
import sys
import lowtide as lt
from benchmarks.peers import learning

X, X_test, y, y_test = learning.mnist()
fixed = {"C": 1.0, "loss": "squared", "metric": None, "random_state": 0}
model = lt.KernelClassifier(gamma=learning.LARGE_GAMMA, n_components=learning.LARGE, **fixed).fit(X, y)
print(status("VmHWM"), 100 * model.score(X_test, y_test))
"""
)

_WIDE = (
    _MEASURE
    + """
import numpy as np
import lowtide as lt

X = np.random.default_rng(0).standard_normal((100, 64), dtype=np.float32)
fixed = {"C": 1.0, "loss": "squared", "metric": None, "random_state": 0}
model = lt.KernelClassifier(gamma=1 / 64, n_components=10_000_000, **fixed).fit(X, X[:, 0] > 0)
print(status("VmHWM"))
"""
)


_BLOCKS = (
    _MEASURE
    + """
import sys
import numpy as np
import lowtide as lt

def blocks(n):
    rng = np.random.default_rng(0)
    for _ in range(0, n, 10_000):
        X = rng.standard_normal((10_000, 64), dtype=np.float32)
        yield X, (X[:, 0] * X[:, 1] > 0).astype(int)

model = lt.KernelClassifier(gamma=0.02, n_components=1024, C=1.0, loss="squared", metric=None, random_state=0)
model.fit(blocks(20_000))
forget_the_peak_so_far()
before = status("VmRSS")
model.fit(blocks(int(sys.argv[1])))
print(status("VmHWM") - before)
"""
)


_STORE = (
    _MEASURE
    + """
import sys
import numpy as np
import lowtide as lt

path, n = sys.argv[1], int(sys.argv[2])
draw = np.random.default_rng(0)
W = draw.standard_normal((64, 1)).astype(np.float32)
X = draw.standard_normal((65_536, 64), dtype=np.float32)
encoder = lt.RandomFeatures(gamma=1 / 64, n_components=4096, random_state=0).fit(X[:1000])
with lt.CodeStore.create(path, encoder) as store:
    for begin in range(0, n, 65_536):
        X = np.random.default_rng([1, begin]).standard_normal((min(65_536, n - begin), 64), dtype=np.float32)
        store.append(X, y=(X @ W)[:, 0] > 0)
print(status("VmHWM"))
"""
)


def store_peak_mb(path: str, n_rows: int) -> float:
    """Return the peak of a process that encodes rows of 64 columns, 4096 bits each, into a store."""
    return _run(_STORE, path, str(n_rows))


def blocks_peak_mb(n_rows: int) -> float:
    """Return how many MB a `squared` fit from an iterator of blocks adds."""
    return _run(_BLOCKS, str(n_rows))


def encoding_peak_mb() -> float:
    """Return how many MB encoding 20,000 x 784 rows to 4096 one-bit codes adds to the process, the codes included."""
    return _run(_ENCODING)


def fit_peaks_mb() -> tuple[float, float]:
    """Return how many MB a `squared` fit on MNIST adds, lowtide's and that of RBFSampler with RidgeClassifier."""
    return _run(_FIT, "lowtide"), _run(_FIT, "peer")


def large_fit() -> tuple[float, float]:
    """Return the peak of a process that fits MNIST with 65,536 one-bit components, in MB, and its test accuracy."""
    peak, accuracy = _figures(_LARGE)
    return peak, accuracy


def wide_peak_mb() -> float:
    """Return the peak of a process that fits 100 rows of ten million one-bit components."""
    return _run(_WIDE)


def _run(script: str, *arguments: str) -> float:
    (figure,) = _figures(script, *arguments)
    return figure


def _figures(script: str, *arguments: str) -> list[float]:
    done = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=True)
    return [float(each) for each in done.stdout.split()]
