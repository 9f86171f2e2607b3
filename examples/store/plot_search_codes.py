"""
Search: the nearest digits by a few hundred bits
================================================

A store keeps each image as a code. A query is a code as well, or the full side of the encoder, which keeps more of it.
`Codes.top_k` returns the best rows either way, exactly as sorting all products would, without making them.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import lowtide as lt

# %%
# Most images go into the store; fifty are left to search with.

X, y = load_digits(return_X_y=True)
store, queries = X[50:], X[:50]
digits, wanted = y[50:], y[:50]
encoder = lt.RandomFeatures("rbf", gamma="scale", n_components=512, bits=1, random_state=0).fit(store)
codes = encoder.encode(store)
print(codes, f"{codes.nbytes / 1000:.0f} kB instead of {store.nbytes / 1000:.0f} kB")

# %%
# Six queries and their five nearest rows. A score estimates the kernel, so it says how near a row is.

indices, scores = codes.top_k(encoder.transform(queries), k=5)
figure, axes = plt.subplots(6, 6, figsize=(7, 7.5), layout="constrained")
for row, line in enumerate(axes):
    line[0].imshow(queries[row].reshape(8, 8), cmap="gray_r")
    line[0].set_ylabel("query")
    for axis, index, score in zip(line[1:], indices[row], scores[row]):
        axis.imshow(store[index].reshape(8, 8), cmap="gray_r")
        axis.set_title(f"{score:.2f}", fontsize=9)
for axis in axes.flat:
    axis.set(xticks=[], yticks=[])

# %%
# How many of the ten exact nearest neighbors are among the ten found? The order of the exact kernel is the truth.

order = np.argsort(-encoder.kernel_.gram(queries, store), axis=1, kind="stable")[:, :10]


def recall(found):
    """Share of the exact neighbors that were found."""
    return np.mean([len(np.intersect1d(a, b)) / 10 for a, b in zip(found, order)])


sizes, by_codes, by_floats = (64, 128, 256, 512, 1024, 2048, 4096), [], []
for size in sizes:
    encoder.set_params(n_components=size).fit(store)
    codes = encoder.encode(store)
    by_codes.append(recall(codes.top_k(encoder.encode(queries), k=10)[0]))
    by_floats.append(recall(codes.top_k(encoder.transform(queries), k=10)[0]))

figure, axis = plt.subplots(figsize=(6.5, 4), layout="constrained")
axis.semilogx(sizes, by_floats, "o-", base=2, label="float queries against codes")
axis.semilogx(sizes, by_codes, "s-", base=2, label="codes against codes")
axis.set(xlabel="bits a row", ylabel="exact neighbors among the ten found", ylim=(0, 1))
axis.legend()
plt.show()

# %%
# Voting among the found rows is a classifier that never saw a float of the store.

votes = digits[codes.top_k(encoder.encode(queries), k=5)[0]]
guess = [np.bincount(vote, minlength=10).argmax() for vote in votes]
print(f"{np.mean(guess == wanted):.0%} of the queries are named right, from {codes.nbytes // len(codes)} bytes a row")
