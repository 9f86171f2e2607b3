"""What a search has found, in the form of scikit-learn's searches."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

__all__ = ["cv_results"]

Array = NDArray[Any]


def cv_results(
    candidates: list[dict[str, Any]], test: Array, fit_seconds: Array, score_seconds: Array
) -> dict[str, Any]:
    """Return scikit-learn's `cv_results_` of candidates (rows) over folds (columns).

    Parameters
    ----------
    candidates : list of dict
    test, fit_seconds, score_seconds : ndarray (n_candidates, n_folds)
    """
    results: dict[str, Any] = {}
    for name, seconds in (("fit_time", fit_seconds), ("score_time", score_seconds)):
        results[f"mean_{name}"], results[f"std_{name}"] = seconds.mean(axis=1), seconds.std(axis=1)
    for name in candidates[0]:
        values = [candidate[name] for candidate in candidates]
        plain = all(isinstance(value, (bool, int, float, np.number)) for value in values)
        column = np.empty(len(values), dtype=np.asarray(values).dtype if plain else object)
        column[:] = values
        results[f"param_{name}"] = np.ma.MaskedArray(column)
    results["params"] = candidates
    for i in range(test.shape[1]):
        results[f"split{i}_test_score"] = test[:, i]
    mean = test.mean(axis=1)
    results["mean_test_score"], results["std_test_score"] = mean, test.std(axis=1)
    # Scores that are not numbers come last.
    order = np.where(np.isnan(mean), np.nanmin(mean) - 1.0 if np.isfinite(mean).any() else 0.0, mean)
    results["rank_test_score"] = rankdata(-order, method="min").astype(np.int32)
    return results
