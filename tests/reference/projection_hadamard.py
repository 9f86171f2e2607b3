"""The Hadamard layout with its matrices written out."""

import numpy as np
from scipy.linalg import block_diag, hadamard


def rotation(angles):
    """Return the matrix that turns the pairs of neighbors by angles in units of 1/256 turn, the first one at 1/2."""
    turns = 2 * np.pi * (angles.astype(np.float64) + 0.5) / 256
    return block_diag(*[[[np.cos(t), -np.sin(t)], [np.sin(t), np.cos(t)]] for t in turns])


def weights(signs, angles, scale, n_features):
    """Return pi scale_j (H S3 H R' H S1 e_i)_j, angular frequencies in columns, R' turning back by the angles.

    H S3 H R' H S1 is twice what the op computes without stages of stride 1; signs (n_blocks, 2, D), angles
    (n_blocks, D/2).
    """
    H = hadamard(signs.shape[2]).astype(np.float64)
    blocks = [
        H @ np.diag(s3) @ H @ rotation(angle).T @ H @ np.diag(s1)
        for (s1, s3), angle in zip(signs.astype(np.float64), angles, strict=True)
    ]
    rows = np.vstack(blocks)[: len(scale)] * scale.astype(np.float64)[:, None] * np.pi
    return rows.T[:n_features]
