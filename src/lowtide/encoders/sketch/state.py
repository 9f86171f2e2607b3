"""What a file keeps of a sketch."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from lowtide._checks import check_integer, check_positive
from lowtide.encoders.state import Arrays, EstimatorState
from lowtide.kernels import Gaussian
from lowtide.projections import PROJECTIONS
from lowtide.quantizers import normal_steps
from lowtide.spec import Registry

__all__ = ["SketchState"]


class SketchState(EstimatorState):
    """To and from what a file keeps: the projection; the quantizer follows from the bits."""

    _parts: ClassVar[dict[str, Registry[Any]]] = {"projection": PROJECTIONS}

    def _state(self: Any) -> tuple[dict[str, Any], Arrays]:
        self._check_fitted_to_save()
        spec = {
            "params": self._params_to_spec(),
            "gamma": self.gamma_,
            "projection": self._part_to_spec("projection", self._layout),
            "n_components": self._n_components,
            "bits": self.steps_.bits,
            "n_features": self.n_features_in_,
            "feature_names": self._names_to_spec(),
            "fingerprint": self.fingerprint_.hex(),
        }
        return spec, self._prefixed("projection", self.projection_.arrays())

    @classmethod
    def _from_state(cls, spec: dict[str, Any], arrays: Arrays) -> Self:
        self = cls._from_params_spec(spec["params"])
        self.n_features_in_ = check_integer(cls.__name__, "n_features", spec["n_features"], 1)
        self._store_norms = bool(self.store_norms)
        self._set_names(spec["feature_names"])
        self.gamma_ = None if spec["gamma"] is None else check_positive(cls.__name__, "gamma", spec["gamma"])
        self._n_components = check_integer(cls.__name__, "n_components", spec["n_components"], 1)
        self.steps_ = normal_steps(check_integer(cls.__name__, "bits", spec["bits"], 1, 8))
        self._layout = PROJECTIONS.from_config(spec["projection"])
        kept = cls._arrays_of("projection", arrays)
        self.projection_ = self._layout.restore(Gaussian(), self.n_features_in_, self._n_components, kept)
        self.fingerprint_ = self._fingerprint()
        self._check_same(self.fingerprint_, spec["fingerprint"])
        return self
