"""Judge single Hadamard blocks at the differences that suit sign rounds least: along axes, on grids, at resonances.

An encoder of many whole blocks estimates a kernel by the mean of independent estimates, one a block. So a few large
encoders give many draws of the law of one block, whose bias no average over blocks can remove.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchmarks.errors.configurations import LEFT_OUT, Side
from benchmarks.errors.draws import Outcome
from benchmarks.errors.judgement import Draws, Finding, Floats, judge
from lowtide import RandomFeatures, Sketch
from lowtide.encoders import Encoder
from lowtide.errors import LowtideError
from lowtide.kernels import Gaussian, Matern

BLOCK_SIZES = (64, 128, 256, 1024)
N_BLOCKS = 20_000
# Frequencies of one encoder: some 100 MB of features at a time.
CHUNK = 1 << 18
# Lengths in bandwidths along one axis. After two rounds of signs a step t has entries that are multiples of
# 2 t / sqrt(D): whole turns of those are resonances.
ALONG_AXIS = (0.1, 0.5, 1.0, 2.0, 4.0, 11.7, 25.1, 8 * math.pi, 50.0, 100.0)
RESONANCES = (0.5, 1.0, 2.0)


@dataclass(frozen=True)
class Case:
    """An encoder of Hadamard blocks, a row, others beside it with their names, and two sides."""

    name: str
    encoder: Encoder
    x: Floats
    Y: Floats
    labels: tuple[str, ...]
    sides: tuple[Side, Side]
    block: int


def differences(block: int) -> dict[str, Floats]:
    """Return differences by name, in bandwidths, (block,) each."""
    first, second = np.eye(block)[:2]
    found = {f"{t:.4g} along one axis": t * first for t in ALONG_AXIS}
    found |= {f"{k:g} pi sqrt(D) along one axis": k * math.pi * math.sqrt(block) * first for k in RESONANCES}
    found |= {f"two coordinates of {t:.4g}": t * (first + second) for t in (0.1, 1.0, 11.7, 4 * math.pi, 25.1)}
    steps = np.arange(block) % 4 - 1.0
    found |= {f"a grid, {t:g} bandwidths": t * steps / np.linalg.norm(steps) for t in (1.0, 10.0)}
    found |= {f"a grid of step {t:.4g}": t * steps for t in (0.5, math.pi / 2)}
    return found


def cases(block: int) -> Iterator[Case]:
    """Yield what is judged at one block size: random features of two kernels, and a sketch at two bandwidths."""
    rng = np.random.default_rng(block)
    steps = differences(block)
    x = rng.standard_normal((1, block)) / math.sqrt(block)
    for kernel in (Gaussian(1.0), Matern(1.0, nu=1.5)):
        encoder = RandomFeatures(kernel, bits=1)
        for sides in (("full", "full"), ("codes", "full")):
            yield Case(f"{kernel!r}", encoder, x, x + np.array(list(steps.values())), tuple(steps), sides, block)
    first, second, third = np.eye(block)[:3]
    turned = {f"{a:.4g} turned in a plane": math.cos(a) * first + math.sin(a) * second for a in (0.1, 0.5, 1.5, 3.0)}
    turned |= {"two equal coordinates": first + second, "opposite": -first, "a grid": first + 2 * second + 3 * third}
    for gamma in (2.0, 200.0):
        encoder = Sketch(bits=8, gamma=gamma)
        for sides in (("full", "full"), ("codes", "codes")):
            name = f"Sketch(gamma={gamma:g})"
            yield Case(name, encoder, first[None], np.array(list(turned.values())), tuple(turned), sides, block)


def sized(case: Case, n_blocks: int, seed: int, projection: str = "hadamard") -> Encoder:
    """Return the case's encoder with that many whole blocks, fitted."""
    # The default map has two components a frequency; a sketch counts its frequencies.
    each = 1 if isinstance(case.encoder, Sketch) else 2
    own = {"n_components": each * case.block * n_blocks, "random_state": seed, "projection": projection}
    encoder = type(case.encoder)(**{**case.encoder.get_params(deep=False), **own})
    return encoder.fit(np.vstack([case.x, case.Y]))


def block_estimates(case: Case, n_blocks: int, seed: int) -> Floats:
    """Return each block's estimate of the kernel, (n_blocks, rows of Y)."""
    largest = max(1, CHUNK // case.block)
    found = []
    for i, start in enumerate(range(0, n_blocks, largest)):
        count = min(largest, n_blocks - start)
        encoder = sized(case, count, seed + i)
        left, right = (side_of(encoder, rows, side) for rows, side in zip((case.x, case.Y), case.sides))
        products = [(left[0] * row).reshape(count, -1).sum(axis=1, dtype=np.float64) for row in right]
        found.append(count * np.array(products).T)
    return np.concatenate(found)


def side_of(encoder: Encoder, rows: Floats, side: Side) -> Any:
    """Return a side of rows as numbers."""
    return encoder.transform(rows) if side == "full" else np.asarray(encoder.encode(rows))


def bars_of_one_block(case: Case, projection: str) -> Floats:
    """Return the closed form's standard errors of an estimate from one block."""
    encoder = sized(case, 1, 0, projection)
    return np.asarray(encoder.kernel_estimate(case.x, case.Y, sides=case.sides, return_std=True)[1], dtype=np.float64)[
        0
    ]


def run_case(case: Case, n_blocks: int = N_BLOCKS, seed: int = 0) -> list[Outcome]:
    """Judge a case: an outcome a difference, with its mean error and its variance over that of independent draws."""
    try:
        encoder = sized(case, 1, seed)
        truth = np.asarray(encoder.expected_kernel(case.x, case.Y, sides=case.sides), dtype=np.float64)[0]
        std, independent = (bars_of_one_block(case, projection) for projection in ("hadamard", "iid"))
    except LowtideError as error:
        finding = Finding("said so", 0.0, str(error))
        return [Outcome(f"{case.name}, block {case.block}, {case.sides}", "said so", finding)]
    estimates = block_estimates(case, n_blocks, seed)
    rounding = (2 + math.log2(2 * case.block)) * 2.0**-24
    outcomes = []
    for i, label in enumerate(case.labels):
        values = estimates[:, i]
        draws = Draws(values, np.full(n_blocks, std[i]), float(truth[i]), True, True, LEFT_OUT["hadamard"], rounding)
        findings = judge(replace(draws, stated=float(std[i])))
        over = float(np.mean((values - truth[i]) ** 2)) / max(float(independent[i]) ** 2, rounding**2)
        off = (values.mean() - truth[i]) / max(values.std() / math.sqrt(n_blocks), rounding)
        worst = max(findings, key=lambda finding: finding.used)
        told = f"mean off by {off:+.1f} standard errors, variance {over:.3g} of iid"
        name = f"{case.name}, block {case.block}, {'-'.join(case.sides)}: {label}; {told}"
        outcomes.append(Outcome(name, "failed" if worst.used > 1 else "passed", worst, findings))
    return outcomes


def run_all(n_blocks: int = N_BLOCKS, seed: int = 0, sizes: tuple[int, ...] = BLOCK_SIZES) -> Iterator[Outcome]:
    """Yield the outcomes of every block size in use."""
    for block in sizes:
        for case in cases(block):
            yield from run_case(case, n_blocks, seed)
