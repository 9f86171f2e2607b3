"""Kernel machines on a few bits per feature, trained on packed codes.

Names are grouped by stage, as data runs: kernel, projection, map, quantizer, codes, table, encoder, model.
"""

from lowtide._later import later

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

__all__ = ["__version__", *(name for names in _STAGES.values() for name in names), *_SUBPACKAGES]

# `import lowtide` alone loads nothing heavy.
__getattr__ = later(__name__, {**_STAGES, __name__: _SUBPACKAGES})


def __dir__() -> list[str]:
    return sorted(__all__)
