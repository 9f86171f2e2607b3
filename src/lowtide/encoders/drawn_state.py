"""What a file keeps of RandomFeatures."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import check_integer, check_positive, fail
from lowtide.encoders.quantizing import count_levels
from lowtide.encoders.state import Arrays, EstimatorState
from lowtide.kernels import KERNELS
from lowtide.maps import FEATURE_MAPS
from lowtide.projections import PROJECTIONS
from lowtide.quantizers import QUANTIZERS
from lowtide.spec import Registry

__all__ = ["DrawnState", "kept_offset"]


class DrawnState(EstimatorState):
    """To and from what a file keeps of drawn features.

    Hadamard layouts keep signs as bits and lengths, dense ones W, and both the dither. Only quantizers without
    randomness are made again from their spec, and the fingerprint of the whole must then be the one that was kept.
    """

    _parts: ClassVar[dict[str, Registry[Any]]] = {
        "kernel": KERNELS,
        "projection": PROJECTIONS,
        "feature_map": FEATURE_MAPS,
        "quantizer": QUANTIZERS,
    }

    def _state(self: Any) -> tuple[dict[str, Any], Arrays]:
        self._check_fitted_to_save()
        quantizer = self.quantizer_
        spec = {
            "params": self._params_to_spec(),
            "kernel": self._part_to_spec("kernel", self.kernel_),
            "gamma": self.gamma_,
            "projection": self._part_to_spec("projection", self._layout),
            "feature_map": self._part_to_spec("feature_map", self.feature_map_),
            "quantizer": None if quantizer is None else self._part_to_spec("quantizer", self.quantizer_spec_),
            "n_components": self._n_components,
            "n_features": self.n_features_in_,
            "seed": self._seed,
            "feature_names": self._names_to_spec(),
            "fingerprint": self.fingerprint_.hex(),
        }
        drawn = {} if quantizer is None else self._prefixed("quantizer", quantizer.arrays())
        return spec, {"offset": self._offset, **self._prefixed("projection", self.projection_.arrays()), **drawn}

    @classmethod
    def _from_state(cls, spec: dict[str, Any], arrays: Arrays) -> Self:
        self = cls._from_params_spec(spec["params"])
        self.n_features_in_ = check_integer(cls.__name__, "n_features", spec["n_features"], 1)
        self._set_names(spec["feature_names"])
        self._n_components = check_integer(cls.__name__, "n_components", spec["n_components"], 1)
        # Not in the first files; what was drawn from it is there whole.
        seed = spec.get("seed")
        self._seed = None if seed is None else check_integer(cls.__name__, "seed", seed, 0, 2**63)
        self.kernel_ = KERNELS.from_config(spec["kernel"])
        self.gamma_ = None if spec["gamma"] is None else check_positive(cls.__name__, "gamma", spec["gamma"])
        self.feature_map_ = FEATURE_MAPS.from_config(spec["feature_map"])
        self.quantizer_spec_ = self.quantizer_ = None
        if spec["quantizer"] is not None:
            self.quantizer_spec_ = QUANTIZERS.from_config(spec["quantizer"])
            self.quantizer_ = self.quantizer_spec_.restore(self.feature_map_, cls._arrays_of("quantizer", arrays))
        self._n_levels = count_levels(
            cls.__name__, self.quantizer_spec_, self.quantizer_, self.feature_map_, self._n_components
        )
        # The dither bounds the number of frequencies by the size of the file, before anything is made of that size.
        self._offset = kept_offset(cls.__name__, arrays["offset"], self.feature_map_.n_frequencies(self._n_components))
        self._layout = PROJECTIONS.from_config(spec["projection"])
        self.projection_ = self._layout.restore(
            self.kernel_, self.n_features_in_, len(self._offset), cls._arrays_of("projection", arrays)
        )
        self.fingerprint_ = self._fingerprint(self._layout)
        self._check_same(self.fingerprint_, spec["fingerprint"])
        return self


def kept_offset(owner: str, kept: NDArray[Any], n_frequencies: int) -> NDArray[np.float32]:
    """Return kept dither as an array of its own, or refuse it."""
    if kept.dtype != np.float32 or kept.shape != (n_frequencies,) or not np.all((kept >= 0) & (kept < 1)):
        raise fail(owner, f"offset must be {n_frequencies} float32 in [0, 1)", f"{kept.dtype} {kept.shape}")
    return np.array(kept)
