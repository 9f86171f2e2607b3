"""Fourier coefficients of periodic functions by brute force."""

import numpy as np

N_SAMPLES = 1 << 16


def coefficients(f, n_harmonics, n_samples=N_SAMPLES):
    """Return (1/2pi) int f(t) e^{-ikt} dt, k = 0 .. n_harmonics, by the midpoint rule; f takes radians.

    A jump J costs at most J / n_samples, a smooth function nothing.
    """
    t = (np.arange(n_samples) + 0.5) * (2 * np.pi / n_samples)
    values = f(t)
    return np.array([np.mean(values * np.exp(-1j * k * t)) for k in range(n_harmonics + 1)])


def rising_levels(x, borders):
    """Return how many borders are at or below each x, one by one."""
    return np.array([sum(border <= value for border in borders) for value in np.ravel(x)]).reshape(np.shape(x))
