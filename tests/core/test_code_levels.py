"""The tests of the ops on codes once more, at each instruction-set level that is not the one in force."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lowtide import _core

FAMILIES = [["avx2", "avx512", "vbmi", "amx"], ["neon", "dotprod", "i8mm"]]
BELOW = [family[: family.index(_core.detected_isa()) + 1] for family in FAMILIES if _core.detected_isa() in family]
OTHERS = [level for level in ["scalar", *(BELOW[0] if BELOW else [])] if level != _core.isa()]


@pytest.mark.parametrize("file", ["test_code_ops.py", "test_ternary.py", "test_top_k.py", "test_whole_numbers.py"])
@pytest.mark.parametrize("level", OTHERS)
def test_code_ops_match_reference_at_level(level, file):
    tests = Path(__file__).with_name(file)

    environment = {**os.environ, "LOWTIDE_ISA": level}
    environment.pop("PYTEST_ADDOPTS", None)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", str(tests)]
    run = subprocess.run(command, env=environment, cwd=tests.parents[2], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert " passed" in run.stdout
