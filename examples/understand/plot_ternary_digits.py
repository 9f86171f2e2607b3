"""
Digits by additions alone
=========================

Ternary features of 8 x 8 digits: sums of some pixels minus sums of others, compared with two thresholds that were
solved from the data. No multiplication lies between a digit and its code, and the model reads 2 bits a feature.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import lowtide as lt

# %%
# Pixels are integers from 0 to 16, and stay integers: centering is in the thresholds.

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X.astype(np.uint8), y, test_size=0.5, random_state=0)
encoder = lt.TernaryFeatures(n_components=2048, sparsity="auto", random_state=0).fit(X_train)
sigma = encoder.match_.map
print(f"{encoder.sparsity_:.0%} of W is zero; case {encoder.match_.case}, alpha {sigma.alpha:.3g}")

# %%
# Eight of the 2048 sums over the test digits, in units of sqrt(tau), with the thresholds of the map: the sums are
# close to normal, and that is all the theory asks of W.

sums = encoder.drawn_.scale * (X_test - encoder.mean_) @ encoder.random_weights_[:, :8]
unit = np.sqrt(encoder.tau_)
figure, axis = plt.subplots(figsize=(6, 3.6), layout="constrained")
axis.hist(sums / unit, bins=40, histtype="step", density=True)
for threshold in (sigma.s_minus, sigma.s_plus):
    axis.axvline(threshold / unit, color="black")
axis.set(xlabel="sum, over sqrt(tau)", ylabel="density", title="minus | zero | plus")
plt.show()

# %%
# Accuracy against what a digit takes: trits, one bit of a cosine, and float32 features.

sizes = [128, 512, 2048]
kinds = {
    "ternary": (lambda m: lt.TernaryFeatures(n_components=m, sparsity="auto", random_state=0), 2),
    "1 bit": (lambda m: lt.RandomFeatures(n_components=m, random_state=0), 1),
    "float32": (lambda m: lt.RandomFeatures(n_components=m, bits=None, random_state=0), 32),
}
figure, axis = plt.subplots(figsize=(6, 3.6), layout="constrained")
for name, (make, bits) in kinds.items():
    scores = [
        lt.KernelClassifier(make(m), loss="squared", C="auto").fit(X_train, y_train).score(X_test, y_test)
        for m in sizes
    ]
    axis.semilogx([m * bits / 8 for m in sizes], scores, "o-", label=name)
    print(name, [f"{score:.3f}" for score in scores])
axis.set(xlabel="bytes a digit", ylabel="accuracy on new digits")
axis.legend()
plt.show()
