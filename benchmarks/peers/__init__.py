"""lowtide beside what a user would pick instead: both sides in one run, as a ratio."""

import os

# Threads of OpenBLAS spin for up to 0.2 s after their work, on the cores that the other side would start on. 2^14
# cycles are enough to be ready for the next product of the same side.
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "14")
