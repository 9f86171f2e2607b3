"""Peak extra memory of encoding, in a fresh process (Linux: the peak is read from /proc)."""

from __future__ import annotations

import subprocess
import sys

__all__ = ["LIMIT_MB", "encoding_peak_mb"]

LIMIT_MB = 64

# Codes are 10 MB here; float features of the same shape would be 328 MB.
_SCRIPT = """
import pathlib
import numpy as np
import lowtide as lt

def status(name):
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(name))

X = np.random.default_rng(0).standard_normal((20_000, 784), dtype=np.float32)
encoder = lt.RandomFeatures(gamma=1 / 784, n_components=4096, random_state=0).fit(X)
encoder.encode(X[:100])
pathlib.Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
before = status("VmRSS")
codes = encoder.encode(X)
print(status("VmHWM") - before)
"""


def encoding_peak_mb() -> float:
    """Return how many MB encoding 20,000 x 784 rows to 4096 one-bit codes adds to the process, the codes included."""
    done = subprocess.run([sys.executable, "-c", _SCRIPT], capture_output=True, text=True, check=True)
    return float(done.stdout)
