"""
Clusters that are not round, from one bit a feature
===================================================

Kernel spectral clustering: code the rows, take the first kernel principal components from the packed codes, and put
k-means behind. Neither the kernel matrix nor the float features exist on the way.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

import lowtide as lt

# %%
# A ring around another: k-means on the plane can only cut them in half.

rng = np.random.default_rng(0)
ring = np.arange(1500) % 2
angle = rng.uniform(0, 2 * np.pi, ring.size)
X = np.array([1.0, 4.0])[ring, None] * np.column_stack([np.cos(angle), np.sin(angle)])
X += 0.15 * rng.standard_normal(X.shape)


def clusters(Z):
    return KMeans(2, n_init=10, random_state=0).fit_predict(Z)


# %%
# Codes of 2048 bits, 256 bytes a row, and their first two components.

codes = lt.RandomFeatures(gamma=0.5, n_components=2048, random_state=0).fit(X).encode(X)
components = lt.CodePCA(2, random_state=0)
Z = components.fit_transform(codes)
print(f"{codes.nbytes / 1e6:.2f} MB of codes; a kernel matrix would take {8 * len(X) ** 2 / 1e6:.0f} MB")
print("variance explained:", components.explained_variance_ratio_.round(3))

# %%
# In the components the rings lie apart, and k-means finds them.

shown = {"k-means on the plane": clusters(X), "k-means on components of 1-bit codes": clusters(Z)}
figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
for axis, (title, found) in zip(axes, shown.items()):
    axis.scatter(*X.T, c=found, s=4, cmap="viridis")
    axis.set(title=f"{title}\nadjusted Rand index {adjusted_rand_score(ring, found):.2f}", aspect="equal")
axes[2].scatter(*Z.T, c=ring, s=4, cmap="viridis")
axes[2].set(title="first two components, colored by ring", xlabel="component 0", ylabel="component 1")
plt.show()
