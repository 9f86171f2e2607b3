"""The sizes of exported C in the guide are those that the compiler makes."""

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from benchmarks.firmware import main
from benchmarks.roofline.page import BEGIN
from device.harness import ARM_C, needs_arm

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "device.md"
FIGURE = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")


def figures(text: str) -> np.ndarray:
    return np.array([float(each.replace(",", "")) for each in FIGURE.findall(text.split(BEGIN)[1])])


@needs_arm
def test_page_of_devices_has_the_sizes_of_this_source(tmp_path: Path) -> None:
    version = subprocess.run([ARM_C, "-dumpversion"], capture_output=True, text=True, check=True).stdout.strip()
    old = PAGE.read_text(encoding="utf-8")
    if f"gcc {version} " not in old:
        pytest.skip(f"the page is of another compiler than gcc {version}")
    copy = tmp_path / "device.md"
    copy.write_text(old, encoding="utf-8")
    main(["--page", str(copy)])
    new = copy.read_text(encoding="utf-8")
    assert FIGURE.sub("#", new) == FIGURE.sub("#", old)
    # Weights are solutions in float64, whose last digits are the processor's own: a rounded weight in a thousand may
    # have another code word, and a row on a border another class.
    np.testing.assert_allclose(figures(new), figures(old), rtol=2e-3)
