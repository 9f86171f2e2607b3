"""Moments of the product of two periodic maps by sums over a grid of phases and of phase differences."""

import numpy as np

N_GRID = 1 << 13


def phases():
    """Return the middles of N_GRID equal arcs of the circle, in radians."""
    return (np.arange(N_GRID) + 0.5) * (2 * np.pi / N_GRID)


def wrapped_normal(s):
    """Return the probabilities of omega.(x-y) mod 2 pi, a N(0, s^2) variable, on the grid of phase differences."""
    step = 2 * np.pi / N_GRID
    d = np.arange(N_GRID) * step
    turns = np.arange(-int(9 * s / (2 * np.pi)) - 2, int(9 * s / (2 * np.pi)) + 3) * 2 * np.pi
    density = np.exp(-((d[:, None] + turns) ** 2) / (2 * s**2)).sum(axis=1)
    return density / density.sum()


def wrapped_cauchy(s):
    """Return the same for a Cauchy variable of scale s: sinh s / (cosh s - cos d)."""
    d = np.arange(N_GRID) * (2 * np.pi / N_GRID)
    density = 1 / (np.cosh(s) - np.cos(d))
    return density / density.sum()


def _average_product(left, right, probability):
    """Return E[left(U + D) right(U)] for functions on the grid, U uniform and D of the given law."""
    # All circular correlations mean_U left(U + d) right(U) at once.
    correlation = np.fft.irfft(np.fft.rfft(left) * np.conj(np.fft.rfft(right)), N_GRID) / N_GRID
    return float(correlation @ probability)


def mean(left, right, probability):
    """Return E sum_i f_i g_i; left and right (width, N_GRID) are the maps at `phases()`."""
    return sum(_average_product(f, g, probability) for f, g in zip(left, right))


def second(left, right, probability):
    """Return E (sum_i f_i g_i)^2; left and right (width, width, N_GRID) are E f_i f_j and E g_i g_j."""
    width = len(left)
    pairs = [(i, j) for i in range(width) for j in range(width)]
    return sum(_average_product(left[i, j], right[i, j], probability) for i, j in pairs)
