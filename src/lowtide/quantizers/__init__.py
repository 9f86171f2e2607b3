"""HOW few bits: from a map's components to small integers and back."""

from lowtide.quantizers.base import DrawnQuantizer, Quantizer
from lowtide.quantizers.line import LineSteps, normal_steps
from lowtide.quantizers.lloyd_max import (
    LloydMax,
    lloyd_max,
    lloyd_max_arcsine,
    lloyd_max_distortion,
    lloyd_max_normal,
)
from lowtide.quantizers.periodic import DrawnPeriodic, PeriodicMap
from lowtide.quantizers.phase import Phase
from lowtide.quantizers.step import StepFunction
from lowtide.quantizers.steps import PhaseSteps
from lowtide.quantizers.stochastic import DrawnStochastic, Stochastic
from lowtide.quantizers.uniform import Uniform
from lowtide.spec import Registry

__all__ = [
    "QUANTIZERS",
    "DrawnPeriodic",
    "DrawnQuantizer",
    "DrawnStochastic",
    "LineSteps",
    "LloydMax",
    "PeriodicMap",
    "Phase",
    "PhaseSteps",
    "Quantizer",
    "StepFunction",
    "Stochastic",
    "Uniform",
    "lloyd_max",
    "lloyd_max_arcsine",
    "lloyd_max_distortion",
    "lloyd_max_normal",
    "normal_steps",
    "quantizer_by_name",
]

QUANTIZERS: Registry[Quantizer] = Registry(
    "quantizer",
    Quantizer,
    {"lloyd_max": LloydMax, "phase": Phase, "stochastic": Stochastic, "uniform": Uniform},
    unnamed=(PeriodicMap,),
)


def quantizer_by_name(name: str, bits: int) -> Quantizer:
    """Return the registered quantizer with that many bits.

    Examples
    --------
    >>> quantizer_by_name("phase", 3)
    Phase(bits=3)
    """
    parameters = {"bits": bits}
    return QUANTIZERS[name](**parameters)
