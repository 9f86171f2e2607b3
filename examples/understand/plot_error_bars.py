"""
Kernel values from one-bit codes, with error bars
=================================================

One side of a kernel value can be a code of one bit a component and the other stay in full precision: the product is
still unbiased. `kernel_estimate` returns its standard error in closed form, so the band below is not fitted to the
points: it was known before they were drawn.
"""

import matplotlib.pyplot as plt
import numpy as np

import lowtide as lt

# %%
# Points at growing distance from the origin, and the exact kernel.

distance = np.linspace(0.0, 3.0, 61)
direction = np.random.default_rng(0).standard_normal(20)
X = distance[:, None] * direction / np.linalg.norm(direction)
origin = np.zeros((1, 20))
kernel = lt.kernels.Gaussian(bandwidth=1.0)

# %%
# 1024 components: 128 bytes a code in one bit, 4096 bytes in float32. Coded against full is unbiased; when both sides
# are coded the mean is another function of the distance, which `expected_kernel` knows as well.

encoder = lt.RandomFeatures(kernel, n_components=1024, bits=1, random_state=0).fit(X)
pairs = {"one bit against full": ("codes", "full"), "one bit against one bit": ("codes", "codes")}

figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
for axis, (title, sides) in zip(axes, pairs.items()):
    estimate, std = encoder.kernel_estimate(X, origin, sides=sides, return_std=True)
    expected = encoder.expected_kernel(X, origin, sides=sides)
    low, high = (expected - 2 * std)[:, 0], (expected + 2 * std)[:, 0]
    axis.fill_between(distance, low, high, alpha=0.25, label="two standard errors")
    axis.plot(distance, expected, label="expected")
    axis.plot(distance, kernel.gram(X, origin), "k--", linewidth=1, label="exact kernel")
    axis.plot(distance, estimate, ".", markersize=4, label="estimate")
    axis.set(title=title, xlabel="distance")
axes[0].set_ylabel("kernel value")
axes[0].legend(frameon=False)
plt.show()

# %%
# How many components would bring the error down to 0.02? The variance falls as one over their number:

worst = encoder.kernel_estimate(X, origin, sides=("codes", "full"), return_std=True)[1].max()
print(f"{int(np.ceil(1024 * (worst / 0.02) ** 2))} one-bit components for a standard error of 0.02")

# %%
# The same codes tell distances: the expected kernel is inverted, and the error says how far the distance moves with the
# estimate. It is infinite where the estimate may as well belong to any larger distance.

codes = encoder.encode(X)
found, error = encoder.distance_estimate(codes, origin, sides=("codes", "full"), return_std=True)
told = np.isfinite(error[:, 0])
plt.figure(figsize=(4.5, 3.6), layout="constrained")
plt.errorbar(distance[told], found[told, 0], 2 * error[told, 0], fmt=".", markersize=4, linewidth=0.8, label="estimate")
plt.plot(distance, distance, "k--", linewidth=1, label="distance")
plt.xlabel("distance")
plt.ylabel("told from one-bit codes")
plt.legend(frameon=False)
plt.show()
print(f"told up to {distance[told].max():.2f}; beyond that the kernel is within two standard errors of 0")
