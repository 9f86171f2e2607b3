"""The ternary projection adds, subtracts and compares: its machine code has no multiplication."""

import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
COMPILER = shutil.which("c++") or shutil.which("g++")
FLAGS = {
    "scalar": [],
    "avx2": ["-mavx2", "-mfma", "-mbmi", "-mbmi2", "-mpopcnt"],
    "avx512": ["-mavx2", "-mfma", "-mbmi2", "-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl"],
}
# Integer and vector products, products with sums, and dot products of vectors.
MULTIPLIES = re.compile(r"mul|madd|fm(add|sub)|fnm|vdp|vpdp|^v?dpp")


@pytest.mark.skipif(
    COMPILER is None or platform.machine() not in ("x86_64", "AMD64"), reason="needs a C++ compiler for x86-64"
)
@pytest.mark.parametrize("level", list(FLAGS))
def test_ternary_projection_does_not_multiply(level):
    source = ROOT / "cpp/lowtide/ops/ternary" / f"{level}.cpp"
    command = [COMPILER, "-std=c++20", "-O3", "-ffp-contract=off", "-fPIC", "-w", "-I", str(ROOT / "cpp")]
    built = subprocess.run([*command, *FLAGS[level], "-S", "-o", "-", str(source)], capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    instructions = set(re.findall(r"^\t([a-z]\w*)", built.stdout, flags=re.MULTILINE))
    assert not {name for name in instructions if MULTIPLIES.search(name)}
    added = {"paddw", "psubw", "paddd", "psubd", "addps", "subps"}
    assert added <= {name.removeprefix("v") for name in instructions}
