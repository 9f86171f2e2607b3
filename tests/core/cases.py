"""Seeded inputs of the row ops, for their tests and for the subprocess that runs them at a forced level."""

from typing import NamedTuple

import numpy as np
from reference import hadamard, rotation

from lowtide import _core

F = np.float32
SHIFTS = {1: np.array([0], F), 2: np.array([0, -0.25], F), 3: np.array([0, -0.25, 0.125], F)}


class Parted(NamedTuple):
    """A shape of blocks with factors where d is even, and with places of the outputs where p is not n_blocks D."""

    n: int
    d: int
    dim: int
    n_blocks: int
    p: int


# (n, d, D, n_blocks, p): odd sizes, one row, zero rows, partial blocks, several slices; panels of a matrix (D = 16),
# which are shared out by rows or by slices; projected values (D = 0). Parted ones: places in all blocks and in few,
# slices that start in the middle of a block.
SHAPES = [
    (5, 50, 64, 3, 130),
    (1, 64, 64, 1, 1),
    (0, 30, 64, 2, 65),
    (3, 100, 128, 2, 256),
    (4, 257, 512, 2, 700),
    (2, 784, 1024, 2, 2047),
    (2, 784, 1024, 3, 2049),
    (1, 1500, 2048, 1, 300),
    (2, 4096, 4096, 1, 2048),
    (1, 5000, 8192, 1, 4097),
    (2, 40000, 65536, 1, 9000),
    (5, 33, 16, 9, 131),
    (1, 300, 16, 63, 1000),
    (0, 7, 16, 1, 5),
    (50, 4, 16, 37, 580),
    (900, 3, 16, 1, 16),
    (7, 0, 0, 0, 33),
    (3, 0, 0, 0, 2100),
    Parted(5, 50, 64, 3, 192),
    Parted(1, 64, 64, 1, 1),
    Parted(0, 30, 64, 9, 65),
    Parted(3, 33, 64, 70, 1100),
    Parted(1, 1024, 1024, 3, 1100),
    Parted(2, 1500, 2048, 3, 40),
]


def draw(shape, seed=0):
    """X, layout, scale, offset of a shape; phases spread over some twenty turns."""
    n, d, dim, n_blocks, p = shape
    rng = np.random.default_rng(seed)
    scale = rng.uniform(0.5, 1.5, p).astype(F)
    offset = rng.uniform(0, 1, p).astype(F)
    if dim == 0:
        return rng.normal(scale=10, size=(n, p)).astype(F), None, scale, offset
    if dim == 16:
        panels = rng.normal(scale=10 / np.sqrt(d), size=(n_blocks, d, dim)).astype(F)
        return rng.normal(size=(n, d)).astype(F), panels, scale, offset
    blocks = hadamard.draw(rng, n_blocks, dim)
    scale *= F(10 / (dim * np.sqrt(d)))
    X = rng.normal(size=(n, d)).astype(F)
    if not isinstance(shape, Parted):
        return X, blocks, scale, offset
    factors = rng.uniform(0, 2, d).astype(F) * (rng.random(d) < 0.9) if d % 2 == 0 else None
    places = np.sort(rng.choice(n_blocks * dim, p, replace=False)).astype(np.uint32) if p < n_blocks * dim else None
    return X, (blocks, factors, places), scale, offset


def row_bytes(n_levels, bits):
    return 8 * -(-n_levels * bits // 64)


def encode(inputs, shifts, borders, table, even, bits, n_levels):
    X, layout, scale, offset = inputs
    out = np.full((len(X), row_bytes(n_levels, bits)), 0xAA, np.uint8)
    _core.encode(X, layout, scale, offset, shifts, borders, table, even, bits, n_levels, out)
    return out


def encode_stochastic(inputs, shifts, seed, bits, n_levels):
    X, layout, scale, offset = inputs
    out = np.full((len(X), row_bytes(n_levels, bits)), 0xAA, np.uint8)
    _core.encode_stochastic(X, layout, scale, offset, shifts, seed, bits, bits, n_levels, out)
    return out


def features(inputs, shifts, amplitude, n_components):
    X, layout, scale, offset = inputs
    out = np.full((len(X), n_components), np.nan, F)
    _core.features(X, layout, scale, offset, shifts, amplitude, n_components, out)
    return out


def turns(inputs):
    X, layout, scale, offset = inputs
    out = np.full((len(X), len(scale)), np.nan, F)
    _core.turns(X, layout, scale, offset, out)
    return out


def project(inputs):
    X, layout, scale, _ = inputs
    out = np.full((len(X), len(scale)), np.nan, F)
    _core.project(X, layout, scale, out)
    return out


def pull_back(inputs):
    """Values of a shape's frequencies back to its columns; they are made of the scale and the rows' own."""
    X, layout, scale, offset = inputs
    values = np.outer(np.arange(1, len(X) + 1), offset).astype(F)
    out = np.full(X.shape, np.nan, F)
    _core.pull_back(values, layout, scale, out)
    return out


def threshold(inputs, norms, borders, bits):
    X, layout, scale, _ = inputs
    out = np.full((len(X), row_bytes(len(scale), bits)), 0xAA, np.uint8)
    _core.threshold(X, layout, scale, norms, borders, bits, out)
    return out


def norms(X):
    out = np.full(len(X), np.nan, F)
    _core.norms(X, out)
    return out


def top_k(n, n_levels, n_queries, k):
    """Indices and scores of random codes for random float queries and for codes."""
    rng = np.random.default_rng([n, n_levels])
    levels, others = (rng.integers(0, 2, (rows, n_levels)).astype(np.uint8) for rows in (n, n_queries))
    book, Q = np.array([[-0.3], [0.3]], F), rng.normal(size=(n_queries, n_levels))
    rows, queries = (np.empty((len(part), row_bytes(n_levels, 1)), np.uint8) for part in (levels, others))
    _core.pack(levels, 1, rows)
    _core.pack(others, 1, queries)
    found = [np.empty((n_queries, k), kind) for kind in (np.int64, F, np.int64, F)]
    _core.code_top_k(rows, n_levels, 1, book, Q, True, *found[:2])
    _core.code_top_k(rows, book, queries, book, n_levels, True, *found[2:])
    return found


def rotated():
    """Rows of several widths through rotations."""
    found = []
    for d in (1, 3, 16, 17, 384, 617, 1023):
        rng = np.random.default_rng(d)
        X, layout = rng.normal(size=(3, d)).astype(F), rotation.draw(rng, 2, 4, d)
        out = np.empty((3, 2 * d), F)
        _core.project(X, layout, np.ones(2 * d, F), out)
        found.append(out.ravel())
    return np.concatenate(found)


def checksum_bytes():
    return np.random.default_rng(8).integers(0, 256, 100_003).astype(np.uint8)


def checksums():
    """Sums of views of several lengths and alignments."""
    data = checksum_bytes()
    views = [data, data[1:13001], data[5:805], data[7:7]]
    return np.array([_core.crc32c(view, 0) for view in views], np.uint32)


def line_borders(quantizer_bits):
    """Positive borders of a quantizer with that many bits; projections of `draw` divided by 10 pass all of them."""
    return np.linspace(0, 2.5, 2 ** (quantizer_bits - 1) + 1)[1:-1].astype(F)


def rules():
    """Named (borders, table, even, bits): every path of encode."""
    rng = np.random.default_rng(1)

    def table(k, bits):
        return rng.integers(0, 2**bits, k + 1).astype(np.uint8)

    def even(k, bits):
        return np.sort(rng.uniform(0, 0.5, k)).astype(F), table(k, bits), True, bits

    def wrapped(k, bits):
        return np.sort(rng.uniform(0.01, 0.99, k)).astype(F), table(k, bits), False, bits

    def phase(bits):
        k = 2**bits
        return (np.arange(1, k) / k).astype(F), np.arange(k, dtype=np.uint8), False, bits

    quarter = np.array([0.25], F)
    return {
        "sign": (quarter, np.array([0, 1], np.uint8), True, 1),
        "flipped_sign": (quarter, np.array([1, 0], np.uint8), True, 1),
        "constant": (np.array([], F), np.array([1], np.uint8), True, 1),
        "even_3": even(3, 2),
        "even_7": even(7, 3),
        "even_15": even(15, 4),
        "even_255": even(255, 8),
        "even_511": even(511, 8),
        "wrapped_1": wrapped(1, 1),
        "wrapped_5": wrapped(5, 3),
        "wrapped_20": wrapped(20, 4),
        "phase_1": phase(1),
        "phase_3": phase(3),
        "phase_8": phase(8),
    }


def all_outputs():
    """Every op on every shape, as named arrays: what two levels must agree on bit by bit."""
    found = {"crc32c": checksums(), "rotation": rotated()}
    for shape in [(1, 3, 1, 1), (500, 200, 13, 9), (6000, 1000, 3, 20)]:
        for part, array in enumerate(top_k(*shape)):
            found[f"top_k/{shape}/{part}"] = array
    for s, shape in enumerate(SHAPES):
        inputs, p = draw(shape, seed=s), shape[-1]
        found[f"project/{s}"] = project(inputs)
        if shape[2] >= 64 and not isinstance(shape, Parted):
            found[f"pull_back/{s}"] = pull_back(inputs)
        found[f"turns/{s}"] = turns(inputs)
        found[f"norms/{s}"] = norms(inputs[0])
        for quantizer_bits in range(1, 9):
            bits = quantizer_bits if quantizer_bits <= 4 else 8
            line = threshold(inputs, found[f"norms/{s}"], line_borders(quantizer_bits), bits)
            found[f"threshold/{s}/{quantizer_bits}"] = line
        for width, shifts in SHIFTS.items():
            m = p * width - (width - 1)
            found[f"features/{s}/{width}"] = features(inputs, shifts, 0.3, m)
            found[f"stochastic/{s}/{width}"] = encode_stochastic(inputs, shifts, 2**63 + 12345, 2, m)
            for name, rule in rules().items():
                found[f"{name}/{s}/{width}"] = encode(inputs, shifts, *rule, m)
    return found
