"""python -m benchmarks.clients [ROWS]: how many rows each client codes bit by bit as the server does.

The server is Python's `encode`. The clients are its rebuilt encoder (that of `lowtide.Client`), the page's JavaScript
under node and in Chromium, the exported C by the system's compiler, and the same C as Cortex-M4 code under qemu, which
is slow and gets a hundredth of the rows.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import lowtide as lt
from benchmarks.clients.c_program import ARM_C, HOST_C, QEMU, run_on_arm, run_on_host
from benchmarks.clients.chromium import CHROMIUM, BrowserEncoder
from benchmarks.clients.javascript import NODE, codes_by_javascript

_BATCH = 10_000


def phase_rows(n: int, d: int = 64) -> Any:
    """Return rows of sizes from 0.01 to 100."""
    rng = np.random.default_rng(0)
    return (rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-2, 2, (n, 1))).astype(np.float32)


def by_python(encoder: Any, rows: Any) -> Any:
    """Return the packed codes of the encoder that a client builds from its description."""
    return lt.wire.rebuild_encoder(json.loads(json.dumps(lt.wire.describe_encoder(encoder)))).encode(rows).packed


def by_c(encoder: Any, rows: Any, run: Any, **options: Any) -> Any:
    """Return the packed codes that the exported C writes."""
    with tempfile.TemporaryDirectory() as folder:
        (answer,) = run(Path(folder), [(lt.device.export_c(encoder, name="device", **options), rows)])
    return answer.codes


def compare(name: str, encoder: Any, rows: Any, make: Any) -> None:
    """Print on how many rows a client gives the bits of `encode`."""
    equal = 0
    for start in range(0, len(rows), _BATCH):
        part = rows[start : start + _BATCH]
        equal += int(np.all(make(encoder, part) == encoder.encode(part).packed, axis=1).sum())
    print(f"{name:44} {equal:>9,} of {len(rows):,} rows equal", flush=True)


def main(n: int) -> None:
    rows = phase_rows(n)
    encoder = lt.RandomFeatures(gamma=0.01, n_components=4096, random_state=0).fit(rows[:1000])
    few = rows[: max(1, n // 100)]
    compare("Hadamard, Python client", encoder, rows, by_python)
    if NODE:
        compare("Hadamard, JavaScript under node", encoder, rows, lambda e, X: codes_by_javascript(e, X).packed)
    if CHROMIUM:
        with BrowserEncoder.serving(encoder) as page:
            compare("Hadamard, JavaScript in Chromium", encoder, rows, lambda _, X: page.codes(X).packed)
    if HOST_C:
        for favor in ("flash", "time"):
            words = f"Hadamard, dither from {'its seed' if favor == 'flash' else 'a table'}, C"
            compare(words, encoder, rows, lambda e, X, f=favor: by_c(e, X, run_on_host, favor=f))
    if ARM_C and QEMU:
        compare("Hadamard, C on a Cortex-M4 under qemu", encoder, few, lambda e, X: by_c(e, X, run_on_arm))
    for dtype in ("uint8", "int16"):
        limits = np.iinfo(dtype)
        pixels = np.random.default_rng(1).integers(limits.min, limits.max, (n, 64), dtype=dtype, endpoint=True)
        trits = lt.TernaryFeatures(n_components=2048, sparsity="auto", random_state=0).fit(pixels[:1000])
        for favor in ("flash", "time"):
            options = {"input": dtype, "favor": favor}
            words = f"ternary, {dtype}, W from {'its seed' if favor == 'flash' else 'a table'}"
            if HOST_C:
                compare(f"{words}, C", trits, pixels, lambda e, X, o=options: by_c(e, X, run_on_host, **o))
            if ARM_C and QEMU:
                on_arm = pixels[: len(few)]
                compare(f"{words}, Cortex-M4", trits, on_arm, lambda e, X, o=options: by_c(e, X, run_on_arm, **o))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
