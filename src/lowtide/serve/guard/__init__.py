"""Who may ask, and how often."""

from lowtide.serve.guard.keys import KEYS_VARIABLE, KeyRing
from lowtide.serve.guard.rate import RateLimit

__all__ = ["KEYS_VARIABLE", "KeyRing", "RateLimit"]
