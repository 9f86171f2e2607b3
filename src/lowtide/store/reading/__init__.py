"""Rows out of a store: mapped, verified, put together."""

from lowtide.store.reading.mapped import MappedShard
from lowtide.store.reading.reader import ArrayReader
from lowtide.store.reading.verification import damage_of

__all__ = ["ArrayReader", "MappedShard", "damage_of"]
