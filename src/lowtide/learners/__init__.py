"""Estimators on one side of an encoder: what replaces a kernel machine, and the frozen decision that it learns."""

from lowtide._later import names_in_stub

__all__, __getattr__ = names_in_stub(__name__, __file__)
