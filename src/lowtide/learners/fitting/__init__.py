"""What a fit works with: each name is loaded when it is first used, so that an estimator alone loads nothing of it."""

from lowtide._later import names_in_stub

__all__, __getattr__ = names_in_stub(__name__, __file__)
