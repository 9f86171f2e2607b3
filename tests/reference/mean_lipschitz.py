"""The mean Lipschitz constant straight from its definition, on a grid."""

import numpy as np


def quotient(f, delta, n_grid=1 << 14, n_shifts=65):
    """Return (1/delta) E_t sup_{|r| <= delta} |f(t+r) - f(t)|, t and r on grids; f takes radians."""
    t = (np.arange(n_grid) + 0.5) * (2 * np.pi / n_grid)
    shifts = np.linspace(-delta, delta, n_shifts)
    largest = np.zeros(n_grid)
    for r in shifts:
        largest = np.maximum(largest, np.abs(f(t + r) - f(t)))
    return largest.mean() / delta
