"""
A page about a model
====================

`lowtide.report` measures a model on rows of its table and makes one HTML file of it: bytes against accuracy, baselines,
confusions, columns that matter, a model card, and what speaks against the model. `lowtide report` does the same.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import lowtide as lt

# %%
# A model as somebody would have it: columns standardized, codes of 32 bytes, other settings chosen from the data.

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
learner = lt.KernelClassifier(n_components=256, metric=None, random_state=0)
model = make_pipeline(StandardScaler(), learner).fit(X, y)

# %%
# The model has seen these rows. So it is fitted again on three quarters of them, and judged by the last quarter.
# ``report.save("page.html")`` writes the page; here are its first sentences.

report = lt.report(model, X, y)
print(report)

# %%
# The numbers are there too. Accuracy against the bytes of an item, beside the exact machine:

figure, axis = plt.subplots(figsize=(6, 3.8), layout="constrained")
for name in ("1 bit", "2 bits", "float32"):
    curve = sorted((trial for trial in report.codes if trial.name == name), key=lambda trial: trial.n_bytes)
    scores, errors = [trial.score for trial in curve], [trial.error for trial in curve]
    axis.errorbar([trial.n_bytes for trial in curve], scores, errors, marker="o", label=name)
axis.axhline(report.exact.score, color="black", linestyle="--", label=report.exact.name)
axis.axvline(report.row_bytes, color="gray", linestyle=":", label="the row itself")
axis.set(xscale="log", xlabel="bytes an item", ylabel="accuracy")
axis.legend()
plt.show()

# %%
# And the columns that matter most: what the accuracy loses when a column is shuffled.

first = report.importances[:8][::-1]
figure, axis = plt.subplots(figsize=(6, 3.8), layout="constrained")
axis.barh([each.column for each in first], [each.drop for each in first], xerr=[each.error for each in first])
axis.set(xlabel="accuracy lost")
plt.show()
