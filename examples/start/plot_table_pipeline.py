"""
A table with categories, from pipeline to file
==============================================

A pipeline scales numbers, spreads categories and learns. Saved, it is one file of some 20 kilobytes: the steps become a
recipe beside the model, and what is loaded takes rows of the table as they are. Does it answer alike?
"""

import os
import tempfile

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import lowtide as lt

# %%
# Flats: square meters, a year, and two columns of texts. Whether a flat is dear depends on all of them.

rng = np.random.default_rng(0)
n = 3000
table = pd.DataFrame(
    {
        "area": rng.uniform(20, 150, n).round(1),
        "built": rng.integers(1900, 2025, n),
        "city": rng.choice(["Bern", "Oslo", "Rome"], n, p=[0.5, 0.3, 0.2]),
        "heating": rng.choice(["gas", "oil", "pump"], n),
    }
)
level = table["city"].map({"Bern": 1.0, "Oslo": 1.5, "Rome": 0.8}) * (1 + 0.2 * (table["heating"] == "pump"))
dear = np.where(table["area"] * level + 20 * np.sin((table["built"] - 1900) / 15) > 95, "dear", "cheap")
train, test, y_train, y_test = train_test_split(table, dear, test_size=1 / 3, random_state=0)

# %%
# The pipeline is scikit-learn's own; its last step is ours.

steps = make_column_transformer(
    (StandardScaler(), ["area", "built"]), (OneHotEncoder(handle_unknown="ignore"), ["city", "heating"])
)
model = make_pipeline(steps, lt.KernelClassifier(n_components=2048, C="auto", random_state=0)).fit(train, y_train)
print(f"accuracy of the pipeline: {model.score(test, y_test):.3f}")

# %%
# Saved and loaded: a classifier that finds its columns by name, in any order and with others beside them.

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "flats.lowtide")
    lt.save(model, path)
    loaded, size = lt.load(path), os.path.getsize(path)
assert (loaded.predict(test) == model.predict(test)).all()
recipe = loaded.decision_.recipe
print(f"{size} bytes; columns {recipe.columns} become {recipe.n_features} features")
row = {"heating": "pump", "city": "Oslo", "area": 61.5, "built": 1987, "id": 17}
print(f"{row}: {loaded.predict([row])[0]}")

# %%
# What it has learned: the probability of "dear" over area and year, a panel a city. A city that was not there at fit is
# none of the three.

area, built = np.meshgrid(np.linspace(20, 150, 60), np.linspace(1900, 2024, 60))
figure, panels = plt.subplots(1, 4, figsize=(12, 3.4), layout="constrained", sharey=True)
for panel, city in zip(panels, ["Bern", "Oslo", "Rome", "Kyiv"]):
    grid = {"area": area.ravel(), "built": built.ravel(), "city": [city] * area.size, "heating": ["gas"] * area.size}
    shares = loaded.predict_proba(grid)[:, list(loaded.classes_).index("dear")]
    picture = panel.pcolormesh(area, built, shares.reshape(area.shape), vmin=0, vmax=1, cmap="coolwarm")
    panel.set(title=city, xlabel="area")
figure.colorbar(picture, label="probability of dear")
plt.show()
