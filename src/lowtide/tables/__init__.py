"""Tables: what a row goes through before it is encoded, from columns by name and type to numbers."""

from lowtide._later import names_in_stub

__all__, __getattr__ = names_in_stub(__name__, __file__)
