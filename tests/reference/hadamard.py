"""Signs and Walsh-Hadamard transforms in float32, in the one order of additions that every level follows."""

import numpy as np


def stage(v, stride):
    """Replace (a, b), `stride` apart, by (a + b, a - b), for all pairs."""
    pairs = v.reshape(len(v), v.shape[1] // (2 * stride), 2, stride)
    a, b = pairs[:, :, 0], pairs[:, :, 1]
    return np.stack([a + b, a - b], axis=2).reshape(v.shape)


def block(X, signs):
    """H S3 H S2 H S1 x for each row x: strides down, up, down."""
    dim = signs.shape[1]
    v = np.zeros((len(X), dim), np.float32)
    v[:, : X.shape[1]] = X
    up = [1 << q for q in range(dim.bit_length() - 1)]
    for sign, strides in zip(signs, (up[::-1], up, up[::-1]), strict=True):
        v = v * sign
        for stride in strides:
            v = stage(v, stride)
    assert v.dtype == np.float32
    return v
