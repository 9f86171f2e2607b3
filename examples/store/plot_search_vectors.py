"""
Search: vectors in a few bits, with error bars
==============================================

`VectorCodes` keeps vectors in 1 to 8 bits a column and two numbers a row. Scores are right on average, and come with
their error; a second look at the best candidates by finer codes makes up for few bits.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import lowtide as lt

# %%
# Most images are kept; a hundred are left to search with. The truth is the order of the exact distances.

X = load_digits().data
kept, queries = X[100:], X[:100]
exact = ((queries[:, None] - kept) ** 2).sum(axis=2)
order = np.argsort(exact, axis=1, kind="stable")[:, :10]


def recall(found):
    """Share of the exact best ten that were found."""
    return np.mean([len(np.intersect1d(a, b)) / 10 for a, b in zip(found.indices, order)])


fine = lt.VectorCodes(bits=8, metric="l2", random_state=0).fit(kept)
finer = fine.encode(kept)
sizes, plain, rescored = [], [], []
for bits in (1, 2, 4, 8):
    vectors = lt.VectorCodes(bits=bits, metric="l2", random_state=0).fit(kept)
    codes = vectors.encode(kept)
    sizes.append(codes.nbytes / len(kept))
    plain.append(recall(vectors.top_k(codes, queries, 10)))
    rescored.append(recall(vectors.top_k(codes, queries, 10, rescore=4, finer=finer)))
    print(f"{bits} bits, {sizes[-1]:.0f} bytes a row: {plain[-1]:.1%}, rescored {rescored[-1]:.1%}")

# %%
# Bars of two standard errors, estimated from the codes of one bit alone, cover the exact distances.

one_bit = lt.VectorCodes(bits=1, metric="l2", random_state=0).fit(kept)
found = one_bit.top_k(one_bit.encode(kept), queries[:40], 5, return_std=True)
true = np.take_along_axis(exact[:40], found.indices, axis=1)
inside = np.mean(np.abs(found.scores - true) < 2 * found.std)
print(f"{inside:.0%} of the exact distances are within two standard errors")

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
left.plot(sizes, plain, "o-", label="codes alone")
left.plot(sizes, rescored, "s-", label="best 40 rescored by 8 bits")
left.set(xlabel="bytes a row", ylabel="exact best ten found", ylim=(0, 1))
left.legend()
right.errorbar(true.ravel(), found.scores.ravel(), 2 * found.std.ravel(), fmt=".", alpha=0.5)
right.axline((true.mean(), true.mean()), slope=1, color="k", lw=1)
right.set(xlabel="exact squared distance", ylabel="from one bit a column")
plt.show()
