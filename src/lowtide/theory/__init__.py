"""Closed forms and bounds: expected kernels, variances, feature counts.

Start with `features_needed`. Distances are in X's units and the kernel's norm; a `z` is divided by the bandwidth.
"""

from lowtide._later import names_in_stub

__all__, __getattr__ = names_in_stub(__name__, __file__)
