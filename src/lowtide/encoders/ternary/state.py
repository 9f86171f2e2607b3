"""What a file keeps of TernaryFeatures."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import check_integer, check_interval, check_option, check_positive, fail
from lowtide.encoders.state import Arrays, EstimatorState
from lowtide.encoders.ternary.thresholds import Thresholds
from lowtide.spec import Registry
from lowtide.theory import TARGETS, TernaryMap, match_moments

__all__ = ["TernaryState"]


class TernaryState(EstimatorState):
    """To and from what a file keeps of ternary features: the seed of W, the mean, the map and the thresholds.

    W is made again from raw words of the seed, and the fingerprint of the whole must then be the one that was kept.
    """

    _parts: ClassVar[dict[str, Registry[Any]]] = {"target": TARGETS}

    def _state(self: Any) -> tuple[dict[str, Any], Arrays]:
        self._check_fitted_to_save()
        spec = {
            "params": self._params_to_spec(),
            "target": self._part_to_spec("target", self.target_),
            "gamma": self.gamma_,
            "tau": self.tau_,
            "case": self.match_.case,
            "sparsity": self.sparsity_,
            "seed": self._seed,
            "n_components": self._n_components,
            "n_features": self.n_features_in_,
            "feature_names": self._names_to_spec(),
            "fingerprint": self.fingerprint_.hex(),
        }
        sigma = self.match_.map
        arrays = {
            "mean": self.mean_,
            "map": np.array([sigma.s_minus, sigma.s_plus, sigma.low, sigma.high]),
            "upper": self.thresholds_.upper,
            "lower": self.thresholds_.lower,
        }
        return spec, arrays

    @classmethod
    def _from_state(cls, spec: dict[str, Any], arrays: Arrays) -> Self:
        owner = cls.__name__
        self: Any = cls._from_params_spec(spec["params"])
        self.n_features_in_ = check_integer(owner, "n_features", spec["n_features"], 1)
        self._set_names(spec["feature_names"])
        self._n_components = check_integer(owner, "n_components", spec["n_components"], 1)
        self.target_ = TARGETS.from_config(spec["target"])
        self.gamma_ = None if spec["gamma"] is None else check_positive(owner, "gamma", spec["gamma"])
        self.tau_ = check_positive(owner, "tau", spec["tau"])
        self.sparsity_ = check_interval(owner, "sparsity", spec["sparsity"], 0.0, 0.999)
        self._seed = check_integer(owner, "seed", spec["seed"], 0, 2**63)
        # These bound W by the size of the file before it is drawn.
        self.mean_ = _kept(owner, arrays, "mean", self.n_features_in_)
        self.thresholds_ = Thresholds(*(_kept(owner, arrays, name, self._n_components) for name in ("upper", "lower")))
        sigma = TernaryMap(*_kept(owner, arrays, "map", 4).tolist())
        pairs = (self.mean_, 0.0), (self.thresholds_.lower, sigma.s_minus), (self.thresholds_.upper, sigma.s_plus)
        if any(np.isfinite(kept).all() != np.isfinite(origin) for kept, origin in pairs):
            raise fail(owner, "the mean, and thresholds where those of the map are, must be finite", "others")
        case = check_option(owner, "case", spec["case"], ("exact", "scaled", "even"))
        match = match_moments(self.target_, self.tau_)
        self.match_ = replace(match, case=case, map=sigma, moments=sigma.moments(self.tau_))
        self._draw()
        self._finish()
        self._check_same(self.fingerprint_, spec["fingerprint"])
        return self

    def _param_to_spec(self, name: str, value: Any) -> Any:
        """Return a parameter as JSON; moments as a list."""
        if name == "target" and isinstance(value, tuple):
            return [float(moment) for moment in value]
        return super()._param_to_spec(name, value)

    @classmethod
    def _param_from_spec(cls, name: str, value: Any) -> Any:
        if name == "target" and isinstance(value, list):
            return tuple(check_interval(cls.__name__, "moments", moment, 0.0, 1e300) for moment in value)
        return super()._param_from_spec(name, value)


def _kept(owner: str, arrays: Arrays, name: str, size: int) -> NDArray[np.float64]:
    """Return a kept vector; thresholds may be infinite, nothing is missing."""
    array = arrays[name]
    if array.dtype != np.float64 or array.shape != (size,) or np.isnan(array).any():
        raise fail(owner, f"{name} must be {size} float64 without NaN", f"{array.dtype} {array.shape}")
    return np.array(array)
