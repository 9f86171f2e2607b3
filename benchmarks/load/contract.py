"""schemathesis over the OpenAPI document of a running server: every check, no failure expected.

    python -m benchmarks.load.contract --examples 200

Needs the dependency group `fuzz`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import lowtide as lt
from benchmarks.load.serving import save_model, server

__all__ = ["MODEL_VARIABLE"]

MODEL_VARIABLE = "LOWTIDE_FUZZED_MODEL"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load.contract", description=__doc__)
    parser.add_argument("--examples", type=int, default=200)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path, codes = Path(folder) / "model.lowtide", Path(folder) / "codes.lowtide"
        save_model(path, n_components=256)
        lt.save(lt.load(path).features_.encode(np.random.default_rng(0).standard_normal((500, 64))), codes)
        environment = {**os.environ, MODEL_VARIABLE: str(path), "SCHEMATHESIS_HOOKS": "benchmarks.load.messages"}
        with server(str(path), "--codes", str(codes), "--no-log") as (address, _):
            command = [sys.executable, "-m", "schemathesis.cli", "run", f"{address}/openapi.json", "--checks", "all"]
            return subprocess.run([*command, "-n", str(given.examples)], env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
