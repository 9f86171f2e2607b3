"""A plot of score over gamma."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowtide.errors import MissingExtraError

__all__ = ["plot_scores"]


def plot_scores(results: dict[str, Any], best: dict[str, Any], ax: Any = None) -> Any:
    """Draw a line of mean scores over gamma, with a band of one standard deviation, for each other choice.

    Parameters
    ----------
    results : dict
        `cv_results_` of a search.
    best : dict
        `best_params_`, marked by a dot.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
    """
    try:
        from matplotlib import pyplot as plt
    except ImportError as error:
        raise MissingExtraError(
            f"Plots need matplotlib, got: {error}. Install it with pip install 'lowtide[report]'."
        ) from error
    if ax is None:
        _, ax = plt.subplots()
    others = [{name: value for name, value in params.items() if name != "gamma"} for params in results["params"]]
    gamma = np.asarray(results["param_gamma"], dtype=np.float64)
    mean, std = results["mean_test_score"], results["std_test_score"]
    for choice in [choice for i, choice in enumerate(others) if choice not in others[:i]]:
        rows = np.array([i for i, other in enumerate(others) if other == choice])
        rows = rows[np.argsort(gamma[rows])]
        (line,) = ax.plot(gamma[rows], mean[rows], label=_label(choice))
        ax.fill_between(gamma[rows], (mean - std)[rows], (mean + std)[rows], color=line.get_color(), alpha=0.15, lw=0)
    winner = next(i for i, params in enumerate(results["params"]) if params == best)
    ax.plot(gamma[winner], mean[winner], "ko", label=f"best, gamma={gamma[winner]:.3g}")
    ax.set(xscale="log", xlabel="gamma", ylabel="mean test score")
    ax.legend()
    return ax


def _label(choice: dict[str, Any]) -> str:
    return ", ".join(f"{n}={v:.3g}" if isinstance(v, float) else f"{n}={v}" for n, v in choice.items())
