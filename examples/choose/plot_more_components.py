"""
As many components as the answer needs
======================================

A component costs one bit a row, and the more there are, the nearer the kernel is to the exact one. A matrix of 65,536 x
65,536 floats would be in the way, so none is made: with 1,000 rows a matrix of 1,000 x 1,000 says the same. Which way a
fit has taken is in `solver_`.
"""

import time

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.svm import SVC

import lowtide as lt

# %%
# A thousand digits to learn from, the other 797 to be recognized, and an exact `SVC` to compare with.

X, y = load_digits(return_X_y=True)
X_train, y_train, X_test, y_test = X[:1000], y[:1000], X[1000:], y[1000:]
exact = SVC(kernel="rbf", gamma="scale").fit(X_train, y_train).score(X_test, y_test)

# %%
# Powers of four. Sums of components by components are cheapest while these are few, the kernel matrix of the rows from
# then on: its size does not depend on the components, and time grows no faster than they do. Of two times the better
# counts.

sizes = [64, 256, 1024, 4096, 16_384, 65_536]
accuracy, seconds, solvers = [], [], []
for m in sizes:
    times = []
    for _ in range(2):
        start = time.perf_counter()
        model = lt.KernelClassifier(gamma="scale", n_components=m, C=1.0, metric=None, random_state=0).fit(
            X_train, y_train
        )
        times.append(time.perf_counter() - start)
    seconds.append(min(times))
    accuracy.append(model.score(X_test, y_test))
    solvers.append(model.solver_)
    print(f"{m:6d} components, {m // 8:4d} bytes: {model.solver_:6s} {seconds[-1]:.2f} s, {accuracy[-1]:.3f} right")

# %%
# Accuracy rises steeply up to a few thousand components and then levels off, where the exact machine is or a little
# above: one loss is not the other, and 797 digits tell differences of a percent or so.

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
left.semilogx(sizes, accuracy, color="black", linewidth=0.8)
right.loglog(sizes, seconds, color="black", linewidth=0.8)
for solver in dict.fromkeys(solvers):
    which = [i for i, name in enumerate(solvers) if name == solver]
    for axis, values in ((left, accuracy), (right, seconds)):
        axis.plot([sizes[i] for i in which], [values[i] for i in which], "o", label=solver)
left.axhline(exact, color="gray", linestyle="--", label="exact SVC")
left.set(xlabel="components", ylabel="accuracy on new digits")
right.set(xlabel="components", ylabel="seconds a fit, encoding included")
for axis in (left, right):
    axis.legend()
plt.show()
