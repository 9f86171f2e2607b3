"""What a file keeps of AsymmetricFeatures."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import check_integer, check_option, fail
from lowtide.encoders.asymmetric.parts import block_layout
from lowtide.encoders.drawn_state import kept_offset
from lowtide.encoders.fingerprint import fingerprint
from lowtide.encoders.state import Arrays, EstimatorState
from lowtide.kernels import MEASURE_KERNELS
from lowtide.maps import CosSin
from lowtide.projections import PROJECTIONS
from lowtide.quantizers import QUANTIZERS
from lowtide.spec import Registry

__all__ = ["TwoSidedState"]


class TwoSidedState(EstimatorState):
    """To and from what a file keeps of drawn blocks: the layout of each, the dither, and the left side's phases.

    Blocks and masses come from the kernel again, in closed form.
    """

    _parts: ClassVar[dict[str, Registry[Any]]] = {
        "kernel": MEASURE_KERNELS,
        "projection": PROJECTIONS,
        "quantizer": QUANTIZERS,
    }

    def _state(self: Any) -> tuple[dict[str, Any], Arrays]:
        self._check_fitted_to_save()
        quantizer = self.quantizer_
        spec = {
            "params": self._params_to_spec(),
            "kernel": self._part_to_spec("kernel", self.kernel_),
            "form": self.form_,
            "projection": self._part_to_spec("projection", self._layout),
            "quantizer": None if quantizer is None else self._part_to_spec("quantizer", self.quantizer_spec_),
            "n_frequencies": list(self.n_frequencies_),
            "n_components": self._n_features_out,
            "n_features": self.n_features_in_,
            "feature_names": self._names_to_spec(),
            "fingerprint": self.fingerprint_.hex(),
        }
        arrays = {"offset": self._offset, "left_offset": self._left_offset}
        for i, projection in enumerate(self._projections):
            arrays |= self._prefixed(f"block{i}.projection", projection.arrays())
        return spec, arrays | ({} if quantizer is None else self._prefixed("quantizer", quantizer.arrays()))

    @classmethod
    def _from_state(cls, spec: dict[str, Any], arrays: Arrays) -> Self:
        self: Any = cls._from_params_spec(spec["params"])
        owner = cls.__name__
        self.n_features_in_ = check_integer(owner, "n_features", spec["n_features"], 1)
        self._set_names(spec["feature_names"])
        counts = [check_integer(owner, "n_frequencies", count, 1) for count in spec["n_frequencies"]]
        # The dither bounds the number of frequencies by the size of the file, before anything is made of that size.
        self._offset = kept_offset(owner, arrays["offset"], sum(counts))
        self._left_offset = kept_offset(owner, arrays["left_offset"], sum(counts))
        self.kernel_ = MEASURE_KERNELS.from_config(spec["kernel"])
        self.form_ = check_option(owner, "form", spec["form"], ("blocks", "phase"))
        self._layout = PROJECTIONS.from_config(spec["projection"])
        self._take_counts(counts, check_integer(owner, "n_components", spec["n_components"], 1))
        self._projections = [
            block_layout(block, self._layout).restore(
                block.frequencies, self.n_features_in_, count, cls._arrays_of(f"block{i}.projection", arrays)
            )
            for i, (block, count) in enumerate(zip(self.blocks_, counts))
        ]
        self.quantizer_spec_ = self.quantizer_ = None
        if spec["quantizer"] is not None:
            self.quantizer_spec_ = QUANTIZERS.from_config(spec["quantizer"])
            self.quantizer_ = self.quantizer_spec_.restore(CosSin(), cls._arrays_of("quantizer", arrays))
        self._settle()
        self._check_same(self.fingerprint_, spec["fingerprint"])
        return self

    def _take_counts(self: Any, counts: list[int], n_components: int) -> None:
        """Give the kernel's blocks their frequencies; refuse counts that do not fit them."""
        self._set_blocks(n_components)
        if len(counts) != len(self.blocks_) or n_components not in (2 * sum(counts), 2 * sum(counts) - 1):
            need = f"n_frequencies must be {len(self.blocks_)} counts for {n_components} components"
            raise fail(type(self).__name__, need, counts)
        self.n_frequencies_ = tuple(counts)
        columns = [2 * count for count in counts]
        columns[-1] -= 2 * sum(counts) - n_components
        self._block_columns = tuple(columns)

    def _set_fingerprints(self: Any) -> None:
        """Hash the resolved configuration and what was drawn, not the codebook; the right side has its own hash."""
        quantizer = self.quantizer_
        spec = {
            "encoder": type(self).__name__,
            "form": self.form_,
            "n_frequencies": list(self.n_frequencies_),
            "n_components": self._n_features_out,
            "n_features": self.n_features_in_,
            "quantizer": quantizer and [type(self.quantizer_spec_).__name__, quantizer.bits],
            # A kernel of callables has no configuration; its frequencies and phases tell it from others.
            "kernel": self.kernel_.to_config() if self.kernel_.closed_form else type(self.kernel_).__name__,
        }
        arrays: dict[str, NDArray[Any]] = {"offset": self._offset, "left_offset": self._left_offset}
        for i, projection in enumerate(self._projections):
            arrays |= self._prefixed(f"block{i}", projection.arrays())
        for i, array in enumerate((quantizer.shifts, *quantizer.op_arguments) if quantizer else ()):
            arrays[f"quantizer_{i}"] = np.asarray(array)
        self.fingerprint_right_ = fingerprint({**spec, "side": "right"}, arrays)
        self.fingerprint_ = fingerprint(spec, arrays)
