"""Settings that must hold before scipy is first imported, and the way to the repository's `benchmarks`."""

import os
import sys
from pathlib import Path

# scikit-learn skips one check per estimator unless scipy was imported with array API support.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

# `benchmarks` is not installed with lowtide.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
