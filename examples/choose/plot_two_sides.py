"""
Two sides: train on one, predict on the other
=============================================

Codes and full features share their frequencies, so a model trained on either side can be read on either side: bits from
a sensor against weights of floats, or a store of bits asked with floats. Quantized rows are noisy rows, and noise at
prediction asks for stronger regularization. `C="auto"` measures on the side that will predict.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

import lowtide as lt

# %%
# Five overlapping classes in the plane, 96 features: few enough for one bit each to hurt.

X, y = make_blobs(2400, centers=5, cluster_std=2.2, random_state=4)
X_train, y_train, X_test, y_test = X[:600], y[:600], X[600:], y[600:]
features = {"gamma": 0.1, "n_components": 96, "bits": 1, "metric": None, "loss": "squared"}
pairs = [("full", "full"), ("codes", "full"), ("full", "codes"), ("codes", "codes")]
strengths = np.logspace(-3, 3, 9)
seeds = range(3)

# %%
# Accuracy of each pair over a range of C, averaged over three draws of the frequencies, and what "auto" picks.

accuracy: dict[tuple[str, str], np.ndarray] = {}
chosen: dict[tuple[str, str], float] = {}
for train, predict in pairs:
    sides = {"train_on": train, "predict_on": predict}

    def fitted(C, seed, sides=sides):
        return lt.KernelClassifier(**features, **sides, C=C, random_state=seed).fit(X_train, y_train)

    scores = [[fitted(C, seed).score(X_test, y_test) for C in strengths] for seed in seeds]
    accuracy[train, predict] = np.mean(scores, axis=0)
    chosen[train, predict] = float(np.exp(np.mean([np.log(fitted("auto", seed).C_) for seed in seeds])))

# %%
# A model of clean features falls apart on noisy rows unless it is regularized: "auto", the dot, moves far to the left.
# A model of codes has seen the noise while it learned, and hardly minds.

figure, axis = plt.subplots(figsize=(7, 4.2), layout="constrained")
for pair, color in zip(pairs, ("tab:blue", "tab:cyan", "tab:orange", "tab:red")):
    axis.semilogx(strengths, accuracy[pair], color=color, label=f"train on {pair[0]}, predict on {pair[1]}")
    height = np.interp(np.log(chosen[pair]), np.log(strengths), accuracy[pair])
    axis.plot(chosen[pair], height, "o", color=color)
axis.set(xlabel="C (strong regularization on the left)", ylabel="accuracy on new rows")
axis.legend(fontsize=9)
plt.show()

# %%
# What a row costs on the way to the model: 12 bytes as codes, 384 as float32 features.

for pair in pairs:
    size = 96 // 8 if pair[1] == "codes" else 96 * 4
    print(f"train on {pair[0]:5s} predict on {pair[1]:5s}  C = {chosen[pair]:7.3f}  {size:3d} bytes a row", end="  ")
    print(f"accuracy {np.interp(np.log(chosen[pair]), np.log(strengths), accuracy[pair]):.3f}")
