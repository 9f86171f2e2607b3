"""What a file keeps of a learner."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator

from lowtide._checks import check_integer, check_option, fail
from lowtide.codes import Codes, row_bytes
from lowtide.encoders import ENCODERS, Encoder, EstimatorState
from lowtide.learners.labels import labels_from_spec, labels_to_spec

__all__ = ["MachineState"]

Arrays = dict[str, NDArray[Any]]


class MachineState(EstimatorState):
    """To and from what a file keeps of a learner: weights, intercept, sides, and the encoder within.

    `_fitted_numbers` are the attributes of a class that are single numbers; what else it has comes from `_own_state`.
    Sums of `partial_fit` are not kept.
    """

    _fitted_numbers: ClassVar[tuple[str, ...]] = ()
    features_: Encoder | None
    # Zero rows of the Codes that were fitted on; None when the encoder made them.
    _trained_codes: Codes | None = None

    def _state(self: Any) -> tuple[dict[str, Any], Arrays]:
        self._check_fitted_to_save("_weights")
        own, arrays = self._own_state()
        spec = {
            "params": self._params_to_spec(),
            "fitted": {name: _number(getattr(self, name)) for name in self._fitted_numbers},
            "classes": labels_to_spec(self.classes_) if hasattr(self, "classes_") else None,
            "predict_on": self._predict_on,
            "n_features": self.n_features_in_,
            "feature_names": self._names_to_spec(),
            "fingerprint": self._fingerprint.hex(),
            "features": None,
            **own,
        }
        arrays |= {"weights": self._weights, "intercept": self.intercept_}
        if self.features_ is not None:
            inner, drawn = self.features_._state()
            spec["features"] = {"kind": _encoder_kind(self.features_), "spec": inner}
            arrays |= self._prefixed("features", drawn)
        if self._trained_codes is not None:
            spec["codes"], parts = self._trained_codes.to_state()
            arrays |= self._prefixed("codes", {name: parts[name] for name in ("codebook", "scale") if name in parts})
        return spec, arrays

    @classmethod
    def _from_state(cls, spec: dict[str, Any], arrays: Arrays) -> Self:
        params = dict(spec["params"])
        given = params.pop("features", None)
        self = cls._from_params_spec(params)
        self.features_ = None
        if spec["features"] is not None:
            kept = cls._arrays_of("features", arrays)
            self.features_ = ENCODERS[spec["features"]["kind"]]._from_state(spec["features"]["spec"], kept)
        if given is not None:
            self.features = self._features_from_spec(given)
        for name in cls._fitted_numbers:
            setattr(self, name, _number(spec["fitted"][name]))
        if spec["classes"] is not None:
            self.classes_ = labels_from_spec(spec["classes"])
        self._predict_on = check_option(cls.__name__, "predict_on", spec["predict_on"], ("codes", "full"))
        self.n_features_in_ = check_integer(cls.__name__, "n_features", spec["n_features"], 1)
        self._set_names(spec["feature_names"])
        self._fingerprint = bytes.fromhex(spec["fingerprint"])
        if "codes" in spec:
            self._trained_codes = _no_rows(spec["codes"], self._arrays_of("codes", arrays))
        self._keep(np.array(arrays["weights"]), np.array(arrays["intercept"]))
        self._take_own_state(spec, arrays)
        self._check_consistent()
        return self

    def _own_state(self: Any) -> tuple[dict[str, Any], Arrays]:
        """Return what a class keeps beside the rest."""
        return {"train_on": self._train_on}, {}

    def _take_own_state(self, spec: dict[str, Any], arrays: Arrays) -> None:
        """Take what `_own_state` gave."""
        self._train_on = check_option(type(self).__name__, "train_on", spec["train_on"], ("codes", "full"))

    def _n_columns(self, n_classes: int) -> int:
        """Return the columns of weights: one for two classes, else one a class."""
        return 1 if n_classes == 2 else n_classes

    def _param_to_spec(self, name: str, value: Any) -> Any:
        """Return a parameter as JSON: features by what they are, class weights as pairs."""
        if name == "features" and value is not None:
            return self._features_to_spec(value)
        if name == "class_weight" and isinstance(value, dict):
            as_json = super()._param_to_spec
            return [[as_json(name, label), as_json(name, weight)] for label, weight in value.items()]
        return super()._param_to_spec(name, value)

    @classmethod
    def _param_from_spec(cls, name: str, value: Any) -> Any:
        if name == "class_weight" and isinstance(value, list):
            return {label: float(weight) for label, weight in value}
        return super()._param_from_spec(name, value)

    def _features_to_spec(self, features: Any) -> dict[str, Any]:
        """Return the given encoder as "the fitted one", frozen or not, or as a kind with its parameters."""
        if isinstance(features, FrozenEstimator) and features.estimator is self.features_:
            return {"fitted": True, "frozen": True}
        if features is self.features_:
            return {"fitted": True, "frozen": False}
        return {"kind": _encoder_kind(features), "params": features._params_to_spec()}

    def _features_from_spec(self, spec: dict[str, Any]) -> Any:
        if spec.get("fitted"):
            return FrozenEstimator(self.features_) if spec["frozen"] else self.features_
        return ENCODERS[spec["kind"]]._from_params_spec(spec["params"])

    def _check_consistent(self: Any) -> None:
        """Raise when the parts of a file do not belong together."""
        owner, features, shape = type(self).__name__, self.features_, self._weights.shape
        columns = self._n_columns(len(self.classes_)) if hasattr(self, "classes_") else shape[-1]
        trained = self._trained_codes
        rows = shape[0] if features is None or trained is not None else self._n_columns_of(self._predict_on)
        if shape != (rows, columns) or self.intercept_.shape != (columns,) or len(self._fingerprint) != 16:
            got = f"weights {shape}, intercept {self.intercept_.shape}"
            raise fail(owner, f"weights must be ({rows}, {columns}) with an intercept a column", got)
        if not np.isfinite(self._weights).all() or not np.isfinite(self.intercept_).all():
            raise fail(owner, "weights must be finite", "NaN or infinity")
        if trained is not None and (trained.fingerprint, trained.shape[1]) != (self._fingerprint, shape[0]):
            raise fail(owner, f"weights must have a row a column of the codes, {trained.shape[1]}", shape[0])
        within = (self.n_features_in_, self._fingerprint)
        if features is not None and within != (features.n_features_in_, features.fingerprint_):
            raise fail(owner, "the encoder must be the one that the weights are for", features)


def _no_rows(spec: dict[str, Any], arrays: Arrays) -> Codes:
    """Return zero rows of the codes that weights are for."""
    empty = np.empty((0, row_bytes(spec["n_levels"], spec["bits"])), dtype=np.uint8)
    none = {"norms": np.empty(0, dtype=np.float32)} if "times_norms" in spec else {}
    return Codes.from_state(spec, {"packed": empty, **arrays, **none})


def _encoder_kind(encoder: Any) -> str:
    """Return the name of a registered encoder."""
    if ENCODERS.get(type(encoder).__name__) is not type(encoder):
        raise fail("save", f"features must be one of {', '.join(ENCODERS)}", type(encoder).__name__)
    return type(encoder).__name__


def _number(value: Any) -> Any:
    """Return a Python number."""
    plain = value.item() if isinstance(value, np.generic) else value
    if not isinstance(plain, (bool, int, float)):
        raise fail("learner", "a fitted value must be a number", value)
    return plain
