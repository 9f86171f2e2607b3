"""The model card: what a model is, how it was settled, and what it takes, as labels and texts."""

from __future__ import annotations

import platform
from importlib import metadata
from typing import Any

from lowtide.learners import Learner
from lowtide.reports.page import amount, plain, size_in_words

_PACKAGES = ("lowtide", "numpy", "scipy", "scikit-learn")
# Parameters of encoders that a card names, in its order.
_OF_ENCODERS = ("kernel", "projection", "feature_map", "quantizer", "target", "sparsity", "form", "activation")


def settings(model: Learner) -> list[tuple[str, str]]:
    """Return what a model is and how it was settled, a label and a text each."""
    decision, encoder = model.decision_, model.features_
    assert encoder is not None
    drawn, params = encoder.drawn_, encoder.get_params(deep=False)
    found = [("model", type(model).__name__)]
    choice = getattr(model, "choice_", None)
    if hasattr(model, "loss") and choice is not None:
        loss = choice.settings.get("loss", model.loss)
        found.append(("loss", loss if isinstance(loss, str) else type(loss).__name__))
    for name in ("C_", "alpha_"):
        if hasattr(model, name):
            found.append((name.rstrip("_"), amount(float(getattr(model, name)))))
    found.append(("features", type(encoder).__name__))
    for name in _OF_ENCODERS:
        value = params.get(name)
        if value is not None:
            found.append((name.replace("_", " "), value if isinstance(value, str) else _part(value)))
    gamma = getattr(encoder, "gamma_", None)
    if isinstance(gamma, (int, float)):
        found.append(("gamma", amount(float(gamma))))
    found.append(("components", f"{drawn.n_outputs:,}"))
    if "bits" in params:
        bits = params["bits"]
        found.append(("bits a component", "none: float32 features" if bits is None else str(bits)))
    metric = getattr(drawn, "metric", None)
    if metric is not None:
        shape = "a factor a feature" if metric.ndim == 1 else f"a matrix of {metric.shape[0]} x {metric.shape[1]}"
        found.append(("metric", f"learned from the task: {shape}"))
    if getattr(drawn, "kept", None) is not None:
        found.append(("frequencies", "those of the largest weight, of many that were drawn"))
    found.append(("predicts from", "packed codes" if decision.side == "codes" else "float32 features"))
    digits = decision.fingerprint.hex()
    found.append(("fingerprint", " ".join(digits[i : i + 8] for i in range(0, len(digits), 8))))
    return [(label, plain(text)) for label, text in found]


def _part(value: Any) -> str:
    return repr(value) if len(repr(value)) <= 60 else type(value).__name__


def choices(model: Learner) -> list[tuple[str, str, str, str]]:
    """Return what was chosen for a model: setting, value, left-out loss, and how many were tried."""
    choice = getattr(model, "choice_", None)
    if choice is None or not choice.trials:
        return []
    found = []
    for each in choice.outcomes():
        value = "none" if each.value is None else each.value if isinstance(each.value, str) else amount(each.value)
        found.append((plain(each.setting), plain(value), f"{each.loss:.5f}", str(each.n_tried)))
    return found


def sizes(model: Learner, code_bytes: int, row_bytes: int, model_bytes: int) -> list[tuple[str, str]]:
    """Return what an item and the model take, a label and a text each."""
    decision = model.decision_
    return [
        ("an item, as it is read", size_in_words(code_bytes)),
        ("a row, in float32", size_in_words(row_bytes)),
        ("the model file", size_in_words(model_bytes)),
        ("weights", f"{decision.weights.size:,}"),
        ("operations a row, about", f"{decision.weights.size + _cost(decision.encoder):,}"),
    ]


def _cost(encoder: Any) -> int:
    return 0 if encoder is None else int(encoder.row_cost)


def versions() -> list[tuple[str, str]]:
    """Return what the report was made with."""
    found = [("Python", platform.python_version())]
    return [*((name, metadata.version(name)) for name in _PACKAGES), *found]
