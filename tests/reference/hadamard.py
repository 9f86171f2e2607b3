"""Signs, rotations and Walsh-Hadamard transforms in float32, in the one order that every level follows."""

import numpy as np


def stage(v, stride):
    """Replace (a, b), `stride` apart, by (a + b, a - b), for all pairs."""
    pairs = v.reshape(len(v), v.shape[1] // (2 * stride), 2, stride)
    a, b = pairs[:, :, 0], pairs[:, :, 1]
    return np.stack([a + b, a - b], axis=2).reshape(v.shape)


def rotate(v, rotations):
    """Replace neighbors (a, b) by (a c - b s, a s + b c), every product rounded on its own."""
    a, b, c, s = v[:, ::2], v[:, 1::2], rotations[::2], rotations[1::2]
    return np.stack([a * c - b * s, a * s + b * c], axis=2).reshape(v.shape)


def block(X, drawn):
    """H S3 G R G S1 x for each row x, G being H without stride 1: strides down to 2, up from 2, down to 1."""
    first, rotations, third = drawn
    v = np.zeros((len(X), len(first)), np.float32)
    v[:, : X.shape[1]] = X
    up = [1 << q for q in range(len(first).bit_length() - 1)]
    v = v * first
    for stride in up[:0:-1]:
        v = stage(v, stride)
    v = rotate(v, rotations)
    for stride in up[1:]:
        v = stage(v, stride)
    v = v * third
    for stride in up[::-1]:
        v = stage(v, stride)
    assert v.dtype == np.float32
    return v


def rotate_back(v, rotations):
    """Replace neighbors (a, b) by (a c + b s, b c - a s), every product rounded on its own."""
    a, b, c, s = v[:, ::2], v[:, 1::2], rotations[::2], rotations[1::2]
    return np.stack([a * c + b * s, b * c - a * s], axis=2).reshape(v.shape)


def pulled_back(values, blocks, scale):
    """The sum over blocks of S1 G R' G S3 H v for each row v of scaled values, in the order of the transposed op."""
    n_blocks, _, dim = blocks.shape
    v = np.zeros((len(values), n_blocks * dim), np.float32)
    v[:, : values.shape[1]] = values * scale
    up = [1 << q for q in range(dim.bit_length() - 1)]
    total = np.zeros((len(values), dim), np.float32)
    for b, (first, rotations, third) in enumerate(blocks):
        part = v[:, b * dim : (b + 1) * dim]
        for stride in up[::-1]:
            part = stage(part, stride)
        part = part * third
        for stride in up[1:]:
            part = stage(part, stride)
        part = rotate_back(part, rotations)
        for stride in up[:0:-1]:
            part = stage(part, stride)
        total = total + part * first
    assert total.dtype == np.float32
    return total


def draw(rng, n_blocks, dim):
    """Random blocks as the ops take them, (n_blocks, 3, dim): signs, cosines and sines in turn, signs."""
    drawn = np.where(rng.random((n_blocks, 3, dim)) < 0.5, -1.0, 1.0)
    turn = rng.uniform(0, 2 * np.pi, (n_blocks, dim // 2))
    drawn[:, 1, ::2], drawn[:, 1, 1::2] = np.cos(turn), np.sin(turn)
    return drawn.astype(np.float32)
