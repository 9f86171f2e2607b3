"""
Search: read the nearest cells only
===================================

A search of `VectorCodes` scans all codes. `partition` puts them into cells of rows that lie together, and measures how
many cells a query must read for which recall; codes, scores and error bars stay what they are.
"""

import matplotlib.pyplot as plt
import numpy as np

import lowtide as lt

# %%
# Two hundred thousand rows near some thousand centers that overlap, and queries like them.

rng = np.random.default_rng(0)
centers = rng.standard_normal((2000, 64), dtype=np.float32)


def draw(n):
    """Rows near centers."""
    return centers[rng.integers(0, len(centers), n)] + 0.8 * rng.standard_normal((n, 64), dtype=np.float32)


rows, queries = draw(200_000), draw(300)
vectors = lt.VectorCodes(bits=2, random_state=0).fit(rows)
codes = vectors.encode(rows)
cells = vectors.partition(codes, random_state=0)
print(cells)

# %%
# What is promised was measured on rows of the codes; the queries had no part in it.

scan = vectors.top_k(codes, queries, 10)
asked = (0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)
read, kept = [], []
for recall in asked:
    found = vectors.top_k(cells, queries, 10, recall=recall)
    both = [len(np.intersect1d(a, b)) / 10 for a, b in zip(found.indices, scan.indices)]
    kept.append(np.mean(both))
    read.append(cells.cells_for(recall, 10)[0] / cells.n_cells)
    print(f"{recall:.0%} asked, {found.recall:.1%} measured, {kept[-1]:.1%} kept: {read[-1]:.1%} of the cells read")

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
left.plot(asked, kept, "o-")
left.axline((1, 1), slope=1, color="k", lw=1)
left.set(xlabel="recall that was asked for", ylabel="share of the scan's best ten that was found")
right.semilogy(kept, read, "o-")
right.set(xlabel="share of the scan's best ten that was found", ylabel="share of the cells that was read")
plt.show()
