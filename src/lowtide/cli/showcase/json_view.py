"""The comparison as JSON, for scripts."""

from __future__ import annotations

import json
from typing import Any

import lowtide
from lowtide.cli.showcase.reading import notes, reading
from lowtide.cli.showcase.results import WIDTHS, Comparison, Outcome

__all__ = ["to_json"]

_FORMAT = 1  # grows when a field changes its meaning


def to_json(comparison: Comparison) -> str:
    """Write the numbers as one JSON object."""
    plan = comparison.plan
    content = {
        "format": _FORMAT,
        "lowtide": lowtide.__version__,
        "data": {
            "name": "digits",
            "train_rows": comparison.n_train,
            "test_rows": comparison.n_test,
            "features": comparison.n_features,
        },
        "plan": {"components": plan.n_components, "seed": plan.seed, "draws": plan.n_draws, "alpha": plan.alpha},
        "gamma": comparison.gamma,
        "exact": _fields(comparison.exact),
        "same_components": [_fields(outcome) for outcome in comparison.same_components],
        "same_bytes": [_fields(outcome) for outcome in comparison.same_bytes],
        "curves": [_fields(outcome) for bits in WIDTHS for outcome in comparison.curve(bits)],
        "reading": reading(comparison),
        "notes": notes(comparison),
        "seconds": comparison.seconds,
    }
    return json.dumps(content, indent=2)


def _fields(outcome: Outcome) -> dict[str, Any]:
    error = outcome.kernel_error
    return {
        "method": outcome.name,
        "bits": outcome.bits,
        "components": outcome.n_components,
        "bytes_per_item": outcome.bytes_per_item,
        "accuracy": outcome.accuracy,
        "fit_seconds": outcome.fit_seconds,
        "predict_seconds": outcome.predict_seconds,
        "kernel_error": error
        and {"measured": error.measured, "predicted": error.predicted, "coverage": error.coverage},
    }
