"""HOW few bits: from a map's components to small integers and back."""

from lowtide.quantizers.base import (
    ContinuousQuantizer,
    DrawnQuantizer,
    LloydMax,
    Phase,
    PhaseSteps,
    Quantizer,
    StepFunction,
    Uniform,
    even_steps,
    quantizer_by_name,
)
from lowtide.quantizers.lloyd_max import (
    LineSteps,
    lloyd_max,
    lloyd_max_arcsine,
    lloyd_max_distortion,
    lloyd_max_normal,
    normal_steps,
)
from lowtide.quantizers.periodic import DrawnPeriodic, PeriodicMap
from lowtide.quantizers.stochastic import DrawnStochastic, Stochastic
from lowtide.spec import Registry

__all__ = [
    "QUANTIZERS",
    "ContinuousQuantizer",
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
    "even_steps",
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
