"""Models with nothing left to the data, for tests that only need some fitted model: they are fitted in no time."""

from __future__ import annotations

from typing import Any

import lowtide as lt

_FEATURES: dict[str, Any] = {"gamma": "scale", "n_components": 64, "metric": None, "prune": None}


def given_classifier(features: Any = None, **settings: Any) -> lt.KernelClassifier:
    """Return a classifier, not fitted, with these settings in place of the given ones."""
    return lt.KernelClassifier(features, **{**_FEATURES, "C": 1.0, "loss": "squared", **settings})


def given_regressor(features: Any = None, **settings: Any) -> lt.KernelRegressor:
    """Return a regressor, not fitted, with these settings in place of the given ones."""
    return lt.KernelRegressor(features, **{**_FEATURES, "alpha": 1.0, **settings})
