"""Make the repository's `benchmarks` package importable: it is not installed with lowtide."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
