"""The transformers, each with a full and a coded side; what a fit draws is one frozen value."""

from lowtide._later import names_in_stub

__all__, __getattr__ = names_in_stub(__name__, __file__)
