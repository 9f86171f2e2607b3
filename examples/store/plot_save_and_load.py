"""
Model files: how small a model gets
===================================

A file holds an encoder and weights. With a Hadamard encoder nearly all of it is weights, and those can be kept in fewer
bits than they were computed in. What does that cost?
"""

import os
import tempfile

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import lowtide as lt

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=1 / 3, stratify=y, random_state=0)
model = lt.KernelClassifier(n_components=2048, random_state=0).fit(X_train, y_train)
scores = model.decision_function(X_test)

# %%
# Saved in four forms and loaded again. A score moves by far less than the gap between the best class and the next.

folder = tempfile.TemporaryDirectory()
forms = ("float64", "float32", "float16", "int8")
moved, parts, right = {}, {}, {}
for form in forms:
    path = os.path.join(folder.name, f"{form}.lowtide")
    lt.save(model, path, weights=form)
    loaded = lt.load(path)
    moved[form] = np.abs(loaded.decision_function(X_test) - scores).max()
    right[form] = loaded.score(X_test, y_test)
    found = lt.persist.describe(path)
    encoder = sum(array["bytes"] for name, array in found["arrays"].items() if name.startswith("features."))
    parts[form] = np.array([found["header_bytes"], encoder, found["bytes"] - found["header_bytes"] - encoder])
    print(f"{form:8} {found['bytes']:7} bytes, scores moved by {moved[form]:.1e}, accuracy {right[form]:.3f}")

# %%
# What the bytes are for, beside the movement of the scores; the dashed line is the median gap between the two best
# classes of a digit.

figure, (left, center) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
start = np.zeros(len(forms))
for i, name in enumerate(("header", "encoder", "weights")):
    heights = np.array([parts[form][i] / 1000 for form in forms])
    left.bar(forms, heights, bottom=start, label=name)
    start += heights
left.set(ylabel="kB", title="bytes of a file")
left.legend()

best = np.sort(scores, axis=1)
center.bar(forms, [max(moved[form], 1e-17) for form in forms], color="tab:green")
center.axhline(np.median(best[:, -1] - best[:, -2]), color="black", linestyle="--")
center.set(yscale="log", ylim=(1e-12, 10), title="largest movement of a score (float64: none)")
plt.show()

# %%
# An encoder alone, with codes that it made: 2048 bits an image, kept beside it and read from the file as they are used.

lt.save(model.features_, os.path.join(folder.name, "encoder.lowtide"))
lt.save(model.features_.encode(X_test), os.path.join(folder.name, "codes.lowtide"))
codes = lt.persist.open_codes(os.path.join(folder.name, "codes.lowtide"))
print(f"{os.path.getsize(os.path.join(folder.name, 'encoder.lowtide'))} bytes of encoder, {codes}")
print(f"accuracy from the stored codes: {model.score(codes, y_test):.3f}")
folder.cleanup()
