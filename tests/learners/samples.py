"""Small seeded problems, and the features that a fitted learner saw, decoded."""

import numpy as np

from lowtide import KernelClassifier, KernelRegressor, RandomFeatures

# Nothing is left to the data: what a test fits is what it says, and soon fitted.
FEATURES = {"gamma": "scale", "n_components": 1024, "metric": None, "prune": None}
CLASSIFIER = {**FEATURES, "loss": "squared", "C": 1.0, "multi_class": "ovr"}
REGRESSOR = {**FEATURES, "alpha": 1.0}


def classifier(features=None, **settings):
    """A classifier of fixed settings, but for those that are given."""
    return KernelClassifier(features, **CLASSIFIER | settings)


def regressor(features=None, **settings):
    """A regressor of fixed settings, but for those that are given."""
    return KernelRegressor(features, **REGRESSOR | settings)


def classes(n=90, d=5, k=3, seed=0):
    """Rows around k overlapping centers."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    X = 1.5 * rng.standard_normal((k, d))[y] + rng.standard_normal((n, d))
    return X, y


def curve(n=90, d=3, seed=0):
    """Rows and a smooth function of them with noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(n)


def weights(n, seed=1):
    return np.random.default_rng(seed).uniform(0.2, 3.0, n)


def encoder(X, n_components=24, bits=1, gamma=0.1):
    return RandomFeatures(gamma=gamma, n_components=n_components, bits=bits, random_state=0).fit(X)


def decoded(model, X, side="codes"):
    """The float64 features of one side of the model's encoder."""
    features = model.features_
    return np.asarray(features.encode(X) if side == "codes" else features.transform(X), dtype=np.float64)


def signs(y):
    """Targets -1 and 1: one column for two classes, else one against the rest."""
    present = np.unique(y)
    T = np.where(y[:, None] == present, 1.0, -1.0)
    return T[:, 1:] if len(present) == 2 else T


def one_hot(y):
    return (y[:, None] == np.unique(y)).astype(np.float64)
