"""
One sketch, every bandwidth
===========================

Random features must be made anew for every bandwidth that a search tries. A sketch stores quantized projections once,
and each bandwidth is a codebook of a few numbers over the same bytes.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import lowtide as lt

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=1 / 3, stratify=y, random_state=0)

# %%
# The rows are encoded once, to 64 bytes each. From here on X is not needed.

sketch = lt.Sketch(n_components=128, bits=4, random_state=0).fit(X_train)
S = sketch.encode(X_train)
print(f"{S.nbytes} bytes in place of {X_train.nbytes}, features of any gamma among them")

# %%
# A search over 12 gammas and 4 strengths, in 3 folds, on the stored codes.

grid = {"gamma": np.logspace(-1.5, 1.5, 12), "C": np.logspace(-1, 2, 4)}
start = time.perf_counter()
search = lt.SketchSearchCV(param_grid=grid, sketch=sketch, cv=3).fit(S, y_train)
print(f"{len(search.cv_results_['params']) * 3} fits in {time.perf_counter() - start:.1f} s")
print(f"best {search.best_params_}, {search.best_score_:.3f}; on new rows {search.score(X_test, y_test):.3f}")
search.plot()

# %%
# How few bits will do? The same search on sketches of 1, 2, 3 and 4 bits, the best strength at each gamma. (The paper's
# gamma is 1/bandwidth, sqrt(2 gamma) in terms of scikit-learn's, which stands below.)

fig, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
for bits in (1, 2, 3, 4):
    coarse = lt.Sketch(n_components=128, bits=bits, random_state=0).fit(X_train)
    scores = lt.SketchSearchCV(param_grid=grid, cv=3, refit=False).fit(coarse.encode(X_train), y_train).cv_results_
    ax.semilogx(grid["gamma"], scores["mean_test_score"].reshape(12, 4).max(axis=1), label=f"{bits} bits")
ax.set(xlabel="gamma", ylabel="cross-validated accuracy")
ax.legend()
plt.show()
