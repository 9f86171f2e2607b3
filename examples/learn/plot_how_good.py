"""
How good is a model
===================

One number hides most of what there is to know. `lt.evaluate` compares a fitted model with known answers: how sure is
its accuracy, which classes are taken for one another, and can its probabilities be believed?
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import lowtide as lt

# %%
# Digits in 32 bytes each. The accuracy comes with its standard error: another model that is better by less may be so by
# chance.

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
settings = {"gamma": 0.001, "C": 1.0, "loss": "squared", "metric": None, "prune": None, "random_state": 0}
model = lt.KernelClassifier(n_components=256, bits=1, **settings).fit(X_train, y_train)
found = lt.evaluate(model, X_test, y_test)
print(found)

# %%
# Codes are evaluated as rows are; so are stores, in memory that does not grow with their rows.

codes = model.features_.encode(X_test)
assert lt.evaluate(model, codes, y_test).accuracy == found.accuracy

# %%
# Left, which digit is taken for which, without those that are right. Right, the probability of the predicted digit
# against how often it was right: on the diagonal the model is as sure as it should be. Larger points are more rows.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
wrong = found.confusion - np.diag(np.diag(found.confusion))
left.imshow(wrong, cmap="Blues")
for i, j in zip(*np.nonzero(wrong)):
    left.text(j, i, wrong[i, j], ha="center", va="center")
left.set(xticks=range(10), yticks=range(10), xlabel="predicted", ylabel="true", title="Taken for another")
right.plot([0, 1], [0, 1], color="gray", linewidth=1)
bins = found.reliability
right.scatter([b.probability for b in bins], [b.frequency for b in bins], [4 + 2 * b.count for b in bins], alpha=0.6)
right.set(xlabel="probability", ylabel="right", title=f"Calibration error {found.calibration_error:.3f}")
figure.suptitle(f"Accuracy {found.accuracy:.3f} ± {found.accuracy_error:.3f}")
plt.show()
