"""The page's own modules, run by node."""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

import lowtide as lt

__all__ = ["NODE", "PAGE", "codes_by_javascript"]

NODE = shutil.which("node")
PAGE = Path(lt.__file__).parent / "serve" / "page"
_SCRIPT = Path(__file__).with_name("encode_rows.mjs")


def codes_by_javascript(encoder: lt.RandomFeatures, rows: Any) -> lt.Codes:
    """Return the codes that the page's modules make of rows and put into one message."""
    description = json.dumps(lt.wire.describe_encoder(encoder)).encode()
    # Padded, so that the rows start at a multiple of four.
    description += b" " * (-len(description) % 4)
    sent = struct.pack("<I", len(description)) + description + np.ascontiguousarray(rows, "<f4").tobytes()
    run = subprocess.run([str(NODE), str(_SCRIPT), str(PAGE)], input=sent, capture_output=True, check=False)
    if run.returncode != 0:
        raise RuntimeError(run.stderr.decode(errors="replace"))
    return lt.wire.unpack(run.stdout, encoder)
