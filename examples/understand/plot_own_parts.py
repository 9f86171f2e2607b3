"""
Parts of one's own
==================

A kernel, a quantizer and a loss written outside lowtide. Each is a dataclass that derives from its stage's contract;
``lowtide.register`` gives it a name. From then on it works like lowtide's own: by name, with exact error bars, in files
and on servers. A file holds the name and the parameters, never code, so it is loaded where the part is registered.

The parts themselves are in ``own_parts.py``, beside this file. On the command line ``lowtide --import own_parts serve
model.lowtide`` imports them first.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import own_parts  # noqa: F401 (registers the three)
from sklearn.datasets import load_digits

import lowtide as lt

# %%
# The kernel and the quantizer by name. The error bars follow from what they say of themselves.

x = np.linspace(0.0, 4.0, 60)[:, None]
encoder = lt.RandomFeatures(
    "cauchy", gamma=0.5, n_components=1024, projection="iid", quantizer="equal_shares", bits=2, random_state=1
).fit(x)
estimate, std = encoder.kernel_estimate(x, x[:1], sides=("codes", "full"), return_std=True)
exact = encoder.kernel_.gram(x, x[:1])
print(f"within two standard errors: {np.mean(np.abs(estimate - exact) < 2 * std):.0%} of the distances")

figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
axes.fill_between(x[:, 0], (exact - 2 * std)[:, 0], (exact + 2 * std)[:, 0], alpha=0.2, label="two standard errors")
axes.plot(x, exact, label="1 / (1 + r² / 2)")
axes.plot(x, estimate, ".", label="2-bit codes against full features")
axes.set(xlabel="distance r", ylabel="kernel")
axes.legend()

# %%
# The loss too, in a model that is saved and loaded again.

X, y = load_digits(return_X_y=True)
X = X / 16.0
features = lt.RandomFeatures("cauchy", n_components=1024, projection="iid", quantizer="equal_shares", random_state=0)
model = lt.KernelClassifier(features, loss="smooth_hinge").fit(X[:1200], y[:1200])
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "model.lowtide"
    lt.save(model, path)
    loaded = lt.load(path)
print(f"accuracy {loaded.score(X[1200:], y[1200:]):.1%}, loss {loaded.loss!r}, kernel {loaded.features_.kernel_!r}")
plt.show()
