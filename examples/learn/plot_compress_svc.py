"""
A trained SVM on one bit a feature
==================================

`lowtide.compress` turns a fitted `SVC` into a machine on random features, without training: its kernel sums become
products of the two sides of an encoder. Either side can be coded. Below, how far the decision values move with each
choice, what was predicted of that, and what it does to the accuracy.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

import lowtide as lt

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=1 / 3, stratify=y, random_state=0)
exact = SVC().fit(X_train, y_train)
print(lt.compress(exact, n_components=4096, random_state=0, X=X_test).report_)

# %%
# Four pairs of sides, from 64 to 4096 components, two draws of each. Few components are noisy, and `compress` warns
# of that; here it is what we want to see.

pairs = {
    ("full", "full"): ("nothing coded", "tab:gray"),
    ("codes", "full"): ("query coded", "tab:green"),
    ("full", "codes"): ("support coded", "tab:blue"),
    ("codes", "codes"): ("both coded", "tab:red"),
}
components = 2 ** np.arange(6, 13)


def compressed(query, support, n_components, n_draws=2):
    """Return root mean square moved, predicted, and the accuracy, averaged over draws."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The compressed decision values have a standard error")
        models = [
            lt.compress(exact, query=query, support=support, n_components=n_components, random_state=seed, X=X_test)
            for seed in range(n_draws)
        ]
    squares = [(m.report_.moved**2, m.report_.predicted**2 + m.report_.bias**2) for m in models]
    return *np.sqrt(np.mean(squares, axis=0)), np.mean([m.score(X_test, y_test) for m in models])


figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for sides, (label, color) in pairs.items():
    moved, predicted, accuracy = np.transpose([compressed(*sides, int(m)) for m in components])
    left.loglog(components, predicted, color=color, label=label)
    left.loglog(components, moved, "o", color=color, markersize=4)
    sent = components / 8 if sides[0] == "codes" else components * 4
    right.semilogx(sent, accuracy, "o-", color=color, markersize=4, label=label)
left.set(xlabel="components", ylabel="decision values moved by (rms)", title="lines: predicted, points: measured")
right.axhline(exact.score(X_test, y_test), color="black", linestyle="--", linewidth=1, label="exact SVC")
right.set(xlabel="bytes a query", ylabel="test accuracy", title="what has to be sent")
left.legend(frameon=False)
right.legend(frameon=False)
plt.show()

# %%
# Coding the query costs little beside the error that random frequencies have anyway, and divides what is sent by 32.
# Up to 128 components there is one block of orthogonal frequencies, too few to see how they help: the prediction counts
# them as independent and is too large.
#
# When both sides are coded the error does not fall to 0: its mean is another kernel, sharper at 0, here divided by its
# value there. `normalize=False` leaves it undivided, which is nearer when few rows are close to a support vector:

for normalize in (True, False):
    report = lt.compress(exact, support="codes", normalize=normalize, random_state=0, X=X_test).report_
    print(f"normalize={normalize}: moved by {report.moved:.3f}, of which bias {report.bias:.3f}")
