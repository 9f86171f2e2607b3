"""Client and server agree bit for bit, each in a process, and at a level of instructions, of its own."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("starlette")
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.load.bits import differing_rows
from benchmarks.load.serving import save_model, server


def test_client_and_server_make_the_same_bits(tmp_path):
    save_model(tmp_path / "model.lowtide", n_components=1000)
    X = np.random.default_rng(1).standard_normal((3000, 64)).astype(np.float32)
    with server(str(tmp_path / "model.lowtide"), "--no-log", environment={"LOWTIDE_ISA": "scalar"}) as (address, _):
        assert differing_rows(address, X) == 0
