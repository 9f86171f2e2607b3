"""Codes on disk: a Zarr group with a manifest of lowtide's own, appended to atomically and verified as it is read."""

from lowtide.store.source import ConcatenatedStores
from lowtide.store.store import CodeStore
from lowtide.store.writing import ShardRecord, ShardWriter, is_unfinished, template_of

__all__ = ["CodeStore", "ConcatenatedStores", "ShardRecord", "ShardWriter", "is_unfinished", "template_of"]
