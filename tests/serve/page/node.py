"""The page's modules, run by node."""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

import lowtide as lt

NODE = shutil.which("node")
PAGE = Path(str(resources.files("lowtide"))) / "serve" / "page"
SCRIPT = Path(__file__).with_name("encode_rows.mjs")

needs_node = pytest.mark.skipif(NODE is None, reason="needs node, to run the page's JavaScript")


def codes_by_javascript(encoder: lt.RandomFeatures, rows: np.ndarray) -> lt.Codes:
    """Return the codes that the page's own modules make of rows and put into a message."""
    description = json.dumps(lt.wire.describe_encoder(encoder)).encode()
    # Padded, so that the rows start at a multiple of four.
    description += b" " * (-len(description) % 4)
    sent = struct.pack("<I", len(description)) + description + np.ascontiguousarray(rows, "<f4").tobytes()
    run = subprocess.run([str(NODE), str(SCRIPT), str(PAGE)], input=sent, capture_output=True, check=False)
    assert run.returncode == 0, run.stderr.decode()
    return lt.wire.unpack(run.stdout, encoder)
