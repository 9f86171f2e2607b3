"""
Any two sides: what a pair of waves makes of the kernel
=======================================================

Two rows are read by two rules on the same frequencies, say one bit of one row and four bits of the other. What their
product converges to follows from the Fourier coefficients of the two rules, and so does its error. Here are six pairs,
the kernel each has, and how far the estimates are from it.
"""

import matplotlib.pyplot as plt
import numpy as np

import lowtide as lt
from lowtide.quantizers import LloydMax, Modulo

# %%
# Rows on a line, from a first one outwards, and one encoder for all pairs.

distance = np.linspace(0.0, 4.0, 81)
X = distance[:, None] * np.eye(8)[0]
encoder = lt.RandomFeatures(lt.kernels.Gaussian(1.0), n_components=1024, random_state=0).fit(X)


def triangle(t):
    """Return the triangle wave, from 1 at 0 to -1 at pi."""
    return np.abs((t / np.pi) % 2 - 1) * 2 - 1


def inverted(t):
    """Return the square wave with its sign changed."""
    return -np.sign(np.cos(t))


pairs = {
    "1 bit, full": (LloydMax(1), "full"),
    "1 bit, 1 bit": (LloydMax(1), LloydMax(1)),
    "1 bit, 4 bits": (LloydMax(1), LloydMax(4)),
    "staircase, full": (Modulo(3), "full"),
    "triangle, square wave": (lt.PeriodicMap(triangle), LloydMax(1)),
    "cosine, square wave with the other sign": ("full", lt.PeriodicMap(inverted, aligned=False)),
}

# %%
# The line is the mean from theory, the band two standard errors, the dots are estimates from 1024 components. The gray
# line is the Gaussian kernel, which every aligned side has against the full one.

figure, axes = plt.subplots(2, 3, figsize=(9, 5), sharex=True, sharey=True, layout="constrained")
for axis, (name, sides) in zip(axes.flat, pairs.items()):
    K, std = encoder.kernel_estimate(X[:1], X, sides=sides, return_std=True)
    mean = encoder.expected_kernel(X[:1], X, sides=sides)[0]
    axis.plot(distance, np.exp(-(distance**2) / 2), color="0.7", lw=3)
    axis.fill_between(distance, mean - 2 * std[0], mean + 2 * std[0], alpha=0.25, lw=0)
    axis.plot(distance, mean)
    axis.plot(distance[::4], K[0, ::4], ".", color="black", ms=4)
    definite = "definite" if encoder.is_positive_definite(sides) else "not definite"
    axis.set_title(f"{name}\n{definite}", fontsize=9)
for axis in axes[1]:
    axis.set_xlabel("distance")
plt.show()

# %%
# The same one-bit code at two scales: its third harmonic is the kernel of a third of the bandwidth.

codes = encoder.encode(X)
for order in (1, 3):
    sides = ("codes", encoder.harmonic(order))
    K, std = encoder.kernel_estimate(codes[:1], X, sides=sides, return_std=True)
    exact = np.exp(-((order * distance) ** 2) / 2)
    print(f"harmonic {order}: mean error {np.abs(K[0] - exact).mean():.3f}, stated {std.mean():.3f}")
