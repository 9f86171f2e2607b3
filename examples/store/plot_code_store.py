"""
A store: learning from codes on disk
====================================

Rows arrive in pieces and are coded as they come; what is kept is a folder of packed codes with their labels. A model
learns from the folder block by block, so its memory does not grow with the rows.
"""

import os
import tempfile

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

import lowtide as lt

folder = tempfile.TemporaryDirectory()
path = os.path.join(folder.name, "moons.zarr")


def pieces(n_pieces, size=4000):
    """Yield rows that are never there all at once."""
    for seed in range(n_pieces):
        yield make_moons(size, noise=0.25, random_state=seed)


X_test, y_test = make_moons(2000, noise=0.25, random_state=1000)
encoder = lt.RandomFeatures(gamma=2.0, n_components=512, random_state=0).fit(X_test)

# %%
# Each append is all or nothing: had the process been killed in the middle of one, the rows before it would be there.
# After each, a model is learned from all rows so far, read from the disk.

rows, scores = [], []
with lt.CodeStore.create(path, encoder) as store:
    for X, y in pieces(6):
        store.append(X, y)
        model = lt.KernelClassifier(encoder, loss="logistic", C=0.01).fit(store)
        rows.append(len(store))
        scores.append(model.score(X_test, y_test))
        print(f"{rows[-1]:6} rows, {store.nbytes / 1e6:.1f} MB of codes, accuracy {scores[-1]:.4f}")

# %%
# A reader opens the folder with the encoder in it; every chunk is compared with its checksum before it is used.

store = lt.CodeStore.open(path)
store.verify()
first = np.vstack([X for X, _ in pieces(1)])
assert store[:4000] == store.encoder.encode(first)

figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
axes.plot(rows, scores, "o-")
axes.set(xlabel="rows in the store", ylabel="accuracy on other rows", title="One bit a feature, learned from disk")
axes.grid(alpha=0.3)
plt.show()
