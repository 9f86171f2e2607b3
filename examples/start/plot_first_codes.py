"""
First codes: digits as bits
===========================

An 8 by 8 image of a digit becomes a code of 1024 bits, and the product of two codes still says how alike the images
are. Rows are sorted by digit below, so the ten classes show as ten blocks.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import lowtide as lt

# %%
# Twelve images of each digit, and their codes: 128 bytes each, the size of 32 float32 numbers.

X, y = load_digits(return_X_y=True)
chosen = np.concatenate([np.flatnonzero(y == digit)[:12] for digit in range(10)])
encoder = lt.RandomFeatures("rbf", gamma="scale", n_components=1024, bits=1, random_state=0).fit(X)
codes = encoder.encode(X[chosen])
print(codes, codes.nbytes // len(codes), "bytes a row")

# %%
# Two images of one digit and one of another, each above its code. `codes.packed` are the stored bytes.

stored = np.unpackbits(codes.packed, axis=1, bitorder="little")
figure, axes = plt.subplots(2, 3, figsize=(7.5, 5), layout="constrained")
for column, row in zip(axes.T, (0, 1, 84)):
    column[0].imshow(X[chosen[row]].reshape(8, 8), cmap="gray_r")
    column[0].set_title(f"a {y[chosen[row]]}")
    column[1].imshow(stored[row].reshape(32, 32), cmap="gray_r")
    column[1].set_title(f"{np.sum(stored[row] == stored[0])} of 1024 bits as in the first", fontsize=9)
for axis in axes.flat:
    axis.set(xticks=[], yticks=[])

# %%
# The exact kernel needs the images. The two estimates need 128 bytes on one side, or on both: then bits are compared
# with bits, and `normalize` brings the value at distance 0 back to 1.

exact = encoder.kernel_.gram(X[chosen])
one_side = encoder.kernel_estimate(codes, X[chosen], sides=("codes", "full"))
both_sides = encoder.kernel_estimate(codes, codes, normalize=True)

panels = {"exact kernel": exact, "codes against floats": one_side, "codes against codes": both_sides}
figure, axes = plt.subplots(1, 3, figsize=(10, 3.6), layout="constrained")
for axis, (title, values) in zip(axes, panels.items()):
    image = axis.imshow(values, vmin=0, vmax=1, cmap="viridis")
    axis.set_title(title)
    axis.set_xticks(range(6, 120, 12), range(10))
    axis.set_yticks(range(6, 120, 12), range(10))
figure.colorbar(image, ax=axes, shrink=0.9)
plt.show()

# %%
# The nearest neighbor of an image, found from bits alone: is it the same digit?

np.fill_diagonal(both_sides, -np.inf)
nearest = y[chosen][both_sides.argmax(axis=1)]
print(f"{np.mean(nearest == y[chosen]):.0%} of the nearest codes are the same digit")
