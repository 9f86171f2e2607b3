"""
From SVC to a kernel machine on bits
====================================

An exact `SVC` keeps support vectors and compares every new row with each of them. `KernelClassifier` takes the same
kernel, keeps one weight a feature, and reads rows as a few hundred bytes. Accuracy against the number of features says
how many it takes.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

import lowtide as lt

# %%
# The machine to replace.

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, stratify=y, random_state=0)
exact = SVC(kernel="rbf", gamma="scale").fit(X_train, y_train)
target = exact.score(X_test, y_test)
print(f"SVC: {target:.3f} from {len(exact.support_)} support vectors, {exact.support_vectors_.nbytes // 1000} kB")

# %%
# One line takes its place, with the same kernel. C is picked from the training rows.

model = lt.KernelClassifier(gamma="scale", n_components=2048, metric=None, random_state=0).fit(X_train, y_train)
print(f"KernelClassifier: {model.score(X_test, y_test):.3f} from {2048 // 8} bytes a row, C = {model.C_:.2g}")

# %%
# Each loss at several sizes with C = 1, one bit a feature, and for comparison the same features in float32.

sizes = np.array([64, 128, 256, 512, 1024])
curves: dict[str, list[float]] = {}
for name, parameters in {
    "squared": {"loss": "squared"},
    "logistic": {"loss": "logistic"},
    "squared_hinge": {"loss": "squared_hinge"},
    "squared, float32": {"loss": "squared", "bits": None},
}.items():
    start = time.perf_counter()
    fixed = {"gamma": "scale", "C": 1.0, "metric": None, "tol": 1e-2, "random_state": 0, **parameters}
    curves[name] = [
        lt.KernelClassifier(n_components=int(m), **fixed).fit(X_train, y_train).score(X_test, y_test) for m in sizes
    ]
    print(f"{name:17s} {time.perf_counter() - start:5.2f} s for all sizes")

# %%
# Per byte of a stored or sent row, bits are far ahead of floats. The logistic loss would like a larger C here.

figure, axis = plt.subplots(figsize=(7, 4.2), layout="constrained")
for name, accuracy in curves.items():
    axis.semilogx(sizes * (4 if "float" in name else 1 / 8), accuracy, "o-", label=name)
axis.axhline(target, color="black", linewidth=1, linestyle="--", label="exact SVC")
axis.set(xlabel="bytes a row", ylabel="accuracy on new digits", ylim=(0.8, 1.0))
axis.legend()
plt.show()
