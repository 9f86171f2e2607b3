"""The bytes of a store: Zarr arrays in shards, and the manifest that says which rows count."""

from lowtide.store.format.array import CODES, DTYPES, StoredArray
from lowtide.store.format.documents import documents
from lowtide.store.format.layout import SUM_BYTES, Layout, default_rows
from lowtide.store.format.manifest import FORMAT, Column, Manifest, is_column_name

__all__ = [
    "CODES",
    "DTYPES",
    "FORMAT",
    "SUM_BYTES",
    "Column",
    "Layout",
    "Manifest",
    "StoredArray",
    "default_rows",
    "documents",
    "is_column_name",
]
