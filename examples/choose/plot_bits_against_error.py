"""
How to spend a byte: bits against error
=======================================

A budget of bytes an item can go into few fine features or into many coarse ones. The lines below are the closed-form
standard error of a kernel value, the points what was measured: both say that at equal bytes one bit a feature has the
smallest error, and float32 by far the largest.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import lowtide as lt

# %%
# Sixty digits, all pairs of them, and their exact kernel values.

X = load_digits().data[:60]
pairs = np.triu_indices(len(X), 1)
exact = lt.RandomFeatures(gamma="scale", n_components=2, random_state=0).fit(X).kernel_.gram(X)[pairs]


def error(bits, n_components, n_draws=3):
    """Return bytes an item, the measured and the predicted root mean square error of coded against full."""
    errors, variances = [], []
    for seed in range(n_draws):
        encoder = lt.RandomFeatures(gamma="scale", n_components=n_components, bits=bits, random_state=seed).fit(X)
        side = "full" if bits is None else "codes"
        estimate, std = encoder.kernel_estimate(X, X, sides=(side, "full"), return_std=True)
        errors.append(estimate[pairs] - exact)
        variances.append(std[pairs] ** 2)
    item = encoder.transform(X[:1]) if bits is None else encoder.encode(X[:1])
    return item.nbytes, np.sqrt(np.mean(np.square(errors))), np.sqrt(np.mean(variances))


# %%
# Each budget is a power of two from 16 to 1024 bytes; at each, as many components as fit.

budgets = 2 ** np.arange(4, 11)
figure, axis = plt.subplots(figsize=(7.5, 4.5), layout="constrained")
for bits, color in ((None, "tab:gray"), (8, "tab:purple"), (4, "tab:cyan"), (2, "tab:blue"), (1, "tab:orange")):
    width = 32 if bits is None else bits
    n_bytes, measured, predicted = np.transpose([error(bits, 8 * int(budget) // width) for budget in budgets])
    label = "float32" if bits is None else f"bits={bits}"
    axis.loglog(n_bytes, predicted, color=color, label=label)
    axis.loglog(n_bytes, measured, "o", color=color, markersize=4)
axis.set_xticks(budgets, budgets)
axis.minorticks_off()
axis.set(xlabel="bytes an item", ylabel="kernel error (root mean square)", title="lines: predicted, points: measured")
axis.legend(frameon=False)
plt.show()

# %%
# Twice the bytes divide the error by the square root of two; from 64 to 128 components by more, because that fills a
# block of 64 orthogonal frequencies. Fewer bits win because rounding adds little to the error that random frequencies
# have anyway. Here is its price at equal *components*:

_, _, float_error = error(None, 1024)
for bits in (1, 2, 4, 8):
    print(f"bits={bits}: {error(bits, 1024)[2] / float_error - 1:+.1%} error against float32, same components")
