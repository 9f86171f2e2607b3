"""Closed forms and bounds: expected kernels, variances, feature counts.

Start with `features_needed`. Distances are in X's units and the kernel's norm, unless `z` or `s` in bandwidths.
"""

from lowtide._later import names_in_stub

__all__, __getattr__ = names_in_stub(__name__, __file__)
