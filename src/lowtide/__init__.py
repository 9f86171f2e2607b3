"""Kernel machines on a few bits per feature, trained on packed codes.

Names are grouped by stage, as data runs: kernel, projection, map, quantizer, codes, table, encoder, model.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_STAGES = {
    "lowtide.spec": ("register",),
    "lowtide.quantizers": ("PeriodicMap",),
    "lowtide.codes": ("Codes", "concatenate"),
    "lowtide.tables": ("TableRecipe",),
    "lowtide.encoders": (
        "RandomFeatures",
        "Sketch",
        "TernaryFeatures",
        "ActivationFeatures",
        "AsymmetricFeatures",
        "AsymmetricNystroem",
        "LearnedFeatures",
        "VectorCodes",
        "fourier_codes",
        "dithered_codes",
        "linear_codes",
    ),
    "lowtide.learners": (
        "KernelClassifier",
        "KernelRegressor",
        "AsymmetricLSSVC",
        "CodePCA",
        "SketchSearchCV",
        "compress",
        "advise",
        "evaluate",
    ),
    "lowtide.persist": ("save", "load"),
    "lowtide.reports": ("report",),
    "lowtide.store": ("CodeStore",),
    "lowtide.client": ("Client",),
    "lowtide.device": ("export_c",),
    "lowtide.cancel": ("CancelToken",),
    "lowtide.versions": ("show_versions",),
}
_SUBPACKAGES = (
    "errors",
    "kernels",
    "projections",
    "maps",
    "quantizers",
    "theory",
    "codes",
    "tables",
    "encoders",
    "learners",
    "persist",
    "reports",
    "store",
    "wire",
    "device",
    "testing",
)
_HOME = {name: module for module, names in _STAGES.items() for name in names}

__all__ = ["__version__", *_HOME, *_SUBPACKAGES]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for: `import lowtide` alone loads nothing heavy."""
    if name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
    elif name in _SUBPACKAGES:
        value = import_module(f"lowtide.{name}")
    else:
        raise AttributeError(f"module 'lowtide' has no attribute {name!r}")
    globals()[name] = value  # the next time it is simply there
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
