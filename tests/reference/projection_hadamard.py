"""The Hadamard layout with its matrices written out."""

import numpy as np
from scipy.linalg import hadamard


def weights(signs, scale, n_features):
    """Return 2 pi scale_j (H S3 H S2 H S1 e_i)_j, angular frequencies in columns; signs (n_blocks, 3, D)."""
    D = signs.shape[2]
    H = hadamard(D).astype(np.float64)
    blocks = [H @ np.diag(s3) @ H @ np.diag(s2) @ H @ np.diag(s1) for s1, s2, s3 in signs.astype(np.float64)]
    rows = np.vstack(blocks)[: len(scale)] * scale.astype(np.float64)[:, None] * 2 * np.pi
    return rows.T[:n_features]
