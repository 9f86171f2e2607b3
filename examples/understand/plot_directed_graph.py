"""
Who cites whom: a kernel with a direction
=========================================

Papers have a topic and a year, and cite papers of a like topic that are about one generation older. The mean step of
the citations is the shift of a shift-Gaussian kernel. A symmetric kernel cannot tell who cites whom; and a school of
thought that lasts two generations is half hidden from the symmetrized kernel, since the papers one generation before
and those one after belong to different schools.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, ShuffleSplit, cross_val_score

import lowtide as lt

rng = np.random.default_rng(0)
n = 1000
X = np.column_stack([rng.standard_normal(n), rng.uniform(0, 8, n)])

# %%
# Every paper cites six others, near its own topic and one generation back. Some citations are held out.
step = (X[:, None] + [0.0, -1.0] - X[None]) / [0.5, 0.3]
score = -0.5 * np.sum(step**2, axis=2) + rng.gumbel(size=(n, n))
np.fill_diagonal(score, -np.inf)
citing, cited = np.repeat(np.arange(n), 6), np.argsort(-score, axis=1)[:, :6].ravel()
held_out = rng.random(len(citing)) < 0.3

# %%
# The kernel comes from the other citations: where they go, and how far they scatter.
jump = (X[cited] - X[citing])[~held_out]
kernel = lt.kernels.ShiftGaussian(shift=jump.mean(axis=0), bandwidth=float(np.sqrt(np.sum(jump.var(axis=0)))))
kernels = {
    "asymmetric": kernel,
    "symmetrized": lt.kernels.SymmetricPart(kernel),
    "Gaussian": lt.kernels.Gaussian(kernel.bandwidth),
}
features = {name: lt.AsymmetricFeatures(k, n_components=300, bits=None, random_state=0) for name, k in kernels.items()}

# %%
# Which of two linked papers cites the other? Of each held-out pair, one direction is the truth.
direction = {}
for name, encoder in features.items():
    left, right = encoder.fit(X).transform(X), encoder.transform_right(X)
    forth = np.einsum("ij,ij->i", left[citing[held_out]], right[cited[held_out]])
    back = np.einsum("ij,ij->i", left[cited[held_out]], right[citing[held_out]])
    direction[name] = roc_auc_score(np.repeat([1, 0], len(forth)), np.concatenate([forth, back]))
    print(f"{name:12} area under the curve of the direction {direction[name]:.3f}")

# %%
# Which school does a paper belong to? Labels of 300 papers, five in a hundred of them wrong, say it of the others.
school = np.floor((X[:, 1] + 0.5) / 2).astype(int) % 2
label = np.where(rng.random(n) < 0.05, 1 - school, school)
accuracy = {}
for name, encoder in features.items():
    search = GridSearchCV(lt.AsymmetricLSSVC(encoder), {"C": [0.3, 3.0, 30.0]}, cv=3)
    accuracy[name] = cross_val_score(search, X, label, cv=ShuffleSplit(4, train_size=300, random_state=0))
    print(f"{name:12} accuracy of the school {accuracy[name].mean():.3f} +- {accuracy[name].std() / 2:.3f}")
assert direction["asymmetric"] > 0.9 > direction["symmetrized"]
assert np.mean(accuracy["asymmetric"] - accuracy["symmetrized"]) > 0

# %%
fig, axes = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
axes[0].bar(list(direction), list(direction.values()), color=["C0", "C1", "C7"])
axes[0].set(ylim=(0.4, 1), title="who cites whom (area under the curve)")
axes[1].boxplot(list(accuracy.values()), tick_labels=list(accuracy))
axes[1].set_title("school of a paper (accuracy)")
plt.show()
