"""HOW few bits: from a map's components to small integers and back."""

# fmt: off
# isort: off
from lowtide.quantizers.base import (
    ContinuousQuantizer, DrawnQuantizer, LloydMax, Phase, PhaseSteps, Quantizer, StepFunction, Uniform, even_steps,
    count_levels, quantizer_by_name, resolve_quantizer,
)
from lowtide.quantizers.line import (
    GivenSteps, LineQuantizer, LineSteps, NormalLloydMax, SignSteps, UniformSteps, line_quantizer_by_name, normal_steps,
)
from lowtide.quantizers.lloyd_max import lloyd_max, lloyd_max_arcsine, lloyd_max_distortion, lloyd_max_normal
from lowtide.quantizers.sampled import DrawnPeriodic, DrawnStochastic, Modulo, PeriodicMap, Stochastic
from lowtide.spec import Registry

__all__ = [  # noqa: RUF022
    "QUANTIZERS", "Quantizer", "LloydMax", "Uniform", "Phase", "Stochastic", "Modulo", "PeriodicMap",
    "quantizer_by_name", "resolve_quantizer", "count_levels",
    "DrawnQuantizer", "ContinuousQuantizer", "DrawnPeriodic", "DrawnStochastic", "PhaseSteps",
    "StepFunction", "even_steps", "LINE_QUANTIZERS", "LineQuantizer", "NormalLloydMax", "UniformSteps", "SignSteps",
    "GivenSteps", "LineSteps", "line_quantizer_by_name", "normal_steps",
    "lloyd_max", "lloyd_max_arcsine", "lloyd_max_distortion", "lloyd_max_normal",
]
# fmt: on
# isort: on

QUANTIZERS: Registry[Quantizer] = Registry(
    "quantizer",
    Quantizer,
    {"lloyd_max": LloydMax, "phase": Phase, "stochastic": Stochastic, "uniform": Uniform, "modulo": Modulo},
    unnamed=(PeriodicMap,),
)

LINE_QUANTIZERS: Registry[LineQuantizer] = Registry(
    "quantizer of projections",
    LineQuantizer,
    {"lloyd_max": NormalLloydMax, "uniform": UniformSteps, "sign": SignSteps},
    unnamed=(GivenSteps,),
)
