"""
Settings that choose themselves, and the bytes they need
=========================================================

`KernelClassifier()` chooses gamma, a metric, the number of components, the loss and C from the data, unless they are
given. `advise` compares codes of few bytes, and the rows themselves, on rows that are held out.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

import lowtide as lt

# %%
# Default against default. Pixels share a unit; other columns would be scaled first.

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=500, stratify=y, random_state=0)
exact = SVC().fit(X_train, y_train)
model = lt.KernelClassifier(random_state=0).fit(X_train, y_train)
print(f"SVC {exact.score(X_test, y_test):.3f}, KernelClassifier {model.score(X_test, y_test):.3f}")

# %%
# What was chosen, and the left-out losses that decided.

print(model.choice_)

# %%
# A way to keep an item is an encoder at a size. The advice is the smallest that is not clearly worse than the best.

advice = lt.advise(X_train, y_train, bytes=(8, 32))
print(advice)

# %%
# Accuracy against bytes: each encoder is a line, and bars are standard errors.

figure, axis = plt.subplots(figsize=(7, 4.2), layout="constrained")
for name in ("rows", "random", "sketch", "ternary", "learned"):
    rows = sorted((row for row in advice.rows if row.encoder == name), key=lambda row: row.item_bytes)
    sizes, scores = [row.item_bytes for row in rows], [row.score for row in rows]
    axis.errorbar(sizes, scores, [row.error for row in rows], marker="o", capsize=3, label=name)
best = advice.best
axis.scatter([best.item_bytes], [best.score], s=160, facecolors="none", edgecolors="black", label="advised")
axis.set(xscale="log", xlabel="bytes an item", ylabel="accuracy on held-out rows")
axis.set_xticks([8, 32, 64, 256], labels=["8", "32", "64", "256"])
axis.legend()
plt.show()

# %%
# The advised learner is not fitted yet: fit it on all rows.

final = advice.model.fit(X_train, y_train)
print(f"{best.encoder}, {best.item_bytes} bytes an item: {final.score(X_test, y_test):.3f}")
