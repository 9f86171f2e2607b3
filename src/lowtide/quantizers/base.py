"""The contract of a quantizer, and of what it becomes once drawn."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import check_integer, fail
from lowtide.maps import N_HARMONICS, FeatureMap, Moments
from lowtide.spec import Spec, registry_of

__all__ = ["DrawnQuantizer", "Quantizer", "quantizer_by_name"]


class Quantizer(Spec):
    """HOW few bits: turns a feature map's components into small integers.

    Steps of the phase are drawn as `PhaseSteps`, by `even_steps` where they are steps of the cosine. A parameter named
    `bits` is checked, 1 to 8, and is what a quantizer given by name is built with.
    """

    def check(self) -> None:
        """Refuse bits outside 1 to 8, where there are bits."""
        params = self.get_params()
        if "bits" in params:
            remedy = "Above 8 bits keep float features: bits=None."
            check_integer(type(self).__name__, "bits", params["bits"], 1, 8, remedy)

    @abstractmethod
    def draw(self, feature_map: FeatureMap, rng: np.random.Generator) -> DrawnQuantizer:
        """Return the frozen quantizer of this map's components."""

    def restore(self, feature_map: FeatureMap, arrays: dict[str, NDArray[Any]]) -> DrawnQuantizer:
        """Return the quantizer whose `arrays()` were kept; drawn again where nothing is random."""
        return self.draw(feature_map, np.random.default_rng(0))


class DrawnQuantizer(Protocol):
    """A frozen quantizer: no randomness left."""

    @property
    def bits(self) -> int | None:
        """Bits a level, 1 to 8; None when the coded side is float features, not levels."""

    @property
    def shifts(self) -> NDArray[np.float32]:
        """Phase shifts in turns, one a level of a frequency."""

    @property
    def codebook(self) -> NDArray[np.float64] | None:
        """Decoded value of each level, (2^bits,) or cos and sin (2^bits, 2), unbiased against the full side cos t."""

    @property
    def op(self) -> str:
        """The compiled op that encodes with it."""

    @property
    def op_arguments(self) -> tuple[Any, ...]:
        """What the op takes besides rows and shifts; with `shifts`, all that decides a level."""

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what was drawn at random; empty when the spec and the map decide everything."""

    def levels(self, turns: NDArray[np.float32]) -> NDArray[np.uint8]:
        """Return levels (n, frequencies x len(shifts)) of phases in turns (n, frequencies): the readable truth."""

    def moments(self, n_harmonics: int = N_HARMONICS) -> Moments:
        """Return the moments of the coded side up to n_harmonics."""


def quantizer_by_name(name: str, bits: int) -> Quantizer:
    """Return the registered quantizer with that many bits.

    Examples
    --------
    >>> quantizer_by_name("phase", 3)
    Phase(bits=3)
    """
    family: Any = registry_of(Quantizer)[name]
    if "bits" not in family().get_params():
        need = f"a quantizer given by name must have a parameter bits, as {family.__name__} has not"
        raise fail("quantizer", need, name, "Pass the quantizer as an object.")
    quantizer: Quantizer = family(bits=bits)
    return quantizer
